package index

import (
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/text"
)

// filter is the part of a query that selects documents without scoring them.
type filter struct {
	contained    [valueKinds]string   // company, title, location: folded
	equal        [valueKinds][]string // country, tags, group: folded
	has, missing []presence
	metHow       []token
	overdue      *bool // whether overdue for a contact today, and not snoozed
	zone         *time.Location
	today        time.Time
	conditions   []func(*Document) bool // has conditions that need each document to be read
	archived     bool
	none         bool // no document can pass
	active       bool
}

func newFilter(q *Query) filter {
	f := filter{archived: q.Archived}
	f.contained[valueCompany] = text.Fold(q.Company)
	f.contained[valueTitle] = text.Fold(q.Title)
	f.contained[valueLocation] = text.Fold(q.Location)
	for _, tag := range q.Tags {
		f.equal[valueTag] = append(f.equal[valueTag], text.Fold(tag))
	}
	if q.Group != "" {
		f.equal[valueGroup] = []string{text.Fold(q.Group)}
	}
	if q.Country != "" {
		code := country.Named(q.Country)
		f.equal[valueCountry], f.none = []string{code}, code == ""
	}
	f.has, f.missing = f.presences(q.Has), f.presences(q.Missing)
	f.require(q.Starred, isStarred, true)
	f.require(q.NeverContacted, isContacted, false)
	if q.MetHow != "" {
		words := plan{}
		words.readWords(q.MetHow)
		f.metHow, f.none = words.tokens, f.none || len(words.tokens) == 0
	}
	if f.overdue = q.CadenceOverdue; f.overdue != nil {
		f.zone = civil.Zone(q.Zone)
		f.today = civil.Of(q.Now, f.zone)
	}
	f.conditions = q.conditions()
	f.active = f.none || f.overdue != nil || len(f.has)+len(f.missing)+len(f.metHow)+len(f.conditions) > 0
	for k := range valueKinds {
		f.active = f.active || f.contained[k] != "" || len(f.equal[k]) > 0
	}
	return f
}

// require adds a condition on a presence, unless asked is nil: if asked is equal to wanted, it must
// be there, otherwise it must be missing.
func (f *filter) require(asked *bool, p presence, wanted bool) {
	switch {
	case asked == nil:
	case *asked == wanted:
		f.has = append(f.has, p)
	default:
		f.missing = append(f.missing, p)
	}
}

func (f *filter) presences(names []string) []presence {
	var out []presence
	for _, name := range names {
		p, ok := presenceNames[strings.ToLower(name)]
		f.none = f.none || !ok
		out = append(out, p)
	}
	return out
}

// conditions returns the filters for which there are no lists of documents, as functions that check
// a document.
func (q *Query) conditions() []func(*Document) bool {
	var out []func(*Document) bool
	add := func(asked bool, holds func(*Document) bool) {
		if asked {
			out = append(out, holds)
		}
	}
	add(!q.LastContactAfter.IsZero(), func(d *Document) bool { return !d.LastInteractionAt.Before(q.LastContactAfter) })
	add(!q.LastContactBefore.IsZero(), func(d *Document) bool {
		return d.LastInteractionAt.Before(q.LastContactBefore)
	})
	add(!q.CreatedAfter.IsZero(), func(d *Document) bool { return !d.CreatedAt.Before(q.CreatedAfter) })
	add(q.MetOnAfter != "", func(d *Document) bool { return len(d.MetOn) > 0 && lastDay(d.MetOn) > lastDay(q.MetOnAfter) })
	add(q.MetOnBefore != "", func(d *Document) bool { return len(d.MetOn) > 0 && d.MetOn < q.MetOnBefore })
	add(q.BirthdayFrom > 0, func(d *Document) bool {
		on, known := d.Birthday.on()
		if q.BirthdayFrom <= q.BirthdayTo {
			return known && q.BirthdayFrom <= on && on <= q.BirthdayTo
		}
		return known && (on >= q.BirthdayFrom || on <= q.BirthdayTo)
	})
	return out
}

// lastDay returns a partial date in a form that compares like its last day.
func lastDay(date string) string { return date + "~" }

// excluded returns the documents that may not be returned: deleted ones, those that the
// filter rejects, and archived ones (or all others, in a query for archived ones). The
// result is shared and must not be changed.
func (f *filter) excluded(v *view) bitset {
	if !f.active && !f.archived && v.seg.archived == nil {
		return v.dead
	}
	out := newBitset(v.seg.len())
	for i := range out {
		if f.archived {
			out[i] = ^uint64(0)
		}
		if v.seg.archived != nil {
			out[i] ^= v.seg.archived[i]
		}
		if v.dead != nil {
			out[i] |= v.dead[i]
		}
	}
	if f.active {
		f.exclude(v.seg, out)
	}
	return out
}

// exclude adds the documents of a segment that the filter rejects. It checks conditions
// only for documents that pass everything else.
func (f *filter) exclude(s *segment, out bitset) {
	admitted := f.listed(s)
	for i := range out {
		out[i] |= ^admitted[i]
	}
	if len(f.conditions) == 0 {
		return
	}
	for i := range s.docs {
		if !out.has(i) && !f.holds(s.docs[i].doc) {
			out.set(uint32(i))
		}
	}
}

func (f *filter) holds(d *Document) bool {
	for _, condition := range f.conditions {
		if !condition(d) {
			return false
		}
	}
	return true
}

// listed returns the documents that pass the filters with lists of documents.
func (f *filter) listed(s *segment) bitset {
	all := newBitset(s.len())
	if f.none {
		return all
	}
	for i := range all {
		all[i] = ^uint64(0)
	}
	for k := range valueKinds {
		if f.contained[k] != "" {
			found := newBitset(s.len())
			for value, docs := range s.values[k] {
				if strings.Contains(value, f.contained[k]) {
					found.setAll(docs)
				}
			}
			all.and(found)
		}
		for _, value := range f.equal[k] {
			found := newBitset(s.len())
			found.setAll(s.values[k][value])
			all.and(found)
		}
	}
	for _, p := range f.has {
		all.and(s.has[p])
	}
	for _, p := range f.missing {
		for i := range all {
			all[i] &^= s.has[p][i]
		}
	}
	for _, t := range f.metHow {
		all.and(s.withWord(fieldMetHow, &t))
	}
	if f.overdue != nil {
		late := s.overdue(f.today, f.zone)
		for i := range all {
			if *f.overdue {
				all[i] &= late[i]
			} else {
				all[i] &^= late[i]
			}
		}
	}
	return all
}

// withWord returns the documents that have a word, or one that begins with it, in a field.
func (s *segment) withWord(f field, t *token) bitset {
	found := newBitset(s.len())
	for i := s.words.from(t.folded); i < len(s.words.terms) && strings.HasPrefix(s.words.terms[i].folded, t.folded); i++ {
		for _, l := range s.words.terms[i].lists {
			if field(l.kind&fieldMask) == f {
				found.setAll(l.docs)
			}
		}
	}
	return found
}
