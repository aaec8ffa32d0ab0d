package search

// bitset is a set of document numbers of one segment.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) set(i int) { b[i>>6] |= 1 << (i & 63) }

func (b bitset) setAll(docs []uint32) {
	for _, d := range docs {
		b[d>>6] |= 1 << (d & 63)
	}
}

// has is false for every i of a nil set.
func (b bitset) has(i int) bool { return b != nil && b[i>>6]&(1<<(i&63)) != 0 }

func (b bitset) and(other bitset) {
	for i := range b {
		b[i] &= other[i]
	}
}
