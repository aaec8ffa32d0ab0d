package importer_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/photos/phototest"
	"pgregory.net/rapid"
)

// Data that one member exports or downloads and another one imports is unchanged,
// including people who share a mailbox or a name.
func TestRoundTripOfKithsExport(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		members, portraits, schemas := 0, portraits(t), readSchemas(t)
		rapid.Check(t, func(rt *rapid.T) {
			members += 2
			ada := &fixture{store: s, owner: dbtest.Member(t, s, fmt.Sprintf("ada-%d", members)), now: time.Now}
			bob := &fixture{store: s, owner: dbtest.Member(t, s, fmt.Sprintf("bob-%d", members)), now: time.Now}
			cleo := &fixture{store: s, owner: dbtest.Member(t, s, fmt.Sprintf("cleo-%d", members)), now: time.Now}
			doc := document(rt, portraits)
			if r := ada.imports(t, "a.json", encode(t, doc), importer.Options{}); r.Created != len(doc.People) || r.Failed != 0 {
				rt.Fatalf("%s %v %v", counts(r), r.Errors, r.Warnings)
			}
			held := ada.export(t)
			if diff := gocmp.Diff(normal(doc), normal(held)); diff != "" {
				rt.Fatalf("imported (-file +stored):\n%s", diff)
			}
			for _, again := range []struct {
				*fixture

				file string
			}{{bob, schemas.valid(rt, ada.download(t))}, {bob, encode(t, held)}, {ada, ada.download(t)}} {
				r := again.imports(t, "b", again.file, importer.Options{})
				if r.Failed+r.Updated != 0 {
					rt.Fatalf("%s %v %v", counts(r), r.Errors, r.Warnings)
				}
				if diff := gocmp.Diff(normal(held), normal(again.export(t))); diff != "" {
					rt.Fatalf("imported again (-file +stored):\n%s", diff)
				}
			}
			if len(photosOf(held)) == 0 {
				return
			}
			cleo.imports(t, "c.vcf", ada.vcards(t), importer.Options{})
			if diff := gocmp.Diff(photosOf(held), photosOf(cleo.export(t))); diff != "" {
				rt.Fatalf("photos of vCards (-file +stored):\n%s", diff)
			}
		})
	})
}

// A network too large for one document is imported in several, in any order, when no two
// people in different documents share an address.
func TestRoundTripOfParts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		members, portraits := 0, portraits(t)
		rapid.Check(t, func(rt *rapid.T) {
			members += 2
			ada := &fixture{store: s, owner: dbtest.Member(t, s, fmt.Sprintf("ada-%d", members)), now: time.Now}
			bob := &fixture{store: s, owner: dbtest.Member(t, s, fmt.Sprintf("bob-%d", members)), now: time.Now}
			ada.imports(t, "a.json", encode(t, unshared(document(rt, portraits))), importer.Options{})
			parts := ada.parts(t, rapid.IntRange(2, 4).Draw(rt, "people in a part"))
			for _, part := range rapid.Permutation(parts).Draw(rt, "order") {
				if r := bob.imports(t, "b.json", part, importer.Options{}); r.Failed+r.Updated+r.Skipped != 0 {
					rt.Fatalf("%s %v %v", counts(r), r.Errors, r.Warnings)
				}
			}
			if diff := gocmp.Diff(normal(ada.export(t)), normal(bob.export(t))); diff != "" {
				rt.Fatalf("(-parts +stored):\n%s", diff)
			}
		})
	})
}

// The formats of other programs lose nothing but what LeftOut says: of a member's people, another
// member who imports the file has all the rest.
func TestRoundTripOfOtherFormats(t *testing.T) {
	t.Parallel()
	s := dbtest.Open(t, dbtest.SQLite(t), time.Now)
	members := 0
	rapid.Check(t, func(rt *rapid.T) {
		doc := unshared(document(rt, []string{""}))
		for i := range doc.People {
			doc.People[i].ArchivedAt = time.Time{} // files of other programs are of people who are not archived
		}
		members++
		ada := &fixture{store: s, owner: dbtest.Member(t, s, fmt.Sprintf("ada-%d", members)), now: time.Now}
		ada.imports(t, "a.json", encode(t, doc), importer.Options{})
		held := ada.export(t)
		for format, name := range map[string]string{export.CSV: "b.csv", export.VCard: "b.vcf", export.VCard3: "c.vcf", export.JSContact: "b.json"} {
			bob := &fixture{store: s, owner: dbtest.Member(t, s, fmt.Sprintf("bob-%s-%d", format, members)), now: time.Now}
			content := ada.file(t, format)
			r := bob.imports(t, name, content, importer.Options{})
			if r.Created != len(doc.People) || r.Failed != 0 || len(r.Warnings) > 0 {
				rt.Fatalf("%s: %s %v %v\n%s", format, counts(r), r.Errors, r.Warnings, content)
			}
			if diff := gocmp.Diff(holdable(format, held), holdable(format, bob.export(t))); diff != "" {
				rt.Fatalf("%s (-exported +imported):\n%s\n%s", format, diff, content)
			}
		}
	})
}

// file returns the people who are not archived in a format.
func (d *fixture) file(t testing.TB, format string) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := (export.File{Format: format}).Write(t.Context(), d.store.Tenant(d.owner, true), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// holdable returns the people of a document without what LeftOut says that a format leaves out, and
// without what an import sets itself.
func holdable(format string, doc export.Document) []export.PersonRecord {
	out := normal(doc).People
	for i := range out {
		p := &out[i]
		p.Source, p.UpdatedAt, p.SnoozedUntil, p.LastInteractionAt, p.NotSameAs = "", time.Time{}, time.Time{}, time.Time{}, nil
		if format != export.CSV {
			p.Starred, p.CadenceDays, p.MetOn, p.MetHow = false, 0, "", ""
			p.Tags, p.Groups = words(p.Tags, p.Groups), nil
		}
		switch format {
		case export.CSV:
			p.CreatedAt = p.CreatedAt.Truncate(24 * time.Hour)
		case export.JSContact:
			p.CreatedAt = p.CreatedAt.Truncate(time.Second)
		default:
			p.CreatedAt = time.Time{}
		}
		p.Positions = slices.DeleteFunc(p.Positions, func(at export.PositionRecord) bool { return !at.Current })
		for j := range p.Positions {
			p.Positions[j].StartedOn = ""
		}
		if format != export.CSV {
			slices.SortFunc(p.Positions, func(a, b export.PositionRecord) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		for j, h := range p.Handles {
			if h.Kind == "social" { // an address on the web in these formats, which an import recognises
				p.Handles[j].Kind = "url"
			}
			if format == export.CSV || format == export.JSContact && h.Kind == "url" {
				p.Handles[j].Label = ""
			}
		}
		p.ImportantDates = slices.DeleteFunc(p.ImportantDates, func(d export.DateRecord) bool {
			return format == export.CSV && d.Kind != "birthday" || format == export.JSContact && d.Kind == "other"
		})
		if format == export.CSV {
			p.Positions = p.Positions[:min(1, len(p.Positions))]
			p.Relationships = nil
		}
	}
	return out
}

// words returns the words of both lists, each once, in order.
func words(tags, groups []string) []string {
	all := slices.Concat(tags, groups)
	slices.Sort(all)
	return slices.Compact(all)
}

// unshared removes the addresses that people share with other people.
func unshared(doc export.Document) export.Document {
	for i := range doc.People {
		p := &doc.People[i]
		p.Name += " " + p.ID
		p.Handles = slices.DeleteFunc(p.Handles, func(h export.HandleRecord) bool {
			return strings.Contains(h.Value, "shared.example") || h.Kind == "phone"
		})
		for j := range p.Relationships {
			p.Relationships[j].Name += " " + p.Relationships[j].ConnectionID
		}
	}
	return doc
}

// download returns the ZIP of the settings page.
func (d *fixture) download(t testing.TB) string {
	t.Helper()
	var out bytes.Buffer
	account := export.Account{Member: &account.Member{ID: d.owner}, Profile: &account.Profile{}}
	if err := export.WriteAccount(t.Context(), &out, account, d.store.Tenant(d.owner, true), time.Now()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// parts returns documents of some people each.
func (d *fixture) parts(t testing.TB, people int) []string {
	t.Helper()
	var parts []string
	f := export.PeopleFilter{Limit: people, Timeline: true, Archived: true, Photos: true}
	for {
		page, more, err := export.ListPeople(t.Context(), d.store.Tenant(d.owner, true), f)
		if err != nil {
			t.Fatal(err)
		}
		content, _, err := export.Write(export.JSON, page)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, content)
		if !more {
			return parts
		}
		f.After = page.LastPlace()
	}
}

func encode(t testing.TB, doc export.Document) string {
	t.Helper()
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// normal identifies people by their positions, and sorts lists that have no order.
func normal(doc export.Document) export.Document {
	var out export.Document
	data, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		panic(err)
	}
	slices.SortStableFunc(out.People, func(a, b export.PersonRecord) int { return cmp.Compare(a.Name, b.Name) })
	place := map[string]string{}
	for i := range out.People {
		place[out.People[i].ID] = fmt.Sprint(i)
	}
	rename := func(ids []string) {
		for i := range ids {
			ids[i] = place[ids[i]]
		}
		slices.Sort(ids)
	}
	out.LeftOut = nil
	for i := range out.People {
		p := &out.People[i]
		p.ID = place[p.ID]
		if !p.ArchivedAt.IsZero() {
			p.ArchivedAt = at(0) // an import sets a new time
		}
		for j := range p.Relationships {
			p.Relationships[j].ConnectionID = place[p.Relationships[j].ConnectionID]
		}
		slices.SortFunc(p.Relationships, func(a, b export.RelationshipRecord) int {
			return cmp.Or(cmp.Compare(a.ConnectionID, b.ConnectionID), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
		})
		slices.Sort(p.Tags)
		slices.Sort(p.Groups)
		rename(p.NotSameAs)
	}
	for i := range out.Notes {
		out.Notes[i].ID = ""
		rename(out.Notes[i].ConnectionIDs)
	}
	for i := range out.Interactions {
		out.Interactions[i].ID = ""
		rename(out.Interactions[i].ConnectionIDs)
	}
	for i := range out.Reminders {
		out.Reminders[i].ID = ""
		rename(out.Reminders[i].ConnectionIDs)
	}
	slices.SortFunc(out.Reminders, func(a, b export.ReminderRecord) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	slices.SortFunc(out.Groups, func(a, b export.GroupRecord) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Notes, func(a, b export.NoteRecord) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	slices.SortFunc(out.Interactions, func(a, b export.InteractionRecord) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return out
}

// portraits returns pictures as Kith's files contain them: a JPEG and a PNG with transparency.
func portraits(t testing.TB) []string {
	t.Helper()
	clear := phototest.Picture(20, 20)
	clear.Pix[3] = 0
	var out []string
	for _, file := range [][]byte{phototest.JPEG(t, 30, 20), phototest.PNG(t, clear)} {
		photo, err := photos.Read(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, photo.URI())
	}
	return out
}

// vcards returns the people who are not archived, with their photos, as vCards.
func (d *fixture) vcards(t testing.TB) string {
	t.Helper()
	page, _, err := export.ListPeople(t.Context(), d.store.Tenant(d.owner, true), export.PeopleFilter{Limit: 100, Photos: true})
	if err != nil {
		t.Fatal(err)
	}
	content, _, err := export.Write(export.VCard, page)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// photosOf returns the photos of people who are not archived.
func photosOf(doc export.Document) []string {
	var out []string
	for _, p := range doc.People {
		if p.Photo != "" && p.ArchivedAt.IsZero() {
			out = append(out, p.Photo)
		}
	}
	return out
}

// document generates an export. The first person may have one of the portraits.
func document(rt *rapid.T, portraits []string) export.Document {
	doc := export.Document{Format: export.Format, People: []export.PersonRecord{}, Notes: []export.NoteRecord{}, Interactions: []export.InteractionRecord{}}
	ids := make([]string, rapid.IntRange(1, 8).Draw(rt, "people"))
	for i := range ids {
		ids[i] = fmt.Sprintf("con_%d", i+1)
		doc.People = append(doc.People, drawPerson(rt, ids[i]))
		doc.People[i].CreatedAt = at(1).Add(time.Duration(i) * time.Second)
	}
	doc.People[0].Photo = rapid.SampledFrom(append([]string{""}, portraits...)).Draw(rt, "photo")
	relate(rt, &doc)
	distinguish(rt, &doc)
	some := rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 1, min(3, len(ids)), rapid.ID[string])
	for i := range rapid.IntRange(0, 5).Draw(rt, "notes") {
		doc.Notes = append(doc.Notes, export.NoteRecord{
			ID: fmt.Sprintf("not_%d", i), ConnectionIDs: some.Draw(rt, "about"), Body: fmt.Sprintf("note %d\n*", i), Pinned: i == 1,
			CreatedAt: at(i), UpdatedAt: at(i + 5),
		})
		if n := &doc.Notes[i]; rapid.Bool().Draw(rt, "of a day") {
			n.Day, n.NotedAt = at(i).AddDate(0, -1, 0).Format(time.DateOnly), at(i).AddDate(0, -1, 0)
		}
	}
	last := map[string]time.Time{}
	for i := range rapid.IntRange(0, 5).Draw(rt, "interactions") {
		met := export.InteractionRecord{
			ID: fmt.Sprintf("int_%d", i), ConnectionIDs: some.Draw(rt, "met"), Kind: rapid.SampledFrom([]string{"call", "meeting"}).Draw(rt, "kind"),
			OccurredAt: at(i), DurationMinutes: int32(i), Summary: fmt.Sprintf("met %d", i), CreatedAt: at(i + 1),
		}
		if rapid.Bool().Draw(rt, "keyed") {
			met.ExternalKey = fmt.Sprintf("event-%d", i)
		}
		doc.Interactions = append(doc.Interactions, met)
		for _, who := range met.ConnectionIDs {
			last[who] = met.OccurredAt
		}
	}
	for i := range doc.People {
		doc.People[i].LastInteractionAt = last[doc.People[i].ID]
	}
	arrange(rt, &doc, ids)
	return doc
}

func at(n int) time.Time { return time.Date(2025, 1, 2+n, 3, 4, 5, 6000, time.UTC) }

// arrange generates groups with people and an empty one, reminders about people and about no
// person, and archives some people.
func arrange(rt *rapid.T, doc *export.Document, ids []string) {
	doc.Reminders, doc.Groups = []export.ReminderRecord{}, []export.GroupRecord{{Name: "Nobody yet", Description: "empty", CadenceDays: 90}}
	for _, name := range []string{"Alpha", "beta"} {
		for _, p := range doc.People {
			if slices.Contains(p.Groups, name) {
				g := export.GroupRecord{Name: name, CadenceDays: rapid.SampledFrom([]int{0, 14}).Draw(rt, "interval")}
				g.Description = rapid.SampledFrom([]string{"", "of " + name + "\nand so on"}).Draw(rt, "description")
				doc.Groups = append(doc.Groups, g)
				break
			}
		}
	}
	for i := range rapid.IntRange(0, 4).Draw(rt, "reminders") {
		doc.Reminders = append(doc.Reminders, export.ReminderRecord{
			ID: fmt.Sprintf("rem_%d", i), ConnectionIDs: rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 0, min(3, len(ids)), rapid.ID).Draw(rt, "about"), Text: fmt.Sprintf("remember %d", i),
			DueOn: "2027-02-28", StartsOn: "2026-12-31", Recurrence: rapid.SampledFrom([]string{"none", "weekly", "monthly", "quarterly", "yearly"}).Draw(rt, "recurrence"),
			State: rapid.SampledFrom([]string{"open", "done", "dismissed"}).Draw(rt, "state"), CreatedAt: at(i), UpdatedAt: at(i + 3),
		})
	}
	for i := range doc.People {
		if rapid.IntRange(0, 3).Draw(rt, "archived") == 0 {
			doc.People[i].ArchivedAt = at(i)
		}
	}
}

func relate(rt *rapid.T, doc *export.Document) {
	if len(doc.People) < 2 || !rapid.Bool().Draw(rt, "related") {
		return
	}
	a, b := &doc.People[0], &doc.People[len(doc.People)-1]
	kinds := rapid.SampledFrom([][4]string{
		{"friend", "", "friend", ""}, {"parent", "mother", "child", "daughter"}, {"report", "", "manager", "boss"}, {"other", "landlord", "other", ""},
	}).Draw(rt, "relation")
	a.Relationships = append(a.Relationships, export.RelationshipRecord{ConnectionID: b.ID, Name: b.Name, Type: kinds[0], Label: kinds[1], InverseLabel: kinds[3]})
	b.Relationships = append(b.Relationships, export.RelationshipRecord{ConnectionID: a.ID, Name: a.Name, Type: kinds[2], Label: kinds[3], InverseLabel: kinds[1]})
}

// distinguish chooses the people who are marked as not the same as the first person.
func distinguish(rt *rapid.T, doc *export.Document) {
	first := &doc.People[0]
	for i := range doc.People[1:] {
		other := &doc.People[i+1]
		if rapid.IntRange(0, 3).Draw(rt, "not the same") == 0 {
			first.NotSameAs, other.NotSameAs = append(first.NotSameAs, other.ID), append(other.NotSameAs, first.ID)
		}
	}
}

func drawPerson(rt *rapid.T, id string) export.PersonRecord {
	maybe := func(what string, values ...string) string {
		return rapid.SampledFrom(append(values, "")).Draw(rt, what)
	}
	p := export.PersonRecord{
		ID: id, Name: rapid.SampledFrom([]string{"Ana López", "Bo", "王小明", "O'Neil, Pat"}).Draw(rt, "name"), Nickname: maybe("nickname", "Ace"),
		Location: maybe("location", "Berlin"), Bio: maybe("bio", "Likes \"tea\"\nand rain"), Starred: rapid.Bool().Draw(rt, "starred"),
		MetOn: maybe("met_on", "2020", "2020-02"), MetHow: maybe("met_how", "at a fair"), CadenceDays: rapid.SampledFrom([]int{0, 30}).Draw(rt, "cadence"),
		Source:  rapid.SampledFrom([]string{"manual", "agent", "import"}).Draw(rt, "source"),
		Handles: []export.HandleRecord{}, Positions: []export.PositionRecord{}, ImportantDates: []export.DateRecord{},
		Tags: []string{}, Groups: []string{}, Relationships: []export.RelationshipRecord{}, CreatedAt: at(1), UpdatedAt: at(2),
	}
	for _, r := range []export.RelationshipRecord{{Name: "Vera Holm", Type: "parent", Label: "mother"}, {Name: "Otto Brand", Type: "other"}, {Name: "Otto Brand", Type: "other", Label: "godfather"}} {
		if said := len(p.Relationships) > 0 && p.Relationships[len(p.Relationships)-1].Name == r.Name; !said && rapid.Bool().Draw(rt, "not on file") {
			p.Relationships = append(p.Relationships, r)
		}
	}
	if rapid.Bool().Draw(rt, "snoozed") {
		p.SnoozedUntil = at(900)
	}
	for _, h := range []export.HandleRecord{
		{Kind: "email", Value: "info@shared.example", Label: "work"}, {Kind: "email", Value: id[len(id)-2:] + "@own.example"},
		{Kind: "phone", Value: "+12125550100", Label: "home"}, {Kind: "url", Value: "https://shared.example/us"},
		{Kind: "social", Value: "https://www.linkedin.com/in/x" + id[len(id)-2:]},
	} {
		if rapid.Bool().Draw(rt, h.Value) {
			p.Handles = append(p.Handles, h)
		}
	}
	for _, o := range []export.PositionRecord{
		{Organization: "Acme", Title: "CTO", StartedOn: "2021-05", Current: true}, {Organization: "Blue", Current: true},
		{Title: "Poet", Current: true}, {Organization: "Acme", Title: "Dev", StartedOn: "2019", EndedOn: "2021"},
	} {
		if rapid.Bool().Draw(rt, "position") {
			p.Positions = append(p.Positions, o)
		}
	}
	for _, d := range []export.DateRecord{{Kind: "birthday", Date: "--02-29"}, {Kind: "anniversary", Date: "about 1950"}, {Kind: "other", Date: "2019-05-01", Label: "first day"}} {
		if rapid.Bool().Draw(rt, "date") {
			p.ImportantDates = append(p.ImportantDates, d)
		}
	}
	for _, word := range []string{"Alpha", "beta"} {
		if rapid.Bool().Draw(rt, "tag") {
			p.Tags = append(p.Tags, word)
		}
		if rapid.Bool().Draw(rt, "group") {
			p.Groups = append(p.Groups, word)
		}
	}
	return p
}
