package sandbox

// addConnections turns the plans of people into connections. The latest interaction is
// filled in by addInteractions.
func (b *builder) addConnections() {
	s := newStream("connections")
	for _, p := range b.people {
		c := Connection{
			ID:          p.id,
			Name:        p.name.full,
			GivenName:   p.name.given,
			FamilyName:  p.name.family,
			Nickname:    p.nickname,
			Location:    p.home.String(),
			Starred:     s.chance(10),
			MetOn:       b.cal.partial(p.met, metPrecision(s, p.met)),
			MetHow:      p.metHow,
			Source:      p.source,
			CadenceDays: p.cadence,
		}
		if s.chance(60) && !p.double {
			c.Bio = b.biography(s, p)
		}
		if p.snoozed > 0 {
			c.SnoozedUntil = b.cal.at(-p.snoozed, 0)
		}
		added := max(1, min(p.met, historyDays)-s.between(0, 3))
		c.CreatedAt = b.cal.at(added, s.between(7*60, 22*60))
		c.UpdatedAt = c.CreatedAt
		b.data.Connections = append(b.data.Connections, c)
	}
}

// metPrecision: the longer ago, the less is remembered.
func metPrecision(s stream, daysAgo int) precision {
	roll := s.IntN(100)
	switch {
	case daysAgo < 90 || roll < 45:
		return toDay
	case daysAgo < 400 || roll < 80:
		return toMonth
	default:
		return toYear
	}
}

// biography is a line or two on what someone does and likes.
func (b *builder) biography(s stream, p person) string {
	work := pick(s, []string{
		"{title} at {org} in {city}.",
		"{title}, {org}. Based in {city}.",
		"Works at {org} as {title}.",
		"{title} at {org}, after some years in {field}.",
		"{title} at {org}; came from {field}.",
		"Part of the team at {org} ({title}).",
	})
	if p.organization < 0 {
		work = pick(s, []string{
			"Between two jobs, living in {city}.",
			"Works freelance from {city}.",
			"Runs a one-person practice in {city}.",
		})
	}
	interest := pick(s, []string{
		" Ask about {topic}.", " Keeps coming back to {topic}.", " Good to talk to about {topic}.",
		" Writes a small newsletter on {topic}.", " Known for straight answers on {topic}.", " {detail}.", "",
	})
	return b.fill(s, work+interest, p)
}
