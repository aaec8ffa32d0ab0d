package sandbox

import "slices"

// plan is a connection before it is written. Days count back from the day of the dataset.
type plan struct {
	id           string
	name         name
	nickname     string
	groups       []string
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

// short returns the name that texts use for the person.
func (p plan) short() string {
	if p.nickname != "" {
		return p.nickname
	}
	if p.name.given != "" {
		return p.name.given
	}
	return p.name.full
}

// freelancers is how many people have no current organization.
const freelancers = 12

// planConnections decides who is in the network: 6 public members, the 12 planted pairs and
// 170 others whose names are drawn from the locales. The order is shuffled.
func (b *builder) planConnections() {
	r := newRNG("people")
	var plans []plan
	for _, seed := range memberSeeds() {
		if seed.known {
			home := place{city: seed.location} // the table has city and country in one
			p := b.newPlan(r, entry{seed.name(), home, seed.organization})
			p.source, p.title = "directory", seed.title
			plans = append(plans, p)
		}
	}
	for i, e := range drawEntries(r) {
		if i >= freelancers {
			e.organization = b.employer(r, i-freelancers)
		}
		plans = append(plans, b.newPlan(r, e))
	}
	for _, seed := range duplicateSeeds() {
		first, second := b.newPlan(r, seed.first), b.newPlan(r, seed.second)
		second.double = true
		if seed.shares != sharesNameOnly {
			second.nickname, second.source = "", "import"
			second.title = first.title
		}
		b.duplicates = append(b.duplicates, duplicatePair{first: len(plans), second: len(plans) + 1, shares: seed.shares})
		plans = append(plans, first, second)
	}
	b.shuffle(r, plans)
}

// shuffle puts the plans into their final order, gives them ids, and updates the ordinals
// of the duplicates.
func (b *builder) shuffle(r rng, plans []plan) {
	ids := newIDs("con")
	seats := r.Perm(len(plans))
	b.plans = make([]plan, len(plans))
	for i, p := range plans {
		b.plans[seats[i]] = p
	}
	for i := range b.plans {
		b.plans[i].id = ids.next()
	}
	for i, pair := range b.duplicates {
		b.duplicates[i].first, b.duplicates[i].second = seats[pair.first], seats[pair.second]
	}
}

// newPlan draws a nickname, a source and a title for an entry.
func (b *builder) newPlan(r rng, e entry) plan {
	p := plan{
		name:         e.name,
		nickname:     nicknames()[e.name.given],
		home:         e.home,
		organization: b.organizationNamed(e.organization),
		source:       pick(r, []string{"import", "import", "import", "manual", "manual", "agent"}),
	}
	if p.organization >= 0 {
		p.title = pick(r, b.sectors[b.organizations[p.organization].sector].titles)
	}
	return p
}

// employer returns the organization of the n-th employed person: first each in turn, so that none
// is empty, then those at the start of the table more often.
func (b *builder) employer(r rng, n int) string {
	if n < len(b.organizations) {
		return b.organizations[n].name
	}
	skewed := r.Float64() * r.Float64()
	return b.organizations[int(skewed*float64(len(b.organizations)))].name
}

// drawEntries draws each locale's quota of people with different names, then mixes them.
func drawEntries(r rng) []entry {
	var entries []entry
	taken := map[string]bool{}
	for _, c := range slices.Concat(latinLocales(), scriptLocales()) {
		given := sample(r, c.given, len(c.given))
		for drawn := 0; drawn < c.quota; {
			n := c.newName(given[drawn%len(given)], pick(r, c.family))
			key := n.latinGiven + "." + n.latinFamily
			if taken[key] {
				continue
			}
			taken[key] = true
			entries = append(entries, entry{name: n, home: pick(r, c.places)})
			drawn++
		}
	}
	r.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	return entries
}

// sectorOf returns the person's line of work; the zero sector when they have none.
func (b *builder) sectorOf(p plan) sector {
	if p.organization < 0 {
		return sector{}
	}
	return b.sectors[b.organizations[p.organization].sector]
}

// employerOf names the person's organization in a text.
func (b *builder) employerOf(p plan) string {
	if p.organization < 0 {
		return "their own practice"
	}
	return b.organizations[p.organization].name
}

// originals returns the ordinals of everyone but the second records of planted pairs.
func (b *builder) originals() []int {
	var ordinals []int
	for i, p := range b.plans {
		if !p.double {
			ordinals = append(ordinals, i)
		}
	}
	return ordinals
}
