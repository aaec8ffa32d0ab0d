package insights

import (
	"cmp"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Person is a connection as an answer shows it.
type Person struct {
	ID, Name string
	// Organization and Title are those of the current position.
	Organization, Title string
	LastInteractionAt   time.Time
	Strength            people.Strength `bun:"-"`
}

// Headline returns title and organisation in one line.
func (p Person) Headline() string {
	return people.Position{Organization: p.Organization, Title: p.Title}.Headline()
}

// Evidence is a line of an answer and the ids of the records it is based on.
type Evidence struct {
	Text    string
	Sources []string
}

// maxText and maxSources limit a line, in characters and ids.
const (
	maxText    = 590
	maxSources = 20
)

// line makes Evidence from one line of text, cut at the limits.
func line(said string, sources ...string) Evidence {
	var kept []string
	for _, s := range sources {
		if s != "" && len(kept) < maxSources {
			kept = append(kept, s)
		}
	}
	return Evidence{Text: text.Truncate(text.Line(said), maxText), Sources: kept}
}

// compareClose orders people by strength, then by last contact, then by name, then by id.
func compareClose(a, b *Person) int {
	if order := cmp.Or(cmp.Compare(b.Strength.Score, a.Strength.Score), b.LastInteractionAt.Compare(a.LastInteractionAt)); order != 0 {
		return order
	}
	return cmp.Or(cmp.Compare(text.Fold(a.Name), text.Fold(b.Name)), cmp.Compare(a.ID, b.ID))
}

// tieSentence describes what the named person is to "them".
func tieSentence(name, kind string) string {
	switch kind {
	case "colleague", "friend":
		return name + " is a " + kind + " of theirs"
	case "report":
		return name + " reports to them"
	case "introduced_by":
		return name + " introduced them to the member"
	case "introduced":
		return "they introduced " + name + " to the member"
	case "other":
		return name + " is related to them"
	}
	return name + " is their " + kind
}

// namesOf joins names for a sentence.
func namesOf(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}
