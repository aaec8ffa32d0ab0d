package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/people"
)

// The parts of a Card (RFC 9553) that are written. Maps are keyed by ids that count up
// within the card.
type (
	card struct {
		Type          string                  `json:"@type"`
		Version       string                  `json:"version"`
		UID           string                  `json:"uid"`
		Kind          string                  `json:"kind"`
		ProdID        string                  `json:"prodId"`
		Created       string                  `json:"created,omitempty"`
		Updated       string                  `json:"updated,omitempty"`
		Name          *cardName               `json:"name,omitempty"`
		SpeakToAs     *speakToAs              `json:"speakToAs,omitempty"`
		Nicknames     map[string]cardNickname `json:"nicknames,omitempty"`
		Organizations map[string]cardOrg      `json:"organizations,omitempty"`
		Titles        map[string]cardTitle    `json:"titles,omitempty"`
		Emails        map[string]cardEmail    `json:"emails,omitempty"`
		Phones        map[string]cardPhone    `json:"phones,omitempty"`
		Links         map[string]cardLink     `json:"links,omitempty"`
		Services      map[string]cardService  `json:"onlineServices,omitempty"`
		Addresses     map[string]cardAddress  `json:"addresses,omitempty"`
		Anniversaries map[string]anniversary  `json:"anniversaries,omitempty"`
		Notes         map[string]cardNote     `json:"notes,omitempty"`
		Keywords      map[string]bool         `json:"keywords,omitempty"`
		RelatedTo     map[string]relation     `json:"relatedTo,omitempty"`

		Fields map[string]cardField `json:"kith:fields,omitempty"`

		kept []people.Kept
	}
	cardField struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	cardName struct {
		Full       string          `json:"full"`
		Components []nameComponent `json:"components,omitempty"`
		Former     string          `json:"kith:former,omitempty"`
	}
	nameComponent struct {
		Kind     string `json:"kind"`
		Value    string `json:"value"`
		Phonetic string `json:"phonetic,omitempty"`
	}
	speakToAs struct {
		Pronouns map[string]pronouns `json:"pronouns"`
	}
	pronouns struct {
		Pronouns string `json:"pronouns"`
	}
	cardNickname struct {
		Name string `json:"name"`
	}
	cardOrg struct {
		Name string `json:"name"`
	}
	cardTitle struct {
		Name           string `json:"name"`
		OrganizationID string `json:"organizationId,omitempty"`
	}
	cardEmail struct {
		Address  string          `json:"address"`
		Contexts map[string]bool `json:"contexts,omitempty"`
		Pref     int             `json:"pref,omitempty"`
		Label    string          `json:"label,omitempty"`
	}
	cardPhone struct {
		Number   string          `json:"number"`
		Contexts map[string]bool `json:"contexts,omitempty"`
		Pref     int             `json:"pref,omitempty"`
		Label    string          `json:"label,omitempty"`
	}
	cardService struct {
		Service  string          `json:"service"`
		User     string          `json:"user"`
		Contexts map[string]bool `json:"contexts,omitempty"`
		Label    string          `json:"label,omitempty"`
	}
	cardLink struct {
		URI      string          `json:"uri"`
		Contexts map[string]bool `json:"contexts,omitempty"`
		Pref     int             `json:"pref,omitempty"`
		Label    string          `json:"label,omitempty"`
	}
	// cardAddress is an address, or, if Location is set, a location that somebody typed: as the town, where readers look
	// for it. The standard has no labels of addresses but home and work, so others are in a member of ours.
	cardAddress struct {
		Components  []cardComponent `json:"components,omitempty"`
		CountryCode string          `json:"countryCode,omitempty"`
		Full        string          `json:"full,omitempty"`
		Contexts    map[string]bool `json:"contexts,omitempty"`
		Pref        int             `json:"pref,omitempty"`
		Label       string          `json:"kith:label,omitempty"`
		Location    bool            `json:"kith:location,omitempty"`
	}
	cardComponent struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
	}
	anniversary struct {
		Kind string      `json:"kind"`
		Date partialDate `json:"date"`
	}
	partialDate struct {
		Type  string `json:"@type"`
		Year  int    `json:"year,omitempty"`
		Month int    `json:"month,omitempty"`
		Day   int    `json:"day,omitempty"`
		About bool   `json:"kith:about,omitempty"`
	}
	cardNote struct {
		Note string `json:"note"`
	}
	// relation has the name of the other person, which the standard does not.
	relation struct {
		Relation map[string]bool `json:"relation"`
		Name     string          `json:"kith:name,omitempty"`
	}
)

// cardList writes the cards of people.
type cardList struct{ cards jsonList }

func newCardList(out io.Writer) *cardList { return &cardList{jsonList{out: out, depth: 1}} }

// Add implements Writer.
func (l *cardList) Add(p People) error {
	for i := range p.People {
		if err := l.cards.add(cardOf(&p.People[i])); err != nil {
			return err
		}
	}
	return nil
}

// Close implements Writer.
func (l *cardList) Close() error { return l.cards.end("\n") }

// OwnDate begins the labels of dates that JSContact has no kind for.
const OwnDate = "kith:"

// OwnRelation begins the types of relationship that JSContact does not have. A label follows after a colon.
const OwnRelation = "kith:"

// MarshalJSON writes the card, and after its own members those of people.Kept.
func (c card) MarshalJSON() ([]byte, error) {
	type plain card
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(plain(c)); err != nil {
		return nil, err
	}
	out := bytes.TrimSuffix(bytes.TrimSpace(b.Bytes()), []byte("}"))
	seen := map[string]int{}
	for _, k := range c.kept {
		if k.Format != JSContact || !json.Valid([]byte(k.Text)) {
			continue
		}
		name := k.Name
		if seen[k.Name]++; seen[k.Name] > 1 { // of a person who was merged
			name = fmt.Sprintf("%s%d:%s", OwnDate, seen[k.Name], k.Name)
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		out = append(append(append(append(out, ','), quoted...), ':'), k.Text...)
	}
	return append(out, '}'), nil
}

func cardOf(p *Person) card {
	c := card{
		kept: p.Kept,
		Type: "Card", Version: "1.0", UID: p.ID, Kind: "individual", ProdID: "-//Kith//Kith//EN",
		Created: utcDateTime(p.CreatedAt), Updated: utcDateTime(p.UpdatedAt), Name: cardNameOf(p),
	}
	if used := p.NameParts.Pronouns; used != "" {
		c.SpeakToAs = &speakToAs{map[string]pronouns{"1": {used}}}
	}
	if p.Nickname != "" {
		c.Nicknames = map[string]cardNickname{"1": {p.Nickname}}
	}
	c.addPositions(p.Positions)
	c.addHandles(p)
	for _, a := range p.Accounts {
		contexts, label := contextsOf(a.Label)
		put(&c.Services, cardService{a.Service, a.Handle, contexts, label})
	}
	for _, v := range p.Fields {
		if c.Fields == nil {
			c.Fields = map[string]cardField{}
		}
		c.Fields[v.Name] = cardField{v.Type, v.Value}
	}
	for _, a := range p.Addresses {
		put(&c.Addresses, cardAddressOf(a, pref(c.Addresses)))
	}
	if p.HasTypedLocation() {
		put(&c.Addresses, cardAddress{Components: []cardComponent{{"locality", p.Location}}, Full: p.Location, Location: true})
	}
	for _, d := range p.Dates {
		kind := map[string]string{people.DateBirthday: "birth", people.DateAnniversary: "wedding"}[d.Kind]
		put(&c.Anniversaries, anniversary{cmp.Or(kind, OwnDate+d.Label), partialDate{"PartialDate", d.Year, d.Month, d.Day, d.About}})
	}
	if died, err := (people.DateDraft{Date: p.DeceasedOn}).Parse(); err == nil {
		put(&c.Anniversaries, anniversary{"death", partialDate{"PartialDate", died.Year, died.Month, died.Day, false}})
	}
	if p.Bio != "" {
		c.Notes = map[string]cardNote{"1": {p.Bio}}
	}
	for _, words := range [][]string{p.Tags, p.Groups} {
		for _, word := range words {
			if c.Keywords == nil {
				c.Keywords = map[string]bool{}
			}
			c.Keywords[word] = true
		}
	}
	for _, r := range slices.Concat(p.Relations, p.Related) {
		if c.RelatedTo == nil {
			c.RelatedTo = map[string]relation{}
		}
		key := cmp.Or(r.ConnectionID, r.Name) // a name stands for somebody without a card
		if _, known := c.RelatedTo[key]; !known {
			c.RelatedTo[key] = relation{map[string]bool{}, r.Name}
		}
		word := StandardRelation(r.Type)
		c.RelatedTo[key].Relation[word] = true
		if word != r.Type || word == people.RelationColleague || r.Label != "" {
			if word = OwnRelation + r.Type; r.Label != "" {
				word += ":" + r.Label
			}
			c.RelatedTo[key].Relation[word] = true
		}
	}
	return c
}

func cardNameOf(p *Person) *cardName {
	n, out := p.NameParts, &cardName{Full: p.Name, Former: p.NameParts.Former}
	for _, c := range []nameComponent{
		{"title", n.Prefix, ""}, {"given", n.Given, n.PhoneticGiven}, {"given2", n.Middle, ""}, {"surname", n.Family, n.PhoneticFamily}, {"credential", n.Suffix, ""},
	} {
		if c.Value+c.Phonetic != "" {
			out.Components = append(out.Components, c)
		}
	}
	return out
}

func cardAddressOf(a people.Address, pref int) cardAddress {
	out := cardAddress{Full: a.Text, Pref: pref}
	out.Contexts, out.Label = contextsOf(a.Label)
	named := country.Named(a.Country)
	if named == a.Country {
		out.CountryCode = a.Country
	}
	for _, part := range []cardComponent{
		{"name", a.Street}, {"locality", a.Locality}, {"region", a.Region}, {"postcode", a.Postcode}, {"country", country.Name(a.Country)},
	} {
		if part.Value != "" {
			out.Components = append(out.Components, part)
		}
	}
	return out
}

// put adds an entry under the next id.
func put[T any](m *map[string]T, v T) string {
	if *m == nil {
		*m = map[string]T{}
	}
	id := fmt.Sprint(len(*m) + 1)
	(*m)[id] = v
	return id
}

// addPositions adds the current positions: JSContact has no past ones.
func (c *card) addPositions(positions []people.Position) {
	for _, p := range positions {
		if !p.Current {
			continue
		}
		id := ""
		if p.Organization != "" {
			id = put(&c.Organizations, cardOrg{p.Organization})
		}
		if p.Title != "" {
			put(&c.Titles, cardTitle{p.Title, id})
		}
	}
}

func (c *card) addHandles(p *Person) {
	for _, h := range p.Handles {
		contexts, label := contextsOf(h.Label)
		switch h.Kind {
		case people.KindEmail:
			put(&c.Emails, cardEmail{h.Value, contexts, pref(c.Emails), label})
		case people.KindPhone:
			put(&c.Phones, cardPhone{h.Value, contexts, pref(c.Phones), label})
		default:
			put(&c.Links, cardLink{h.Value, contexts, pref(c.Links), label})
		}
	}
}

// pref marks the first of a kind as the preferred one.
func pref[T any](before map[string]T) int {
	if len(before) == 0 {
		return 1
	}
	return 0
}

// contextsOf returns the context that a label means; nil for labels other than home and work.
func contextsOf(label string) (contexts map[string]bool, rest string) {
	switch strings.ToLower(label) {
	case "home":
		return map[string]bool{"private": true}, ""
	case "work":
		return map[string]bool{"work": true}, ""
	}
	return nil, label
}

func utcDateTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Truncate(time.Second).Format(time.RFC3339)
}
