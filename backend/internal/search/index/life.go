package index

import (
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Date is a date in a person's life. Unknown parts are 0.
type Date struct {
	Year       int16
	Month, Day uint8
}

// on returns the day of the year as month * 100 + day; false when it is not known.
func (d Date) on() (int, bool) { return 100*int(d.Month) + int(d.Day), d.Month > 0 && d.Day > 0 }

// first and last return the first and the last day of a date with a year, as numbers that compare like days.
func (d Date) first() int { return 10_000*int(d.Year) + 100*int(d.Month) + int(d.Day) }

func (d Date) last() int {
	switch {
	case d.Month == 0:
		return 10_000*int(d.Year) + 9999
	case d.Day == 0:
		return d.first() + 99
	}
	return d.first()
}

// DateRange is the time from the first day of From to the last day of To. A zero date is no bound; without both, the range is unset.
type DateRange struct{ From, To Date }

func (r DateRange) set() bool { return r != DateRange{} }

// Has reports whether a day of the date is in the range; the year must be known.
func (r DateRange) Has(d Date) bool {
	return d.Year > 0 && d.last() >= r.From.first() && (r.To == Date{} || d.first() <= r.To.last())
}

// kinds are the kinds of interactions, in the order of the bits of Kinds.
var kinds = []string{"meeting", "call", "email", "message", "event", "intro", "other"}

// Kinds is a set of kinds of interactions.
type Kinds uint8

// KindsOf returns the set of kinds; unknown ones are left out.
func KindsOf(names ...string) Kinds {
	var set Kinds
	for _, name := range names {
		if i := slices.Index(kinds, name); i >= 0 {
			set |= 1 << i
		}
	}
	return set
}

// Introducer is a person, or are several of the same name, who introduced others.
type Introducer struct {
	// Asked is what the caller called them.
	Asked string
	// Introduced are the ids of those with a relationship that says so.
	Introduced map[string]bool `json:"-"`
	// Name is folded, and finds those whose introducer is not on file; empty for none.
	Name string
}

func (i *Introducer) holds(d *Document) bool {
	return i.Introduced[d.ID] || i.Name != "" && slices.ContainsFunc(d.IntroducedBy, func(name string) bool { return strings.Contains(text.Fold(name), i.Name) })
}
