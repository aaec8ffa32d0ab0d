package search

// scratch is memory that searches hand on to each other.
type scratch struct {
	parts []part
	found []found
	block []uint8
	used  int
}

// open appends a part, with the buffers that an earlier search left behind.
func (s *scratch) open(v *view, out bitset) {
	if n := len(s.parts); n < cap(s.parts) {
		s.parts = s.parts[:n+1]
	} else {
		s.parts = append(s.parts, part{})
	}
	p := &s.parts[len(s.parts)-1]
	p.view, p.out = v, out
}

// take returns n zeroed bytes whose capacity is padded to whole words of zeros.
func (s *scratch) take(n int) []uint8 {
	padded := (n + 7) &^ 7
	if len(s.block)-s.used < padded {
		// What was taken before keeps the old block alive.
		s.block = make([]uint8, max(2*len(s.block), 4*padded, 1<<12))
		s.used = 0
	}
	out := s.block[s.used : s.used+padded : s.used+padded]
	s.used += padded
	clear(out)
	return out[:n]
}

// rewind makes all that was taken free again.
func (s *scratch) rewind() { s.used = 0 }

// maxIdleKeys bounds the buffers of hits that an idle scratch keeps.
const maxIdleKeys = 1 << 12

// release forgets the segments, so that an idle scratch holds no documents.
func (s *scratch) release() {
	for i := range s.parts {
		p := &s.parts[i]
		p.view, p.out, p.domain = nil, nil, nil
		clear(p.tables)
		p.tables = p.tables[:0]
		if p.best.reset(0); cap(p.best.keys) > maxIdleKeys {
			p.best.keys = nil
		}
	}
	if cap(s.found) > maxIdleKeys {
		s.found = nil
	}
	s.parts = s.parts[:0]
	s.rewind()
}
