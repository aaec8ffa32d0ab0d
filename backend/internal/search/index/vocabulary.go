package index

import (
	"cmp"
	"slices"
	"sort"
)

// vocabulary holds the words of a segment.
type vocabulary struct {
	terms []term // sorted by their folded form
	near  []signature
}

// term is a word with one list of documents for each kind of place it occurs in.
type term struct {
	folded, typed string
	lists         []list
}

type list struct {
	kind kind
	docs []uint32 // ascending
}

// newVocabulary sorts the terms and takes them over.
func newVocabulary(terms []term) vocabulary {
	slices.SortFunc(terms, func(a, b term) int {
		return cmp.Or(cmp.Compare(a.folded, b.folded), cmp.Compare(a.typed, b.typed))
	})
	return vocabulary{terms: terms, near: signatures(terms)}
}

// from returns the first term whose folded form is not below word.
func (v *vocabulary) from(word string) int {
	return sort.Search(len(v.terms), func(i int) bool { return v.terms[i].folded >= word })
}

// Estimates of the memory, in bytes, of a document number, a list of them, a term
// without its text, and a string without its text.
const (
	numberBytes = 4
	listBytes   = 40
	termBytes   = 72
	stringBytes = 16
)

func (v *vocabulary) bytes() int64 {
	n := 0
	for i := range v.terms {
		t := &v.terms[i]
		n += termBytes + len(t.typed)
		if t.folded != t.typed {
			n += len(t.folded)
		}
		for _, l := range t.lists {
			n += listBytes + numberBytes*len(l.docs)
		}
	}
	return int64(n)
}
