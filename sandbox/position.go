package sandbox

// positionCount is how many positions, current and past, the account has.
const positionCount = 260

// addPositions gives each employed person their current position and adds past ones
// until there are positionCount. A past position ends before the one after it starts.
func (b *builder) addPositions() {
	r := newRNG("positions")
	since := make([]int, len(b.plans)) // days ago when the earliest position so far began
	past := make([]int, len(b.plans))
	count := 0

	for i, p := range b.plans {
		if p.organization < 0 {
			since[i] = r.between(20, 200)
			continue
		}
		since[i] = r.between(60, 2600)
		b.data.Connections[i].Positions = []Position{{
			Organization: b.organizations[p.organization].name,
			Title:        p.title,
			StartedOn:    b.cal.partial(since[i], positionPrecision(r)),
			Current:      true,
		}}
		count++
	}
	originals := b.originals()
	for count < positionCount {
		i := pick(r, originals)
		if past[i] == 3 {
			continue
		}
		past[i]++
		ended := since[i] + r.between(0, 150)
		since[i] = ended + r.between(240, 1900)
		known := positionPrecision(r)
		organization := pick(r, b.organizations)
		c := &b.data.Connections[i]
		c.Positions = append(c.Positions, Position{
			Organization: organization.name,
			Title:        pick(r, b.sectors[organization.sector].titles),
			StartedOn:    b.cal.partial(since[i], known),
			EndedOn:      b.cal.partial(ended, known),
		})
		count++
	}
}

func positionPrecision(r rng) precision {
	return pick(r, []precision{toMonth, toMonth, toMonth, toMonth, toYear, toDay})
}
