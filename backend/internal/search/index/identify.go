package index

// identified looks up the whole query as an e-mail address, a phone number or a URL. If it finds
// documents, they are the whole answer, because the query identifies them.
func (r *run) identified() bool {
	h := &r.plan.handles
	if h.email == "" && h.phone == "" && h.url == "" {
		return false
	}
	for i := range r.parts {
		p := &r.parts[i]
		p.best = best{k: maxWindow, floor: -1, least: r.plan.minScore}
		seen := map[uint32]bool{}
		values := p.view.seg.values
		p.identify(values[valueEmail][h.email], seen, func(*Document) int { return scoreEmail })
		if h.phone != "" {
			p.identify(values[valuePhone][phoneKey(h.phone)], seen, h.phoneScore)
		}
		p.identify(values[valueURL][h.url], seen, func(*Document) int { return scoreURL })
	}
	return r.total() > 0
}

// identify offers each of docs once, with its score; 0 is not a match.
func (p *part) identify(docs []uint32, seen map[uint32]bool, score func(*Document) int) {
	for _, d := range docs {
		if seen[d] || p.out.has(int(d)) {
			continue
		}
		if s := score(p.view.seg.docs[d].doc); s > 0 {
			seen[d] = true
			p.best.offer(s, int(d), p.view.seg.docs[d].sum)
		}
	}
}

// phoneScore scores an equal number highest, then one that differs only in the country code, then
// one with the same last digits.
func (h *handles) phoneScore(d *Document) int {
	score := 0
	for _, raw := range d.Phones {
		switch digits := normalizePhone(raw); {
		case digits == h.phone:
			return scorePhone
		case samePhone(digits, h.phone):
			score = scorePhoneTail
		}
	}
	return score
}

// identifiedField returns the field in which a hit with that score was found.
func identifiedField(score int) field {
	switch score {
	case scoreEmail:
		return fieldEmail
	case scorePhone, scorePhoneTail:
		return fieldPhone
	}
	return fieldURL
}
