package source

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/text"
)

// cardReader reads one card into a draft.
type cardReader struct {
	*draft

	cards  *cards
	card   *card
	labels map[string]string // Apple's labels, by group
	orgs   []string
	titles []string
	roles  []string
	// namePref is how much the name is preferred among several.
	namePref int
	// guessed reports whether a text had to be read in a guessed character set.
	guessed bool
}

// record converts a card to a record.
func (c *cards) record(card *card) Record {
	d := draft{region: c.region}
	r := cardReader{draft: &d, cards: c, card: card, labels: map[string]string{}}
	for i := range card.properties {
		if p := &card.properties[i]; p.name == "X-ABLABEL" && p.group != "" {
			r.labels[p.group] = appleLabel(r.text(p))
		}
	}
	for i := range card.properties {
		p := &card.properties[i]
		read, known := c.readers[p.name]
		switch {
		case !known:
		case len(p.value) > maxCell:
			d.warn("%s was left out: it is longer than 1 MB", p.name)
		default:
			read(&r, p)
		}
	}
	r.positions()
	for _, group := range c.groups[keyOf(d.ID)] {
		if d.ID != "" {
			d.group(group)
		}
	}
	if !card.ended {
		d.warn("the card has no end; something of it may be missing")
	}
	if card.tooMany {
		d.warn("the card has more than %d properties; the others were left out", maxProperties)
	}
	if r.guessed {
		d.warn("a text does not say in which character set it is; it was read as %s", c.set.fallback().name)
	}
	return d.record(card.row)
}

// cardReaders are the functions for the properties that are read.
func cardReaders() map[string]func(*cardReader, *property) {
	return map[string]func(*cardReader, *property){
		"FN": (*cardReader).fullName,
		"N":  (*cardReader).parts,
		"NICKNAME": func(r *cardReader, p *property) {
			r.set(&r.Nickname, "nickname", strings.Join(r.list(p, ','), ", "), maxNickname)
		},
		"UID":              func(r *cardReader, p *property) { r.fill(&r.ID, p) },
		"ORG":              (*cardReader).org,
		"TITLE":            func(r *cardReader, p *property) { r.titles = append(r.titles, r.text(p)) },
		"ROLE":             func(r *cardReader, p *property) { r.roles = append(r.roles, r.text(p)) },
		"EMAIL":            func(r *cardReader, p *property) { r.email(r.text(p), r.label(p), p.pref) },
		"TEL":              func(r *cardReader, p *property) { r.phone(r.uri(p), r.label(p), p.pref) },
		"URL":              func(r *cardReader, p *property) { r.web(people.KindURL, r.uri(p), r.label(p), p.pref) },
		"X-SOCIALPROFILE":  (*cardReader).profile,
		"SOCIALPROFILE":    (*cardReader).profile,
		"ADR":              (*cardReader).address,
		"NOTE":             func(r *cardReader, p *property) { r.about(r.text(p)) },
		"CATEGORIES":       (*cardReader).categories,
		"BDAY":             func(r *cardReader, p *property) { r.day(people.DateBirthday, p) },
		"ANNIVERSARY":      func(r *cardReader, p *property) { r.day(people.DateAnniversary, p) },
		"X-ANNIVERSARY":    func(r *cardReader, p *property) { r.day(people.DateAnniversary, p) },
		"X-ABDATE":         (*cardReader).labelledDay,
		"RELATED":          (*cardReader).related,
		"X-ABRELATEDNAMES": (*cardReader).related,
		"X-SPOUSE": func(r *cardReader, p *property) {
			r.relate(export.RelationshipRecord{Name: r.text(p), Type: people.RelationSpouse})
		},
		propertyPhoto:             (*cardReader).photo,
		"X-EVOLUTION-ANNIVERSARY": func(r *cardReader, p *property) { r.day(people.DateAnniversary, p) },
		"CREATED":                 func(r *cardReader, p *property) { r.CreatedAt = timestamp(r.text(p)) },
		"REV":                     func(r *cardReader, p *property) { r.UpdatedAt = timestamp(r.text(p)) },
	}
}

const propertyPhoto = "PHOTO"

// photo reads the first photo that is in the file itself: in base64, or as a data: URI. Nothing is
// fetched from other sites.
func (r *cardReader) photo(p *property) {
	value := strings.TrimSpace(string(p.value))
	if p.isBinary() {
		value = "data:;base64," + value
	} else {
		value = strings.ReplaceAll(value, `\`, "") // some escape the URI as if it was a text
	}
	switch {
	case value == "" || r.Photo != "":
	case !photos.Inline(value):
		r.warn("the photo was left out: it is not in the file, and Kith fetches no pictures from other sites")
	default:
		r.Photo = value
	}
}

// raw returns a value with its escapes.
func (r *cardReader) raw(p *property) string {
	value, guessed := r.cards.set.value(p.bytes(), p.charset)
	r.guessed = r.guessed || guessed
	return value
}

// text returns the value of a text property.
func (r *cardReader) text(p *property) string { return unescape(r.raw(p)) }

// uri returns the value of a property that is a URI since vCard 4.0, where it has
// no escapes.
func (r *cardReader) uri(p *property) string {
	if r.card.raw && p.name != "TEL" {
		return r.raw(p)
	}
	return r.text(p)
}

// list returns the values of a property that has several.
func (r *cardReader) list(p *property, separator byte) []string {
	parts := splitEscaped(r.raw(p), separator)
	for i := range parts {
		parts[i] = strings.TrimSpace(unescape(parts[i]))
	}
	return parts
}

// fill sets a field that is still empty.
func (r *cardReader) fill(field *string, p *property) {
	if *field == "" {
		*field = strings.TrimSpace(r.text(p))
	}
}

// fullName reads the preferred FN, or the first one.
func (r *cardReader) fullName(p *property) {
	if r.name.full == "" || rank(p.pref) < rank(r.namePref) {
		r.name.full, r.namePref = strings.TrimSpace(r.text(p)), p.pref
	}
}

// parts reads N: family, given and additional names, prefixes and suffixes.
func (r *cardReader) parts(p *property) {
	parts := r.list(p, ';')
	for i, part := range []*string{&r.name.family, &r.name.given, &r.name.middle, &r.name.prefix, &r.name.suffix} {
		if i < len(parts) && *part == "" {
			*part = strings.ReplaceAll(parts[i], ",", " ")
		}
	}
}

// org reads an organisation; its units are not imported.
func (r *cardReader) org(p *property) {
	parts := r.list(p, ';')
	r.orgs = append(r.orgs, parts[0])
	if units := strings.Trim(strings.Join(parts[1:], ", "), ", "); units != "" {
		r.warn("the department %q was left out", shown(units))
	}
}

// positions combines organisations and titles, in their order. A role, what a person does,
// is used when there is no title.
func (r *cardReader) positions() {
	if len(r.titles) == 0 {
		r.titles, r.roles = r.roles, nil
	}
	for _, role := range r.roles {
		r.warn("the role %q was left out", shown(role))
	}
	for i := range max(len(r.orgs), len(r.titles)) {
		j := r.job(strconv.Itoa(i))
		if i < len(r.orgs) {
			j.organization = r.orgs[i]
		}
		if i < len(r.titles) {
			j.title = r.titles[i]
		}
	}
}

// profile reads a page at a social network.
func (r *cardReader) profile(p *property) {
	label := r.label(p)
	for _, service := range p.types {
		if service != "home" && service != "work" {
			label = service
		}
	}
	r.web(people.KindSocial, r.uri(p), label, p.pref)
}

// address reads ADR: post office box, extended address, street, town, region,
// postal code and country.
func (r *cardReader) address(p *property) {
	parts := append(r.list(p, ';'), make([]string, 7)...)
	at := r.place(strconv.Itoa(len(r.places)))
	at.street, at.city, at.region, at.country = parts[2], parts[3], parts[4], parts[6]
	at.whole, at.pref = p.label, p.pref
}

// categories adds tags, except the group that Google puts every contact in.
func (r *cardReader) categories(p *property) {
	for _, name := range r.list(p, ',') {
		if name != "myContacts" {
			r.tag(name)
		}
	}
}

// day reads a date. Apple writes a placeholder year for a date without one.
func (r *cardReader) day(kind string, p *property) { r.labelled(kind, "", p) }

func (r *cardReader) labelledDay(p *property) {
	label := r.labels[p.group]
	r.labelled(dateKind(label), label, p)
}

func (r *cardReader) labelled(kind, label string, p *property) {
	value := r.text(p)
	const yearOfNone = "1604"
	if rest, ok := strings.CutPrefix(value, cmp.Or(p.omitYear, yearOfNone)); ok && len(rest) >= 4 {
		value = "--" + strings.TrimPrefix(rest, "-")
	}
	r.addDate(kind, label, value, monthFirst)
}

// related reads another person: a name, or the key of another card.
func (r *cardReader) related(p *property) {
	value := strings.TrimSpace(r.text(p))
	words := p.types
	if label := r.labels[p.group]; label != "" {
		words = []string{label}
	}
	relation := export.RelationshipRecord{Name: value, Type: people.RelationOther}
	for _, word := range words {
		if of := relationOf(word); of != people.RelationOther {
			relation.Type = of
			break
		}
	}
	if key := keyOf(value); key != text.Line(value) {
		relation.Name, relation.ConnectionID = "", key
	}
	r.relate(relation)
}

// label returns the label of an address: Apple's own text, otherwise the types that people
// know.
func (r *cardReader) label(p *property) string {
	if label := r.labels[p.group]; label != "" && p.group != "" {
		return label
	}
	for _, known := range []struct {
		label string
		types []string
	}{
		{"mobile", []string{"cell", "mobile", "iphone"}}, {"fax", []string{"fax"}}, {"pager", []string{"pager"}}, {"main", []string{"main"}},
		{"car", []string{"car"}}, {"home", []string{"home"}}, {"work", []string{"work"}}, {"other", []string{"other"}},
	} {
		if p.is(known.types...) {
			return known.label
		}
	}
	return ""
}

// appleLabel converts a built-in Apple label, _$!<Home>!$_, to lower case.
func appleLabel(s string) string {
	own, ok := strings.CutPrefix(text.Line(s), "_$!<")
	if !ok {
		return own
	}
	return strings.ToLower(strings.TrimSuffix(own, ">!$_"))
}

// timestamp parses a time of a card, or returns the zero time.
func timestamp(s string) time.Time {
	s = strings.TrimSpace(s)
	layouts := []string{time.RFC3339, "20060102T150405Z0700", "20060102T150405", "2006-01-02T15:04:05", time.DateOnly, "20060102"}
	at := slices.IndexFunc(layouts, func(layout string) bool { _, err := time.Parse(layout, s); return err == nil })
	if at < 0 {
		return time.Time{}
	}
	t, _ := time.Parse(layouts[at], s)
	return t.UTC()
}
