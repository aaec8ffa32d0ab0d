package sandbox

// organizationSeed is one row of the table that organizations come from.
type organizationSeed struct{ name, domain, sector string }

// organizationSeeds are the 45 organizations. Names and domains are invented.
func organizationSeeds() []organizationSeed {
	return []organizationSeed{
		{"Halden Systems", "haldensystems.example", "software"},
		{"Tidewrack Software", "tidewrack.example", "software"},
		{"Cobalt Lantern", "cobaltlantern.example", "software"},
		{"Quillstack Inc", "quillstack.example", "software"},
		{"Norrlys Data GmbH", "norrlysdata.example", "software"},
		{"Mosspath", "mosspath.example", "software"},
		{"Ferrostep Robotics", "ferrostep.example", "robotics"},
		{"Kestrel Actuation Ltd", "kestrelactuation.example", "robotics"},
		{"みなと精機", "minato-seiki.example", "robotics"},
		{"Brightmere Health", "brightmere.example", "health"},
		{"Alder Street Clinics", "alderstreet.example", "health"},
		{"Lumenbrook Diagnostics", "lumenbrook.example", "health"},
		{"Casa Serena Cuidados", "casaserena.example", "health"},
		{"Juniper Row Capital", "juniperrow.example", "finance"},
		{"Stillwater Ledger", "stillwaterledger.example", "finance"},
		{"Heron & Pine Ventures", "heronpine.example", "finance"},
		{"Banco Riamar", "bancoriamar.example", "finance"},
		{"Osier & Finch", "osierfinch.example", "design"},
		{"Studio Papelón", "papelon.example", "design"},
		{"Greyfield Type", "greyfieldtype.example", "design"},
		{"Atelier Mirabeille", "mirabeille.example", "design"},
		{"Shared Orchard Foundation", "sharedorchard.example", "nonprofit"},
		{"Rivers Without Fences", "riverswithoutfences.example", "nonprofit"},
		{"Second Shelf Libraries", "secondshelf.example", "nonprofit"},
		{"Lantern Row Trust", "lanternrow.example", "nonprofit"},
		{"Wexcombe University", "wexcombe.example", "education"},
		{"Instituto Almenara", "almenara.example", "education"},
		{"Kirkvale College", "kirkvale.example", "education"},
		{"Plumewood Academy", "plumewood.example", "education"},
		{"Saltmarsh Bakery Co-op", "saltmarshbakery.example", "food"},
		{"Meridian Grain Cooperative", "meridiangrain.example", "food"},
		{"Tamarind & Rye", "tamarindrye.example", "food"},
		{"Copperpot Kitchens", "copperpot.example", "food"},
		{"Vindmark Energi AS", "vindmark.example", "energy"},
		{"Sunfold Microgrids", "sunfold.example", "energy"},
		{"Tiefwarm AG", "tiefwarm.example", "energy"},
		{"Ampervale Storage", "ampervale.example", "energy"},
		{"The Harrow Courier", "harrowcourier.example", "media"},
		{"Longwave Audio", "longwave.example", "media"},
		{"Paper Heron Films", "paperheron.example", "media"},
		{"Slate Anchor Freight", "slateanchor.example", "logistics"},
		{"Portolan Maps", "portolanmaps.example", "logistics"},
		{"Relay Yard", "relayyard.example", "logistics"},
		{"Ashgrove Legal LLP", "ashgrovelegal.example", "law"},
		{"Civic Ledger Institute", "civicledger.example", "law"},
	}
}

// addOrganizations adds the domains of the organizations.
func (b *builder) addOrganizations() {
	b.organizations, b.data.Domains = organizationSeeds(), map[string]string{}
	for _, seed := range b.organizations {
		b.data.Domains[seed.name] = seed.domain
	}
}

// organizationNamed returns the ordinal of the organization, or -1 if there is none.
func (b *builder) organizationNamed(name string) int {
	for i, seed := range b.organizations {
		if seed.name == name {
			return i
		}
	}
	return -1
}
