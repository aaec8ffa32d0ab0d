package importer_test

import (
	"archive/zip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/importer"
	"pgregory.net/rapid"
)

const docs = "../../../deploy/docs"

// formats are the published schemas of the files of an export, by the beginning of their names.
type formats map[string]*jsonschema.Resolved

func readSchemas(t *testing.T) formats {
	t.Helper()
	read := formats{}
	for file, name := range map[string]string{"contacts": "kith-connections-1", "account": "kith-export-1"} {
		content, err := os.ReadFile(filepath.Join(docs, "schemas", name+".schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(content, &schema); err != nil {
			t.Fatal(err)
		}
		if read[file], err = schema.Resolve(nil); err != nil {
			t.Fatal(err)
		}
	}
	return read
}

// valid returns an export, all of whose complete files are valid by their schemas.
func (f formats) valid(t *rapid.T, export string) string {
	archive, err := zip.NewReader(strings.NewReader(export), int64(len(export)))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range archive.File {
		schema := f[strings.TrimRight(strings.TrimSuffix(file.Name, ".json"), "-0123456789")]
		if schema == nil {
			continue
		}
		checked++
		content, err := fs.ReadFile(archive, file.Name)
		var document any
		if err == nil {
			err = json.Unmarshal(content, &document)
		}
		if err == nil {
			err = schema.Validate(document)
		}
		if err != nil {
			t.Fatalf("%s: %v", file.Name, err)
		}
	}
	if checked < 2 {
		t.Fatalf("%d files of the export have a schema", checked)
	}
	return export
}

// TestSmallestDocument: the file that format.md shows to other programs is imported.
func TestSmallestDocument(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(docs, "format.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "```json\n")
	shown, _, _ = strings.Cut(shown, "```")
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		ada := &fixture{store: s, owner: dbtest.Member(t, s, "ada"), now: time.Now}
		if r := ada.imports(t, "contacts.json", shown, importer.Options{}); r.Created != 1 || r.Failed != 0 || len(r.Warnings) > 0 {
			t.Fatalf("%s %v %v", counts(r), r.Errors, r.Warnings)
		}
		if held := ada.export(t).People; len(held) != 1 || held[0].Name != "Ada Lovelace" || len(held[0].Tags) != 1 {
			t.Errorf("stored %+v", held)
		}
	})
}
