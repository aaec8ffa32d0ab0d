package source

import (
	"bytes"
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
	// orgs, titles and roles are what positions are made of.
	orgs, titles, roles []grouped
	// at are the groups of the addresses, and wholes the texts of addresses as a whole.
	at     []string
	wholes []*property
	// namePref is how much the name is preferred among several.
	namePref int
	// guessed reports whether a text had to be read in a guessed character set.
	guessed bool
}

// grouped is a text and the group of its property, which may be empty.
type grouped struct{ text, group string }

// read converts a card to a record.
func (c *cards) read(card *card) Record {
	d := draft{region: c.region, days: c.days, fields: c.file.fields}
	r := cardReader{draft: &d, cards: c, card: card, labels: map[string]string{}}
	if card.tooMany { // said first, since the number of warnings is bounded
		d.warn("the card has more than %d properties; the others were left out", maxProperties)
	}
	for i := range card.properties {
		if p := &card.properties[i]; p.name == "X-ABLABEL" && p.group != "" {
			r.labels[p.group] = appleLabel(r.text(p))
		}
	}
	program := ""
	for i := range card.properties {
		p := &card.properties[i]
		if p.name == "PRODID" {
			program = string(p.value)
		}
		read, known := c.readers[p.name]
		switch {
		case len(p.value) > maxCell:
			d.warn("%s was left out: it is longer than 1 MB", p.name)
			d.drop(p.name, cmp.Or(fieldsOfProperties[p.name], FieldKept))
		case len(bytes.Trim(p.value, "; \t")) == 0 || known && isMetadata(p.name):
			if known {
				read(&r, p)
			}
		case !known && !c.isKnown(p.name):
			d.count(p.name, FieldKept, func() { r.unknown(p) })
		case known:
			d.count(p.name, fieldsOfProperties[p.name], func() { read(&r, p) })
		}
	}
	d.recount(r.positions, "organization", "job_title")
	d.recount(r.wholeAddresses, "address")
	for _, name := range card.dropped {
		d.drop(name, FieldKept)
	}
	if !card.ended {
		d.warn("the card has no end; something of it may be missing")
	}
	if r.guessed {
		d.warn("a text does not say in which character set it is; it was read as %s", c.set.fallback().name)
	}
	return c.record(&d, card.row, programOf(VCard, program))
}

// cardReaders are the functions for the properties that are read.
func cardReaders() map[string]func(*cardReader, *property) {
	readers := map[string]func(*cardReader, *property){
		"FN": (*cardReader).fullName,
		"N":  (*cardReader).parts,
		"NICKNAME": func(r *cardReader, p *property) {
			r.setText("nickname", strings.Join(r.list(p, ','), ", "))
		},
		"UID":     func(r *cardReader, p *property) { r.fill(&r.ID, "id", p) },
		"ORG":     (*cardReader).org,
		"TITLE":   func(r *cardReader, p *property) { r.titles = append(r.titles, grouped{r.text(p), p.group}) },
		"ROLE":    func(r *cardReader, p *property) { r.roles = append(r.roles, grouped{r.text(p), p.group}) },
		"EMAIL":   func(r *cardReader, p *property) { r.email(r.text(p), r.label(p), p.pref) },
		"TEL":     func(r *cardReader, p *property) { r.phone(r.uri(p), r.label(p), p.pref) },
		"URL":     func(r *cardReader, p *property) { r.web(people.KindURL, r.uri(p), r.label(p), p.pref) },
		"IMPP":    func(r *cardReader, p *property) { r.accountURI(p.service, r.uri(p), r.label(p)) },
		"X-SKYPE": accountWith("skype"), "X-SKYPE-USERNAME": accountWith("skype"), "X-JABBER": accountWith("xmpp"), "X-AIM": accountWith("aim"),
		"X-ICQ": accountWith("icq"), "X-MSN": accountWith("msn"), "X-YAHOO": accountWith("yahoo"), "X-GADUGADU": accountWith("gadugadu"),
		"X-GROUPWISE": accountWith("groupwise"), "X-MATRIX": accountWith("matrix"), "X-TELEGRAM": accountWith("telegram"), "X-SIGNAL": accountWith("signal"),
		"X-WHATSAPP": accountWith("whatsapp"), "X-TWITTER": accountWith("x"), "X-MASTODON": accountWith("mastodon"),
		"X-SOCIALPROFILE":    (*cardReader).profile,
		"SOCIALPROFILE":      (*cardReader).profile,
		"ADR":                (*cardReader).address,
		"LABEL":              func(r *cardReader, p *property) { r.wholes = append(r.wholes, p) },
		"NOTE":               func(r *cardReader, p *property) { r.addText(r.text(p)) },
		"CATEGORIES":         (*cardReader).categories,
		"BDAY":               func(r *cardReader, p *property) { r.day(people.DateBirthday, p) },
		"ANNIVERSARY":        func(r *cardReader, p *property) { r.day(people.DateAnniversary, p) },
		"X-ANNIVERSARY":      func(r *cardReader, p *property) { r.day(people.DateAnniversary, p) },
		"X-ABDATE":           (*cardReader).labelledDay,
		"DEATHDATE":          func(r *cardReader, p *property) { r.setDeceasedOn(r.text(p)) },
		"X-DEATHDATE":        func(r *cardReader, p *property) { r.setDeceasedOn(r.text(p)) },
		"RELATED":            (*cardReader).related,
		export.FieldProperty: func(r *cardReader, p *property) { r.customField(p.field, p.fieldType, r.text(p)) },
		"X-ABRELATEDNAMES":   (*cardReader).related,
		"X-SPOUSE":           relatedWith("spouse"), "X-EVOLUTION-SPOUSE": relatedWith("spouse"), "X-KADDRESSBOOK-X-SPOUSENAME": relatedWith("spouse"),
		"X-MANAGER": relatedWith("manager"), "X-EVOLUTION-MANAGER": relatedWith("manager"), "X-KADDRESSBOOK-X-MANAGERSNAME": relatedWith("manager"),
		"X-ASSISTANT": relatedWith("assistant"), "X-EVOLUTION-ASSISTANT": relatedWith("assistant"), "X-KADDRESSBOOK-X-ASSISTANTSNAME": relatedWith("assistant"),
		propertyPhoto:             (*cardReader).photo,
		"X-EVOLUTION-ANNIVERSARY": func(r *cardReader, p *property) { r.day(people.DateAnniversary, p) },
		"CREATED":                 func(r *cardReader, p *property) { r.CreatedAt = timestamp(r.text(p)) },
		"REV":                     func(r *cardReader, p *property) { r.UpdatedAt = timestamp(r.text(p)) },
	}
	for i, part := range new(people.NameParts).All() {
		if part.Property != "" {
			readers[part.Property] = func(r *cardReader, p *property) { r.fill(r.name.All()[i].Value, strings.ToLower(part.Column), p) }
		}
	}
	return readers
}

const propertyPhoto = "PHOTO"

// photo reads the first photo that is in the file itself: in base64, or as a data: URI. Nothing is
// fetched from other sites; their addresses are kept.
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
		r.unknown(p)
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

// fill sets a field. A second value is kept in the import note.
func (r *cardReader) fill(field *string, what string, p *property) {
	value := strings.TrimSpace(r.text(p))
	if *field == "" {
		*field = value
		return
	}
	r.keepSecond(what, *field, value)
}

// unknown keeps a property that is not read: as it is, with the label of its group, or else in the import note.
func (r *cardReader) unknown(p *property) {
	if !r.card.old && (p.encoding == "" || p.isBinary()) && p.charset == "" && r.keep(VCard, p.name, r.whole(p)) {
		for i := range r.card.properties {
			if label := &r.card.properties[i]; p.group != "" && label.group == p.group && label.name == "X-ABLABEL" {
				r.keep(VCard, label.name, r.whole(label))
			}
		}
		return
	}
	if value := strings.Trim(r.text(p), "; \t\n"); text.Visible(value) {
		r.addToNote(p.name, value)
	}
}

// whole returns the content line of a property.
func (r *cardReader) whole(p *property) string {
	head, guessed := r.cards.set.value([]byte(p.head), "")
	r.guessed = r.guessed || guessed
	return head + ":" + r.raw(p)
}

// fullName reads the preferred FN, or the first one.
func (r *cardReader) fullName(p *property) {
	value := strings.TrimSpace(r.text(p))
	if r.name.full == "" || rank(p.pref) < rank(r.namePref) {
		value, r.name.full, r.namePref = r.name.full, value, p.pref
	}
	r.keepSecond("name", r.name.full, value)
}

// parts reads N: family, given and additional names, prefixes and suffixes.
func (r *cardReader) parts(p *property) {
	if p.marked {
		return
	}
	parts := splitEscaped(r.raw(p), ';')
	for i, part := range []*string{&r.name.Family, &r.name.Given, &r.name.Middle, &r.name.Prefix, &r.name.Suffix} {
		if i >= len(parts) {
			break
		}
		var words []string
		for _, word := range splitEscaped(parts[i], ',') {
			words = append(words, strings.TrimSpace(unescape(word)))
		}
		if value := strings.TrimSpace(strings.Join(words, " ")); *part == "" {
			*part = value
		} else {
			r.keepSecond("name", *part, value)
		}
	}
}

// org reads an organisation. Its units are kept in the import note.
func (r *cardReader) org(p *property) {
	parts := r.list(p, ';')
	r.orgs = append(r.orgs, grouped{parts[0], p.group})
	if units := strings.Trim(strings.Join(parts[1:], ", "), ", "); units != "" {
		r.addToNote("Department", units)
	}
}

// positions combines organisations with titles and roles. Those of one group belong together; the
// others are combined in their order. A role, what a person does, is used where there is no title.
func (r *cardReader) positions() {
	titleOf := pairUp(r.orgs, r.titles)
	untitled := []grouped{}
	at := []int{}
	for i, org := range r.orgs {
		if titleOf[i] < 0 {
			untitled, at = append(untitled, org), append(at, i)
		}
	}
	add := func(organization, title string) {
		j := r.job(strconv.Itoa(len(r.jobs)))
		j.organization, j.title = organization, title
	}
	roleOf := map[int]string{}
	usedRoles := map[int]bool{}
	for i, role := range pairUp(untitled, r.roles) {
		if role >= 0 {
			roleOf[at[i]], usedRoles[role] = r.roles[role].text, true
		}
	}
	used := map[int]bool{}
	for i, org := range r.orgs {
		if title := titleOf[i]; title >= 0 {
			used[title] = true
			add(org.text, r.titles[title].text)
		} else {
			add(org.text, roleOf[i])
		}
	}
	for i, title := range r.titles {
		if !used[i] {
			add("", title.text)
		}
	}
	for i, role := range r.roles {
		switch {
		case usedRoles[i]:
		case len(r.jobs) == 0:
			add("", role.text)
		default:
			r.addToNote("Role", role.text)
		}
	}
}

// pairUp returns the index in values of what belongs to each of some texts, or -1: what has the
// same group; otherwise the next that has no group, or none in common with any other text.
func pairUp(texts, values []grouped) []int {
	of := make([]int, len(texts))
	used := map[int]bool{}
	for i, t := range texts {
		of[i] = slices.IndexFunc(values, func(v grouped) bool { return t.group != "" && v.group == t.group })
		used[of[i]] = true
	}
	next := 0
	for i, t := range texts {
		for next < len(values) && used[next] {
			next++
		}
		if of[i] >= 0 || next == len(values) || t.group != "" && values[next].group != "" && len(texts)+len(values) > 2 {
			continue
		}
		of[i], used[next] = next, true
	}
	return of
}

// accountWith reads an account with a service.
func accountWith(service string) func(*cardReader, *property) {
	return func(r *cardReader, p *property) { r.account(service, r.text(p), r.label(p)) }
}

// profile reads a page at a social network, or an account without one.
func (r *cardReader) profile(p *property) {
	label := r.label(p)
	if p.isText {
		r.account(p.service, r.text(p), label)
		return
	}
	if scheme, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(r.uri(p))), ":"); scheme == "x-apple" || people.KnownService(scheme) {
		service := p.service
		for _, word := range p.types {
			if service == "" && people.KnownService(word) {
				service = word
			}
		}
		r.accountURI(service, cmp.Or(strings.TrimPrefix(r.uri(p), "x-apple:"), p.user), label)
		return
	}
	for _, service := range p.types {
		if service != "home" && service != "work" {
			label = service
		}
	}
	label = cmp.Or(label, p.service)
	if user := strings.TrimPrefix(p.user, "@"); user != "" && !strings.Contains(r.uri(p), user) {
		r.account(cmp.Or(p.service, label), p.user, "")
	}
	r.web(people.KindSocial, r.uri(p), label, p.pref)
}

// address reads ADR: post office box, extended address, street, town, region,
// postal code and country.
func (r *cardReader) address(p *property) {
	parts := append(r.list(p, ';'), make([]string, 7)...)
	if p.marked {
		r.setText("location", parts[3])
		return
	}
	at := r.place(strconv.Itoa(len(r.places)))
	r.at = append(r.at, p.group)
	for _, line := range parts[:3] {
		if text.Visible(line) {
			at.lines = append(at.lines, line)
		}
	}
	at.city, at.region, at.postcode, at.country = parts[3], parts[4], parts[5], parts[6]
	at.whole, at.pref, at.label = p.label, p.pref, r.label(p)
}

// wholeAddresses adds the texts that vCards before version 4.0 have of addresses as a whole: to the address in the same group,
// otherwise to the first one of the same label that has none; a text of no address is one of its own.
func (r *cardReader) wholeAddresses() {
	for _, p := range r.wholes {
		of := slices.Index(r.at, p.group)
		if p.group == "" || of < 0 {
			of = slices.IndexFunc(r.places, func(at place) bool { return at.label == r.label(p) && at.whole == "" })
		}
		if of < 0 {
			of = len(r.places)
			r.place(strconv.Itoa(of)).label = r.label(p)
			r.at = append(r.at, p.group)
		}
		at := &r.places[of]
		if at.whole == "" {
			at.whole = r.text(p)
		} else {
			r.keepSecond("address", at.whole, r.text(p))
		}
	}
}

// categories adds tags. Google writes its groups there: the one of all contacts is no tag, and
// starred is the star.
func (r *cardReader) categories(p *property) {
	for _, name := range r.list(p, ',') {
		switch name {
		case "myContacts":
		case "starred":
			r.Starred = true
		default:
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
	if p.about {
		value = "about " + value
	}
	const yearOfNone = "1604"
	if rest, ok := strings.CutPrefix(value, cmp.Or(p.omitYear, yearOfNone)); ok && len(rest) >= 4 {
		value = "--" + strings.TrimPrefix(rest, "-")
	}
	var read dateColumn
	if read.add(value); read.ambiguous != "" && !read.dots && !r.days.forDots {
		day, _ := readDate(value, r.days)
		r.warn("the date %q was read as %s; set the order of dates if that is wrong", shown(value), day)
	}
	r.addDate(kind, label, value)
}

// relatedWith reads the name of another person.
func relatedWith(word string) func(*cardReader, *property) {
	return func(r *cardReader, p *property) { r.addRelation(relatedAs(word, strings.TrimSpace(r.text(p)))) }
}

// related reads another person: a name, or the key of another card. Kith's own cards have both, and
// Kith's own type of relationship, which begins with x-. A label of Apple's says more than types, of which each is a relation.
func (r *cardReader) related(p *property) {
	name, key := strings.TrimSpace(r.text(p)), p.person
	if urn := keyOf(name); key == "" && urn != text.Line(name) {
		name, key = "", urn
	}
	words := slices.DeleteFunc(slices.Clone(p.types), func(word string) bool { return word == "contact" || word == "pref" })
	if own := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "x-") }); own >= 0 {
		words = []string{strings.TrimPrefix(words[own], "x-")}
	}
	label := r.labels[p.group]
	if len(words) == 0 || label != "" {
		words = append(words, label)[:1]
	}
	for _, word := range words {
		relation := relatedAs(word, name)
		if told := relatedAs(label, name); told.Label != "" {
			relation.Label = told.Label
		}
		relation.ConnectionID = key
		r.addRelation(relation)
	}
}

// label returns the label of an address: Apple's own text, otherwise the type that people know,
// and types that only this card has.
func (r *cardReader) label(p *property) string {
	if label := r.labels[p.group]; label != "" && p.group != "" {
		return label
	}
	return joined(append([]string{knownLabel(p)}, p.own...)...)
}

func knownLabel(p *property) string {
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

// isOwnType reports whether a type is a person's own word rather than one of the standards.
func isOwnType(word string) bool {
	switch strings.ToLower(word) {
	case "cell", "mobile", "iphone", "fax", "pager", "main", "car", "home", "work", "other", "pref", "voice", "msg", "text", "textphone", "video", "bbs", "modem",
		"isdn", "pcs", "internet", "x400", "x-internet", "aol", "applelink", "attmail", "cis", "eworld", "ibmmail", "mcimail", "powershare", "prodigy", "tlx",
		"dom", "intl", "postal", "parcel", "uri", "jpeg", "png", "gif", "smtp", "ex", "main-number", "x-mobile", "x-evolution-ui-slot":
		return false
	}
	return true
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
