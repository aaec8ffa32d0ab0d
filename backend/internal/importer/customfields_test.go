package importer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
)

// valuesOf returns the custom fields of everybody, by name.
func valuesOf(doc export.Document) map[string][]people.FieldValue {
	out := map[string][]people.FieldValue{}
	for _, p := range doc.People {
		out[p.Name] = p.Fields
	}
	return out
}

// Columns become custom fields if somebody chooses that, or has a field of that name. What a field does not take is kept in a note, and
// an undo of the import removes the fields that it made.
func TestImportOfCustomFields(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, ada *fixture) {
		content := "Name,Shoe size,Club,Motto\nAna,42,Lions,Onward\nBo,large,Rotary,\n"
		r := ada.imports(t, "a.csv", content, importer.Options{Columns: []source.Choice{{Header: "Club", Field: "custom"}}})
		text := func(name, value string) people.FieldValue {
			return people.FieldValue{Name: name, Type: people.FieldText, Value: value}
		}
		want := map[string][]people.FieldValue{"Ana": {text("Club", "Lions")}, "Bo": {text("Club", "Rotary")}}
		if diff := cmp.Diff(want, valuesOf(ada.export(t))); diff != "" {
			t.Fatal(diff)
		}
		if notes := strings.Join(ada.notes(t), "\n"); !strings.Contains(notes, "Shoe size: 42") || !strings.Contains(notes, "Motto: Onward") || strings.Contains(notes, "Lions") {
			t.Errorf("notes: %s", notes)
		}
		ada.undoes(t, r.ImportID)
		if fields, err := people.ListFields(t.Context(), ada.store.Tenant(ada.owner, true)); err != nil || len(fields) != 0 {
			t.Fatalf("%+v, %v", fields, err)
		}

		ada.write(t, func(ctx context.Context, tx *db.Tx) error {
			_, err := people.DefineField(ctx, tx, people.FieldEdit{Name: "Shoe Size", Type: people.FieldNumber})
			return err
		})
		r = ada.imports(t, "a.csv", content+"Cy,,,\n", importer.Options{})
		want = map[string][]people.FieldValue{"Ana": {{Name: "Shoe Size", Type: people.FieldNumber, Value: "42"}}, "Bo": nil, "Cy": nil}
		if diff := cmp.Diff(want, valuesOf(ada.export(t))); diff != "" {
			t.Fatal(diff)
		}
		if warnings := strings.Join(r.Warnings, "\n"); !strings.Contains(warnings, `"large"`) || !strings.Contains(strings.Join(ada.notes(t), "\n"), "Shoe size: large") {
			t.Errorf("%s\n%v", warnings, ada.notes(t))
		}
	})
}

// The 51st field of a file is kept in a note.
func TestTooManyCustomFields(t *testing.T) {
	t.Parallel()
	s := dbtest.Open(t, dbtest.SQLite(t), time.Now)
	ada := &fixture{store: s, owner: dbtest.Member(t, s, "ada"), now: time.Now}
	var header, row strings.Builder
	for i := range people.MaxFields + 1 {
		header.WriteString(",F" + strings.Repeat("i", i+1) + " (custom field)")
		row.WriteString(",value " + strings.Repeat("v", i+1))
	}
	r := ada.imports(t, "a.csv", "Name"+header.String()+"\nAna"+row.String()+"\n", importer.Options{})
	if ana := ada.person(t, "Ana"); len(ana.Fields) != people.MaxFields {
		t.Errorf("%d fields", len(ana.Fields))
	}
	last := "value " + strings.Repeat("v", people.MaxFields+1)
	if notes := strings.Join(ada.notes(t), "\n"); !strings.Contains(notes, last) || !strings.Contains(strings.Join(r.Warnings, "\n"), "50 custom fields") {
		t.Errorf("%s\n%v", notes, r.Warnings)
	}
}
