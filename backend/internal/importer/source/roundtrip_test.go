package source_test

import (
	cmpp "cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"pgregory.net/rapid"
)

// Exported data is read back, as far as the format holds it.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for format, held := range map[string]func(p export.Person) export.PersonRecord{
		export.JSON: heldByJSON, export.CSV: heldByCSV, export.VCard: heldByVCard, export.VCard3: heldByVCard3, export.JSContact: heldByJSContact,
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				people := rapid.SliceOfN(rapid.Custom(drawPerson), 1, 4).Draw(t, "people")
				content, _, err := export.Write(format, export.People{People: people, Fields: defined(people)})
				if err != nil {
					t.Fatal(err)
				}
				f, err := source.Open([]byte(content), source.Options{Fields: defined(people)})
				if err != nil {
					t.Fatalf("%v:\n%s", err, content)
				}
				if f.Format != strings.TrimSuffix(format, "3") || f.Charset != "utf-8" || f.Warnings != nil && !strings.Contains(fmt.Sprint(f.Warnings), "does not show") || f.Total() != len(people) {
					t.Fatalf("%s, %s, %q, %d people", f.Format, f.Charset, f.Warnings, f.Total())
				}
				i := 0
				for r := range f.Records() {
					if r.Err != nil || r.Warnings != nil {
						t.Fatalf("%v, %q:\n%s", r.Err, r.Warnings, content)
					}
					if diff := cmp.Diff(held(people[i]), r.Person, cmpopts.EquateEmpty(), sorted(format)); diff != "" {
						t.Fatalf("(-written +read):\n%s\n%s", diff, content)
					}
					i++
				}
			})
		})
	}
}

// sorted removes the order of positions, which cards do not keep: titles and organisations are
// separate there.
func sorted(format string) cmp.Option {
	if format != export.JSContact && !strings.HasPrefix(format, export.VCard) {
		return cmp.Options{}
	}
	return cmpopts.SortSlices(func(a, b export.PositionRecord) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
}

// drawLine draws a text of one line with what formats must escape.
func drawLine(t *rapid.T, name string, longest int) string {
	s := rapid.StringMatching(`[a-zA-ZñÉ日🙂\-'"=+@,;:|\\<>&#^*_. \x{200b}\x{202e}]{0,20}`).Draw(t, name)
	s, _, _ = strings.Cut(text.Line(s), ":::")                              // by which CSV parts values
	s = strings.TrimSpace(string([]rune(s)[:min(len([]rune(s)), longest)])) // whole characters
	if !text.Visible(s) {
		return ""
	}
	return s
}

func drawText(t *rapid.T, name string) string {
	lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawLine(t, "line", 60) }), 0, 4).Draw(t, name)
	return text.Clean(strings.Join(lines, "\n"))
}

func drawWords(t *rapid.T, name string) []string {
	var words []string
	for _, word := range rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawLine(t, "word", 60) }), 0, 4).Draw(t, name) {
		same := func(other string) bool { return text.Fold(other) == text.Fold(word) }
		if word != "" && !slices.ContainsFunc(words, same) {
			words = append(words, word)
		}
	}
	return words
}

func drawMoment(t *rapid.T, name string) time.Time {
	return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, name), 0).UTC()
}

func drawDay(t *rapid.T, name string) string {
	return rapid.SampledFrom([]string{"", "2024", "2024-05", "2024-02-29", "0987-01-02"}).Draw(t, name)
}

func drawHandles(t *rapid.T) []people.Handle {
	var handles []people.Handle
	n := rapid.IntRange(0, 5).Draw(t, "handles")
	for i := range n {
		kind := rapid.SampledFrom([]string{people.KindEmail, people.KindPhone, people.KindURL, people.KindSocial}).Draw(t, "kind")
		value := ""
		switch kind {
		case people.KindEmail:
			value = fmt.Sprintf("%s%d@helios.example", rapid.StringMatching(`[a-z'+.!#=]{0,5}`).Draw(t, "local"), i)
		case people.KindPhone:
			value = fmt.Sprintf(rapid.SampledFrom([]string{"+1 212 555-01%02d", "(212) 555.01%02d", "+1 212 555-0100 x%d"}).Draw(t, "shape"), i+1)
		default:
			value = fmt.Sprintf("https://h%d.example/%s", i, rapid.StringMatching(`[a-zñ;,:\\'%&=?]{0,9}`).Draw(t, "path"))
			value = strings.ReplaceAll(value, ":::", "")
		}
		label := rapid.OneOf(rapid.SampledFrom([]string{"", "home", "Work", "mobile"}), rapid.Custom(func(t *rapid.T) string { return drawLine(t, "label", 60) })).Draw(t, "label")
		handles = append(handles, people.Handle{Kind: kind, Value: value, Label: label})
	}
	return handles
}

// defined returns the custom fields of people's values.
func defined(all []export.Person) (fields []people.Field) {
	for _, p := range all {
		for _, v := range p.Fields {
			if people.FindField(fields, v.Name) == nil {
				fields = append(fields, people.Field{ID: v.Name, Name: v.Name, FoldedName: text.Fold(v.Name), Type: v.Type, Choices: []string{"=1+1", "Ñandú; x", "ñandú; X"}})
			}
		}
	}
	return fields
}

// drawFields draws values of custom fields, of which each name has one type.
func drawFields(t *rapid.T) []people.FieldValue {
	var all []people.FieldValue
	for _, f := range []people.FieldValue{
		{Name: "=Sum", Type: people.FieldText, Value: "=1+1"}, {Name: "Born, in \"the\" : old; town", Type: people.FieldYesNo, Value: "yes"}, {Name: "Club^1", Type: people.FieldChoice, Value: rapid.SampledFrom([]string{"", "=1+1", "Ñandú; x", "ñandú; X"}).Draw(t, "choice")},
		{Name: "Seen", Type: people.FieldDate, Value: drawDay(t, "seen")}, {Name: "Site", Type: people.FieldLink, Value: "https://own.example/?a=1;b,c"},
		{Name: "Size", Type: people.FieldNumber, Value: rapid.SampledFrom([]string{"42", "-1.5", "0.123456789"}).Draw(t, "size")},
		{Name: "Words", Type: people.FieldText, Value: strings.ReplaceAll(drawText(t, "words"), ":::", "")},
	} {
		if f.Value != "" && rapid.Bool().Draw(t, f.Name) {
			all = append(all, f)
		}
	}
	return all
}

func drawAddresses(t *rapid.T) []people.Address {
	var all []people.Address
	for i := range rapid.IntRange(0, 3).Draw(t, "addresses") {
		a := people.Address{
			Label:    rapid.OneOf(rapid.SampledFrom([]string{"", "home", "work"}), rapid.Custom(func(t *rapid.T) string { return drawLine(t, "label", 60) })).Draw(t, "label"),
			Street:   text.Clean(fmt.Sprint(i+1, " ", drawLine(t, "street", 60), "\n", drawLine(t, "flat", 60))),
			Locality: drawLine(t, "town", 100), Region: drawLine(t, "region", 100), Postcode: drawLine(t, "postcode", 20),
			Country: rapid.SampledFrom([]string{"", "PT", "US", "Nowhere land"}).Draw(t, "country"),
		}
		switch rapid.IntRange(0, 2).Draw(t, "form") {
		case 0:
			a.Text = fmt.Sprint("whole address ", i, drawText(t, "whole"))
		case 1:
			a = people.Address{Label: a.Label, Text: fmt.Sprint("whole ", i, " ", drawText(t, "whole"))}
		}
		a.Text = text.Clean(a.Text)
		all = append(all, a)
	}
	return all
}

func drawAccounts(t *rapid.T) []people.Account {
	var all []people.Account
	for i := range rapid.IntRange(0, 3).Draw(t, "accounts") {
		all = append(all, people.Account{
			Service: rapid.SampledFrom([]string{"signal", "xmpp", "mastodon", "github", "Own net", "skype", "other"}).Draw(t, "service"),
			Handle:  strings.TrimSpace(fmt.Sprint("h", i, drawLine(t, "handle", 100))), Label: drawLine(t, "label", 60),
		})
	}
	return all
}

func drawKept(t *rapid.T) []people.Kept {
	var all []people.Kept
	for i := range rapid.IntRange(0, 3).Draw(t, "kept") {
		k := people.Kept{Format: export.VCard, Name: fmt.Sprint("X-OWN-", i)}
		k.Text = rapid.SampledFrom([]string{"", "item7.", "home."}).Draw(t, "group") + k.Name + rapid.SampledFrom([]string{"", ";TYPE=a,b", `;X-P="q;:,"`}).Draw(t, "parameters") +
			":" + fmt.Sprint("v", i, drawLine(t, "value", 300))
		if rapid.Bool().Draw(t, "jscontact") {
			k = people.Kept{Format: export.JSContact, Name: fmt.Sprint("own:", i), Text: rapid.SampledFrom([]string{`{"a":[1,2.50,{"b":"ü"}]}`, `"text \" <&>"`, `17e3`, `true`}).Draw(t, "json")}
		}
		all = append(all, k)
	}
	return all
}

func keptIn(format string, p export.Person) (out []people.Kept) {
	for _, k := range p.Kept {
		if k.Format == format {
			out = append(out, k)
		}
	}
	return out
}

func drawNameParts(t *rapid.T) (n people.NameParts) {
	if rapid.Bool().Draw(t, "with parts") {
		for _, part := range n.All() {
			*part.Value = drawLine(t, part.Name, 100)
		}
	}
	return n
}

// namedCountries are addresses with the names of countries in place of codes, as most formats have them.
func namedCountries(p export.Person) []people.Address {
	out := slices.Clone(p.Addresses)
	for i := range out {
		out[i].Country = country.Name(out[i].Country)
	}
	return out
}

func drawPerson(t *rapid.T) export.Person {
	p := export.Person{Connection: people.Connection{
		ID: rapid.StringMatching(`con_[0-9a-z]{10}`).Draw(t, "id"), Name: "A" + drawLine(t, "name", 199), Nickname: drawLine(t, "nickname", 100),
		Location: drawLine(t, "location", 120), Bio: drawText(t, "bio"), Starred: rapid.Bool().Draw(t, "starred"), MetOn: drawDay(t, "met on"),
		MetHow: drawLine(t, "met how", 500), Source: "manual", CadenceDays: rapid.IntRange(0, 730).Draw(t, "cadence"), SnoozedUntil: drawMoment(t, "snoozed"),
		LastInteractionAt: drawMoment(t, "last"), CreatedAt: drawMoment(t, "created"), UpdatedAt: drawMoment(t, "updated"),
		Handles: drawHandles(t), Tags: drawWords(t, "tags"), Groups: drawWords(t, "groups"), Addresses: drawAddresses(t), Accounts: drawAccounts(t), Kept: drawKept(t), NameParts: drawNameParts(t), Fields: drawFields(t), DeceasedOn: drawDay(t, "deceased on"),
	}}
	for range rapid.IntRange(0, 3).Draw(t, "positions") {
		at := people.Position{Organization: drawLine(t, "organisation", 200), Title: drawLine(t, "title", 160), StartedOn: drawDay(t, "started"),
			EndedOn: drawDay(t, "ended"), Current: rapid.Bool().Draw(t, "current")}
		if at.Organization+at.Title != "" {
			p.Positions = append(p.Positions, at)
		}
	}
	dates := map[string]bool{}
	for range rapid.IntRange(0, 3).Draw(t, "dates") {
		on := rapid.SampledFrom([]people.ImportantDate{
			{Kind: people.DateBirthday, Month: 2, Day: 29}, {Kind: people.DateBirthday, Year: 1985, Month: 4, Day: 12}, {Kind: people.DateAnniversary, Year: 2010},
			{Kind: people.DateAnniversary, Year: 2010, Month: 6}, {Kind: people.DateOther, Label: "First sale", Year: 2011, Month: 5, Day: 1}, {Kind: people.DateBirthday, Year: 1950, About: true},
			{Kind: people.DateOther, Label: "Born", Year: 1950, About: true},
		}).Draw(t, "date")
		if !dates[on.Kind+on.String()] {
			p.Dates = append(p.Dates, on)
			dates[on.Kind+on.String()] = true
		}
	}
	for _, relation := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"spouse", "parent", "child", "sibling", "colleague", "manager", "report", "friend", "introduced_by", "introduced", "other"}), 0, 2, rapid.ID).Draw(t, "relations") {
		p.Relations = append(p.Relations, people.Relation{ConnectionID: "con_" + relation, Name: "N" + drawLine(t, "other", 100), Type: relation, Label: drawRelationLabel(t)})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "related") {
		r := people.Relation{Name: fmt.Sprint("O", i, drawLine(t, "other", 100)), Type: rapid.SampledFrom([]string{"spouse", "parent", "manager", "colleague", "other"}).Draw(t, "type"), Label: drawRelationLabel(t)}
		p.Related = append(p.Related, r)
	}
	p.NotSameAs = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"con_1", "con_2", "con_3"}), 0, 2, rapid.ID).Draw(t, "not the same")
	if rapid.Bool().Draw(t, "photo") {
		p.Picture = photos.Image{Media: rapid.SampledFrom([]string{"image/jpeg", "image/png"}).Draw(t, "media"), Data: rapid.SliceOfN(rapid.Byte(), 1, 600).Draw(t, "picture")}
	}
	return p
}

// drawRelationLabel draws a word that says more than a type of relationship.
func drawRelationLabel(t *rapid.T) string {
	label := rapid.OneOf(rapid.SampledFrom([]string{"", "mother", "Domestic partner", "landlord", "friend of"}), rapid.Custom(func(t *rapid.T) string { return drawLine(t, "label", 60) })).Draw(t, "label")
	_, label = people.ParseRelation(label)
	return label
}

// heldByJSON is all of the data.
func heldByJSON(p export.Person) export.PersonRecord {
	out := export.PersonRecord{
		ID: p.ID, Name: p.Name, Nickname: p.Nickname, Location: p.Location, Bio: p.Bio, MetOn: p.MetOn, MetHow: p.MetHow, Starred: p.Starred,
		CadenceDays: p.CadenceDays, Tags: p.Tags, Groups: p.Groups, Source: p.Source, SnoozedUntil: p.SnoozedUntil,
		LastInteractionAt: p.LastInteractionAt, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, NotSameAs: p.NotSameAs, Addresses: p.Addresses, Accounts: p.Accounts, Kept: p.Kept, DeceasedOn: p.DeceasedOn, NameParts: p.NameParts, Fields: p.Fields,
	}
	if len(p.Picture.Data) > 0 {
		out.Photo = p.Picture.URI()
	}
	for _, h := range p.Handles {
		out.Handles = append(out.Handles, export.HandleRecord{Kind: h.Kind, Value: h.Value, Label: h.Label})
	}
	for _, at := range p.Positions {
		out.Positions = append(out.Positions, export.PositionRecord{Organization: at.Organization, Title: at.Title, StartedOn: at.StartedOn, EndedOn: at.EndedOn, Current: at.Current})
	}
	for _, on := range p.Dates {
		out.ImportantDates = append(out.ImportantDates, export.DateRecord{Kind: on.Kind, Label: on.Label, Date: on.String()})
	}
	for _, r := range slices.Concat(p.Relations, p.Related) {
		out.Relationships = append(out.Relationships, export.RelationshipRecord{ConnectionID: r.ConnectionID, Name: r.Name, Type: r.Type, Label: r.Label})
	}
	return out
}

// handlesAs returns the handles kind by kind, web addresses as one kind, with new labels.
func handlesAs(p export.Person, label func(people.Handle) string) []export.HandleRecord {
	var out []export.HandleRecord
	for _, kinds := range [][]string{{people.KindEmail}, {people.KindPhone}, {people.KindURL, people.KindSocial}} {
		for _, h := range p.Handles {
			if slices.Contains(kinds, h.Kind) {
				out = append(out, export.HandleRecord{Kind: kinds[0], Value: h.Value, Label: label(h)})
			}
		}
	}
	return out
}

func heldByCSV(p export.Person) export.PersonRecord {
	day := func(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
	out := heldByJSON(p)
	out.Source, out.SnoozedUntil, out.UpdatedAt, out.Relationships, out.ImportantDates, out.Positions = "", time.Time{}, time.Time{}, nil, nil, nil
	out.NotSameAs, out.Photo, out.Kept = nil, "", nil
	out.CreatedAt, out.LastInteractionAt = day(p.CreatedAt), day(p.LastInteractionAt)
	out.Handles = handlesAs(p, func(people.Handle) string { return "" })
	out.Accounts = slices.Clone(p.Accounts)
	for i := range out.Accounts {
		out.Accounts[i].Label = ""
	}
	out.Addresses = namedCountries(p)
	for i, a := range out.Addresses {
		if i > 0 {
			out.Addresses[i] = people.Address{Text: p.Addresses[i].String()}
		} else {
			a.Label = ""
			out.Addresses[i] = a
		}
	}
	if at := p.CurrentPosition(); at.Organization+at.Title != "" {
		out.Positions = []export.PositionRecord{{Organization: at.Organization, Title: at.Title, Current: true}}
	}
	for _, on := range p.Dates {
		if on.Kind == people.DateBirthday && out.ImportantDates == nil {
			out.ImportantDates = []export.DateRecord{{Kind: on.Kind, Date: on.String()}}
		}
	}
	return out
}

// tagsAndGroups returns both as tags.
func tagsAndGroups(p export.Person) []string {
	var out []string
	for _, word := range append(slices.Clone(p.Tags), p.Groups...) {
		same := func(other string) bool { return text.Fold(other) == text.Fold(word) }
		if !slices.ContainsFunc(out, same) {
			out = append(out, word)
		}
	}
	return out
}

func currentPositions(p export.Person) (out []export.PositionRecord) {
	for _, at := range p.Positions {
		if at.Current {
			out = append(out, export.PositionRecord{Organization: at.Organization, Title: at.Title, Current: true})
		}
	}
	return out
}

func heldByVCard(p export.Person) export.PersonRecord {
	out := export.PersonRecord{
		ID: p.ID, Name: p.Name, Nickname: p.Nickname, Location: p.Location, Bio: p.Bio, Tags: tagsAndGroups(p), UpdatedAt: p.UpdatedAt,
		Positions: currentPositions(p), Photo: heldByJSON(p).Photo, Addresses: namedCountries(p), Accounts: p.Accounts, DeceasedOn: p.DeceasedOn, Kept: keptIn(export.VCard, p), NameParts: p.NameParts, Fields: p.Fields,
	}
	if !p.HasTypedLocation() {
		out.Location = "" // it follows from the addresses
	}
	out.Handles = handlesAs(p, func(h people.Handle) string {
		if label := strings.ToLower(h.Label); label == "home" || label == "work" || label == "mobile" && h.Kind == people.KindPhone {
			return label
		}
		return h.Label
	})
	out.ImportantDates = heldByJSON(p).ImportantDates
	out.Relationships = heldByJSON(p).Relationships
	return out
}

// heldByVCard3 is what version 4.0 holds, too; the kind of a picture is in the picture.
func heldByVCard3(p export.Person) export.PersonRecord {
	out := heldByVCard(p)
	if _, data, found := strings.Cut(out.Photo, ";base64,"); found {
		out.Photo = "data:;base64," + data
	}
	return out
}

func heldByJSContact(p export.Person) export.PersonRecord {
	out := heldByVCard(p)
	out.Kept = keptIn(export.JSContact, p)
	out.CreatedAt, out.Positions, out.ImportantDates, out.Photo = p.CreatedAt, nil, nil, ""
	out.Handles = handlesAs(p, func(h people.Handle) string {
		if label := strings.ToLower(h.Label); label == "home" || label == "work" {
			return label
		}
		return h.Label
	})
	out.Positions = currentPositions(p)
	out.ImportantDates = heldByJSON(p).ImportantDates
	slices.SortFunc(out.Relationships, func(a, b export.RelationshipRecord) int {
		return strings.Compare(cmpp.Or(a.ConnectionID, a.Name), cmpp.Or(b.ConnectionID, b.Name))
	})
	words := map[string]bool{}
	for _, word := range append(slices.Clone(p.Tags), p.Groups...) {
		words[word] = true
	}
	out.Tags = nil
	for _, word := range slices.Sorted(func(yield func(string) bool) {
		for word := range words {
			if !yield(word) {
				return
			}
		}
	}) {
		same := func(other string) bool { return text.Fold(other) == text.Fold(word) }
		if !slices.ContainsFunc(out.Tags, same) {
			out.Tags = append(out.Tags, word)
		}
	}
	return out
}

// Notes and interactions are read back with the keys of their people.
func TestRoundTripOfTheTimeline(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	content, _, err := export.Write(export.JSON, export.People{
		People:       []export.Person{{Connection: people.Connection{ID: "con_1", Name: "Ana"}}},
		Notes:        []timeline.Note{{ID: "not_1", Body: "<b>&\n\"", Pinned: true, ConnectionIDs: []string{"con_1", "con_2"}, CreatedAt: at, UpdatedAt: at}},
		Interactions: []timeline.Interaction{{ID: "int_1", Kind: "call", OccurredAt: at, DurationMinutes: 5, Summary: "s", ExternalKey: "k", ConnectionIDs: []string{"con_1"}, CreatedAt: at}},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, content, source.Options{})
	notes := []source.Note{{Row: 1, Record: export.NoteRecord{ID: "not_1", ConnectionIDs: []string{"con_1", "con_2"}, Body: "<b>&\n\"", Pinned: true, CreatedAt: at, UpdatedAt: at}}}
	if diff := cmp.Diff(notes, slices.Collect(f.Notes())); diff != "" {
		t.Error(diff)
	}
	interactions := []source.Interaction{{Row: 1, Record: export.InteractionRecord{
		ID: "int_1", ExternalKey: "k", ConnectionIDs: []string{"con_1"}, Kind: "call", OccurredAt: at, DurationMinutes: 5, Summary: "s", CreatedAt: at,
	}}}
	if diff := cmp.Diff(interactions, slices.Collect(f.Interactions())); diff != "" {
		t.Error(diff)
	}
}
