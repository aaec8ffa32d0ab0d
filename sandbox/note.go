package sandbox

import "time"

const noteCount = 150

// addNotes adds the notes: most about one person, a few about several, and one that tries
// to instruct the model. No two have the same body.
func (b *builder) addNotes() {
	r := newRNG("notes")
	ids := newIDs("not")
	originals := b.originals()
	injected := r.between(noteCount/3, noteCount/2)
	seen := map[string]bool{}

	for len(b.data.Notes) < noteCount {
		number := len(b.data.Notes)
		about := []plan{b.plans[pick(r, originals)]}
		templates := noteTemplates()
		switch {
		case number == injected:
			templates = []string{injectedNote}
		case r.chance(17):
			about = b.several(r, originals)
			templates = sharedNoteTemplates()
		}
		body := b.fill(r, pick(r, templates), about[0], about...)
		if seen[body] {
			continue
		}
		seen[body] = true
		note := Note{ID: ids.next(), Body: body, Pinned: r.chance(6), CreatedAt: b.noteTime(r, about)}
		for _, p := range about {
			note.ConnectionIDs = append(note.ConnectionIDs, p.id)
		}
		if number == injected {
			b.data.InjectedNoteID = note.ID
		}
		b.data.Notes = append(b.data.Notes, note)
	}
}

// several picks two to four different people.
func (b *builder) several(r rng, from []int) []plan {
	var plans []plan
	for _, i := range sample(r, from, r.between(2, 4)) {
		plans = append(plans, b.plans[i])
	}
	return plans
}

// noteTime returns a random time after all of them were met and before the day.
func (b *builder) noteTime(r rng, about []plan) time.Time {
	oldest := historyDays
	for _, p := range about {
		oldest = min(oldest, p.met)
	}
	return b.cal.at(r.between(1, oldest), workingMinute(r))
}
