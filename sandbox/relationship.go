package sandbox

// kinshipSeed says how many relationships of a type to generate.
type kinshipSeed struct {
	kind       string
	count      int
	colleagues bool // both work at the same organization
}

// addRelationships adds the introductions and some relationships among colleagues, families and
// friends. Two people have one relationship at most.
func (b *builder) addRelationships() {
	r := newRNG("relationships")
	ids := newIDs("rel")
	tied := map[[2]int]bool{}
	tie := func(from, to int, kind string) {
		tied[[2]int{from, to}], tied[[2]int{to, from}] = true, true
		c := &b.data.Connections[from]
		c.Relationships = append(c.Relationships, Relationship{ID: ids.next(), ConnectionID: b.plans[to].id, Type: kind})
	}
	for _, in := range b.introductions {
		tie(in.newcomer, in.introducer, "introduced_by")
	}
	originals := b.originals()
	for _, seed := range []kinshipSeed{
		{"colleague", 12, true}, {"manager", 7, true}, {"friend", 8, false},
		{"spouse", 3, false}, {"sibling", 2, false}, {"parent", 1, false},
	} {
		for made := 0; made < seed.count; {
			from, to := pick(r, originals), pick(r, originals)
			unrelated := seed.colleagues && (b.plans[from].organization < 0 ||
				b.plans[from].organization != b.plans[to].organization)
			if from == to || unrelated || tied[[2]int{from, to}] {
				continue
			}
			tie(from, to, seed.kind)
			made++
		}
	}
}
