package export

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/people"
)

// vCards writes a vCard 4.0 for each person (RFC 6350).
type vCards struct{ out io.Writer }

// Add implements Writer.
func (v vCards) Add(p People) error {
	var c cards
	for i := range p.People {
		c.person(&p.People[i])
	}
	_, err := io.WriteString(v.out, c.String())
	return err
}

// Close implements Writer.
func (vCards) Close() error { return nil }

// cards are content lines.
type cards struct {
	strings.Builder

	// groups counts the groups of properties in a card.
	groups int
}

// maxLine is the maximum length of a content line in octets, without its end (RFC 6350,
// section 3.2).
const maxLine = 75

// line writes a content line, folded between characters.
func (c *cards) line(s string) {
	room := maxLine
	for len(s) > room {
		cut := room
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		c.WriteString(s[:cut] + "\r\n ")
		s = s[cut:]
		room = maxLine - 1 // the space counts
	}
	c.WriteString(s + "\r\n")
}

// property writes a line unless its value is empty. Name may have parameters.
func (c *cards) property(name string, values ...string) {
	if strings.Join(values, "") == "" {
		return
	}
	escaped := make([]string, len(values))
	for i, v := range values {
		escaped[i] = escape(v)
	}
	c.line(name + ":" + strings.Join(escaped, ","))
}

// escape writes a text value (RFC 6350, section 3.4).
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, ",", `\,`, ";", `\;`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`).Replace(s)
}

func (c *cards) person(p *Person) {
	c.groups = lastGroup(p.Kept)
	c.line("BEGIN:VCARD")
	c.line("VERSION:4.0")
	c.line("PRODID:-//Kith//Kith//EN")
	c.line("KIND:individual")
	c.property("UID;VALUE=text", p.ID)
	c.property("FN", p.Name)
	if n := p.NameParts; n.Family+n.Given+n.Middle+n.Prefix+n.Suffix != "" {
		c.line("N:" + strings.Join([]string{escape(n.Family), escape(n.Given), escape(n.Middle), escape(n.Prefix), escape(n.Suffix)}, ";"))
	}
	c.property("X-PHONETIC-FIRST-NAME", p.NameParts.PhoneticGiven)
	c.property("X-PHONETIC-LAST-NAME", p.NameParts.PhoneticFamily)
	c.property("X-MAIDENNAME", p.NameParts.Former)
	c.property("PRONOUNS", p.NameParts.Pronouns) // RFC 9554
	c.property("NICKNAME", p.Nickname)
	c.positions(p)
	for _, of := range []struct{ kind, name string }{
		{people.KindEmail, "EMAIL"}, {people.KindPhone, "TEL"}, {people.KindURL, "URL"},
	} {
		c.handles(p, of.kind, of.name)
	}
	c.accounts(p)
	c.addresses(p)
	c.property("NOTE", p.Bio)
	if len(p.Picture.Data) > 0 {
		c.line("PHOTO:" + p.Picture.URI())
	}
	c.property("CATEGORIES", append(append([]string{}, p.Tags...), p.Groups...)...)
	c.dates(p)
	if died, err := (people.DateDraft{Date: p.DeceasedOn}).Parse(); err == nil {
		c.line("DEATHDATE:" + partial(died)) // RFC 6474
	}
	for _, r := range slices.Concat(p.Relations, p.Related) {
		// Other programs show the name; Kith reads the id and its own type.
		id := ""
		if r.ConnectionID != "" {
			id = ";" + RelatedID + "=" + r.ConnectionID
		}
		c.property(c.labelled(r.Label)+"RELATED;VALUE=text;TYPE="+relatedTypes(r.Type)+id, r.Name)
	}
	if !p.UpdatedAt.IsZero() {
		c.line("REV:" + p.UpdatedAt.UTC().Format("20060102T150405Z"))
	}
	for _, k := range p.Kept {
		if k.Format == VCard {
			c.line(strings.NewReplacer("\r", "", "\n", "").Replace(k.Text))
		}
	}
	c.line("END:VCARD")
}

// ownGroup is a group such as those that this package writes.
var ownGroup = regexp.MustCompile(`^(?i:item)([0-9]{1,6})\.`)

// lastGroup returns the highest number of a group of kept properties, so that others get no part in it.
func lastGroup(kept []people.Kept) (last int) {
	for _, k := range kept {
		if m := ownGroup.FindStringSubmatch(k.Text); m != nil {
			n, _ := strconv.Atoi(m[1])
			last = max(last, n)
		}
	}
	return last
}

// positions writes the current positions. Several are in groups of their own, so that each
// organization stays with its title.
func (c *cards) positions(p *Person) {
	several := 0
	for _, at := range p.Positions {
		if at.Current {
			several++
		}
	}
	for _, at := range p.Positions {
		if !at.Current {
			continue
		}
		group := ""
		if several > 1 {
			c.groups++
			group = fmt.Sprintf("item%d.", c.groups)
		}
		c.property(group+"ORG", at.Organization)
		if at.Title != "" || group != "" { // an empty title says that the next one is not of this organization
			c.line(group + "TITLE:" + escape(at.Title))
		}
	}
}

// handles writes the handles of a kind. Social addresses are written as web addresses, of
// which one is preferred.
func (c *cards) handles(p *Person, kind, name string) {
	preferred := ";PREF=1"
	for _, h := range p.Handles {
		if h.Kind != kind && (name != "URL" || h.Kind != people.KindSocial) {
			continue
		}
		value := escape(h.Value)
		if name == "URL" {
			value = strings.NewReplacer("\r", "", "\n", "").Replace(h.Value) // an address is not a text value
		}
		types := typeParameter(name, h.Label)
		group := ""
		if types == "" {
			group = c.labelled(h.Label)
		}
		c.line(group + name + types + preferred + ":" + value)
		preferred = ""
	}
}

// accounts writes the accounts. Those of messengers that other programs know by a scheme are IMPP.
func (c *cards) accounts(p *Person) {
	for _, a := range p.Accounts {
		types, group := typeParameter("IMPP", a.Label), ""
		if types == "" {
			group = c.labelled(a.Label)
		}
		switch a.Service {
		case "xmpp", "skype", "sip", "aim", "icq", "msn", "yahoo", "matrix", "telegram", "signal", "whatsapp":
			c.line(group + "IMPP;X-SERVICE-TYPE=" + a.Shown() + types + ":" + a.Service + ":" + url.PathEscape(a.Handle))
		default:
			c.line(group + "SOCIALPROFILE;SERVICE-TYPE=" + quoteParameter(a.Service) + types + ";VALUE=text:" + escape(a.Handle))
		}
	}
}

// LocationMark is the parameter of an ADR that is no address but a location that somebody typed: a free text, where readers
// look for the town.
const LocationMark = "X-KITH-LOCATION"

// addresses writes the postal addresses, and a location that somebody typed as an ADR with LocationMark.
func (c *cards) addresses(p *Person) {
	preferred := ";PREF=1"
	for _, a := range p.Addresses {
		types, group := typeParameter("ADR", a.Label), ""
		if types == "" {
			group = c.labelled(a.Label)
		}
		whole := ""
		if a.Text != "" {
			whole = ";LABEL=" + quoteParameter(a.Text)
		}
		c.line(group + "ADR" + types + preferred + whole + ":;;" + strings.Join([]string{
			escape(a.Street), escape(a.Locality), escape(a.Region), escape(a.Postcode), escape(country.Name(a.Country)),
		}, ";"))
		preferred = ""
	}
	if p.HasTypedLocation() {
		c.line("ADR;" + LocationMark + "=1:;;;" + escape(p.Location) + ";;;")
	}
}

// quoteParameter writes the value of a parameter, with the escapes of RFC 6868, and doubles backslashes, which other programs
// use for escapes there.
func quoteParameter(s string) string {
	return `"` + strings.NewReplacer("^", "^^", `\`, `\\`, "\r\n", "^n", "\n", "^n", "\r", "^n", `"`, "^'").Replace(s) + `"`
}

// labelled writes a label as Apple does, and returns the group of the property that has it; both
// are empty for no label.
func (c *cards) labelled(label string) (group string) {
	if label == "" {
		return ""
	}
	c.groups++
	group = fmt.Sprintf("item%d.", c.groups)
	c.property(group+"X-ABLabel", label)
	return group
}

// typeParameter reports whether vCards know a label.
func typeParameter(name, label string) string {
	switch l := strings.ToLower(label); {
	case l == "home" || l == "work":
		return ";TYPE=" + l
	case l == "mobile" && name == "TEL":
		return ";TYPE=cell"
	}
	return ""
}

// AboutMark is the parameter of a date whose year is not certain.
const AboutMark = "X-KITH-ABOUT"

// dates writes the dates. A card has one birthday and one anniversary; others are written as Apple
// does.
func (c *cards) dates(p *Person) {
	written := map[string]bool{}
	for _, d := range p.Dates {
		name := map[string]string{people.DateBirthday: "BDAY", people.DateAnniversary: "ANNIVERSARY"}[d.Kind]
		value := ":" + partial(d)
		if d.About {
			value = ";" + AboutMark + "=1" + value
		}
		switch {
		case value == ":":
		case name != "" && !written[name]:
			written[name] = true
			c.line(name + value)
		case name != "":
			c.line(c.labelled(d.Kind) + "X-ABDATE" + value)
		default:
			c.line(c.labelled(d.Label) + "X-ABDATE" + value)
		}
	}
}

// partial returns a date of RFC 6350, section 4.3.1.
func partial(d people.ImportantDate) string {
	switch {
	case d.Year > 0 && d.Month > 0 && d.Day > 0:
		return fmt.Sprintf("%04d%02d%02d", d.Year, d.Month, d.Day)
	case d.Year > 0 && d.Month > 0:
		return fmt.Sprintf("%04d-%02d", d.Year, d.Month)
	case d.Year > 0:
		return fmt.Sprintf("%04d", d.Year)
	case d.Month > 0 && d.Day > 0:
		return fmt.Sprintf("--%02d%02d", d.Month, d.Day)
	case d.Month > 0:
		return fmt.Sprintf("--%02d", d.Month)
	}
	return ""
}

// RelatedID is the parameter of RELATED with the id of the other person.
const RelatedID = "X-KITH-ID"

// relatedTypes returns the types of a relationship in a vCard: the standard's, and Kith's own if that
// says more.
func relatedTypes(kind string) string {
	if own := StandardRelation(kind); own == kind && own != people.RelationColleague {
		return own
	}
	return `"` + StandardRelation(kind) + ",x-" + strings.ReplaceAll(kind, "_", "-") + `"`
}

// StandardRelation returns the name of a relationship in vCards (RFC 6350, section 6.6.6) and
// JSContact.
func StandardRelation(kind string) string {
	switch kind {
	case people.RelationSpouse, people.RelationParent, people.RelationChild, people.RelationSibling, people.RelationFriend:
		return kind
	case people.RelationColleague, people.RelationManager, people.RelationReport:
		return "colleague"
	}
	return "contact"
}
