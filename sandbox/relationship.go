package sandbox

// kinshipSeed says how many relationships of a type to invent.
type kinshipSeed struct {
	kind       string
	count      int
	colleagues bool // both work at the same organization
}

// addRelationships adds the introductions and some ties among colleagues, families and
// friends. No two people have more than one tie.
func (b *builder) addRelationships() {
	s := newStream("relationships")
	ids := newIDs("rel")
	tied := map[[2]int]bool{}
	tie := func(from, to int, kind string) {
		tied[[2]int{from, to}], tied[[2]int{to, from}] = true, true
		b.data.Relationships = append(b.data.Relationships, Relationship{
			ID: ids.next(), FromID: b.people[from].id, ToID: b.people[to].id, Type: kind,
		})
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
			from, to := pick(s, originals), pick(s, originals)
			strangers := seed.colleagues && (b.people[from].organization < 0 ||
				b.people[from].organization != b.people[to].organization)
			if from == to || strangers || tied[[2]int{from, to}] {
				continue
			}
			tie(from, to, seed.kind)
			made++
		}
	}
}
