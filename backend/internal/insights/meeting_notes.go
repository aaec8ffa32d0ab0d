package insights

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/text"
)

const (
	maxNotes = 10
	// maxExcerpt is how much of a text is quoted, in characters.
	maxExcerpt = 400
	// The limit for each kind of note, so that no kind displaces the others.
	maxPinned, maxTopical, maxLatest = 3, 4, 3
)

// notes quotes the pinned notes, those about the topic, and the latest, each note once. A
// line is "day, kind: the note's own words".
func (r MeetingRows) notes(id, topic string, zone *time.Location) []Evidence {
	var own []Note
	for _, n := range r.Notes {
		if n.ConnectionID == id {
			own = append(own, n)
		}
	}
	slices.SortStableFunc(own, func(a, b Note) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	words := topicWords(topic)
	hits := map[string]int{}
	for _, n := range own {
		hits[n.ID] = matches(n.Body, words)
	}
	topical := slices.Clone(own)
	slices.SortStableFunc(topical, func(a, b Note) int { return cmp.Compare(hits[b.ID], hits[a.ID]) })

	var out []Evidence
	quoted := map[string]bool{}
	quote := func(notes []Note, most int, wanted func(Note) bool) {
		for _, n := range notes {
			if most == 0 || len(out) == maxNotes {
				return
			}
			if quoted[n.ID] || !wanted(n) {
				continue
			}
			quoted[n.ID] = true
			most--
			said := n.CreatedAt.In(zone).Format(time.DateOnly)
			if n.Pinned {
				said += ", pinned"
			}
			if hits[n.ID] > 0 {
				said += ", on the topic"
			}
			out = append(out, line(said+": "+excerpt(n.Body, words), n.ID))
		}
	}
	quote(own, maxPinned, func(n Note) bool { return n.Pinned })
	quote(topical, maxTopical, func(n Note) bool { return hits[n.ID] > 0 })
	quote(own, maxLatest, func(Note) bool { return true })
	return out
}

// topicWords returns the folded words to look for in a note. The shortest are left out
// when there are others.
func topicWords(topic string) []string {
	all := text.Words(topic)
	telling := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return utf8.RuneCountInString(w) < 3 })
	if len(telling) > 0 {
		all = telling
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// matches counts the words that are a prefix of a word in the text.
func matches(body string, words []string) int {
	if len(words) == 0 {
		return 0
	}
	n := 0
	parts := text.Words(body)
	for _, w := range words {
		if slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, w) }) {
			n++
		}
	}
	return n
}

// excerpt returns the text on one line: its beginning, or the part around the first word
// of the topic when that comes later.
func excerpt(body string, words []string) string {
	fields := strings.Fields(text.Clean(body))
	first := slices.IndexFunc(fields, func(f string) bool { return matches(f, words) > 0 })
	const before = 12 // words of context
	if first > before && utf8.RuneCountInString(strings.Join(fields[:first], " ")) > maxExcerpt/2 {
		return "…" + text.Truncate(strings.Join(fields[first-before:], " "), maxExcerpt)
	}
	return text.Truncate(strings.Join(fields, " "), maxExcerpt)
}
