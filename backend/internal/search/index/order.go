package index

import (
	"cmp"
	"slices"
)

// sortable is a document with its value for the order of a query.
type sortable struct {
	ranked

	value float64
	known bool // whether it has a value
}

// sortable returns a document with its value for the order of the query. Smaller values come first.
func (p *plan) sortable(r ranked) sortable {
	s, d := sortable{ranked: r}, r.doc
	switch p.sort {
	case SortLastContact:
		s.value, s.known = -float64(d.LastInteractionAt.UnixMicro()), !d.LastInteractionAt.IsZero()
	case SortCreated:
		s.value, s.known = -float64(d.CreatedAt.UnixMicro()), !d.CreatedAt.IsZero()
	case SortStrength:
		s.value, s.known = -d.Ties, d.Ties > 0
	case SortNextDue:
		due, known := d.Cadence().NextDue(p.zone)
		s.value, s.known = float64(due.Unix()), known
	}
	return s
}

// compare is the order of two documents by the query's sort. Documents without a value come last in
// both directions; equals are in the order of their names.
func (p *plan) compare(a, b *sortable) int {
	switch {
	case p.byRelevance():
		return compareRank(a.ranked, b.ranked)
	case p.sort == SortName && p.reverse:
		return -compareName(a.ranked, b.ranked)
	case a.known != b.known && a.known:
		return -1
	case a.known != b.known:
		return 1
	case a.value != b.value && p.reverse:
		return cmp.Compare(b.value, a.value)
	case a.value != b.value:
		return cmp.Compare(a.value, b.value)
	default:
		return compareName(a.ranked, b.ranked)
	}
}

// order is the documents of a segment in one order.
type order struct {
	sort, zone string // zone is empty unless the order depends on it
	reverse    bool
	docs       []uint32
}

// ordered returns the documents in the order of the query. Orders are computed on first use; one of
// each sort and direction is kept.
func (s *segment) ordered(p *plan) []uint32 {
	wanted := order{sort: p.sort, reverse: p.reverse}
	if p.byRelevance() {
		wanted = order{}
	}
	if p.sort == SortNextDue {
		wanted.zone = p.zone.String()
	}
	s.ordering.Lock()
	defer s.ordering.Unlock()
	for i, o := range s.orders {
		if o.sort == wanted.sort && o.reverse == wanted.reverse {
			if o.zone != wanted.zone {
				s.orders[i].zone, s.orders[i].docs = wanted.zone, s.sorted(p)
			}
			return s.orders[i].docs
		}
	}
	wanted.docs = s.sorted(p)
	s.orders = append(s.orders, wanted)
	return wanted.docs
}

func (s *segment) sorted(p *plan) []uint32 {
	out := make([]uint32, len(s.docs))
	for i := range out {
		out[i] = uint32(i)
	}
	if p.byRelevance() {
		return out // the order of the numbers
	}
	docs := make([]sortable, len(s.docs))
	for i := range docs {
		docs[i] = p.sortable(s.docs[i])
	}
	slices.SortFunc(out, func(a, b uint32) int { return p.compare(&docs[a], &docs[b]) })
	return out
}
