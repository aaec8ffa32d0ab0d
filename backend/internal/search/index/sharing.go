package index

import (
	"cmp"
	"slices"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Property is a property whose whole value people can share.
type Property uint8

// The properties.
const (
	ByOrganization = Property(valueCompany) // past ones too
	ByTitle        = Property(valueTitle)
	ByLocation     = Property(valueLocation)
	ByTag          = Property(valueTag)
	ByGroup        = Property(valueGroup)
)

// Sharing returns the documents with a value of a property, ignoring case and accents. It returns
// at most the given number of them: starred ones first, then those contacted last.
func (l *Lookup) Sharing(p Property, value string, most int) []*Document {
	return l.sharing(p, text.Fold(value), most)
}

func (l *Lookup) sharing(p Property, folded string, most int) []*Document {
	var found []ranked
	parts := 0
	for i, v := range l.views {
		n := len(found)
		for _, d := range v.seg.values[p][folded] {
			if l.out[i].has(int(d)) {
				continue
			}
			if found = append(found, v.seg.docs[d]); len(found)-n == most {
				break
			}
		}
		if len(found) > n {
			parts++
		}
	}
	if parts > 1 { // each part is in order
		slices.SortFunc(found, compareRank)
	}
	out := make([]*Document, min(most, len(found)))
	for i := range out {
		out[i] = found[i].doc
	}
	return out
}

// Circles returns the documents of each value of a property that two or more of them share, the
// rarest value first. For each value it returns most documents at most, like Sharing. It stops
// after the value with which the result has rows documents or more.
func (l *Lookup) Circles(p Property, most, rows int) [][]*Document {
	values := l.shared(p)
	values = values[:smallest(values, most, rows)]
	slices.SortFunc(values, func(a, b sharedValue) int {
		return cmp.Or(cmp.Compare(a.docs, b.docs), cmp.Compare(a.value, b.value))
	})
	var out [][]*Document
	for _, v := range values {
		if rows <= 0 {
			break
		}
		out = append(out, l.sharing(p, v.value, most))
		rows -= min(most, v.docs)
	}
	return out
}

// sharedValue is a value and how many documents have it.
type sharedValue struct {
	value string
	docs  int
}

// shared returns the values that two or more documents have, in any order.
func (l *Lookup) shared(p Property) []sharedValue {
	var out []sharedValue
	for i, v := range l.views {
		for value, docs := range v.seg.values[p] {
			if l.earlier(i, p, value) {
				continue
			}
			n := l.live(i, docs)
			for later := i + 1; later < len(l.views); later++ {
				n += l.live(later, l.views[later].seg.values[p][value])
			}
			if n > 1 {
				out = append(out, sharedValue{value, n})
			}
		}
	}
	return out
}

// earlier reports whether a part before the given one has a value.
func (l *Lookup) earlier(part int, p Property, value string) bool {
	for _, v := range l.views[:part] {
		if _, ok := v.seg.values[p][value]; ok {
			return true
		}
	}
	return false
}

// live counts those of the documents of a part that are not filtered out.
func (l *Lookup) live(part int, docs []uint32) int {
	if l.out[part] == nil {
		return len(docs)
	}
	n := 0
	for _, d := range docs {
		if !l.out[part].has(int(d)) {
			n++
		}
	}
	return n
}

// smallest moves the rarest values to the front and returns how many it moved: as many as have the
// wanted number of rows, and all values as rare as the last of them.
func smallest(values []sharedValue, most, rows int) int {
	bySize := map[int]int{}
	for _, v := range values {
		bySize[v.docs]++
	}
	sizes := make([]int, 0, len(bySize))
	for size := range bySize {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	last := 0
	for _, size := range sizes {
		if rows <= 0 {
			break
		}
		last, rows = size, rows-bySize[size]*min(size, most)
	}
	n := 0
	for i := range values {
		if values[i].docs <= last {
			values[n], values[i] = values[i], values[n]
			n++
		}
	}
	return n
}
