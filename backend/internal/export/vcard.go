package export

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/content"
	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/people"
)

// vCards writes a vCard for each person: of version 4.0 (RFC 6350), or of version 3.0 (RFC 2426), which is all that many phones
// and Outlook read, with the properties that Apple's programs write.
type vCards struct {
	out io.Writer
	v3  bool
}

// Add implements Writer.
func (v vCards) Add(p People) error {
	c := cards{v3: v.v3}
	for i := range p.People {
		c.person(&p.People[i])
	}
	_, err := io.WriteString(v.out, c.String())
	return err
}

// Card returns the vCard of a person, of version 3.0 or 4.0.
func Card(p *Person, v3 bool) string {
	c := cards{v3: v3}
	c.person(p)
	return c.String()
}

// Close implements Writer.
func (vCards) Close() error { return nil }

// cards are content lines.
type cards struct {
	strings.Builder

	v3 bool
	// groups counts the groups of properties in a card.
	groups int
}

// byVersion returns the first text for cards of version 4.0 and the second for cards of version 3.0.
func (c *cards) byVersion(v4, v3 string) string {
	if c.v3 {
		return v3
	}
	return v4
}

// preferred returns the parameter of the preferred one of several values.
func (c *cards) preferred() string { return c.byVersion(";PREF=1", ";TYPE=pref") }

// line writes a content line.
func (c *cards) line(s string) { content.WriteLine(&c.Builder, s) }

// property writes a line unless its value is empty. Name may have parameters.
func (c *cards) property(name string, values ...string) {
	if strings.Join(values, "") == "" {
		return
	}
	escaped := make([]string, len(values))
	for i, v := range values {
		escaped[i] = content.Escape(v)
	}
	c.line(name + ":" + strings.Join(escaped, ","))
}

func (c *cards) person(p *Person) {
	c.groups = lastGroup(p.Kept)
	c.line("BEGIN:VCARD")
	c.line("VERSION:" + c.byVersion("4.0", "3.0"))
	c.line("PRODID:-//Kith//Kith//EN")
	c.property("UID"+c.byVersion(";VALUE=text", ""), cmp.Or(p.UID, p.ID))
	c.property("FN", p.Name)
	switch n := p.NameParts; {
	case n.Family+n.Given+n.Middle+n.Prefix+n.Suffix != "":
		c.line("N:" + strings.Join([]string{content.Escape(n.Family), content.Escape(n.Given), content.Escape(n.Middle), content.Escape(n.Prefix), content.Escape(n.Suffix)}, ";"))
	case c.v3: // which requires it, and of which phones show it alone
		c.line("N;" + NameMark + "=1:;" + content.Escape(p.Name) + ";;;")
	}
	for _, part := range p.NameParts.All() {
		if part.Property != "" {
			c.property(part.Property, *part.Value)
		}
	}
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
		uri := p.Picture.URI()
		_, base64, _ := strings.Cut(uri, ",")
		c.line(c.byVersion("PHOTO:"+uri, "PHOTO;ENCODING=b;TYPE="+strings.ToUpper(strings.TrimPrefix(p.Picture.Media, "image/"))+":"+base64))
	}
	c.property("CATEGORIES", append(append([]string{}, p.Tags...), p.Groups...)...)
	c.dates(p)
	if died, err := (people.DateDraft{Date: p.DeceasedOn}).Parse(); err == nil {
		c.date(c.byVersion("DEATHDATE", "X-DEATHDATE"), died) // RFC 6474
	}
	for _, r := range slices.Concat(p.Relations, p.Related) {
		// Other programs show the name; Kith reads the id and its own type.
		var name string
		switch {
		case !c.v3:
			name = c.labelled(r.Label) + "RELATED;VALUE=text;TYPE=" + relatedTypes(r.Type)
		case r.Label != "":
			name = c.labelled(r.Label) + "X-ABRELATEDNAMES;TYPE=" + relatedTypes(r.Type)
		default:
			name = c.labelled(relatedLabel(r.Type)) + "X-ABRELATEDNAMES"
		}
		if r.ConnectionID != "" {
			name += ";" + RelatedID + "=" + r.ConnectionID
		}
		c.property(name, r.Name)
	}
	if !p.UpdatedAt.IsZero() {
		c.line("REV:" + p.UpdatedAt.UTC().Format("20060102T150405Z"))
	}
	for _, v := range p.Fields {
		c.line(FieldProperty + ";" + FieldNameParameter + "=" + quoteParameter(v.Name) + ";" + FieldTypeParameter + "=" + v.Type + ":" + content.Escape(v.Value))
	}
	for _, k := range p.Kept {
		if k.Format == VCard && (k.Name != "PHOTO" || p.Photo == "") { // one photo is enough: the kept one is at another site
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
			group = c.group()
		}
		c.property(group+"ORG", at.Organization)
		if at.Title != "" || group != "" { // an empty title says that the next one is not of this organization
			c.line(group + "TITLE:" + content.Escape(at.Title))
		}
	}
}

// handles writes the handles of a kind, of which the first is preferred if there are several. Social addresses are
// written as web addresses.
func (c *cards) handles(p *Person, kind, name string) {
	handles := slices.DeleteFunc(slices.Clone(p.Handles), func(h people.Handle) bool {
		return h.Kind != kind && (name != "URL" || h.Kind != people.KindSocial)
	})
	preferred := ""
	if len(handles) > 1 {
		preferred = c.preferred()
	}
	for _, h := range handles {
		value := content.Escape(h.Value)
		if name == "URL" {
			value = strings.NewReplacer("\r", "", "\n", "", `\`, c.byVersion(`\`, `\\`)).Replace(h.Value) // an address is not a text value
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

// accounts writes the accounts. Those of messengers that other programs know by a scheme are IMPP. The name of any other service
// is escaped in version 3.0, too, which has no escapes in parameters: it rarely needs any, and Kith reads them.
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
			c.line(group + c.byVersion("SOCIALPROFILE;SERVICE-TYPE=", "X-SOCIALPROFILE;X-SERVICE-TYPE=") + quoteParameter(a.Service) + types + ";VALUE=text:" + content.Escape(a.Handle))
		}
	}
}

// FieldProperty is the property with the value of a custom field, and its parameters with the field's name and type.
const (
	FieldProperty      = "X-KITH-FIELD"
	FieldNameParameter = "X-KITH-FIELD-NAME"
	FieldTypeParameter = "X-KITH-FIELD-TYPE"
)

// LocationMark is the parameter of an ADR that is no address but a location that somebody typed: a free text, where readers
// look for the town.
const LocationMark = "X-KITH-LOCATION"

// NameMark is the parameter of an N that is all of a name of which no parts are known.
const NameMark = "X-KITH-NAME"

// addresses writes the postal addresses, and a location that somebody typed as an ADR with LocationMark. The text of an
// address as a whole is a parameter, or since that is new in version 4.0, a property in the same group.
func (c *cards) addresses(p *Person) {
	preferred := c.preferred()
	for _, a := range p.Addresses {
		types, group := typeParameter("ADR", a.Label), ""
		if types == "" {
			group = c.labelled(a.Label)
		}
		whole := ""
		switch {
		case a.Text == "":
		case !c.v3:
			whole = ";LABEL=" + quoteParameter(a.Text)
		default:
			if group == "" {
				group = c.group()
			}
			c.property(group+"LABEL"+types, a.Text)
		}
		c.line(group + "ADR" + types + preferred + whole + ":;;" + strings.Join([]string{
			content.Escape(a.Street), content.Escape(a.Locality), content.Escape(a.Region), content.Escape(a.Postcode), content.Escape(country.Name(a.Country)),
		}, ";"))
		preferred = ""
	}
	if p.HasTypedLocation() {
		c.line("ADR;" + LocationMark + "=1:;;;" + content.Escape(p.Location) + ";;;")
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
	group = c.group()
	c.property(group+"X-ABLabel", label)
	return group
}

// group returns the prefix of the next group.
func (c *cards) group() string {
	c.groups++
	return fmt.Sprintf("item%d.", c.groups)
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

// dates writes the dates. A card has one birthday and, since version 4.0, one anniversary; others are written as Apple
// does.
func (c *cards) dates(p *Person) {
	written := map[string]bool{}
	for _, d := range p.Dates {
		name := map[string]string{people.DateBirthday: "BDAY", people.DateAnniversary: c.byVersion("ANNIVERSARY", "")}[d.Kind]
		switch {
		case name != "" && !written[name]:
			written[name] = true
			c.date(name, d)
		case d.Kind == people.DateAnniversary:
			c.date(c.labelled("_$!<Anniversary>!$_")+"X-ABDATE", d)
		case d.Kind == people.DateBirthday:
			c.date(c.labelled(d.Kind)+"X-ABDATE", d)
		default:
			c.date(c.labelled(d.Label)+"X-ABDATE", d)
		}
	}
}

// date writes a date. Version 3.0 has no dates without a year; Apple's programs write this one in its place, and say so.
func (c *cards) date(name string, d people.ImportantDate) {
	const yearOfNone = 1604
	value := partial(d)
	if d.About {
		name += ";" + AboutMark + "=1"
	}
	switch {
	case !c.v3 || d.Month == 0 || d.Day == 0:
	case d.Year == 0:
		name += fmt.Sprint(";X-APPLE-OMIT-YEAR=", yearOfNone)
		d.Year = yearOfNone
		fallthrough
	default:
		value = fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
	}
	c.property(name, value)
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

// relatedLabel returns the label of a relationship in cards of version 3.0: Apple's own, which its programs translate, or else
// the words for it.
func relatedLabel(kind string) string {
	switch kind {
	case people.RelationSpouse, people.RelationParent, people.RelationChild, people.RelationFriend, people.RelationManager, people.RelationOther:
		return "_$!<" + strings.ToUpper(kind[:1]) + kind[1:] + ">!$_"
	}
	return strings.ReplaceAll(kind, "_", " ")
}

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
