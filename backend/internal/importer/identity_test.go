package importer_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
)

// named returns the records of the stored people by their names.
func (d *fixture) named(t testing.TB) map[string]export.PersonRecord {
	t.Helper()
	out := map[string]export.PersonRecord{}
	for _, p := range d.export(t).People {
		out[p.Name] = p
	}
	return out
}

// A key belongs to the program and the kind of file that wrote it, and names that contradict it
// outrank it: then the record is a new person, and importing the file again adds nobody.
func TestAKeyIsUniqueWithinItsSource(t *testing.T) {
	t.Parallel()
	ilse := "Id,Name,Email\n1,Ilse Brandt,ilse@x.example\n2,Bo Berg,bo@x.example\n"
	uid := func(program, name, email string) string {
		return "BEGIN:VCARD\r\nVERSION:3.0\r\nPRODID:" + program + "\r\nUID:1\r\nFN:" + name + "\r\nEMAIL:" + email + "\r\nEND:VCARD\r\n"
	}
	for name, c := range map[string]struct {
		first, second string
		people        int
	}{
		"tables with other columns":    {ilse, "ID,Full Name,E-mail,Birthday\n1,Kofi Mensah,kofi@x.example,1980-02-03\n", 3},
		"tables with the same columns": {ilse, "Id,Name,Email\n1,Kofi Mensah,kofi@x.example\n", 3},
		"one word of the name":         {ilse, "Id,Name,Email\n1,Ilse,other@x.example\n", 3},
		"the same name":                {ilse, "Id,Name,Email\n1,Ilse Brandt,new@x.example\n", 2},
		"a constant id":                {"", "Id,Name,Email\n7,Ilse Brandt,ilse@x.example\n7,Kofi Mensah,kofi@x.example\n7,Bo Berg,bo@x.example\n", 3},
		"cards of two programs":        {uid("-//A//Phone 1.0//EN", "Ilse Brandt", "ilse@x.example"), uid("-//B//Mail 2//EN", "Kofi Mensah", "kofi@x.example"), 2},
		"cards of one program":         {uid("-//A//Phone 1.0//EN", "Ilse Brandt", "ilse@x.example"), uid("-//A//Phone 2.0//EN", "Kofi Mensah", "kofi@x.example"), 2},
		"a new address":                {uid("-//A//Phone 1.0//EN", "Ilse Brandt", "ilse@x.example"), uid("-//A//Phone 2.0//EN", "Ilse Brandt", "new@x.example"), 1},
		"a new name":                   {uid("-//A//Phone 1.0//EN", "Ilse Brandt", "ilse@x.example"), uid("-//A//Phone 2.0//EN", "Ilse Mensah", "ilse@x.example"), 1},
		"one UID twice":                {"", uid("-//A//EN", "Ilse Brandt", "ilse@x.example") + uid("-//A//EN", "Kofi Mensah", "kofi@x.example"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDatabase(t, func(t *testing.T, d *fixture) {
				if c.first != "" {
					d.imports(t, "first", c.first, importer.Options{})
				}
				r := d.imports(t, "second", c.second, importer.Options{OnMatch: importer.OnMatchOverwrite})
				if got := d.named(t); len(got) != c.people || c.people > 1 && strings.Contains(c.second, "Kofi") && (!slices.ContainsFunc(got["Kofi Mensah"].Handles, func(h export.HandleRecord) bool { return h.Value == "kofi@x.example" }) || len(got["Ilse Brandt"].Handles) != 1) {
					t.Errorf("%s %v: %+v", counts(r), r.Warnings, got)
				}
				if again := d.imports(t, "second", c.second, importer.Options{OnMatch: importer.OnMatchOverwrite}); again.Created+again.Updated != 0 {
					t.Errorf("again: %s", counts(again))
				}
			})
		})
	}
}

// Kith's own ids mean this member's people, whatever the name is now; in a file of another member,
// the names must not contradict.
func TestKithsIdsAndNames(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "a.csv", "Name,Company\nIlse Brandt,Acme\n", importer.Options{})
		own := encode(t, d.export(t))
		if r := d.imports(t, "renamed.json", strings.ReplaceAll(own, "Ilse Brandt", "Ilse Mensah"), importer.Options{OnMatch: importer.OnMatchOverwrite}); r.Updated != 1 || d.named(t)["Ilse Mensah"].Name == "" {
			t.Errorf("an export in which the person was renamed: %s %v", counts(r), d.named(t))
		}
		doc := d.export(t)
		doc.People[0].Name, doc.People[0].Positions, doc.People[0].CreatedAt = "Kofi Mensah-Diop", nil, at(3)
		if r := d.imports(t, "other.json", encode(t, doc), importer.Options{OnMatch: importer.OnMatchOverwrite}); r.Created != 1 || len(r.Warnings) != 1 || d.named(t)["Ilse Mensah"].Name == "" {
			t.Errorf("another member's export: %s %q %v", counts(r), r.Warnings, d.named(t))
		}
	})
}

// A person who was renamed in Kith is found again by the key, with the name that is in the file.
func TestRenamedPersonIsFoundByTheKey(t *testing.T) {
	t.Parallel()
	file := "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:abc-1\r\nFN:Mum\r\nEND:VCARD\r\n"
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "a.vcf", file, importer.Options{})
		doc := d.export(t)
		doc.People[0].Name = "Rosa Stein"
		d.imports(t, "b.json", encode(t, doc), importer.Options{OnMatch: importer.OnMatchOverwrite})
		r := d.imports(t, "a.vcf", strings.Replace(file, "FN:Mum", "FN:Mum\r\nTEL:+12125550100", 1), importer.Options{})
		if got := d.named(t); r.Updated != 1 || len(got) != 1 || len(got["Rosa Stein"].Handles) != 1 {
			t.Errorf("%s %+v", counts(r), got)
		}
	})
}

// Relatives on one address, and people whose facts contradict each other, are new people, among
// stored people and within one file. The preview asks, and proposes a new person.
func TestRelativesAreNotMerged(t *testing.T) {
	t.Parallel()
	const header = "Name,E-mail,Phone,Company,Birthday\n"
	for name, rows := range map[string][2]string{
		"a suffix":         {"Karl Brenner,,+49 30 1234567,,1950-01-02", "Karl Brenner jun.,,+49 30 1234567,,1979-03-04"},
		"a suffix alone":   {"John Carter,john@x.example,,,", "John Carter II,john@x.example,,,"},
		"a given name":     {"María Ruiz,,+34 91 123 45 67,,", "José María Ruiz,,+34 91 123 45 67,,"},
		"birthdays":        {"Karl Brenner,k@x.example,,,1950-01-02", "Karl Brenner,k@x.example,,,1979-03-04"},
		"e-mail addresses": {"Ana Lopez,a@x.example,,Acme,", "Ana Lopez,b@x.example,,Acme Inc,"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDatabase(t, func(t *testing.T, d *fixture) {
				d.imports(t, "a.csv", header+rows[0]+"\n", importer.Options{})
				f := importer.NewFile("b.csv", []byte(header+rows[1]+"\n"))
				p, err := importer.NewPreview(t.Context(), d.store.Tenant(d.owner, true), f, importer.Options{})
				if err != nil || p.Counts[importer.RowDoubtful] != 1 || p.Rows[0].Matched || len(p.Rows[0].Candidates) != 1 {
					t.Errorf("preview %+v, %v", p, err)
				}
				if r := d.imports(t, "b.csv", string(f.Content), importer.Options{OnMatch: importer.OnMatchOverwrite}); r.Created != 1 {
					t.Errorf("stored: %s", counts(r))
				}
				other := &fixture{store: d.store, owner: d.another(t), now: d.now}
				if r := other.imports(t, "both.csv", header+rows[0]+"\n"+rows[1]+"\n", importer.Options{}); r.Created != 2 {
					t.Errorf("in one file: %s", counts(r))
				}
				if r := other.imports(t, "both.csv", header+rows[0]+"\n"+rows[1]+"\n", importer.Options{}); r.Skipped != 2 {
					t.Errorf("again: %s", counts(r))
				}
			})
		})
	}
}

// Relationships by name link to the only person with that name, in the file or the network; other
// names are kept with the person. A later import links those who are on file then. Undo removes both.
func TestRelationsByName(t *testing.T) {
	t.Parallel()
	card := func(name, more string) string {
		return "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:" + name + "\r\n" + more + "END:VCARD\r\n"
	}
	file := card("Ada Stone", "item1.X-ABRELATEDNAMES:Ben Stone\r\nitem1.X-ABLabel:_$!<Spouse>!$_\r\nitem2.RELATED;TYPE=child;VALUE=text:Cy Stone\r\nitem2.X-ABLabel:daughter\r\n") +
		card("Ben Stone", "X-MANAGER:Vera Boss\r\nX-ASSISTANT:Tim Help\r\n") +
		card("Cy Stone", "RELATED;TYPE=friend:urn:uuid:00000000-0000-4000-8000-000000000001\r\nRELATED;TYPE=friend;VALUE=text:Sam Twin\r\nRELATED;TYPE=godmother:urn:x:1\r\n") +
		card("Eve Short", "UID:urn:uuid:00000000-0000-4000-8000-000000000001\r\n")
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "held.csv", "Name,Email\nVera Boss,v@x.example\nSam Twin,s1@x.example\nSam Twin,s2@x.example\n", importer.Options{})
		r := d.imports(t, "cards.vcf", file, importer.Options{})
		check := func(further ...string) {
			t.Helper()
			var got []string
			for _, p := range d.export(t).People {
				for _, rel := range p.Relationships {
					got = append(got, strings.Join([]string{p.Name, cmp.Or(rel.Label, rel.Type), rel.Name}, " "))
					if rel.ConnectionID == "" {
						got[len(got)-1] += ", not on file"
					}
				}
			}
			slices.Sort(got)
			want := append([]string{
				"Ada Stone daughter Cy Stone", "Ada Stone spouse Ben Stone", "Ben Stone manager Vera Boss", "Ben Stone spouse Ada Stone",
				"Cy Stone friend Eve Short", "Cy Stone parent Ada Stone", "Eve Short friend Cy Stone", "Vera Boss report Ben Stone",
			}, further...)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got %q\nwant %q", got, want)
			}
		}
		check("Ben Stone assistant Tim Help, not on file", "Cy Stone friend Sam Twin, not on file", "Cy Stone godmother urn:x:1, not on file")
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "several people have that name") {
			t.Errorf("warnings %q", r.Warnings)
		}
		d.imports(t, "cards.vcf", file, importer.Options{})
		check("Ben Stone assistant Tim Help, not on file", "Cy Stone friend Sam Twin, not on file", "Cy Stone godmother urn:x:1, not on file")
		tim := d.imports(t, "tim.csv", "Name,Email\nTim Help,t@x.example\n", importer.Options{})
		linked := d.imports(t, "cards.vcf", file, importer.Options{})
		check("Ben Stone assistant Tim Help", "Cy Stone friend Sam Twin, not on file", "Cy Stone godmother urn:x:1, not on file", "Tim Help other Ben Stone")
		d.undoes(t, linked.ImportID)
		check("Ben Stone assistant Tim Help, not on file", "Cy Stone friend Sam Twin, not on file", "Cy Stone godmother urn:x:1, not on file")
		d.undoes(t, tim.ImportID)
		d.undoes(t, r.ImportID)
		if doc := d.export(t); len(doc.Notes) != 0 || len(doc.People) != 3 {
			t.Errorf("after the undo: %+v", doc)
		}
	})
}

// The last contact of a file is an interaction, once; an earlier one than the stored one adds nothing.
func TestLastContactIsImported(t *testing.T) {
	t.Parallel()
	const file = "Name,Email,Last contact,Added\nAda Stone,a@x.example,2024-03-04,2020-01-02\n"
	eachDatabase(t, func(t *testing.T, d *fixture) {
		r := d.imports(t, "a.csv", file, importer.Options{})
		for _, again := range []string{file, strings.Replace(file, "2024-03-04", "2023-01-01", 1), file} {
			doc := d.export(t)
			p := doc.People[0]
			if len(doc.Interactions) != 1 || doc.Interactions[0].Kind != "other" || p.LastInteractionAt.Format("2006-01-02") != "2024-03-04" || p.CreatedAt.Format("2006-01-02") != "2020-01-02" {
				t.Errorf("%+v", doc)
			}
			d.imports(t, "again.csv", again, importer.Options{})
		}
		d.imports(t, "b.csv", strings.Replace(file, "2024-03-04", "2024-05-06", 1), importer.Options{})
		if doc := d.export(t); len(doc.Interactions) != 2 || doc.People[0].LastInteractionAt.Format("2006-01-02") != "2024-05-06" {
			t.Errorf("a later one: %+v", doc)
		}
		if got := d.imports(t, "c.csv", strings.Replace(file, "2024-03-04", "sometime", 1), importer.Options{}); len(got.Warnings) == 0 {
			t.Error("an unreadable day is not reported")
		}
		_ = r
	})
}

// Each meaning that a column can have changes the stored person or what is stored about them, or the
// report says that it was left out.
func TestEachFieldIsImportedOrReported(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"email": "a@x.example", "email_work": "a@x.example", "email_home": "a@x.example", "phone": "+12125550100", "phone_mobile": "+12125550100",
		"phone_work": "+12125550100", "phone_home": "+12125550100", "website": "https://x.example/ada", "linkedin": "https://www.linkedin.com/in/ada",
		"twitter": "https://x.com/ada", "facebook": "https://facebook.com/ada", "github": "https://github.com/ada", "birthday": "1980-02-03",
		"anniversary": "2001-02-03", "date": "2001-02-03", "met_on": "2020-02-03", "starred": "yes", "cadence": "30", "last_contact": "2024-02-03", "added": "2020-02-03",
	}
	eachDatabase(t, func(t *testing.T, d *fixture) {
		plain := func(doc export.Document) string {
			for i := range doc.People {
				p := &doc.People[i]
				p.ID, p.UpdatedAt, p.Relationships = "", at(0), slices.Clone(p.Relationships)
				if p.CreatedAt.Year() >= 2026 {
					p.CreatedAt = at(0)
				}
				for j := range p.Relationships {
					p.Relationships[j].ConnectionID = ""
				}
			}
			var out []string
			for _, n := range doc.Notes {
				out = append(out, n.Body)
			}
			return fmt.Sprint(doc.People, out, len(doc.Interactions))
		}
		try := func(header, cells string, columns ...source.Choice) (string, importer.Report) {
			content := header + "\n" + cells + "\n"
			r := d.imports(t, "field.csv", content, importer.Options{Columns: columns})
			stored := plain(d.export(t))
			d.undoes(t, r.ImportID)
			return stored, r
		}
		bare, _ := try("Name", "Ada Stone")
		nameless, _ := try("E-mail", "ada@x.example")
		for _, f := range source.Fields() {
			if f.Name == source.FieldIgnore || f.Name == "key" { // a key is kept, and shown nowhere
				continue
			}
			value := values[f.Name]
			if value == "" {
				value = "Zephyr"
			}
			header, cell, without := "Name", "Ada Stone", bare
			if strings.Contains(f.Name, "name") && f.Name != "nickname" {
				header, cell, without = "E-mail", "ada@x.example", nameless
			}
			stored, r := try(header+",Xyzzy", cell+","+value, source.Choice{At: 2, Header: "Xyzzy", Field: f.Name})
			if stored == without && len(r.Warnings)+len(r.Errors) == 0 {
				t.Errorf("%s changes nothing, and the report does not say so: %s", f.Name, counts(r))
			}
		}
		// The same of a person who is stored already, without a value for the field: fill_blanks keeps others.
		held := "Name,E-mail\nAda Stone,ada@held.example\n"
		d.imports(t, "held.csv", held, importer.Options{})
		without := plain(d.export(t))
		for _, f := range source.Fields() {
			// A name of a known person stays, because no field is empty; keys are shown nowhere.
			if f.Name == source.FieldIgnore || f.Name == "key" || strings.Contains(f.Name, "name") && f.Name != "nickname" {
				continue
			}
			value := values[f.Name]
			if value == "" {
				value = "Zephyr"
			}
			r := d.imports(t, "field.csv", "Name,E-mail,Xyzzy\nAda Stone,ada@held.example,"+value+"\n",
				importer.Options{Columns: []source.Choice{{At: 3, Header: "Xyzzy", Field: f.Name}}})
			stored := plain(d.export(t))
			if r.Created != 0 || stored == without && len(r.Warnings)+len(r.Errors) == 0 {
				t.Errorf("%s changes nothing of a stored person, and the report does not say so: %s", f.Name, counts(r))
			}
			if stored != without {
				d.undoes(t, r.ImportID)
			}
		}
	})
}

// The people who are compared with a record are few, however many have its name or its address, and
// they are found with the same number of statements.
func TestNamesakesAreBounded(t *testing.T) {
	t.Parallel()
	const namesakes = 400
	eachDatabase(t, func(t *testing.T, d *fixture) {
		var file strings.Builder
		file.WriteString("Name,E-mail,Phone,Company\n")
		for i := range namesakes {
			fmt.Fprintf(&file, "Ann Smith,ann%d@x.example,+1 212 555 0100,Acme\n", i)
		}
		if r := d.imports(t, "all.csv", file.String(), importer.Options{}); r.Created == 0 {
			t.Fatal(counts(r))
		}
		keys := []importer.MatchKey{
			{By: "name", Value: "ann smith"}, {By: "name", Value: "ann smith", Organization: people.NormalOrganization("Acme")}, {By: "phone", Value: "+12125550100"},
		}
		found, err := importer.FindPeople(t.Context(), d.store.Tenant(d.owner, true), importer.Wanted{Keys: keys})
		if err != nil || len(found.People) == 0 || len(found.People) > 3*50 {
			t.Errorf("%d people, %v", len(found.People), err)
		}
		for key, ids := range found.IDs {
			if len(ids) > 50 {
				t.Errorf("%d people for %v", len(ids), key)
			}
		}
		if len(found.Named["ann smith"]) == 0 || len(found.Named["ann smith"]) > 10 {
			t.Errorf("%d people for the name", len(found.Named["ann smith"]))
		}
	})
}
