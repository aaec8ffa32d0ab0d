package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// jsCards reads JSContact: a card, a list of cards, or one on each line.
type jsCards struct {
	addressBook

	text []byte
}

// openJSContact counts the cards, finds the groups among them and the properties that are
// not imported.
func (f *File) openJSContact(text []byte, o Options) error {
	c := &jsCards{addressBook: f.addressBook(o), text: text}
	f.records = c.records
	cut := false
	for e := range elements(text) {
		cut = cut || !e.whole
		if name, members := jsGroup(e); name != "" {
			c.addGroup(name, members)
			continue
		}
		if err := f.count("cards"); err != nil {
			return err
		}
		for m := range members(e.raw) {
			uid := ""
			if m.name == "uid" {
				if _, err := m.decode(&uid); err == nil {
					f.keys.add(uid)
				}
			}
			if !isKnownMember(m.name) {
				c.note(shown(m.name))
			}
		}
	}
	if f.total == 0 {
		return fault.New(fault.Invalid, "the file holds no JSContact card of a person")
	}
	if cut {
		f.warn("The file ends before its last card does: it was cut off.")
	}
	c.end()
	return nil
}

// records calls yield with each card of a person.
func (c *jsCards) records(yield func(Record) bool) {
	row := 0
	for e := range elements(c.text) {
		row++
		if name, _ := jsGroup(e); name != "" {
			continue
		}
		if !yield(c.read(row, e)) {
			return
		}
	}
}

// read reads a card.
func (c *jsCards) read(row int, e element) Record {
	var card jsCard
	if len(e.raw) == 0 || e.raw[0] != '{' {
		return Record{Row: row, Err: fault.New(fault.Invalid, "it is no JSContact card")}
	}
	warning, err := e.decode(&card)
	if err != nil {
		return Record{Row: row, Err: err}
	}
	d := draft{region: c.region, days: c.days, fields: c.file.fields}
	if warning != "" {
		d.warn("%s", warning)
	}
	d.jsCard(&card)
	for m := range members(e.raw) {
		switch {
		case slices.Contains([]string{"null", `""`, "{}", "[]"}, string(m.raw)):
		case m.name == "media":
			d.warn("photos and other media were left out")
			d.drop(m.name, fieldsOfProperties[m.name])
		case !isKnownMember(m.name):
			d.count(shown(m.name), FieldKept, func() {
				if !d.keep(JSContact, m.name, compactJSON(m.raw)) {
					d.addToNote(shown(m.name), strings.Trim(string(m.raw), `"`))
				}
			})
		}
	}
	return c.record(&d, row, programOf(JSContact, card.ProdID))
}

// compactJSON returns a value without white space around its parts, or as it is if it is no JSON.
func compactJSON(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// jsGroup returns the name and the members of a card that is a group; the name is empty
// for other cards.
func jsGroup(e element) (name string, members []string) {
	if !bytes.Contains(e.raw, []byte(`"group"`)) {
		return "", nil
	}
	var card jsCard
	if _, err := e.decode(&card); err != nil || !strings.EqualFold(card.Kind, "group") {
		return "", nil
	}
	for member := range card.Members {
		members = append(members, keyOf(member))
	}
	return cmp.Or(strings.TrimSpace(card.Name.Full), "Group"), members
}

// inOrder calls see with the entries of a map: the preferred ones first, then in the order
// of their ids, which programs number.
func inOrder(m map[string]jsItem, see func(id string, v jsItem)) {
	ids := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(m[a].Pref), rank(m[b].Pref)), cmp.Compare(len(digitsOf(a)), len(digitsOf(b))), cmp.Compare(a, b))
	})
	for _, id := range ids {
		see(id, m[id])
	}
}

// each is inOrder for the entries of a member, and counts them.
func (d *draft) each(member string, m map[string]jsItem, see func(id string, v jsItem)) {
	inOrder(m, func(id string, v jsItem) { d.count(member, fieldsOfProperties[member], func() { see(id, v) }) })
}

// digitsOf returns the number at the end of an id. Its length puts 2 before 10.
func digitsOf(id string) string {
	return id[len(strings.TrimRight(id, "0123456789")):]
}

// jsCard reads a card into a draft.
func (d *draft) jsCard(c *jsCard) {
	d.ID = c.UID
	d.CreatedAt, d.UpdatedAt = timestamp(c.Created), timestamp(c.Updated)
	if c.Name.Full != "" || len(c.Name.Components) > 0 {
		d.count("name", "name", func() { d.jsName(c.Name) })
	}
	d.each("speakToAs", c.SpeakToAs.Pronouns, func(_ string, p jsItem) { d.set(&d.name.Pronouns, "pronouns", p.Pronouns, maxName) })
	if c.SpeakToAs.Gender != "" {
		d.addToNote("Grammatical gender", c.SpeakToAs.Gender)
	}
	d.each("nicknames", c.Nicknames, func(_ string, n jsItem) { d.setText("nickname", n.Name) })
	d.jsPositions(c)
	d.each("emails", c.Emails, func(_ string, a jsItem) { d.email(a.Address, a.label(), a.Pref) })
	d.each("phones", c.Phones, func(_ string, a jsItem) { d.phone(a.Number, a.label(), a.Pref) })
	d.each("links", c.Links, func(_ string, a jsItem) { d.web(people.KindURL, a.URI, a.label(), a.Pref) })
	d.each("onlineServices", c.Services, func(_ string, a jsItem) { d.jsService(a) })
	d.each("addresses", c.Addresses, func(id string, p jsItem) { d.jsPlace(id, p) })
	d.each("anniversaries", c.Anniversaries, func(_ string, a jsItem) { d.jsDay(a) })
	d.each("notes", c.Notes, func(_ string, n jsItem) { d.addText(n.Note) })
	for _, word := range slices.Sorted(maps.Keys(c.Keywords)) {
		if c.Keywords[word] {
			d.count("keywords", "tags", func() { d.tag(word) })
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
		d.count("kith:fields", "custom", func() { d.customField(name, c.Fields[name].Type, c.Fields[name].Value) })
	}
	for _, key := range slices.Sorted(maps.Keys(c.RelatedTo)) {
		d.count("relatedTo", "related", func() { d.jsRelated(key, c.RelatedTo[key]) })
	}
}

// jsName reads a name, from the full text or from its parts.
func (d *draft) jsName(n jsItem) {
	d.name.full, d.name.Former = n.Full, n.Former
	for _, part := range n.Components {
		var at *string
		switch part.Kind {
		case "title":
			at = &d.name.Prefix
		case "given":
			at = &d.name.Given
		case "given2":
			at = &d.name.Middle
		case "surname", "surname2":
			at = &d.name.Family
		case "generation", "credential":
			at = &d.name.Suffix
		case "separator":
			continue
		default:
			d.addToNote("Name ("+shown(part.Kind)+")", part.Value)
			continue
		}
		switch {
		case part.Phonetic == "":
		case part.Kind == "given":
			d.name.PhoneticGiven = strings.TrimSpace(d.name.PhoneticGiven + " " + part.Phonetic)
		case part.Kind == "surname":
			d.name.PhoneticFamily = strings.TrimSpace(d.name.PhoneticFamily + " " + part.Phonetic)
		default:
			d.addToNote("Name ("+part.Kind+", as it is read)", part.Phonetic)
		}
		if len(*at) < maxName {
			*at = strings.TrimSpace(*at + " " + part.Value)
		} else {
			d.addToNote("Name ("+part.Kind+")", part.Value)
		}
	}
}

// jsPositions combines titles and organisations. An organisation without a title comes
// before the titles of later organisations, so that the order stays.
func (d *draft) jsPositions(c *jsCard) {
	titled := map[string]bool{}
	for _, t := range c.Titles {
		titled[t.OrganizationID] = true
	}
	var bare []string
	inOrder(c.Organizations, func(id string, o jsItem) {
		if !titled[id] {
			bare = append(bare, id)
		}
		for _, unit := range o.Units {
			d.addToNote("Department", unit.Name)
		}
	})
	add := func(number string, o jsItem, title string) {
		if len(d.jobs) > people.MaxPositions {
			d.keepInNote("position", joined(title, o.Name), fmt.Sprintf("one person has %d at most", people.MaxPositions))
			return
		}
		if o.Name != "" {
			d.count("organizations", "organization", func() { d.job(number).organization = o.Name })
		}
		if title != "" {
			d.count("titles", "job_title", func() { d.job(number).title = title })
		}
	}
	inOrder(c.Titles, func(id string, t jsItem) {
		for len(bare) > 0 && t.OrganizationID != "" && before(bare[0], t.OrganizationID) {
			add("o"+bare[0], c.Organizations[bare[0]], "")
			bare = bare[1:]
		}
		add("t"+id, c.Organizations[t.OrganizationID], t.Name)
	})
	for _, id := range bare {
		add("o"+id, c.Organizations[id], "")
	}
}

// before reports whether an id has a smaller number than another one.
func before(id, other string) bool {
	return len(id) < len(other) || len(id) == len(other) && id < other
}

// label returns the label of an address.
func (a jsItem) label() string {
	switch {
	case a.Label != "":
		return a.Label
	case a.Features["mobile"]:
		return "mobile"
	case a.Features["fax"]:
		return "fax"
	case a.Features["pager"]:
		return "pager"
	case a.Contexts["private"]:
		return "home"
	case a.Contexts["work"]:
		return "work"
	}
	return ""
}

// jsService reads an account with a service. If its URI is a web page, that becomes a link as well.
func (d *draft) jsService(a jsItem) {
	uri := strings.ToLower(a.URI)
	isPage := strings.HasPrefix(uri, "https:") || strings.HasPrefix(uri, "http:")
	switch {
	case isPage:
		d.web(people.KindSocial, a.URI, cmp.Or(a.Label, strings.ToLower(a.Service)), a.Pref)
	case a.User == "":
		d.accountURI(a.Service, a.URI, a.label())
	}
	if a.User != "" {
		d.account(a.Service, a.User, a.label())
	}
}

func (d *draft) jsPlace(id string, p jsItem) {
	if p.Location {
		d.setText("location", p.Full)
		return
	}
	at := d.place(id)
	at.whole, at.country, at.pref, at.label = p.Full, p.CountryCode, p.Pref, cmp.Or(p.AddressLabel, p.label())
	street := -1
	for _, part := range p.Components {
		switch part.Kind {
		case "locality":
			at.city = joined(at.city, part.Value)
		case "region":
			at.region = joined(at.region, part.Value)
		case "country":
			at.country = part.Value
		case "postcode":
			at.postcode = joined(at.postcode, part.Value)
		case "separator":
		case "name", "number":
			if street < 0 {
				street, at.lines = len(at.lines), append(at.lines, part.Value)
			} else {
				at.lines[street] += " " + part.Value
			}
		default:
			at.lines = append(at.lines, part.Value)
		}
	}
}

// jsDay reads a birthday or a wedding; other days use their kind as the label.
func (d *draft) jsDay(a jsItem) {
	kind, label := people.DateOther, a.Kind
	switch a.Kind {
	case "birth":
		kind = people.DateBirthday
	case "wedding":
		kind = people.DateAnniversary
	}
	label = strings.TrimPrefix(label, export.OwnDate)
	if a.Date.UTC != "" && a.Kind == "death" {
		d.setDeceasedOn(a.Date.UTC)
		return
	} else if a.Date.UTC != "" {
		d.addDate(kind, label, a.Date.UTC)
		return
	}
	on := date{a.Date.Year, a.Date.Month, a.Date.Day}
	day, err := on.partial()
	if err != nil {
		d.unreadable("date", fmt.Sprintf("%d-%d-%d", on.year, on.month, on.day), err.Error())
		return
	}
	if a.Kind == "death" {
		d.setDeceasedOn(day)
		return
	}
	if a.Date.About {
		day = "about " + day
	}
	d.addDate(kind, label, day)
}

// jsRelated reads another person, whom key identifies or, if it has blanks, names. Kith's own types of relationship stand beside
// the word of the standard that is closest, with a label after a colon.
func (d *draft) jsRelated(key string, r jsItem) {
	name, standard := r.RelatedName, map[string]bool{"contact": len(r.Relation) > 1}
	if key == name || name == "" && strings.Contains(text.Line(key), " ") {
		name, key = key, ""
	}
	words := slices.Sorted(maps.Keys(r.Relation))
	for _, word := range words {
		if own, ok := strings.CutPrefix(word, export.OwnRelation); ok {
			kind, _, _ := strings.Cut(own, ":")
			standard[export.StandardRelation(kind)] = true
		}
	}
	if len(words) == 0 {
		words = []string{""}
	}
	for _, word := range words {
		if standard[word] {
			continue
		}
		own, label, _ := strings.Cut(strings.TrimPrefix(word, export.OwnRelation), ":")
		relation := relatedAs(own, name)
		relation.ConnectionID, relation.Label = key, cmp.Or(label, relation.Label)
		d.addRelation(relation)
	}
}

// The parts of a Card (RFC 9553; RFC 9982 lets uid be absent) that are read.
type (
	jsCard struct {
		UID           string             `json:"uid"`
		Kind          string             `json:"kind"`
		ProdID        string             `json:"prodId"`
		Created       string             `json:"created"`
		Updated       string             `json:"updated"`
		Name          jsItem             `json:"name"`
		SpeakToAs     jsSpeakToAs        `json:"speakToAs"`
		Nicknames     map[string]jsItem  `json:"nicknames"`
		Organizations map[string]jsItem  `json:"organizations"`
		Titles        map[string]jsItem  `json:"titles"`
		Emails        map[string]jsItem  `json:"emails"`
		Phones        map[string]jsItem  `json:"phones"`
		Links         map[string]jsItem  `json:"links"`
		Services      map[string]jsItem  `json:"onlineServices"`
		Addresses     map[string]jsItem  `json:"addresses"`
		Anniversaries map[string]jsItem  `json:"anniversaries"`
		Notes         map[string]jsItem  `json:"notes"`
		Keywords      map[string]bool    `json:"keywords"`
		RelatedTo     map[string]jsItem  `json:"relatedTo"`
		Fields        map[string]jsField `json:"kith:fields"`
		Members       map[string]bool    `json:"members"`
	}
	// jsField is the value of a custom field, in Kith's own cards.
	jsField struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	// jsItem is the name of a card, or a value in any of its maps; a member means the same in all of them.
	jsItem struct {
		Name           string          `json:"name"`
		Kind           string          `json:"kind"`
		Note           string          `json:"note"`
		Address        string          `json:"address"`
		Number         string          `json:"number"`
		URI            string          `json:"uri"`
		Service        string          `json:"service"`
		User           string          `json:"user"`
		Full           string          `json:"full"`
		CountryCode    string          `json:"countryCode"`
		OrganizationID string          `json:"organizationId"`
		Units          []jsPart        `json:"units"`
		Components     []jsPart        `json:"components"`
		Contexts       map[string]bool `json:"contexts"`
		Features       map[string]bool `json:"features"`
		Relation       map[string]bool `json:"relation"`
		Pref           int             `json:"pref"`
		Label          string          `json:"label"`
		Date           jsDate          `json:"date"`
		Pronouns       string          `json:"pronouns"`
		// RelatedName is the name of a related person, in Kith's own cards.
		RelatedName string `json:"kith:name"`
		// Former is an earlier name, in Kith's own cards.
		Former string `json:"kith:former"`
		// AddressLabel is the label of an address, for which the standard has none, and Location marks a typed location,
		// in Kith's own cards.
		AddressLabel string `json:"kith:label"`
		Location     bool   `json:"kith:location"`
	}
	// jsPart is a unit of an organisation, or a component of a name or an address.
	jsPart struct {
		Name     string `json:"name"`
		Kind     string `json:"kind"`
		Value    string `json:"value"`
		Phonetic string `json:"phonetic"`
	}
	// jsSpeakToAs is how to speak of a person.
	jsSpeakToAs struct {
		Gender   string            `json:"grammaticalGender"`
		Pronouns map[string]jsItem `json:"pronouns"`
	}
	jsDate struct {
		UTC   string `json:"utc"`
		Year  int    `json:"year"`
		Month int    `json:"month"`
		Day   int    `json:"day"`
		// About marks a year that is not certain, in Kith's own cards.
		About bool `json:"kith:about"`
	}
)

// isKnownMember reports whether a member of a card is read, or has no data about a person.
func isKnownMember(name string) bool {
	switch name {
	case "@type", "version", "uid", "kind", "created", "updated", "prodId", "language", "name", "speakToAs", "nicknames", "organizations", "titles",
		"emails", "phones", "links", "onlineServices", "addresses", "anniversaries", "notes", "keywords", "relatedTo", "members", "media", "kith:fields":
		return true
	}
	return false
}
