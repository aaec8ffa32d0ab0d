package sandbox

// historyDays is the maximum age of interactions: three years, less a margin.
const historyDays = 1085

// planHistories decides when each person was met and, for those without a cadence, when
// they were last seen.
func (b *builder) planHistories() {
	r := newRNG("histories")
	for i := range b.plans {
		p := &b.plans[i]
		forgotten := r.chance(11) || (p.double && r.chance(75))
		recent := 3 + int(r.Float64()*r.Float64()*700)
		known := int(r.Float64() * r.Float64() * 2400)
		if p.lastSeen == 0 && !forgotten {
			p.lastSeen = recent
		}
		p.met = p.lastSeen + 30 + known
		p.metHow = b.meeting(r, *p)
	}
}

// meeting returns how a person was met.
func (b *builder) meeting(r rng, p plan) string {
	if p.source == "directory" {
		return "Found in the Kith directory; wrote to say hello"
	}
	templates := []string{
		"Sat next to each other at {event}",
		"Shared a taxi after {event}",
		"Both late for the same talk at {event}",
		"In the queue for coffee at {event}",
		"Shared a panel at {event}",
		"Wrote to me about {topic}",
		"A question from the audience about {topic}, then a long walk",
		"Worked on the same project at {org}",
		"Neighbours when I lived in {city}",
		"Met on the night train to {city}",
		"Replied to my newsletter about {topic}",
		"Volunteered together at {event}",
		"Visited {org} with a delegation",
		"",
	}
	return b.fill(r, pick(r, templates), p)
}

// introduction is one person met through another.
type introduction struct{ newcomer, introducer int }

// introductionCount is how many introductions the account has.
const introductionCount = 18

// planIntroductions chooses introductions and their introducers. An introducer had been met at
// least a month before, and the meeting lies within the three years of interactions.
func (b *builder) planIntroductions() {
	r := newRNG("introductions")
	for _, newcomer := range sample(r, b.originals(), len(b.plans)) {
		if len(b.introductions) == introductionCount {
			return
		}
		p := &b.plans[newcomer]
		if p.lastSeen == 0 || p.met > historyDays || p.source == "directory" {
			continue
		}
		var able []int
		for _, i := range b.originals() {
			if q := b.plans[i]; i != newcomer && q.active(p.met) && q.met >= p.met+30 {
				able = append(able, i)
			}
		}
		if len(able) == 0 {
			continue
		}
		introducer := pick(r, able)
		p.metHow = "Introduced by " + b.plans[introducer].name.full
		b.introductions = append(b.introductions, introduction{newcomer, introducer})
	}
}

// active reports whether an interaction so many days ago fits the person's history: after
// they were met, and before they were last seen.
func (p plan) active(daysAgo int) bool {
	return p.lastSeen > 0 && daysAgo > p.lastSeen && daysAgo <= p.met
}
