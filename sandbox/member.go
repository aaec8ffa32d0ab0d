package sandbox

import "slices"

// memberSeed is one row of the table that members come from.
type memberSeed struct {
	username, given, family string
	timezone                string
	headline, bio           string
	location, country       string // country is ISO 3166-1 alpha-2
	organization, title     string // organization names an organizationSeed
	skills, languages       []string
	openTo                  []string
	private                 []string // fields kept from the public
	unlisted                bool
	known                   bool // the demo account has this member among its connections
}

// ProfileFields are the profile fields that a member can make public, under the names of
// the public profile. E-mail, phone and birthday have no public option.
func ProfileFields() []string {
	return []string{
		"name", "headline", "bio", "location", "organization", "title",
		"skills", "languages", "links", "open_to", "avatar_url",
	}
}

// addMembers adds the demo account and the 25 other public members.
func (b *builder) addMembers() {
	ids := newIDs("mem")
	r := newRNG("members")
	for i, seed := range memberSeeds() {
		plan := "free"
		if i == 0 || r.chance(20) {
			plan = "pro"
		}
		b.data.Members = append(b.data.Members, Member{
			ID:        ids.next(),
			Username:  seed.username,
			Email:     seed.username + "@members.example",
			Timezone:  seed.timezone,
			Plan:      plan,
			Profile:   seed.profile(),
			UpdatedAt: b.cal.at(r.between(1, 240), r.between(6*60, 21*60)),
		})
	}
}

// name reads the member's name; members of the table write the given name first.
func (m memberSeed) name() name { return locale{joiner: " "}.newName(m.given, m.family) }

func (m memberSeed) profile() Profile {
	p := Profile{
		Name:         m.name().full,
		Headline:     m.headline,
		Bio:          m.bio,
		LocationText: m.location,
		Country:      m.country,
		Organization: m.organization,
		Title:        m.title,
		Skills:       m.skills,
		Languages:    m.languages,
		Links:        []Link{{"Website", "https://" + m.username + ".example"}},
		OpenTo:       m.openTo,
		Listed:       !m.unlisted,
	}
	if m.organization != "" {
		p.Links = append(p.Links, Link{"LinkedIn", "https://www.linkedin.example/in/" + m.username})
	}
	for _, field := range ProfileFields() {
		if field != "avatar_url" && !slices.Contains(m.private, field) { // no member has a picture
			p.PublicFields = append(p.PublicFields, field)
		}
	}
	return p
}

func memberSeeds() []memberSeed { return slices.Concat(firstMemberSeeds(), moreMemberSeeds()) }
