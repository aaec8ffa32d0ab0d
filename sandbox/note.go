package sandbox

import "time"

const noteCount = 150

// addNotes adds the notes: most about one person, a few about several, and one that tries
// to instruct the model. No two have the same body.
func (b *builder) addNotes() {
	s := newStream("notes")
	ids := newIDs("not")
	originals := b.originals()
	injected := s.between(noteCount/3, noteCount/2)
	seen := map[string]bool{}

	for len(b.data.Notes) < noteCount {
		number := len(b.data.Notes)
		about := []person{b.people[pick(s, originals)]}
		templates := noteTemplates()
		switch {
		case number == injected:
			templates = []string{injectedNote}
		case s.chance(17):
			about = b.several(s, originals)
			templates = sharedNoteTemplates()
		}
		body := b.fill(s, pick(s, templates), about[0], about...)
		if seen[body] {
			continue
		}
		seen[body] = true
		note := Note{ID: ids.next(), Body: body, Pinned: s.chance(6), CreatedAt: b.noteTime(s, about)}
		for _, p := range about {
			note.ConnectionIDs = append(note.ConnectionIDs, p.id)
		}
		if number == injected {
			b.data.InjectedNoteID = note.ID
		}
		b.data.Notes = append(b.data.Notes, note)
	}
}

// several draws two to four different people.
func (b *builder) several(s stream, from []int) []person {
	var people []person
	for _, i := range sample(s, from, s.between(2, 4)) {
		people = append(people, b.people[i])
	}
	return people
}

// noteTime is some moment since all of them were known, before the day.
func (b *builder) noteTime(s stream, about []person) time.Time {
	oldest := historyDays
	for _, p := range about {
		oldest = min(oldest, p.met)
	}
	return b.cal.at(s.between(1, oldest), workingMinute(s))
}
