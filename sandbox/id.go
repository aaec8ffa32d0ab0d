package sandbox

// crockford is the alphabet of ULID text: base 32 without I, L, O and U.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// idEpoch is the millisecond that the time half of every id counts from: 2025-01-01 UTC.
// It is fixed, because ids must not move with the day.
const idEpoch = 1_735_689_600_000

// idSource generates the ids of one kind, in ascending order.
type idSource struct {
	prefix  string
	rng     rng
	ordinal uint64
}

// newIDs returns the source for a three-letter prefix such as "con".
func newIDs(prefix string) *idSource {
	return &idSource{prefix: prefix + "_", rng: newRNG("id " + prefix)}
}

// next returns the prefix and a ULID: 48 bits of time, which here is the epoch plus the
// ordinal, and 80 bits from the rng.
func (s *idSource) next() string {
	high := (idEpoch+s.ordinal)<<16 | uint64(s.rng.Uint32()&0xffff)
	low := s.rng.Uint64()
	s.ordinal++

	var text [26]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = crockford[low&31]
		low = low>>5 | high<<59
		high >>= 5
	}
	return s.prefix + string(text[:])
}
