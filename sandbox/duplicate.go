package sandbox

// share says what a planted duplicate has in common with the original record.
type share string

const (
	sharesEmail        share = "the same e-mail address"
	sharesEmailCase    share = "the same e-mail address in other case"
	sharesEmailTag     share = "the same e-mail address with a +tag"
	sharesPhone        share = "the same phone number, written differently"
	sharesSocial       share = "the same name, organization and social profile"
	sharesOrganization share = "the same name at the same organization"
	sharesNameOnly     share = "nothing but the name: two different people"
)

// entry is a person's data before the history is planned.
type entry struct {
	name         name
	home         place
	organization string // name of an organizationSeed; empty when none is known
}

// duplicateSeed is one planted pair. The first entry is complete; the second is another record of
// the same person, from a later import or with typing errors.
type duplicateSeed struct {
	first, second entry
	shares        share
}

// duplicatePair is a planted pair as ordinals of builder.plans.
type duplicatePair struct {
	first, second int
	shares        share
}

// duplicateSeeds are the 12 planted pairs; the last one is the false pair.
func duplicateSeeds() []duplicateSeed {
	western := locale{joiner: " "}
	eastern := locale{joiner: " ", familyFirst: true}
	aarhus := place{"Aarhus", "Denmark", ""}
	munich := place{"Munich", "Germany", ""}
	return []duplicateSeed{
		{
			first:  entry{western.newName("Katarzyna", "Zielonkowska"), place{"Gdańsk", "Poland", ""}, "Norrlys Data GmbH"},
			second: entry{name: western.newName("Kasia", "Zielonkowska")},
			shares: sharesEmailCase,
		},
		{
			first:  entry{western.newName("José Luis", "Barragueño"), place{"Seville", "Spain", ""}, "Instituto Almenara"},
			second: entry{name: western.newName("Jose", "Barragueno")},
			shares: sharesEmailTag,
		},
		{
			first:  entry{western.newName("Margaret", "Oyelarin"), place{"London", "United Kingdom", "+44 20"}, "Brightmere Health"},
			second: entry{name: western.newName("Maggie", "Oyelarin")},
			shares: sharesPhone,
		},
		{
			first:  entry{western.newName("Søren", "Lindqvist-Dahl"), aarhus, "Vindmark Energi AS"},
			second: entry{western.newName("Søren", "Lindqvist-Dahl"), aarhus, "Vindmark Energi AS"},
			shares: sharesSocial,
		},
		{
			first:  entry{western.newName("Дмитро|Dmytro", "Велесенко|Velesenko"), place{"Odesa", "Ukraine", ""}, "Mosspath"},
			second: entry{name: western.newName("Dmytro", "Velesenko")},
			shares: sharesEmail,
		},
		{
			first:  entry{eastern.newName("由紀|Yuki", "高梨|Takanashi"), place{"Kyoto", "Japan", ""}, "みなと精機"},
			second: entry{name: western.newName("Yuki", "Takanashi")},
			shares: sharesEmail,
		},
		{
			first:  entry{western.newName("Anneliese", "Brandhofer"), munich, "Tiefwarm AG"},
			second: entry{western.newName("Anneliese", "Brandhofer"), munich, "Tiefwarm AG"},
			shares: sharesOrganization,
		},
		{
			first:  entry{western.newName("Priya", "Raghunandan"), place{"New York", "United States", "+1 646"}, "Heron & Pine Ventures"},
			second: entry{name: name{full: "Raghunandan, Priya"}},
			shares: sharesPhone,
		},
		{
			first:  entry{western.newName("Thomas", "Okwuegbu"), place{"Manchester", "United Kingdom", "+44 20"}, "Slate Anchor Freight"},
			second: entry{name: western.newName("Tom", "Okwuegbu")},
			shares: sharesEmailCase,
		},
		{
			first:  entry{western.newName("Chloé", "Marchandeau"), place{"Québec City", "Canada", "+1 418"}, "Atelier Mirabeille"},
			second: entry{name: western.newName("Chloé", "Marchandeau-Vidal")},
			shares: sharesPhone,
		},
		{
			first:  entry{western.newName("Bartholomew", "Quillfeather"), place{"Portland", "United States", "+1 503"}, "Second Shelf Libraries"},
			second: entry{name: western.newName("B.", "Quillfeather")},
			shares: sharesEmail,
		},
		{
			first:  entry{western.newName("Daniel", "Mensah-Cole"), place{"Accra", "Ghana", ""}, "Meridian Grain Cooperative"},
			second: entry{western.newName("Daniel", "Mensah-Cole"), place{"Denver", "United States", "+1 303"}, "Longwave Audio"},
			shares: sharesNameOnly,
		},
	}
}

// addDuplicates lists the planted pairs.
func (b *builder) addDuplicates() {
	for _, pair := range b.duplicates {
		b.data.Duplicates = append(b.data.Duplicates, DuplicatePair{
			FirstID:    b.plans[pair.first].id,
			SecondID:   b.plans[pair.second].id,
			Reason:     string(pair.shares),
			SamePerson: pair.shares != sharesNameOnly,
		})
	}
}
