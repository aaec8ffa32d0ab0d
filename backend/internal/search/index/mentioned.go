package index

// Mentioned returns the ids of the people in whose notes and interactions all the words occur, in one
// text or spread over several. It returns nil and false if there are more than limit such people.
func (ix *Index) Mentioned(words Words, limit int) (ids []string, all bool) {
	ids = []string{}
	for _, v := range ix.state.Load().views {
		out := (&filter{}).excluded(v)
		for d := range v.seg.mentioned(words).all() {
			switch {
			case out.has(d):
			case len(ids) == limit:
				return nil, false
			default:
				ids = append(ids, v.seg.docs[d].doc.ID)
			}
		}
	}
	return ids, true
}

// mentioned returns the documents in whose notes and interactions all the words occur.
func (s *segment) mentioned(words Words) bitset {
	var common bitset
	for i := range words.tokens {
		token, found := &words.tokens[i], newBitset(s.len())
		for term := range s.words.beginning(token.folded) {
			for _, l := range term.lists {
				f := field(l.kind & fieldMask)
				if (f == fieldNote || f == fieldInteraction) && token.reaches(token.closenessTo(term), f) {
					found.setAll(l.docs)
				}
			}
		}
		if common == nil {
			common = found
		} else {
			common.and(found)
		}
	}
	return common
}
