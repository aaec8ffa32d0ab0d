package search

import (
	"slices"
	"strings"
	"unsafe"
)

// vocabulary holds the words of a segment, sorted by their folded form, each
// with one list of document numbers per kind of place it occurs in.
type vocabulary struct {
	terms []term // and one more, which ends the lists of the last
	lists []list // and one more, which ends the posts of the last
	posts []uint32
	near  []signature
}

type term struct {
	folded, typed string
	lists         uint32 // the first of its lists
}

type list struct {
	start uint32 // the first of its posts; they ascend
	kind  kind
}

func (v *vocabulary) len() int { return len(v.terms) - 1 }

// each calls do with every list of term i.
func (v *vocabulary) each(i int, do func(k kind, docs []uint32)) {
	for j := v.terms[i].lists; j < v.terms[i+1].lists; j++ {
		do(v.lists[j].kind, v.posts[v.lists[j].start:v.lists[j+1].start])
	}
}

// from returns the first term whose folded form is not below word.
func (v *vocabulary) from(word string) int {
	low, high := 0, v.len()
	for low < high {
		mid := int(uint(low+high) >> 1)
		if v.terms[mid].folded < word {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// newVocabulary takes the terms in order of discovery and the posts as packed
// by post, and sorts both.
func newVocabulary(terms []term, packed []uint64) vocabulary {
	order := make([]uint32, len(terms))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		if c := strings.Compare(terms[a].folded, terms[b].folded); c != 0 {
			return c
		}
		return strings.Compare(terms[a].typed, terms[b].typed)
	})
	v := vocabulary{terms: make([]term, len(terms), len(terms)+1)}
	place := make([]uint64, len(terms))
	for to, from := range order {
		v.terms[to] = terms[from]
		place[from] = uint64(to)
	}
	for i, p := range packed {
		packed[i] = place[p>>termShift]<<termShift | p&(1<<termShift-1)
	}
	slices.Sort(packed)
	v.fill(slices.Compact(packed))
	v.near = v.signatures()
	return v
}

// A packed post is the term in 27 bits, the kind in 5 and the document in 32.
const (
	termShift = 37
	kindShift = 32
)

func pack(term uint32, k kind, doc uint32) uint64 {
	return uint64(term)<<termShift | uint64(k)<<kindShift | uint64(doc)
}

// fill lays out lists and posts from sorted packed posts without repetitions.
func (v *vocabulary) fill(packed []uint64) {
	v.posts = make([]uint32, len(packed))
	next, last := 0, ^uint64(0)
	for i, p := range packed {
		v.posts[i] = uint32(p)
		if p>>kindShift == last {
			continue
		}
		last = p >> kindShift
		for ; next <= int(p>>termShift); next++ {
			v.terms[next].lists = uint32(len(v.lists))
		}
		v.lists = append(v.lists, list{start: uint32(i), kind: kind(last & (1<<(termShift-kindShift) - 1))})
	}
	v.terms = append(v.terms, term{lists: uint32(len(v.lists))})
	v.lists = slices.Clip(append(v.lists, list{start: uint32(len(packed))}))
}

func (v *vocabulary) bytes() int64 {
	n := len(v.terms)*int(unsafe.Sizeof(term{})) + len(v.lists)*int(unsafe.Sizeof(list{}))
	n += 4*len(v.posts) + len(v.near)*int(unsafe.Sizeof(signature{}))
	for i := range v.terms {
		t := &v.terms[i]
		n += len(t.typed)
		if unsafe.StringData(t.folded) != unsafe.StringData(t.typed) {
			n += len(t.folded)
		}
	}
	return int64(n)
}
