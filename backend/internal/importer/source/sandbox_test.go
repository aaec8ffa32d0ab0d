package source_test

import (
	"io/fs"
	"testing"

	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/sandbox"
)

// The sandbox's sample files are read completely: no person is missing, and there are no
// errors.
func TestSandboxFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		format                          string
		people, emails, phones, unnamed int
	}{
		"linkedin_connections.csv": {source.LinkedInCSV, 16, 3, 0, 0},
		"google_contacts.csv":      {source.GoogleCSV, 14, 16, 8, 1},
		"contacts_vcard21.vcf":     {source.VCard, 13, 12, 15, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := fs.ReadFile(sandbox.Files(), name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := source.Open(data, source.Options{Filename: name})
			if err != nil {
				t.Fatal(err)
			}
			if f.Format != want.format || f.Charset != "utf-8" || f.Total() != want.people {
				t.Errorf("%s, %s, %d people", f.Format, f.Charset, f.Total())
			}
			kinds := map[string]int{}
			unnamed := 0
			for r := range f.Records() {
				if r.Err != nil {
					t.Errorf("row %d: %v", r.Row, r.Err)
				}
				for _, h := range r.Person.Handles {
					kinds[h.Kind]++
				}
				if len(r.Warnings) > 0 && r.Person.Name == "Orders" {
					unnamed++
				}
			}
			if kinds["email"] != want.emails || kinds["phone"] != want.phones || unnamed != want.unnamed {
				t.Errorf("%v, %d without a name", kinds, unnamed)
			}
		})
	}
}
