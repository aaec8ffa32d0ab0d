package sandbox

import "slices"

// tagNames are the 25 tags; sectors name some of them.
func tagNames() []string {
	return []string{
		"ai", "alumni", "board", "book-club", "climate", "design", "education", "fintech", "food", "founder",
		"freelance", "hardware", "health", "hiring", "investor", "local", "mentor", "open-source", "policy", "press",
		"runner", "speaker", "supplier", "volunteer", "warm-intro",
	}
}

// addTags puts up to four tags on each connection, mostly those of its line of work. Second records
// of planted pairs have no tags.
func (b *builder) addTags() {
	r := newRNG("tags")
	names := tagNames()
	for _, i := range b.originals() {
		p := b.plans[i]
		chosen := sample(r, b.sectorOf(p).tags, r.between(0, 3))
		if extra := pick(r, names); r.chance(50) && !slices.Contains(chosen, extra) {
			chosen = append(chosen, extra)
		}
		b.data.Connections[i].Tags = chosen
	}
}
