package index

import (
	"math/bits"
	"slices"
)

const (
	// mergeFan segments of one size class are rebuilt into one, so a document is
	// rebuilt once per class and there are fewer than mergeFan segments of each.
	mergeFan = 4
	// classBits is the width of a size class: sizes within a factor of four.
	classBits = 2
)

// merge does one step of compaction, and reports whether there was one: it drops segments without
// valid documents, rebuilds segments whose documents are mostly dead, or joins segments of similar
// size.
func (c *change) merge() bool {
	c.views = slices.DeleteFunc(c.views, func(v *view) bool { return v.live == 0 })
	var classes [64/classBits + 1][]*view
	for _, v := range c.views {
		if 2*v.live < v.seg.len() {
			c.rebuild(v)
			return true
		}
		class := bits.Len(uint(v.live)) / classBits
		classes[class] = append(classes[class], v)
		if len(classes[class]) == mergeFan {
			c.rebuild(classes[class]...)
			return true
		}
	}
	return false
}

// rebuild replaces the segments by one with their valid documents.
func (c *change) rebuild(views ...*view) {
	var docs []*Document
	for _, v := range views {
		for i := range v.seg.docs {
			if !v.dead.has(i) {
				docs = append(docs, v.seg.docs[i].doc)
			}
		}
	}
	c.views = slices.DeleteFunc(c.views, func(v *view) bool { return slices.Contains(views, v) })
	c.add(docs)
}
