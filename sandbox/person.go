package sandbox

import "slices"

// person is the plan of one connection. Days count back from the day of the dataset.
type person struct {
	id           string
	name         name
	nickname     string
	home         place  // zero when unknown
	organization int    // ordinal of builder.organizations, -1 when there is none
	title        string // at that organization
	source       string
	double       bool // the second record of a planted pair

	cadence  int // own cadence in days, 0 for none
	snoozed  int // days ahead until which the cadence is snoozed, 0 for not
	lastSeen int // days since the latest interaction, 0 for never
	met      int // days since the first meeting, at least 30 more than lastSeen
	metHow   string
}

// short is how a text names the person.
func (p person) short() string {
	if p.nickname != "" {
		return p.nickname
	}
	if p.name.given != "" {
		return p.name.given
	}
	return p.name.full
}

// freelancers is how many of the cast have no current organization.
const freelancers = 12

// castPeople decides who is in the network: 6 public members, the 12 planted pairs and
// 170 others whose names are drawn from the cultures. The order is shuffled.
func (b *builder) castPeople() {
	s := newStream("people")
	var people []person
	for _, seed := range memberSeeds() {
		if seed.known {
			home := place{city: seed.location} // the table has city and country in one
			p := b.newPerson(s, entry{seed.name(), home, seed.organization})
			p.source, p.title = "directory", seed.title
			people = append(people, p)
		}
	}
	for i, e := range drawEntries(s) {
		if i >= freelancers {
			e.organization = b.employer(s, i-freelancers)
		}
		people = append(people, b.newPerson(s, e))
	}
	for _, seed := range twinSeeds() {
		first, second := b.newPerson(s, seed.first), b.newPerson(s, seed.second)
		second.double = true
		if seed.shares != sharesNameOnly {
			second.nickname, second.source = "", "import"
			second.title = first.title
		}
		b.twins = append(b.twins, twinPair{first: len(people), second: len(people) + 1, shares: seed.shares})
		people = append(people, first, second)
	}
	b.shuffle(s, people)
}

// shuffle puts the people into their final order, gives them ids, and follows the twins.
func (b *builder) shuffle(s stream, people []person) {
	ids := newIDs("con")
	seats := s.Perm(len(people))
	b.people = make([]person, len(people))
	for i, p := range people {
		b.people[seats[i]] = p
	}
	for i := range b.people {
		b.people[i].id = ids.next()
	}
	for i, pair := range b.twins {
		b.twins[i].first, b.twins[i].second = seats[pair.first], seats[pair.second]
	}
}

// newPerson gives an entry what it needs to be a person.
func (b *builder) newPerson(s stream, e entry) person {
	p := person{
		name:         e.name,
		nickname:     nicknames()[e.name.given],
		home:         e.home,
		organization: b.organizationNamed(e.organization),
		source:       pick(s, []string{"import", "import", "import", "manual", "manual", "agent"}),
	}
	if p.organization >= 0 {
		p.title = pick(s, b.sectors[b.organizations[p.organization].sector].titles)
	}
	return p
}

// employer names the organization of the n-th employed person: first each in turn, so
// that none stays empty, then more often those at the head of the table.
func (b *builder) employer(s stream, n int) string {
	if n < len(b.organizations) {
		return b.organizations[n].name
	}
	skewed := s.Float64() * s.Float64()
	return b.organizations[int(skewed*float64(len(b.organizations)))].name
}

// drawEntries draws each culture's quota of people with different names, then mixes them.
func drawEntries(s stream) []entry {
	var entries []entry
	taken := map[string]bool{}
	for _, c := range slices.Concat(latinCultures(), scriptCultures()) {
		given := sample(s, c.given, len(c.given))
		for drawn := 0; drawn < c.quota; {
			n := c.newName(given[drawn%len(given)], pick(s, c.family))
			key := n.latinGiven + "." + n.latinFamily
			if taken[key] {
				continue
			}
			taken[key] = true
			entries = append(entries, entry{name: n, home: pick(s, c.places)})
			drawn++
		}
	}
	s.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	return entries
}

// sectorOf returns the person's line of work; the zero sector when they have none.
func (b *builder) sectorOf(p person) sector {
	if p.organization < 0 {
		return sector{}
	}
	return b.sectors[b.organizations[p.organization].sector]
}

// employerOf names the person's organization in a text.
func (b *builder) employerOf(p person) string {
	if p.organization < 0 {
		return "their own practice"
	}
	return b.organizations[p.organization].name
}

// originals returns the ordinals of everyone but the second records of planted pairs.
func (b *builder) originals() []int {
	var ordinals []int
	for i, p := range b.people {
		if !p.double {
			ordinals = append(ordinals, i)
		}
	}
	return ordinals
}
