package index

import (
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/text"
)

// filter is the part of a query that admits documents without scoring them.
type filter struct {
	contained     [valueKinds]string // company, title, location: folded
	equal         [valueKinds]string // tag, group: folded
	after, before time.Time
	has           []presence
	none          bool // asks for an unknown field
	active        bool
}

func newFilter(q *Query) filter {
	f := filter{after: q.LastContactAfter, before: q.LastContactBefore}
	f.contained[valueCompany] = text.Fold(q.Company)
	f.contained[valueTitle] = text.Fold(q.Title)
	f.contained[valueLocation] = text.Fold(q.Location)
	f.equal[valueTag] = text.Fold(q.Tag)
	f.equal[valueGroup] = text.Fold(q.Group)
	for _, name := range q.Has {
		p, ok := presenceNames[strings.ToLower(name)]
		f.none = f.none || !ok
		f.has = append(f.has, p)
	}
	f.active = len(f.has) > 0 || !f.after.IsZero() || !f.before.IsZero()
	for k := range valueKinds {
		f.active = f.active || f.contained[k] != "" || f.equal[k] != ""
	}
	return f
}

// excluded returns the documents that may not be returned: the dead and those
// that the filter turns away. The result is shared and must not be written.
func (f *filter) excluded(v *view) bitset {
	if !f.active {
		return v.dead
	}
	admitted := f.admitted(v.seg)
	out := newBitset(v.seg.len())
	for i := range out {
		out[i] = ^admitted[i]
		if v.dead != nil {
			out[i] |= v.dead[i]
		}
	}
	return out
}

func (f *filter) admitted(s *segment) bitset {
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
		if f.equal[k] != "" {
			found := newBitset(s.len())
			found.setAll(s.values[k][f.equal[k]])
			all.and(found)
		}
	}
	for _, p := range f.has {
		all.and(s.has[p])
	}
	if !f.after.IsZero() || !f.before.IsZero() {
		all.and(f.contacted(s))
	}
	return all
}

func (f *filter) contacted(s *segment) bitset {
	found := newBitset(s.len())
	for i := range s.docs {
		at := s.docs[i].doc.LastInteractionAt
		if at.IsZero() || at.Before(f.after) || !f.before.IsZero() && !at.Before(f.before) {
			continue
		}
		found.set(uint32(i))
	}
	return found
}
