package rpc

// slim removes empty texts and empty lists from the nested objects of a JSON object, in
// place: their absence tells an agent the same. The members of the object itself stay.
// data must be JSON as protojson writes it.
func slim(data []byte) []byte {
	s := slimmer{data: data, out: data[:0]}
	s.value(0)
	return append(s.out, s.data[s.at:]...)
}

// slimmer copies data to out, which is the beginning of the same bytes.
type slimmer struct {
	data, out []byte
	at        int
}

func (s *slimmer) value(depth int) {
	switch s.next() {
	case '{':
		s.object(depth)
	case '[':
		s.list(depth)
	case '"':
		s.text()
	default:
		for s.at < len(s.data) && s.data[s.at] != ',' && s.data[s.at] != '}' && s.data[s.at] != ']' {
			s.copy()
		}
	}
}

// next skips white space and returns the byte after it, 0 at the end.
func (s *slimmer) next() byte {
	for s.at < len(s.data) && s.data[s.at] == ' ' {
		s.at++
	}
	if s.at == len(s.data) {
		return 0
	}
	return s.data[s.at]
}

func (s *slimmer) copy() {
	s.out = append(s.out, s.data[s.at])
	s.at++
}

// text copies a text as a whole.
func (s *slimmer) text() {
	end := s.at + 1
	for s.data[end] != '"' {
		if s.data[end] == '\\' {
			end++
		}
		end++
	}
	s.out = append(s.out, s.data[s.at:end+1]...)
	s.at = end + 1
}

func (s *slimmer) list(depth int) {
	s.copy()
	for s.next() != ']' && s.at < len(s.data) {
		s.value(depth + 1)
		if s.next() == ',' {
			s.copy()
		}
	}
	s.copy()
}

// object copies the members that are kept, with one comma between them.
func (s *slimmer) object(depth int) {
	s.copy()
	first := len(s.out)
	for s.next() != '}' && s.at < len(s.data) {
		member := len(s.out)
		if member > first {
			s.out = append(s.out, ',')
		}
		s.text() // the name
		s.next()
		s.copy() // the colon
		s.next()
		value := len(s.out)
		s.value(depth + 1)
		if v := string(s.out[value:]); depth > 0 && (v == `""` || v == "[]") {
			s.out = s.out[:member]
		}
		if s.next() == ',' {
			s.at++
		}
	}
	s.copy()
}
