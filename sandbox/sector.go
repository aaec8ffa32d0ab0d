package sandbox

// sector is a line of work: job titles, topics of conversation and tags.
type sector struct {
	titles []string // junior to senior
	topics []string // words that follow "about" and "on"
	tags   []string // names of tags() that fit
}

// sectors are keyed by the word that organizationSeeds uses.
func sectors() map[string]sector {
	return map[string]sector{
		"software": {
			titles: []string{"Software Engineer", "Product Designer", "Developer Advocate", "Data Scientist", "Engineering Manager", "Head of Product", "CTO", "Co-founder"},
			topics: []string{"moving off the old billing system", "on-call rotations that people can bear", "what agents should be allowed to write", "pricing for small teams", "hiring a first data engineer", "offline-first sync"},
			tags:   []string{"ai", "open-source", "founder", "hiring"},
		},
		"robotics": {
			titles: []string{"Controls Engineer", "Mechanical Designer", "Field Technician", "Perception Lead", "Head of Manufacturing", "VP Engineering"},
			topics: []string{"grippers for soft fruit", "the cost of safety certification", "a second supplier for motors", "testing arms in a cold store", "open hardware licences"},
			tags:   []string{"hardware", "ai", "supplier", "open-source"},
		},
		"health": {
			titles: []string{"Research Nurse", "Clinical Pharmacist", "Health Economist", "Patient Safety Lead", "Medical Director", "Chief Operating Officer"},
			topics: []string{"shorter waiting lists in rural clinics", "consent forms that people understand", "a pilot for remote check-ups", "night-shift staffing", "sharing records between hospitals"},
			tags:   []string{"health", "policy", "volunteer"},
		},
		"finance": {
			titles: []string{"Investment Analyst", "Risk Manager", "Principal", "Venture Partner", "Chief Financial Officer", "General Partner"},
			topics: []string{"the seed round of a robotics team", "climate funds outside the big cities", "term sheets without surprises", "microloans for market traders", "what changed in the fee rules"},
			tags:   []string{"investor", "fintech", "board"},
		},
		"design": {
			titles: []string{"Type Designer", "Illustrator", "Service Designer", "Art Director", "Studio Manager", "Creative Director"},
			topics: []string{"signage for the new library", "a typeface with Greek and Cyrillic", "redesigning forms for older readers", "a small exhibition of posters", "how to price a rebrand"},
			tags:   []string{"design", "freelance", "speaker"},
		},
		"nonprofit": {
			titles: []string{"Programme Officer", "Volunteer Coordinator", "Grants Manager", "Head of Partnerships", "Policy Lead", "Executive Director"},
			topics: []string{"the spring fundraiser", "river clean-ups with schools", "measuring impact honestly", "a shared grants calendar", "finding trustees under thirty"},
			tags:   []string{"volunteer", "policy", "board", "climate"},
		},
		"education": {
			titles: []string{"Lecturer", "Research Fellow", "Admissions Officer", "Head of Careers", "Professor", "Vice Principal"},
			topics: []string{"guest lectures on negotiation", "a summer school for shy speakers", "reading groups that last", "internships for refugees", "a joint paper on trust in networks"},
			tags:   []string{"education", "mentor", "speaker", "alumni"},
		},
		"food": {
			titles: []string{"Head Baker", "Buyer", "Food Scientist", "Restaurant Manager", "Supply Lead", "Owner"},
			topics: []string{"heritage wheat and who mills it", "a pop-up dinner in the old depot", "cutting waste in small kitchens", "sourcing tamarind fairly", "opening a second shop"},
			tags:   []string{"food", "supplier", "founder"},
		},
		"energy": {
			titles: []string{"Grid Analyst", "Site Engineer", "Project Developer", "Policy Adviser", "Head of Operations", "Managing Director"},
			topics: []string{"village microgrids", "heat pumps in old flats", "permits for wind at sea", "second-life batteries", "a tariff that rewards night charging"},
			tags:   []string{"climate", "policy", "hardware"},
		},
		"media": {
			titles: []string{"Reporter", "Audio Producer", "Film Editor", "Audience Editor", "Documentary Director", "Editor-in-chief"},
			topics: []string{"a podcast about second careers", "fact-checking with volunteers", "local news that pays for itself", "rights for archive footage", "an interview series with founders"},
			tags:   []string{"press", "speaker", "freelance"},
		},
		"logistics": {
			titles: []string{"Dispatcher", "Route Planner", "Customs Specialist", "Warehouse Manager", "Head of Network", "Chief Commercial Officer"},
			topics: []string{"cargo bikes for the last mile", "customs delays at the northern crossing", "maps of places without addresses", "returnable crates", "rail instead of road"},
			tags:   []string{"supplier", "climate", "hardware"},
		},
		"law": {
			titles: []string{"Associate", "Policy Researcher", "Data Protection Counsel", "Partner", "Head of Research"},
			topics: []string{"data protection for small charities", "plain-language contracts", "who owns a contact list", "co-operative statutes", "mediation before court"},
			tags:   []string{"policy", "mentor", "board"},
		},
	}
}

// commonTopics fit any sector.
func commonTopics() []string {
	return []string{
		"moving to another city", "public speaking", "a book swap", "the half marathon", "working four days a week",
		"learning to say no", "the next meetup", "remote teams", "a sabbatical", "mentoring newcomers",
	}
}
