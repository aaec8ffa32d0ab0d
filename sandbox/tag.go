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

// addTags adds the tags and puts up to four on each connection, mostly those of its line
// of work. Second records of planted pairs stay bare.
func (b *builder) addTags() {
	s := newStream("tags")
	ids := newIDs("tag")
	names := tagNames()
	byName := map[string]string{}
	for _, name := range names {
		tag := Tag{ID: ids.next(), Name: name}
		byName[name] = tag.ID
		b.data.Tags = append(b.data.Tags, tag)
	}
	for _, i := range b.originals() {
		p := b.people[i]
		chosen := sample(s, b.sectorOf(p).tags, s.between(0, 3))
		if extra := pick(s, names); s.chance(50) && !slices.Contains(chosen, extra) {
			chosen = append(chosen, extra)
		}
		for _, name := range chosen {
			b.data.ConnectionTags = append(b.data.ConnectionTags, ConnectionTag{ConnectionID: p.id, TagID: byName[name]})
		}
	}
}
