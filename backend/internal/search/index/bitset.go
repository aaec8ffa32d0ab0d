package index

import (
	"iter"
	"math/bits"
)

// bitset is a set of document numbers of one segment. The nil set is empty.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) set(i uint32) { b[i/64] |= 1 << (i % 64) }

func (b bitset) setAll(docs []uint32) {
	for _, d := range docs {
		b.set(d)
	}
}

func (b bitset) has(i int) bool { return b != nil && b[i/64]&(1<<(i%64)) != 0 }

func (b bitset) and(other bitset) {
	for i := range b {
		b[i] &= other[i]
	}
}

// all iterates over the members in ascending order.
func (b bitset) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// or returns the union; it may be b itself.
func (b bitset) or(other bitset) bitset {
	for i := range other {
		b[i] |= other[i]
	}
	return b
}

// count returns how many members there are.
func (b bitset) count() int {
	n := 0
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}
