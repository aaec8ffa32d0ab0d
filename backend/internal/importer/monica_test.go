package importer_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
)

func monicaFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile("source/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The contacts of Monica come with all that is about them, once however often the file is imported, and go as one.
func TestMonica(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "three.csv", three, importer.Options{})
		before := normal(d.export(t))
		r := d.imports(t, "monica.json", monicaFile(t, "monica.json"), importer.Options{})
		if r.Created != 5 || r.Failed != 0 || r.MoreWarnings != 0 {
			t.Fatalf("%s %v %q", counts(r), r.Errors, r.Warnings)
		}
		after := normal(d.export(t))
		people := map[string]export.PersonRecord{}
		names := map[string]string{}
		for _, p := range after.People {
			people[p.Name], names[p.ID] = p, p.Name
		}
		ida := people["Ida Marie Holm"]
		if ida.Photo == "" || ida.CadenceDays != 30 || !ida.Starred || people["Bo Strand"].ArchivedAt.IsZero() {
			t.Errorf("photo %t, every %d days, starred %t, archived %s", ida.Photo != "", ida.CadenceDays, ida.Starred, people["Bo Strand"].ArchivedAt)
		}
		var related []string
		for _, p := range after.People {
			for _, rel := range p.Relationships {
				related = append(related, p.Name+": "+rel.Type+" "+rel.Label+" "+names[rel.ConnectionID])
			}
		}
		slices.Sort(related)
		if diff := gocmp.Diff([]string{
			"Bo Strand: other uncle, godfather Ole Holm", "Bo Strand: report  Sven Dahl",
			"Ida Marie Holm: child  Mia", "Ida Marie Holm: friend  Sven Dahl", "Ida Marie Holm: introduced_by  Ole Holm", "Ida Marie Holm: parent  Ole Holm",
			"Mia: parent  Ida Marie Holm",
			"Ole Holm: child  Ida Marie Holm", "Ole Holm: introduced  Ida Marie Holm", "Ole Holm: other nephew Bo Strand",
			"Sven Dahl: friend best friend Ida Marie Holm", "Sven Dahl: manager boss Bo Strand",
		}, related); diff != "" {
			t.Errorf("relations (-want +got):\n%s", diff)
		}
		met := map[string]string{}
		for _, i := range after.Interactions {
			who := make([]string, len(i.ConnectionIDs))
			for n, id := range i.ConnectionIDs {
				who[n] = names[id]
			}
			slices.Sort(who)
			first, _, _ := strings.Cut(i.Summary, "\n")
			met[i.OccurredLocal+" "+i.Kind+" "+first] = strings.Join(who, ", ")
		}
		if diff := gocmp.Diff(map[string]string{
			"2021-05-01 meeting Lunch at the harbour": "Ida Marie Holm, Ole Holm", "2021-08-15 meeting Hike": "Bo Strand, Ida Marie Holm",
			"2021-06-01 call Talked about the new boat.": "Ida Marie Holm", "2021-06-01 call ": "Ida Marie Holm", "2021-06-01 call (2)": "Ida Marie Holm",
			"2021-07-02 message By Whatsapp": "Ida Marie Holm",
		}, met); diff != "" {
			t.Errorf("interactions (-want +got):\n%s", diff)
		}
		if len(after.Reminders) != 4 || len(after.Notes) != 6+4 {
			t.Errorf("%d reminders, %d notes", len(after.Reminders), len(after.Notes))
		}
		d.imports(t, "again.json", monicaFile(t, "monica.json")+"\n", importer.Options{})
		if diff := gocmp.Diff(after, normal(d.export(t))); diff != "" {
			t.Errorf("imported again (-before +after):\n%s", diff)
		}
		d.undoes(t, r.ImportID)
		if diff := gocmp.Diff(before, normal(d.export(t))); diff != "" {
			t.Errorf("undone (-before +after):\n%s", diff)
		}
	})
}

// The dump of Monica comes as its JSON export does.
func TestMonicaDump(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		dump := monicaFile(t, "monica.sql")
		r := d.imports(t, "export.sql", dump, importer.Options{})
		held := normal(d.export(t))
		if r.Created != 2 || len(held.Interactions) != 3+1 || len(held.Reminders) != 1 || len(held.Notes) != 6+1 || len(held.People[1].Relationships) != 3 {
			t.Errorf("%s, %d interactions, %d reminders, %d notes, %+v", counts(r), len(held.Interactions), len(held.Reminders), len(held.Notes), held.People[1].Relationships)
		}
		d.imports(t, "again.sql", dump+"\n", importer.Options{})
		if diff := gocmp.Diff(held, normal(d.export(t))); diff != "" {
			t.Errorf("imported again (-before +after):\n%s", diff)
		}
		d.undoes(t, r.ImportID)
		if left := d.export(t); len(left.People)+len(left.Notes)+len(left.Interactions)+len(left.Reminders) != 0 {
			t.Errorf("undone: %+v", left)
		}
	})
}

// What cannot be read of an export of Monica is refused before anything is stored.
func TestMonicaThatCannotBeRead(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		whole, dump := monicaFile(t, "monica.json"), monicaFile(t, "monica.sql")
		for name, content := range map[string]string{
			"it was cut off":                        whole[:len(whole)/2],
			`of the version "2.0"`:                  strings.Replace(whole, "1.0-preview.1", "2.0", 1),
			"export the account from Monica as SQL": whole + strings.Repeat(" ", importer.MaxFile),
			"SQL of Monica ends before its end":     dump[:len(dump)/2],
			"no contacts of Monica":                 "INSERT INTO `wp_posts` (`id`) VALUES (1);\nSET FOREIGN_KEY_CHECKS=1;\n",
			"the SQL is damaged":                    strings.Replace(dump, "'Ida',", "", 1),
			"the export of Monica holds":            `{"version":"1.0","app_version":"4.0.0","account":{"data":[]}}`,
		} {
			j, err := d.start(t, "monica.json", content, importer.Options{})
			said := fmt.Sprint(err)
			if err == nil { // large files are read by the job
				said = d.work(t, job.WriteStepFor, j).ErrorDetail
			}
			if !strings.Contains(said, name) {
				t.Errorf("%s: %s", name, said)
			}
		}
		if held := d.export(t); len(held.People) != 0 {
			t.Errorf("%d people", len(held.People))
		}
	})
}
