package sandbox

// addConnections makes connections from the plans of people. addInteractions fills in the latest
// interaction.
func (b *builder) addConnections() {
	r := newRNG("connections")
	for _, p := range b.plans {
		c := Connection{
			ID:          p.id,
			Name:        p.name.full,
			Nickname:    p.nickname,
			Location:    p.home.String(),
			Starred:     r.chance(10),
			MetOn:       b.cal.partial(p.met, metPrecision(r, p.met)),
			MetHow:      p.metHow,
			Source:      p.source,
			CadenceDays: p.cadence,
			Groups:      p.groups,
		}
		if r.chance(60) && !p.double {
			c.Bio = b.biography(r, p)
		}
		if p.snoozed > 0 {
			c.SnoozedUntil = b.cal.at(-p.snoozed, 0)
		}
		added := max(1, min(p.met, historyDays)-r.between(0, 3))
		c.CreatedAt = b.cal.at(added, r.between(7*60, 22*60))
		c.UpdatedAt = c.CreatedAt
		b.data.Connections = append(b.data.Connections, c)
	}
}

// metPrecision returns the precision of the date of the first meeting: the longer ago, the lower.
func metPrecision(r rng, daysAgo int) precision {
	draw := r.IntN(100)
	switch {
	case daysAgo < 90 || draw < 45:
		return toDay
	case daysAgo < 400 || draw < 80:
		return toMonth
	default:
		return toYear
	}
}

// biography returns a line or two on what the person does and likes.
func (b *builder) biography(r rng, p plan) string {
	work := pick(r, []string{
		"{title} at {org} in {city}.",
		"{title}, {org}. Based in {city}.",
		"Works at {org} as {title}.",
		"{title} at {org}, after some years in {field}.",
		"{title} at {org}; came from {field}.",
		"Part of the team at {org} ({title}).",
	})
	if p.organization < 0 {
		work = pick(r, []string{
			"Between two jobs, living in {city}.",
			"Works freelance from {city}.",
			"Runs a one-person practice in {city}.",
		})
	}
	interest := pick(r, []string{
		" Ask about {topic}.", " Keeps coming back to {topic}.", " Good to talk to about {topic}.",
		" Writes a small newsletter on {topic}.", " Known for straight answers on {topic}.", " {detail}.", "",
	})
	return b.fill(r, work+interest, p)
}
