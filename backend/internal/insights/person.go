package insights

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// Person is a connection as an answer shows it.
type Person struct {
	ID, Name string
	// Organization and Title are those of the current position.
	Organization, Title string
	LastInteractionAt   time.Time
	Strength            people.Strength `bun:"-"`
}

// Headline returns title and organisation in one line.
func (p Person) Headline() string {
	return people.Position{Organization: p.Organization, Title: p.Title}.Headline()
}

// Evidence is a line of an answer and the ids of the records it is based on.
type Evidence struct {
	Text    string
	Sources []string
}

// maxText and maxSources limit a line, in characters and ids.
const (
	maxText    = 590
	maxSources = 20
)

// line makes Evidence from one line of text, cut at the limits.
func line(said string, sources ...string) Evidence {
	var kept []string
	for _, s := range sources {
		if s != "" && len(kept) < maxSources {
			kept = append(kept, s)
		}
	}
	return Evidence{Text: text.Truncate(text.Line(said), maxText), Sources: kept}
}

// compareClose orders people by strength, then by last contact, then by name, then by id.
func compareClose(a, b *Person) int {
	if order := cmp.Or(cmp.Compare(b.Strength.Score, a.Strength.Score), b.LastInteractionAt.Compare(a.LastInteractionAt)); order != 0 {
		return order
	}
	return cmp.Or(cmp.Compare(text.Fold(a.Name), text.Fold(b.Name)), cmp.Compare(a.ID, b.ID))
}

// tieSentence describes what the named person is to "them".
func tieSentence(name, kind string) string {
	switch kind {
	case "colleague", "friend":
		return name + " is a " + kind + " of theirs"
	case "report":
		return name + " reports to them"
	case "introduced_by":
		return name + " introduced them to the member"
	case "introduced":
		return "they introduced " + name + " to the member"
	case "other":
		return name + " is related to them"
	}
	return name + " is their " + kind
}

// namesOf joins names for a sentence.
func namesOf(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// maxSeveral is the maximum size of an answer about several people, in bytes of JSON.
const maxSeveral = 32 << 10

// cut limits the lists and texts of each of several people in an answer.
type cut struct {
	// entries limits the notes and the interactions, values the entries of each other list,
	// characters the length of a text.
	entries, values, characters int
}

// cuts are tried in this order until the answer fits. The last one fits whatever is stored: it
// removes all lists, and keeps a few words of each text.
var cuts = []cut{{5, 10, 1000}, {3, 5, 300}, {2, 3, 150}, {1, 2, 100}, {1, 1, 50}, {0, 0, 25}}

// answerWithin returns the answer about several people. It cuts lists and texts until the
// answer has at most so many bytes of JSON.
func answerWithin(most int, people []whole, missing []*connectionsv1.MissingConnection) (*connectionsv1.GetConnectionResponse, error) {
	res := answer(people, missing)
	ids := idsOf(people)
	for _, c := range cuts {
		size, err := sizeOf(res)
		if err != nil || size <= most {
			return res, err
		}
		for i := range people {
			c.person(&people[i], ids)
		}
		res = answer(people, missing)
		shortened := true
		res.Shortened = &shortened
	}
	return res, nil
}

// answer returns the answer about several people. An entry about several of them is in it once.
func answer(people []whole, missing []*connectionsv1.MissingConnection) *connectionsv1.GetConnectionResponse {
	res := &connectionsv1.GetConnectionResponse{Missing: missing}
	seen := map[string]bool{}
	first := func(id string) bool {
		known := seen[id]
		seen[id] = true
		return !known
	}
	for _, p := range people {
		res.Connections = append(res.Connections, p.connection)
		for _, n := range p.notes {
			if first(n.GetId()) {
				res.Notes = append(res.Notes, n)
			}
		}
		for _, i := range p.interactions {
			if first(i.GetId()) {
				res.Interactions = append(res.Interactions, i)
			}
		}
		for _, j := range p.positions {
			j.ConnectionId = p.connection.GetId()
			res.Positions = append(res.Positions, j)
		}
	}
	return res
}

// sizeOf returns an upper bound of the size of an answer as JSON. It includes zero values and empty
// lists, and the names of fields with text by others.
func sizeOf(res *connectionsv1.GetConnectionResponse) (int, error) {
	const zerosOfPerson, zerosOfEntry, around = 140, 24, 500
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(res)
	entries := len(res.GetNotes()) + len(res.GetInteractions()) + len(res.GetPositions())
	return len(data) + around + zerosOfPerson*len(res.GetConnections()) + zerosOfEntry*entries, err
}

// person cuts the lists and texts of a person. ids are the ids of all people in the answer.
func (c cut) person(p *whole, ids []string) {
	m := p.connection
	p.notes, p.interactions = firstOf(p.notes, c.entries), firstOf(p.interactions, c.entries)
	p.positions = firstOf(p.positions, c.values)
	m.Emails, m.Phones, m.Urls = firstOf(m.GetEmails(), c.values), firstOf(m.GetPhones(), c.values), firstOf(m.GetUrls(), c.values)
	m.Tags, m.Groups = firstOf(m.GetTags(), c.values), firstOf(m.GetGroups(), c.values)
	m.ImportantDates, m.Relationships = firstOf(m.GetImportantDates(), c.values), firstOf(m.GetRelationships(), c.values)
	m.Addresses, m.Accounts, m.Labels = firstOf(m.GetAddresses(), c.values), firstOf(m.GetAccounts(), c.values), firstOf(m.GetLabels(), c.values)
	texts := []*string{&m.Name, &m.Nickname, &m.Headline, &m.Organization, &m.Title, &m.Location, &m.Bio, &m.MetHow}
	for i := range m.GetTags() {
		texts = append(texts, &m.Tags[i])
	}
	for i := range m.GetGroups() {
		texts = append(texts, &m.Groups[i])
	}
	for _, r := range m.GetRelationships() {
		texts = append(texts, &r.Name, &r.Type)
	}
	for _, a := range m.GetAddresses() {
		texts = append(texts, a.Label, a.Street, a.Locality, a.Region, a.Postcode, a.Country, a.Text)
	}
	for _, a := range m.GetAccounts() {
		texts = append(texts, &a.Service, &a.Handle, a.Label)
	}
	for _, l := range m.GetLabels() {
		texts = append(texts, &l.Label)
	}
	for i, name := range slices.Sorted(maps.Keys(m.GetFields().GetFields())) {
		value := m.Fields.Fields[name]
		if i >= c.values {
			delete(m.Fields.Fields, name)
		} else if s, ok := value.GetKind().(*structpb.Value_StringValue); ok {
			texts = append(texts, &s.StringValue)
		}
	}
	parts := people.NamePartsOf(m.GetNameParts())
	for _, part := range parts.All() {
		*part.Value = text.Truncate(*part.Value, c.characters)
	}
	m.NameParts = people.NamePartsMessage(parts)
	for _, n := range p.notes {
		texts = append(texts, &n.Body)
		n.ConnectionIds = among(n.GetConnectionIds(), ids)
	}
	for _, i := range p.interactions {
		texts = append(texts, &i.Summary)
		i.ConnectionIds = among(i.GetConnectionIds(), ids)
	}
	for _, j := range p.positions {
		texts = append(texts, &j.Organization, &j.Title)
	}
	for _, t := range texts {
		if t != nil {
			*t = text.Truncate(*t, c.characters)
		}
	}
}

// firstOf returns the first entries of a list, most at most.
func firstOf[T any](list []T, most int) []T { return list[:min(len(list), most)] }

// among removes participants who are not in the answer, if there are more than maxSources.
func among(participants, ids []string) []string {
	if len(participants) <= maxSources {
		return participants
	}
	return slices.DeleteFunc(participants, func(id string) bool { return !slices.Contains(ids, id) })
}
