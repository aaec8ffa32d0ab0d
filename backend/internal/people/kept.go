package people

import (
	"slices"
	"strconv"
)

// The bounds on what is kept of cards for a person.
const (
	// MaxKept is how many properties are kept.
	MaxKept = 500
	// MaxKeptBytes is how long they are together, names included.
	MaxKeptBytes = 128 << 10
)

// Kept is a property of a card that Kith does not understand. It is no part of searches and pages, and the export in its
// format has it as it came.
type Kept struct {
	// Format is the format of the card: vcard or jscontact.
	Format string `json:"format"`
	// Name is the property's name in capital letters, or the member's.
	Name string `json:"name"`
	// Text is the content line without its folds, or the member's value in JSON.
	Text string `json:"text"`
}

// KeepsMore reports whether one more fits beside what is kept already.
func KeepsMore(held []Kept, k Kept) bool {
	bytes := len(k.Name) + len(k.Text)
	for _, h := range held {
		bytes += len(h.Name) + len(h.Text)
	}
	return len(held) < MaxKept && bytes <= MaxKeptBytes
}

// absorbKept keeps a property of a merged person. It returns false if there is no room for it.
func (c *Connection) absorbKept(k Kept) bool {
	if slices.Contains(c.Kept, k) {
		return true
	}
	if !KeepsMore(c.Kept, k) {
		return false
	}
	c.Kept = append(c.Kept, k)
	return true
}

// kept adds the properties of a card. Those of a name that the record has in the format already stay, unless they may be
// overwritten.
func (b *blend) kept(from []Kept) {
	of := func(k Kept) func(Kept) bool {
		return func(h Kept) bool { return h.Format == k.Format && h.Name == k.Name }
	}
	before := slices.Clone(b.Kept)
	for _, k := range from {
		switch held := slices.ContainsFunc(before, of(k)); {
		case slices.Contains(before, k):
		case held && !b.overwrite:
			at := slices.IndexFunc(before, of(k))
			b.leave("property "+k.Name, before[at].Text, k.Text)
		default:
			if held && !slices.ContainsFunc(from, func(other Kept) bool { return slices.Contains(before, other) && of(k)(other) }) {
				b.Kept = slices.DeleteFunc(b.Kept, func(h Kept) bool { return of(k)(h) && !slices.Contains(from, h) })
			}
			if !b.absorbKept(k) {
				b.unused = append(b.unused, Unused{"number of kept properties", strconv.Itoa(len(b.Kept)), k.Name})
			}
			b.changed = true
		}
	}
}
