package export_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/emersion/go-vcard"
	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"pgregory.net/rapid"
)

// ana has a value in every field, with characters that each format must escape.
func ana() export.Person {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return export.Person{
		Connection: people.Connection{
			ID: "con_1", Name: `=Ana; "Ñ", \López`, Nickname: "@ana", Location: "Bilbao, ES", Bio: "one\ntwo; three, \\four " + strings.Repeat("日本語 ", 30),
			Starred: true, MetOn: "2024-05", MetHow: "+1", Source: people.SourceManual, CadenceDays: 30, SnoozedUntil: at, LastInteractionAt: at,
			CreatedAt: at, UpdatedAt: at, Tags: []string{"a,b", "c"}, Groups: []string{"Book; club"},
			Handles: []people.Handle{
				{Kind: people.KindEmail, Value: "ana@helios.example", Label: "Work"}, {Kind: people.KindEmail, Value: "ana@home.example", Label: "home"},
				{Kind: people.KindPhone, Value: "+34 600 000 000", Label: "mobile"}, {Kind: people.KindURL, Value: "https://ana.example/a;b,c"},
			},
			Positions: []people.Position{
				{Organization: "Helios; GmbH", Title: "Founder, CEO", StartedOn: "2020", Current: true}, {Organization: "Old", EndedOn: "2019-12"},
			},
			Dates: []people.ImportantDate{
				{Kind: people.DateBirthday, Month: 2, Day: 29}, {Kind: people.DateAnniversary, Year: 2010, Month: 6, Day: 1},
				{Kind: people.DateOther, Label: "First sale", Year: 2011},
			},
		},
		Relations: []people.Relation{{ConnectionID: "con_2", Name: "Ben, Jr.", Type: people.RelationManager}, {ConnectionID: "con_2", Name: "Ben, Jr.", Type: people.RelationFriend}},
	}
}

func write(t *testing.T, format string, people ...export.Person) string {
	t.Helper()
	content, _, err := export.Write(format, export.People{People: people})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestCSV(t *testing.T) {
	t.Parallel()
	rows, err := csv.NewReader(strings.NewReader(write(t, export.CSV, ana(), export.Person{}))).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if diff := cmp.Diff(export.Columns(), rows[0]); diff != "" {
		t.Error(diff)
	}
	cells := map[string]string{}
	for i, name := range rows[0] {
		cells[name] = rows[1][i]
	}
	for name, want := range map[string]string{
		"Id": "con_1", "Name": `'=Ana; "Ñ", \López`, "Nickname": "'@ana", "Organization": "Helios; GmbH", "Title": "Founder, CEO",
		"E-mail": "ana@helios.example ::: ana@home.example", "Phone": "'+34 600 000 000", "Website": "https://ana.example/a;b,c",
		"Tags": "a,b ::: c", "Groups": "Book; club", "Starred": "yes", "Met on": "2024-05", "Met how": "'+1", "Birthday": "'--02-29",
		"Keep in touch (days)": "30", "Last contact": "2026-03-01", "Added": "2026-03-01",
	} {
		if cells[name] != want {
			t.Errorf("%s: %q, want %q", name, cells[name], want)
		}
	}
	for i, cell := range rows[2] {
		if cell != "" {
			t.Errorf("%s of an empty person: %q", rows[0][i], cell)
		}
	}
}

// No cell begins like a formula, whatever its text, and nothing else changes.
func TestCSVHoldsNoFormula(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"", "=", "+", "-", "@", "\t", "\r"}).Draw(t, "first") + rapid.StringMatching(`[a-z=+,"'; ]{0,8}`).Draw(t, "rest")
		content, _, err := export.Write(export.CSV, export.People{People: []export.Person{{Connection: people.Connection{Name: name}}}})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(content)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		cell := rows[1][1]
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			t.Errorf("%q begins like a formula", cell)
		}
		want := strings.ReplaceAll(name, "\r", "") // stored texts contain no \r, and CSV lines end with one
		if bare := strings.TrimLeft(name, "'"); bare != "" && strings.ContainsRune("=+-@\t\r", rune(bare[0])) {
			want = "'" + want // one more than it had, so that readers know how many to remove
		}
		if cell != want {
			t.Errorf("%q became %q", name, cell)
		}
	})
}

// unescaped removes the one escape that the library leaves in place (RFC 6350, section
// 3.4, requires readers to do so everywhere).
func unescaped(s string) string { return strings.ReplaceAll(s, `\;`, ";") }

func TestVCard(t *testing.T) {
	t.Parallel()
	content := write(t, export.VCard, ana(), export.Person{Connection: people.Connection{ID: "con_2", Name: "Ben"}})
	for line := range strings.SplitSeq(content, "\r\n") {
		if len(line) > 75 || !utf8.ValidString(line) || strings.ContainsAny(line, "\r\n") {
			t.Errorf("line of %d octets: %q", len(line), line)
		}
	}
	cards := vcard.NewDecoder(strings.NewReader(content))
	c, err := cards.Decode()
	if err != nil {
		t.Fatal(err)
	}
	p := ana()
	for name, want := range map[string]string{
		vcard.FieldVersion: "4.0", vcard.FieldUID: "con_1", vcard.FieldFormattedName: p.Name, vcard.FieldNickname: "@ana", vcard.FieldNote: p.Bio,
		vcard.FieldOrganization: "Helios; GmbH", vcard.FieldTitle: "Founder, CEO", vcard.FieldEmail: "ana@helios.example",
		vcard.FieldTelephone: "+34 600 000 000", vcard.FieldURL: "https://ana.example/a;b,c", vcard.FieldBirthday: "--0229",
		vcard.FieldAnniversary: "20100601", vcard.FieldRelated: "Ben, Jr.", vcard.FieldRevision: "20260301T120000Z",
	} {
		if got := unescaped(c.Value(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if a := c.Address(); a == nil || a.Locality != "Bilbao, ES" {
		t.Errorf("address: %+v", a)
	}
	if tel := c.Get(vcard.FieldTelephone); tel.Params.Get("TYPE") != "cell" || tel.Params.Get("PREF") != "" {
		t.Errorf("telephone: %+v", tel)
	}
	if mails := c[vcard.FieldEmail]; len(mails) != 2 || mails[0].Params.Get("PREF") != "1" || mails[1].Params.Get("PREF") != "" {
		t.Errorf("e-mail addresses: %+v", mails)
	}
	if !strings.Contains(strings.ReplaceAll(content, "\r\n ", ""), `CATEGORIES:a\,b,c,Book\; club`) {
		t.Errorf("categories: %v", c.Get(vcard.FieldCategories))
	}
	if c, err = cards.Decode(); err != nil || c.Value(vcard.FieldFormattedName) != "Ben" {
		t.Errorf("the second: %v, %v", c, err)
	}
	if _, err = cards.Decode(); !errors.Is(err, io.EOF) {
		t.Errorf("after the second: %v", err)
	}
}

// Version 3.0 has what programs read that know no other, and nothing that is new in version 4.0.
func TestVCard3(t *testing.T) {
	t.Parallel()
	p := ana()
	p.DeceasedOn, p.Picture = "2021-03-04", photos.Image{Media: "image/jpeg", Data: []byte("picture")}
	p.Addresses = []people.Address{{Label: "home", Street: "Gran Vía 1", Locality: "Bilbao", Country: "ES", Text: "Gran Vía 1\nBilbao"}}
	p.Accounts = []people.Account{{Service: "xmpp", Handle: "ana@chat.example", Label: "home"}, {Service: "mastodon", Handle: "@ana@social.example"}}
	content := strings.ReplaceAll(write(t, export.VCard3, p), "\r\n ", "")
	for _, want := range []string{
		"BEGIN:VCARD\r\nVERSION:3.0\r\n", "\r\nUID:con_1\r\n", "\r\nN;X-KITH-NAME=1:;", "\r\nTEL;TYPE=cell:+34 600 000 000\r\n", "\r\nEMAIL;TYPE=work;TYPE=pref:ana@helios.example\r\n",
		"\r\nBDAY;X-APPLE-OMIT-YEAR=1604:1604-02-29\r\n", ".X-ABLabel:_$!<Anniversary>!$_\r\n", ".X-ABDATE:2010-06-01\r\n", "\r\nX-DEATHDATE:2021-03-04\r\n",
		".ADR;TYPE=home;TYPE=pref:;;Gran Vía 1;Bilbao;;;Spain\r\n", `.LABEL;TYPE=home:Gran Vía 1\nBilbao` + "\r\n", "\r\nPHOTO;ENCODING=b;TYPE=JPEG:cGljdHVyZQ==\r\n",
		"\r\nIMPP;X-SERVICE-TYPE=XMPP;TYPE=home:xmpp:ana@chat.example\r\n", `X-SOCIALPROFILE;X-SERVICE-TYPE="mastodon";VALUE=text:@ana@social.example` + "\r\n",
		".X-ABLabel:_$!<Manager>!$_\r\n", `.X-ABRELATEDNAMES;X-KITH-ID=con_2:Ben\, Jr.` + "\r\n",
	} {
		if !strings.Contains(content, want) {
			t.Errorf("no %q in\n%s", want, content)
		}
	}
	for _, wrong := range []string{"PREF=1", "KIND:", "RELATED;", "\nANNIVERSARY", "\nDEATHDATE", "data:", "VALUE=uri", ";LABEL="} {
		if strings.Contains(content, wrong) {
			t.Errorf("%q in\n%s", wrong, content)
		}
	}
	c, err := vcard.NewDecoder(strings.NewReader(content)).Decode()
	if err != nil || c.Value(vcard.FieldVersion) != "3.0" || unescaped(c.Value(vcard.FieldFormattedName)) != p.Name {
		t.Errorf("%v, %v", c, err)
	}
}

// For any text, a card stays one card and returns the same words.
func TestVCardProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bio := rapid.StringMatching(`[a,;:"'^ ñ日🙂\n=]{1,200}`).Draw(t, "bio")
		content, _, err := export.Write(export.VCard, export.People{People: []export.Person{{Connection: people.Connection{Name: "A", Bio: bio, Location: bio}}}})
		if err != nil {
			t.Fatal(err)
		}
		cards := vcard.NewDecoder(strings.NewReader(content))
		c, err := cards.Decode()
		if err != nil || unescaped(c.Value(vcard.FieldNote)) != bio {
			t.Fatalf("%q became %q, %v", bio, c.Value(vcard.FieldNote), err)
		}
		if _, err := cards.Decode(); !errors.Is(err, io.EOF) {
			t.Fatalf("more than one card: %v", err)
		}
	})
}

func TestJSContact(t *testing.T) {
	t.Parallel()
	var cards []map[string]any
	if err := json.Unmarshal([]byte(write(t, export.JSContact, ana())), &cards); err != nil {
		t.Fatal(err)
	}
	p := ana()
	want := map[string]any{
		"@type": "Card", "version": "1.0", "uid": "con_1", "kind": "individual", "prodId": "-//Kith//Kith//EN",
		"created": "2026-03-01T12:00:00Z", "updated": "2026-03-01T12:00:00Z",
		"name":          map[string]any{"full": p.Name},
		"nicknames":     map[string]any{"1": map[string]any{"name": "@ana"}},
		"organizations": map[string]any{"1": map[string]any{"name": "Helios; GmbH"}},
		"titles":        map[string]any{"1": map[string]any{"name": "Founder, CEO", "organizationId": "1"}},
		"emails": map[string]any{
			"1": map[string]any{"address": "ana@helios.example", "contexts": map[string]any{"work": true}, "pref": 1.0},
			"2": map[string]any{"address": "ana@home.example", "contexts": map[string]any{"private": true}},
		},
		"phones":    map[string]any{"1": map[string]any{"number": "+34 600 000 000", "label": "mobile", "pref": 1.0}},
		"links":     map[string]any{"1": map[string]any{"uri": "https://ana.example/a;b,c", "pref": 1.0}},
		"addresses": map[string]any{"1": map[string]any{"components": []any{map[string]any{"kind": "locality", "value": "Bilbao, ES"}}, "full": "Bilbao, ES", "kith:location": true}},
		"anniversaries": map[string]any{
			"1": map[string]any{"kind": "birth", "date": map[string]any{"@type": "PartialDate", "month": 2.0, "day": 29.0}},
			"3": map[string]any{"kind": "kith:First sale", "date": map[string]any{"@type": "PartialDate", "year": 2011.0}},
			"2": map[string]any{"kind": "wedding", "date": map[string]any{"@type": "PartialDate", "year": 2010.0, "month": 6.0, "day": 1.0}},
		},
		"notes":     map[string]any{"1": map[string]any{"note": p.Bio}},
		"keywords":  map[string]any{"a,b": true, "c": true, "Book; club": true},
		"relatedTo": map[string]any{"con_2": map[string]any{"kith:name": "Ben, Jr.", "relation": map[string]any{"colleague": true, "kith:manager": true, "friend": true}}},
	}
	if diff := cmp.Diff(want, cards[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The JSON has every stored field: a new field must be added to it, or listed here as
// internal to the store.
func TestJSONIsLossless(t *testing.T) {
	t.Parallel()
	at := ana().CreatedAt
	content, media, err := export.Write(export.JSON, export.People{
		People:       []export.Person{ana()},
		Notes:        []timeline.Note{{ID: "not_1", Body: "<b>&", Pinned: true, ConnectionIDs: []string{"con_1"}, CreatedAt: at, UpdatedAt: at}},
		Interactions: []timeline.Interaction{{ID: "int_1", Kind: "call", OccurredAt: at, DurationMinutes: 5, Summary: "s", ExternalKey: "k", ConnectionIDs: []string{"con_1"}, CreatedAt: at}},
		Reminders: []reminders.Reminder{{
			ID: "rem_1", ConnectionIDs: []string{"con_1"}, Text: "t", DueOn: "2026-02-28", StartsOn: "2026-01-31", Recurrence: "monthly", State: "open", CreatedAt: at, UpdatedAt: at,
		}},
		Groups: []groups.Group{{ID: "grp_1", Name: "g", Description: "d", CadenceDays: 14}},
	})
	if err != nil || media != "application/json" || !strings.Contains(content, "<b>&") {
		t.Fatalf("%s, %v: %s", media, err, content)
	}
	var doc export.Document
	if err := json.Unmarshal([]byte(content), &doc); err != nil {
		t.Fatal(err)
	}
	p := ana()
	want := export.Document{
		Format: export.Format,
		People: []export.PersonRecord{{
			ID: p.ID, Name: p.Name, Nickname: p.Nickname, Location: p.Location, Bio: p.Bio, Starred: true, MetOn: p.MetOn, MetHow: p.MetHow,
			Source: p.Source, CadenceDays: 30, SnoozedUntil: at, LastInteractionAt: at, CreatedAt: at, UpdatedAt: at, Tags: p.Tags, Groups: p.Groups,
			Handles:        []export.HandleRecord{{"email", "ana@helios.example", "Work"}, {"email", "ana@home.example", "home"}, {"phone", "+34 600 000 000", "mobile"}, {"url", "https://ana.example/a;b,c", ""}},
			Positions:      []export.PositionRecord{{"", "Helios; GmbH", "Founder, CEO", "2020", "", true}, {"", "Old", "", "", "2019-12", false}},
			ImportantDates: []export.DateRecord{{"birthday", "--02-29", ""}, {"anniversary", "2010-06-01", ""}, {"other", "2011", "First sale"}},
			Relationships: []export.RelationshipRecord{
				{ConnectionID: "con_2", Name: "Ben, Jr.", Type: "manager"}, {ConnectionID: "con_2", Name: "Ben, Jr.", Type: "friend"},
			},
		}},
		Notes:        []export.NoteRecord{{"not_1", []string{"con_1"}, "<b>&", true, at, at, "", time.Time{}}},
		Interactions: []export.InteractionRecord{{"int_1", []string{"con_1"}, "call", at, "", 5, "s", "k", at}},
		Reminders:    []export.ReminderRecord{{"rem_1", []string{"con_1"}, "t", "2026-02-28", "2026-01-31", "monthly", "open", at, at, ""}},
		Groups:       []export.GroupRecord{{Name: "g", Description: "d", CadenceDays: 14}},
	}
	if last := len(doc.LeftOut) - 1; last < 5 || !strings.HasPrefix(doc.LeftOut[last], "Archived people") {
		t.Errorf("left out: %q", doc.LeftOut)
	}
	doc.LeftOut = nil
	if diff := cmp.Diff(want, doc); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnknownFormat(t *testing.T) {
	t.Parallel()
	if _, _, err := export.Write("xlsx", export.People{}); err == nil {
		t.Error("it was written")
	}
}

// Members of the same name, such as of people who were merged, stay apart.
func TestKeptMembersOfOneName(t *testing.T) {
	t.Parallel()
	p := export.Person{Connection: people.Connection{Name: "Ana", Kept: []people.Kept{
		{Format: export.JSContact, Name: "own", Text: "1"}, {Format: export.VCard, Name: "X-A", Text: "X-A:1"}, {Format: export.JSContact, Name: "own", Text: "2"},
	}}}
	var cards []map[string]any
	if err := json.Unmarshal([]byte(write(t, export.JSContact, p)), &cards); err != nil {
		t.Fatal(err)
	}
	if cards[0]["own"] != 1.0 || cards[0]["kith:2:own"] != 2.0 || cards[0]["X-A"] != nil {
		t.Errorf("%v", cards[0])
	}
}
