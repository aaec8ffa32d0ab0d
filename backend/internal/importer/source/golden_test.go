package source_test

import (
	"bytes"
	stdcmp "cmp"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer/source"
)

//nolint:gochecknoglobals // a flag of the test binary
var update = flag.Bool("update", false, "rewrite the golden files")

// testFile reads a file of testdata.
func testFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// checkGolden compares the records of a file with the golden file of that name.
func checkGolden(t *testing.T, name string, data []byte, o source.Options) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(reading(t, data, o)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "golden", name+".json")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("run the tests with -update if this is right (-want +got):\n%s", diff)
	}
}

// reading formats the records of a file for people to read.
func reading(t *testing.T, data []byte, o source.Options) any {
	t.Helper()
	f, err := source.Open(data, o)
	if err != nil {
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("the error has no code: %v", err)
		}
		return map[string]any{"error": err.Error()}
	}
	out := map[string]any{"format": f.Format, "charset": f.Charset, "total": f.Total()}
	put(out, "warnings", f.Warnings)
	records := []any{}
	for r := range f.Records() {
		if r.Err != nil && !fault.Is(r.Err, fault.Invalid) {
			t.Errorf("row %d: the error has no code: %v", r.Row, r.Err)
		}
		records = append(records, golden(r))
	}
	if f.Total() != len(records) {
		t.Errorf("%d records, %d were announced", len(records), f.Total())
	}
	out["records"] = records
	var notes, interactions, reminders []any
	for n := range f.Notes() {
		notes = append(notes, listed(n.Row, n.Record, n.Err))
	}
	for i := range f.Interactions() {
		interactions = append(interactions, listed(i.Row, i.Record, i.Err))
	}
	for r := range f.Reminders() {
		reminders = append(reminders, listed(r.Row, r.Record, r.Err))
	}
	put(out, "notes", notes)
	put(out, "interactions", interactions)
	put(out, "reminders", reminders)
	return out
}

func put[T any](m map[string]any, name string, values []T) {
	if len(values) > 0 {
		m[name] = values
	}
}

// golden is a record with its notes and the person's other data.
func golden(r source.Record) any {
	out := compact(reflect.ValueOf(r)).(map[string]any)
	delete(out, "Source")
	delete(out, "UnknownLayout")
	delete(out, "ByName")
	delete(out, "Values")
	if notes, ok := out["Notes"]; ok {
		delete(out, "Notes")
		out["Person"].(map[string]any)["Notes"] = notes
	}
	return out
}

// goldenField is the name of a field in golden files, which do not change with the code.
func goldenField(name string) string {
	return stdcmp.Or(map[string]string{
		"ID": "Key", "ConnectionID": "Key", "ConnectionIDs": "PersonKeys", "ImportantDates": "Dates", "Relationships": "Relations",
	}[name], name)
}

// listed is an object of a list without the fields that hold nothing.
func listed(row int, record any, err error) map[string]any {
	out := map[string]any{"Row": row}
	if err != nil {
		out["Err"] = err.Error()
	}
	for i, v := 0, reflect.ValueOf(record); i < v.NumField(); i++ {
		if !v.Field(i).IsZero() {
			out[goldenField(v.Type().Field(i).Name)] = compact(v.Field(i))
		}
	}
	return out
}

// compact is a value without the fields that hold nothing.
func compact(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case error:
		return x.Error()
	case time.Time:
		return x.Format(time.RFC3339)
	}
	switch v.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				out[goldenField(v.Type().Field(i).Name)] = compact(v.Field(i))
			}
		}
		return out
	case reflect.Slice:
		out := []any{}
		for i := range v.Len() {
			out = append(out, compact(v.Index(i)))
		}
		return out
	}
	return v.Interface()
}
