package sandbox

// positionCount is how many positions, current and past, the account has.
const positionCount = 260

// addPositions gives each employed person their current position and hands out past ones
// until there are positionCount. A past position ends before the one after it starts.
func (b *builder) addPositions() {
	s := newStream("positions")
	ids := newIDs("pos")
	since := make([]int, len(b.people)) // days ago when the earliest position so far began
	past := make([]int, len(b.people))

	for i, p := range b.people {
		if p.organization < 0 {
			since[i] = s.between(20, 200)
			continue
		}
		since[i] = s.between(60, 2600)
		b.data.Positions = append(b.data.Positions, Position{
			ID:             ids.next(),
			ConnectionID:   p.id,
			OrganizationID: b.data.Organizations[p.organization].ID,
			Title:          p.title,
			StartedOn:      b.cal.partial(since[i], positionPrecision(s)),
			Current:        true,
		})
	}
	originals := b.originals()
	for len(b.data.Positions) < positionCount {
		i := pick(s, originals)
		if past[i] == 3 {
			continue
		}
		past[i]++
		ended := since[i] + s.between(0, 150)
		since[i] = ended + s.between(240, 1900)
		p, known := b.people[i], positionPrecision(s)
		organization := s.IntN(len(b.organizations))
		b.data.Positions = append(b.data.Positions, Position{
			ID:             ids.next(),
			ConnectionID:   p.id,
			OrganizationID: b.data.Organizations[organization].ID,
			Title:          pick(s, b.sectors[b.organizations[organization].sector].titles),
			StartedOn:      b.cal.partial(since[i], known),
			EndedOn:        b.cal.partial(ended, known),
		})
	}
}

func positionPrecision(s stream) precision {
	return pick(s, []precision{toMonth, toMonth, toMonth, toMonth, toYear, toDay})
}
