package importer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
	"pgregory.net/rapid"
)

// chosen returns options with the given fields for columns, by header, and the suggested fields for
// the other columns.
func chosen(t testing.TB, content string, fields map[string]string) importer.Options {
	t.Helper()
	f, err := importer.OpenDraft(importer.NewFile("people.csv", []byte(content)), importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var o importer.Options
	for _, c := range f.Columns() {
		if field, ok := fields[c.Header]; ok {
			c.Field = field
		}
		o.Columns = append(o.Columns, source.Choice{At: c.At, Header: c.Header, Field: c.Field})
	}
	return o
}

// try returns all rows of the preview of a file.
func (d *fixture) try(t testing.TB, content string, o importer.Options) *importer.Preview {
	t.Helper()
	p, err := importer.NewPreview(t.Context(), d.store.Tenant(d.owner, true), importer.NewFile("people.csv", []byte(content)), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// person returns the stored person with a name.
func (d *fixture) person(t testing.TB, name string) export.PersonRecord {
	t.Helper()
	doc := d.export(t)
	at := slices.IndexFunc(doc.People, func(p export.PersonRecord) bool { return p.Name == name })
	if at < 0 {
		t.Fatalf("there is no %s", name)
	}
	return doc.People[at]
}

// notes returns the texts of all stored notes.
func (d *fixture) notes(t testing.TB) []string {
	t.Helper()
	var texts []string
	for _, n := range d.export(t).Notes {
		texts = append(texts, n.Body)
	}
	slices.Sort(texts)
	return texts
}

// Columns are imported as the member chose, unknown columns become one note, and importing the file
// again changes nothing.
func TestChosenColumns(t *testing.T) {
	t.Parallel()
	const content = "Name,Handle,E-mail,Diet,Score,Secret\nAna Lee,Annie,ana@x.example,\"no\nnuts\",0,pssst\nBo Berg,,bo@x.example,,3,pssst\n"
	eachDatabase(t, func(t *testing.T, d *fixture) {
		o := chosen(t, content, map[string]string{"Handle": "nickname", "Secret": source.FieldIgnore})
		for again, want := range []string{"2 = 2 created, 0 updated, 0 skipped, 0 failed", "2 = 0 created, 0 updated, 2 skipped, 0 failed"} {
			if got := counts(d.try(t, content, o).Report); got != want {
				t.Errorf("preview %d: %s", again, got)
			}
			if r := d.imports(t, "people.csv", content, o); counts(r) != want || len(r.Warnings) != 0 {
				t.Errorf("import %d: %s, %q", again, counts(r), r.Warnings)
			}
			if got := d.notes(t); !slices.Equal(got, []string{"Diet: no\nnuts\nScore: 0", "Score: 3"}) {
				t.Errorf("notes after import %d: %q", again, got)
			}
		}
		if ana := d.person(t, "Ana Lee"); ana.Nickname != "Annie" {
			t.Errorf("%+v", ana)
		}
	})
}

// A member's choice for a row overrides the rules of matching; without a choice, the rules apply.
func TestChosenRows(t *testing.T) {
	t.Parallel()
	const held = "Name,E-mail,Phone\nAna Lee,ana@x.example,\nCy Chen,cy@x.example,\nDee Diaz,,\n"
	const content = "Name,E-mail,Phone\nAna Lee,ana@x.example,+1 212 555 0100\nBo Berg,cy@x.example,+1 212 555 0101\nDee Diaz,dee@x.example,\nEve Eng,eve@x.example,\nEve E. Eng,eve@y.example,\n"
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "held.csv", held, importer.Options{})
		rows := d.try(t, content, importer.Options{}).Rows
		var got []string
		for _, r := range rows {
			who := ""
			if len(r.Candidates) > 0 {
				who = r.Candidates[0].Name + ", " + r.Candidates[0].Why()
			}
			got = append(got, fmt.Sprintf("%d %s %s %t %s", r.Number, r.Name, r.Kind, r.Changes, who))
		}
		want := []string{
			"2 Ana Lee known true Ana Lee, same e-mail address", "3 Bo Berg doubtful false Cy Chen, same e-mail address",
			"4 Dee Diaz doubtful false Dee Diaz, same name", "5 Eve Eng new false ", "6 Eve E. Eng new false ",
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the rules: %q", got)
		}
		dee := d.person(t, "Dee Diaz").ID
		o := importer.Options{Rows: map[int]importer.RowChoice{
			2: {Do: importer.DoNew}, 3: {Do: importer.DoSame, Person: d.person(t, "Cy Chen").ID}, 4: {Do: importer.DoSame, Person: dee},
			5: {Do: importer.DoSkip}, 6: {Do: importer.DoSame, Row: 4},
		}}
		p := d.try(t, content, o)
		if counts(p.Report) != "5 = 1 created, 3 updated, 1 skipped, 0 failed" || p.Counts[importer.RowLeftOut] != 1 || p.Counts[importer.RowDoubtful] != 0 {
			t.Errorf("preview: %s, %v", counts(p.Report), p.Counts)
		}
		r := d.imports(t, "people.csv", content, o)
		stays := []string{`row 3: the name stays "Cy Chen"; in the file it is "Bo Berg"`, `row 6: the name stays "Dee Diaz"; in the file it is "Eve E. Eng"`}
		if counts(r) != counts(p.Report) || !slices.Equal(r.Warnings, stays) {
			t.Errorf("import: %s, %q", counts(r), r.Warnings)
		}
		doc := d.export(t)
		if len(doc.People) != 4 {
			t.Errorf("%d people", len(doc.People))
		}
		var addresses []string
		for _, h := range d.person(t, "Dee Diaz").Handles {
			addresses = append(addresses, h.Value)
		}
		if !slices.Equal(addresses, []string{"dee@x.example", "eve@y.example"}) {
			t.Errorf("Dee has %v", addresses)
		}
		if again := d.imports(t, "people.csv", content, o); again.Created+again.Updated != 0 {
			t.Errorf("again: %s", counts(again))
		}
	})
}

// A choice of a person who is not the member's is ignored: the rules of matching apply, and there is
// a warning.
func TestChoiceOfAnotherMember(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		other := &fixture{store: d.store, owner: d.another(t), now: d.now}
		other.imports(t, "theirs.csv", "Name\nVictim Vole\n", importer.Options{})
		before := fmt.Sprint(other.export(t))
		o := importer.Options{Rows: map[int]importer.RowChoice{
			2: {Do: importer.DoSame, Person: other.person(t, "Victim Vole").ID}, 3: {Do: importer.DoSame, Row: 9},
		}}
		const content = "Name,E-mail\nAna Lee,ana@x.example\nBo Berg,bo@x.example\n"
		if p := d.try(t, content, o); p.Created != 2 || len(p.Warnings) != 2 {
			t.Errorf("preview: %s, %q", counts(p.Report), p.Warnings)
		}
		if r := d.imports(t, "people.csv", content, o); r.Created != 2 || len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0], "no longer exists") {
			t.Errorf("import: %s, %q", counts(r), r.Warnings)
		}
		if after := fmt.Sprint(other.export(t)); after != before {
			t.Errorf("the other member has %s", after)
		}
	})
}

// Choices are stored with the file, only for that member and with a limit.
func TestStoredChoices(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		data := d.store.Tenant(d.owner, false)
		f := importer.NewFile("three.csv", []byte(three))
		if err := importer.SaveUpload(t.Context(), data, "import", f); err != nil {
			t.Fatal(err)
		}
		set := func(o *importer.Options) {
			o.Tags, o.Rows = []string{"new"}, map[int]importer.RowChoice{2: {Do: importer.DoSkip}}
		}
		if err := importer.UpdateChoices(t.Context(), d.store.Tenant(d.another(t), false), "import", f.ID, set); !fault.Is(err, fault.NotFound) {
			t.Errorf("of another member: %v", err)
		}
		if err := importer.UpdateChoices(t.Context(), data, "import", f.ID, set); err != nil {
			t.Fatal(err)
		}
		err := importer.UpdateChoices(t.Context(), data, "import", f.ID, func(o *importer.Options) {
			for row := range importer.MaxRowChoices + 1 {
				o.Rows[row+1] = importer.RowChoice{Do: importer.DoNew}
			}
		})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("too many choices: %v", err)
		}
		stored, err := importer.GetUpload(t.Context(), data, f.ID)
		if err != nil {
			t.Fatal(err)
		}
		o, err := stored.Chosen()
		if err != nil || len(o.Rows) != 1 || !slices.Equal(o.Tags, []string{"new"}) {
			t.Fatalf("%+v, %v", o, err)
		}
		j, err := d.startRequest(t, importer.Request{UploadID: f.ID, Options: o, Free: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := importer.UpdateChoices(t.Context(), data, "import", f.ID, set); !fault.Is(err, fault.NotFound) {
			t.Errorf("while it is imported: %v", err)
		}
		if _, err := importer.GetUpload(t.Context(), data, f.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("while it is imported: %v", err)
		}
		r := report(t, d.work(t, job.WriteStepFor, j))
		if r.Created != 2 || r.Skipped != 1 {
			t.Errorf("%s", counts(r))
		}
		ids, total, err := importer.ListAdded(t.Context(), data, r.ImportID, 1, 1)
		if err != nil || total != 2 || len(ids) != 1 {
			t.Errorf("added: %v of %d, %v", ids, total, err)
		}
		names, err := people.ListNames(t.Context(), data, ids)
		if err != nil || names[ids[0]] != "Cy Chen" {
			t.Errorf("added: %v, %v", names, err)
		}
		if ids, total, err := importer.ListAdded(t.Context(), data, r.ImportID, 100, 50); err != nil || total != 2 || len(ids) != 0 {
			t.Errorf("past the end: %v of %d, %v", ids, total, err)
		}
	})
}

// randomTable generates a table whose rows repeat people, share addresses and have invalid cells.
func randomTable(t *rapid.T, label string, most int) string {
	pick := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	var b strings.Builder
	b.WriteString("Name,E-mail,Phone,Company,Diet,Tags\n")
	names := []string{"Ana Lee", "Bo Berg", "Cy Chen", "Dee Diaz", "Eli Eng"} // a file without people is refused, so the first row has one
	for range rapid.IntRange(1, most).Draw(t, label) {
		cells := []string{
			pick("name", names...), pick("email", "a@x.example", "b@x.example", "info@x.example", "no address", "", ""),
			pick("phone", "+1 212 555 0100", "+1 212 555 0101", "12", "", ""), pick("company", "Acme", "Beta", "", ""), pick("diet", "vegan", "", ""), pick("tags", "a;b", "b", ""),
		}
		if pick("width", "right", "right", "right", "right", "wide") == "wide" {
			cells = append(cells, "too", "many")
		}
		b.WriteString(strings.Join(cells, ",") + "\n")
		names = append(names[:5:5], "")
	}
	return b.String()
}

// For random people, files and choices, the import does with each row what the preview says.
func TestPreviewEqualsImport(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		n := 0
		rapid.Check(t, func(r *rapid.T) {
			const cases = 40 // each imports two files
			if n++; n > cases {
				return
			}
			m := &fixture{store: d.store, owner: dbtest.Member(t, d.store, fmt.Sprint("random-", n)), now: d.now}
			m.imports(t, "held.csv", randomTable(r, "held", 6), importer.Options{})
			content := randomTable(r, "rows", 9)
			o := chosen(t, content, nil)
			o.OnMatch = rapid.SampledFrom([]string{importer.OnMatchSkip, importer.OnMatchFillBlanks, importer.OnMatchOverwrite}).Draw(r, "on match")
			o.Rows = map[int]importer.RowChoice{}
			for _, row := range m.try(t, content, o).Rows {
				choices := []importer.RowChoice{{}, {}, {Do: importer.DoNew}, {Do: importer.DoSkip}}
				for _, a := range row.Candidates {
					choices = append(choices, a.For())
				}
				if c := rapid.SampledFrom(choices).Draw(r, "choice"); c.Do != "" {
					o.Rows[row.Number] = c
				}
			}
			m.checkPreview(t, r, content, o)
		})
	})
}

// checkPreview imports a file, and fails unless the import does what the preview says.
func (d *fixture) checkPreview(t *testing.T, r *rapid.T, content string, o importer.Options) {
	before := d.export(t)
	p := d.try(t, content, o)
	if after := d.export(t); fmt.Sprint(after) != fmt.Sprint(before) {
		r.Fatalf("the preview wrote %v", after)
	}
	got := d.imports(t, "people.csv", content, o)
	if counts(got) != counts(p.Report) || !slices.Equal(got.Warnings, p.Warnings) || fmt.Sprint(got.Errors) != fmt.Sprint(p.Errors) {
		r.Fatalf("%s\npreview %+v\nimport  %+v", content, p.Report, got)
	}
	now, names := map[string]string{}, map[string]bool{}
	for _, who := range d.export(t).People {
		now[who.ID] = fmt.Sprint(who)
		names[who.Name] = true
	}
	added, changed := 0, map[string]bool{}
	inFile := false // a row is the person of another row
	for _, row := range p.Rows {
		switch row.Kind {
		case importer.RowNew, importer.RowDoubtful:
			added++
			if !names[row.Name] {
				r.Fatalf("%s is not there", row.Name)
			}
		case importer.RowKnown:
			who := row.Candidates[max(0, slices.IndexFunc(row.Candidates, func(a importer.Candidate) bool { return a.For() == row.Choice }))]
			changed[who.ID] = changed[who.ID] || row.Changes
			inFile = inFile || who.Row > 0 || row.Candidates[0].Row > 0
		}
	}
	if len(now) != len(before.People)+added {
		r.Fatalf("%s\n%d people became %d, and %d were to be added", content, len(before.People), len(now), added)
	}
	for _, who := range before.People {
		if other := now[who.ID] != fmt.Sprint(who); other && !changed[who.ID] && !inFile {
			r.Fatalf("%s\n%s was changed, which no row says", content, who.Name)
		}
	}
}

// The preview and the report of an import that fills blanks name each value of the file that is not stored, because
// the person has another one. Importing the same file twice has no such values.
func TestUnusedValuesAreNamed(t *testing.T) {
	t.Parallel()
	const held = "Name,E-mail,Company,Title,Birthday,Location\nAna Lee,ana@x.example,Acme,Dev,1990-02-03,Lisbon\n"
	const told = "Name,E-mail,Company,Title,Birthday,Location\nAna Lee,ana@x.example,Beta,CTO,1990-02-03,Porto\n"
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "held.csv", held, importer.Options{})
		if again := d.imports(t, "again.csv", held, importer.Options{}); len(again.Warnings) != 0 {
			t.Errorf("the same file: %q", again.Warnings)
		}
		want := []string{`row 2: the place stays "Lisbon"; in the file it is "Porto"`, `row 2: the job stays "Dev at Acme"; in the file it is "CTO at Beta"`}
		row := d.try(t, told, importer.Options{}).Rows[0]
		r := d.imports(t, "told.csv", told, importer.Options{})
		if !slices.Equal(r.Warnings, want) || len(row.Warnings) != len(want) {
			t.Errorf("preview %q, import %q", row.Warnings, r.Warnings)
		}
		if over := d.imports(t, "over.csv", told, importer.Options{OnMatch: importer.OnMatchOverwrite}); len(over.Warnings) != 0 || over.Updated != 1 {
			t.Errorf("overwritten: %s, %q", counts(over), over.Warnings)
		}
	})
}
