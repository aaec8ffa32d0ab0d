package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// sharedMailbox is the local part of an address that several people at one organization
// use. It must not make duplicates of them.
const sharedMailbox = "team"

// addHandles gives people their addresses, numbers and profiles.
func (b *builder) addHandles() {
	h := &handleWriter{builder: b, ids: newIDs("hnd"), stream: newStream("handles"), numbers: newNumbers()}
	second := map[int]twinPair{}
	must := map[int]bool{} // what a planted pair shares has to exist
	for _, pair := range b.twins {
		second[pair.second] = pair
		must[pair.first] = true
	}
	own := make([]ownHandles, len(b.people))
	for i, p := range b.people {
		own[i] = h.draw(p, must[i])
	}
	for i, p := range b.people {
		pair, doubled := second[i]
		if doubled && pair.shares != sharesNameOnly {
			h.writeDouble(p, pair.shares, own[pair.first])
			continue
		}
		h.write(p, own[i])
	}
	h.writeSharedMailbox()
}

// ownHandles are one person's handles; an empty one is missing.
type ownHandles struct{ work, home, phone, social, site string }

// handleWriter appends handles to the dataset.
type handleWriter struct {
	*builder
	ids     *idSource
	stream  stream
	numbers *numbers
}

// draw invents a person's handles. A complete person has e-mail, phone and profile.
func (h *handleWriter) draw(p person, complete bool) ownHandles {
	s := h.stream
	local := strings.Trim(p.name.latinGiven+"."+p.name.latinFamily, ".")
	private := local // where there are namesakes, the second has to add something
	if p.double {
		private += "." + plain(p.home.city)
	}
	profile := strings.ReplaceAll(private, ".", "-")
	mailHost := pick(s, []string{"postbox.example", "inbox.example", "letters.example"})
	var o ownHandles
	if p.organization >= 0 {
		o.work = local + "@" + h.organizations[p.organization].domain
	}
	if s.chance(22) || o.work == "" {
		o.home = private + "@" + mailHost
	}
	if s.chance(60) || complete {
		o.phone = h.numbers.next(s, p.home.area)
	}
	if s.chance(50) || complete {
		o.social = "https://www.linkedin.example/in/" + profile
	}
	if s.chance(14) {
		o.site = "https://" + profile + ".example"
	}
	if s.chance(4) && !complete {
		o.work, o.home = "", ""
	}
	return o
}

func (h *handleWriter) write(p person, o ownHandles) {
	h.add(p, "email", o.work, "work", true)
	h.add(p, "email", o.home, "home", o.work == "")
	h.add(p, "phone", o.phone, pick(h.stream, []string{"mobile", "mobile", "work"}), true)
	h.add(p, "social", o.social, "linkedin", true)
	h.add(p, "url", o.site, "website", true)
}

// writeDouble gives a second record what it shares with the first, and nothing more.
func (h *handleWriter) writeDouble(p person, shares share, first ownHandles) {
	local, host, _ := strings.Cut(first.work, "@")
	switch shares {
	case sharesEmail:
		h.add(p, "email", first.work, "work", true)
	case sharesEmailCase:
		h.add(p, "email", strings.ToUpper(local)+"@"+host, "work", true)
	case sharesEmailTag:
		h.add(p, "email", local+"+conference@"+host, "other", true)
	case sharesPhone:
		h.add(p, "phone", respell(first.phone), "mobile", true)
	case sharesSocial:
		h.add(p, "social", first.social, "linkedin", true)
	case sharesOrganization, sharesNameOnly: // no handle in common
	}
}

// writeSharedMailbox gives up to three colleagues one address, besides their own.
func (h *handleWriter) writeSharedMailbox() {
	const shop = "Osier & Finch"
	organization := h.organizationNamed(shop)
	var written int
	for _, p := range h.people {
		if p.organization == organization && !p.double && written < 3 {
			h.add(p, "email", sharedMailbox+"@"+h.organizations[organization].domain, "shared", false)
			written++
		}
	}
}

// add appends a handle, or nothing when its value is empty.
func (h *handleWriter) add(p person, kind, value, label string, primary bool) {
	if value == "" {
		return
	}
	h.data.Handles = append(h.data.Handles, Handle{
		ID: h.ids.next(), ConnectionID: p.id, Kind: kind, Value: value, Label: label, Primary: primary,
	})
}

// numbers hands out phone numbers of the fictional ranges, each once.
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
// America has 100 numbers, the one of London 1000: more than the cast needs.
func (n *numbers) next(s stream, area string) string {
	for {
		from := area
		if from == "" {
			from = pick(s, n.areas)
		}
		number := fmt.Sprintf("%s 555-%04d", from, 100+s.IntN(100))
		if from == "+44 20" {
			number = fmt.Sprintf("%s 7946 0%03d", from, s.IntN(1000))
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
