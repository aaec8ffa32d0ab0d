package sandbox

// The numbers of connections with their own cadence, by the time since the last contact. Overdue means
// more than one and a half intervals.
const (
	overdueCadences = 12
	dueCadences     = 8 // past the interval, not yet overdue
	snoozedCadences = 3 // of those due
	keptCadences    = 40
)

// planCadences decides who has a keep-in-touch interval and when they were last seen. The margins
// are wide enough that the state is the same at any hour of the day.
func (b *builder) planCadences() {
	r := newRNG("cadences")
	chosen := sample(r, b.originals(), overdueCadences+dueCadences+keptCadences)
	for n, i := range chosen {
		p := &b.plans[i]
		switch {
		case n < overdueCadences:
			p.cadence = pick(r, []int{14, 30, 30, 60, 90, 180})
			p.lastSeen = p.cadence * r.between(170, 250) / 100
		case n < overdueCadences+dueCadences:
			p.cadence = pick(r, []int{30, 45, 60, 90})
			p.lastSeen = p.cadence * r.between(108, 128) / 100
			if n < overdueCadences+snoozedCadences {
				p.snoozed = r.between(4, 21)
			}
		default:
			p.cadence = pick(r, []int{14, 21, 30, 45, 60, 90, 90, 120, 180, 365})
			p.lastSeen = max(2, p.cadence*r.between(15, 85)/100)
		}
	}
}

// groupSeed is one group: its cadence, its size, and a name.
type groupSeed struct {
	name          string
	cadence, size int
}

func groupSeeds() []groupSeed {
	return []groupSeed{
		{"Inner circle", 30, 10},
		{"Mentors and advisers", 60, 9},
		{"Investors I trust", 90, 12},
		{"Former colleagues", 0, 22},
		{"Thursday run club", 0, 9},
		{"Conference organisers", 0, 14},
		{"Book club", 0, 8},
		{"Neighbours and family friends", 0, 11},
	}
}

// addGroups adds the groups. A connection whose only cadence is a group's was seen lately.
func (b *builder) addGroups() {
	r := newRNG("groups")
	ids := newIDs("grp")
	for _, seed := range groupSeeds() {
		b.data.Groups = append(b.data.Groups, Group{ID: ids.next(), Name: seed.name, CadenceDays: seed.cadence})
		for _, i := range sample(r, b.originals(), seed.size) {
			p := &b.plans[i]
			p.groups = append(p.groups, seed.name)
			if p.cadence > 0 || seed.cadence == 0 {
				continue
			}
			seen := r.between(3, seed.cadence*8/10)
			if p.lastSeen == 0 || seen < p.lastSeen {
				p.lastSeen = seen
			}
		}
	}
}
