package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// sharedMailbox is the local part of an address that several people at one organization use. It
// must not make them duplicates.
const sharedMailbox = "team"

// addHandles gives people their addresses, numbers and profiles.
func (b *builder) addHandles() {
	r, numbers := newRNG("handles"), newNumbers()
	second := map[int]duplicatePair{}
	must := map[int]bool{} // a planted pair needs the handles that it shares
	for _, pair := range b.duplicates {
		second[pair.second] = pair
		must[pair.first] = true
	}
	own := make([]ownHandles, len(b.plans))
	for i, p := range b.plans {
		own[i] = b.drawHandles(r, numbers, p, must[i])
	}
	for i := range b.plans {
		c := &b.data.Connections[i]
		if pair, doubled := second[i]; doubled && pair.shares != sharesNameOnly {
			c.addShared(pair.shares, own[pair.first])
			continue
		}
		c.addHandle("email", own[i].work, "work")
		c.addHandle("email", own[i].home, "home")
		c.addHandle("phone", own[i].phone, pick(r, []string{"mobile", "mobile", "work"}))
		c.addHandle("social", own[i].social, "linkedin")
		c.addHandle("url", own[i].site, "website")
	}
	b.addSharedMailbox()
}

// ownHandles are one person's handles; an empty one is missing.
type ownHandles struct{ work, home, phone, social, site string }

// drawHandles generates a person's handles. A complete person has e-mail, phone and profile.
func (b *builder) drawHandles(r rng, numbers *numbers, p plan, complete bool) ownHandles {
	local := strings.Trim(p.name.latinGiven+"."+p.name.latinFamily, ".")
	private := local // the second of two namesakes needs a different address
	if p.double {
		private += "." + plain(p.home.city)
	}
	profile := strings.ReplaceAll(private, ".", "-")
	mailHost := pick(r, []string{"postbox.example", "inbox.example", "letters.example"})
	var o ownHandles
	if p.organization >= 0 {
		o.work = local + "@" + b.organizations[p.organization].domain
	}
	if r.chance(22) || o.work == "" {
		o.home = private + "@" + mailHost
	}
	if r.chance(60) || complete {
		o.phone = numbers.next(r, p.home.area)
	}
	if r.chance(50) || complete {
		o.social = "https://www.linkedin.example/in/" + profile
	}
	if r.chance(14) {
		o.site = "https://" + profile + ".example"
	}
	if r.chance(4) && !complete {
		o.work, o.home = "", ""
	}
	return o
}

// addShared gives a second record only the handles that it shares with the first.
func (c *Connection) addShared(shares share, first ownHandles) {
	local, host, _ := strings.Cut(first.work, "@")
	switch shares {
	case sharesEmail:
		c.addHandle("email", first.work, "work")
	case sharesEmailCase:
		c.addHandle("email", strings.ToUpper(local)+"@"+host, "work")
	case sharesEmailTag:
		c.addHandle("email", local+"+conference@"+host, "other")
	case sharesPhone:
		c.addHandle("phone", respell(first.phone), "mobile")
	case sharesSocial:
		c.addHandle("social", first.social, "linkedin")
	case sharesOrganization, sharesNameOnly: // no handle in common
	}
}

// addSharedMailbox gives up to three colleagues one address, besides their own.
func (b *builder) addSharedMailbox() {
	const shop = "Osier & Finch"
	organization := b.organizationNamed(shop)
	var written int
	for i, p := range b.plans {
		if p.organization == organization && !p.double && written < 3 {
			b.data.Connections[i].addHandle("email", sharedMailbox+"@"+b.organizations[organization].domain, "shared")
			written++
		}
	}
}

// addHandle appends a handle unless its value is empty.
func (c *Connection) addHandle(kind, value, label string) {
	if value != "" {
		c.Handles = append(c.Handles, Handle{kind, value, label})
	}
}

// numbers generates phone numbers of the fictional ranges, each once.
type numbers struct {
	areas []string
	taken map[string]bool
}

func newNumbers() *numbers {
	return &numbers{
		areas: []string{"+1 212", "+1 312", "+1 415", "+1 206", "+1 617", "+1 512", "+44 20", "+44 20"},
		taken: map[string]bool{},
	}
}

// next returns a number of the area, or of any area when it is empty. An area of North
// America has 100 numbers, the one of London 1000: more than the account needs.
func (n *numbers) next(r rng, area string) string {
	for {
		from := area
		if from == "" {
			from = pick(r, n.areas)
		}
		number := fmt.Sprintf("%s 555-%04d", from, 100+r.IntN(100))
		if from == "+44 20" {
			number = fmt.Sprintf("%s 7946 0%03d", from, r.IntN(1000))
		}
		if !n.taken[number] {
			n.taken[number] = true
			return number
		}
	}
}

// respell writes the same number as another person would: "+1 646 555-0142" becomes
// "+1 (646) 555 0142", a number of London loses its spaces.
func respell(number string) string {
	parts := strings.FieldsFunc(number, func(r rune) bool { return r == ' ' || r == '-' })
	if len(parts) < 2 || parts[0] == "+44" {
		return strings.Join(parts, "")
	}
	return strings.Join(slices.Concat(parts[:1], []string{"(" + parts[1] + ")"}, parts[2:]), " ")
}
