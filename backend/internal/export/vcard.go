package export

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

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
type cards struct{ strings.Builder }

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
	c.line("BEGIN:VCARD")
	c.line("VERSION:4.0")
	c.line("PRODID:-//Kith//Kith//EN")
	c.line("KIND:individual")
	c.property("UID;VALUE=text", p.ID)
	c.property("FN", p.Name)
	c.property("NICKNAME", p.Nickname)
	current := p.CurrentPosition()
	c.property("ORG", current.Organization)
	c.property("TITLE", current.Title)
	for _, of := range []struct{ kind, name string }{
		{people.KindEmail, "EMAIL"}, {people.KindPhone, "TEL"}, {people.KindURL, "URL"},
	} {
		c.handles(p, of.kind, of.name)
	}
	if p.Location != "" {
		c.line("ADR:;;;" + escape(p.Location) + ";;;") // a free text, where readers look for the town
	}
	c.property("NOTE", p.Bio)
	if len(p.Picture.Data) > 0 {
		c.line("PHOTO:" + p.Picture.URI())
	}
	c.property("CATEGORIES", append(append([]string{}, p.Tags...), p.Groups...)...)
	c.dates(p)
	for _, r := range p.Relations {
		c.property("RELATED;VALUE=text;TYPE="+related(r.Type), r.Name)
	}
	if !p.UpdatedAt.IsZero() {
		c.line("REV:" + p.UpdatedAt.UTC().Format("20060102T150405Z"))
	}
	c.line("END:VCARD")
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
		c.line(name + typed(name, h.Label) + preferred + ":" + value)
		preferred = ""
	}
}

// typed reports whether vCards know a label.
func typed(name, label string) string {
	switch l := strings.ToLower(label); {
	case l == "home" || l == "work":
		return ";TYPE=" + l
	case l == "mobile" && name == "TEL":
		return ";TYPE=cell"
	}
	return ""
}

// dates writes birthday and anniversary; a card has one of each at most.
func (c *cards) dates(p *Person) {
	written := map[string]bool{}
	for _, d := range p.Dates {
		name := map[string]string{people.DateBirthday: "BDAY", people.DateAnniversary: "ANNIVERSARY"}[d.Kind]
		value := partial(d)
		if name == "" || written[name] || value == "" {
			continue
		}
		written[name] = true
		c.line(name + ":" + value)
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

// related returns the name of a relationship in vCards (RFC 6350, section 6.6.6) and
// JSContact.
func related(kind string) string {
	switch kind {
	case people.RelationSpouse, people.RelationParent, people.RelationChild, people.RelationSibling, people.RelationFriend:
		return kind
	case people.RelationColleague, people.RelationManager, people.RelationReport:
		return "colleague"
	}
	return "contact"
}
