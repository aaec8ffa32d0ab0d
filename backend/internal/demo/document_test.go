package demo_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/sandbox"
)

// The sandbox's document is in the export format, and on any day an import reads it
// without a warning.
func TestDocumentIsAnExport(t *testing.T) {
	t.Parallel()
	for day := time.Date(2027, 11, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2029; day = day.AddDate(0, 0, 5) { // 2028-02-29 is one of them
		content, err := json.Marshal(sandbox.Build(day).Document)
		if err != nil {
			t.Fatal(err)
		}
		strict := json.NewDecoder(bytes.NewReader(content))
		strict.DisallowUnknownFields()
		var doc export.Document
		if err := strict.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		file, err := source.Open(content, source.Options{})
		if err != nil || len(file.Warnings) > 0 {
			t.Fatalf("%v, %v", err, file.Warnings)
		}
		for rec := range file.Records() {
			if rec.Err != nil || len(rec.Warnings) > 0 {
				t.Errorf("%v: %s: %v, %v", day, rec.Person.Name, rec.Err, rec.Warnings)
			}
		}
	}
}
