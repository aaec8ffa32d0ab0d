package source_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer/source"
)

// open opens a file that can be read.
func open(t testing.TB, content string, o source.Options) *source.File {
	t.Helper()
	f, err := source.Open([]byte(content), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// records are all records of a file.
func records(f *source.File) []source.Record { return slices.Collect(f.Records()) }

func TestFileIsTooLarge(t *testing.T) {
	t.Parallel()
	_, err := source.Open(make([]byte, source.MaxBytes+1), source.Options{})
	if !fault.Is(err, fault.Invalid) || err.Error() != "the file is larger than 10 MiB; split it into several files" {
		t.Error(err)
	}
}

func TestTooManyRecords(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"csv":       "Name\n" + strings.Repeat("A\n", source.MaxRecords+1),
		"vcard":     strings.Repeat("BEGIN:VCARD\nFN:A\nEND:VCARD\n", source.MaxRecords+1),
		"jscontact": `[{"version":"2.0"}` + strings.Repeat(",{}", source.MaxRecords) + "]",
		"json":      `{"format":"kith-connections/1","people":[{}` + strings.Repeat(",{}", source.MaxRecords) + "]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := source.Open([]byte(content), source.Options{})
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "more than 100000") {
				t.Error(err)
			}
		})
	}
}

func TestAsManyRecordsAsThereMayBe(t *testing.T) {
	t.Parallel()
	f := open(t, "Name\n"+strings.Repeat("A\n", source.MaxRecords), source.Options{})
	if f.Total() != source.MaxRecords {
		t.Errorf("%d records", f.Total())
	}
}

// A cell of more than 1 MB is an error of its row alone.
func TestHugeCell(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("long note ", 120_000)
	for name, cell := range map[string]string{"plain": huge, "quoted": `"` + huge + `"`, "of many lines": `"` + strings.ReplaceAll(huge, "note ", "note\n") + `"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := records(open(t, "Name,Notes\nAna,tea\nBen,"+cell+"\nCyd,coffee\n", source.Options{}))
			if len(got) != 3 || got[0].Person.Name != "Ana" || !fault.Is(got[1].Err, fault.Invalid) || got[2].Person.Name != "Cyd" {
				t.Fatalf("%d records", len(got))
			}
			if want := "line 3 of the file has a cell of more than 1 MB"; got[1].Err.Error() != want {
				t.Errorf("%q, want %q", got[1].Err, want)
			}
		})
	}
}

// A note of nearly 1 MB loses no words: it becomes several notes.
func TestLongNoteIsKeptInPieces(t *testing.T) {
	t.Parallel()
	note := strings.TrimSpace(strings.Repeat("lång note ", 90_000))
	for name, content := range map[string]string{
		"csv":   "Name,Notes\nBen,\"" + note + "\"\n",
		"vcard": "BEGIN:VCARD\nFN:Ben\nNOTE:" + note + "\nEND:VCARD\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := records(open(t, content, source.Options{}))[0]
			var words []string
			for _, piece := range r.Notes {
				if n := len([]rune(piece)); n > 20_000 {
					t.Errorf("a piece of %d characters", n)
				}
				words = append(words, piece)
			}
			without := func(s string) string { return strings.ReplaceAll(s, " ", "") }
			if r.Person.Bio != "" || without(strings.Join(words, "")) != without(note) {
				t.Errorf("%d pieces do not make the note, with %d of bio", len(words), len(r.Person.Bio))
			}
		})
	}
}

func TestHugeProperty(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", 2<<20)
	folded := strings.Repeat(strings.Repeat("x", 74)+"\r\n ", 30_000)
	quoted := strings.Repeat("=41=42=43=\r\n", 200_000)
	for name, note := range map[string]string{"in one line": "NOTE:" + huge, "folded": "NOTE:" + folded, "quoted-printable": "NOTE;QUOTED-PRINTABLE:" + quoted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := records(open(t, "BEGIN:VCARD\r\nVERSION:2.1\r\nFN:Ben\r\n"+note+"\r\nNICKNAME:B\r\nEND:VCARD\r\n", source.Options{}))
			if len(got) != 1 || got[0].Person.Nickname != "B" || got[0].Person.Bio != "" || got[0].Notes != nil {
				t.Fatalf("%+v", got[0].Warnings)
			}
			if want := []string{"NOTE was left out: it is longer than 1 MB"}; !slices.Equal(got[0].Warnings, want) {
				t.Errorf("%q", got[0].Warnings)
			}
		})
	}
}

func TestManyColumns(t *testing.T) {
	t.Parallel()
	row := func(n int, cell string) string { return "%s" + strings.Repeat(","+cell, n-1) + "\n" }
	f := open(t, fmt.Sprintf(row(10_000, "X")+row(10_000, "y"), "Name", "Ana"), source.Options{})
	got := records(f)
	if len(got) != 1 || got[0].Person.Name != "Ana" || !slices.Equal(got[0].Notes, []string{"X: y"}) {
		t.Errorf("%+v", got)
	}
	if want := []string{"Columns that are not recognised and are kept in a note of each person: X, X, X, X, X, X, X, X, X, X, X, X, …."}; !slices.Equal(f.Warnings, want) {
		t.Errorf("%q", f.Warnings)
	}
	_, err := source.Open(fmt.Appendf(nil, row(10_001, "X")+row(10_001, "y"), "Name", "Ana"), source.Options{})
	if !fault.Is(err, fault.Invalid) || err.Error() != "the table has more than 10000 columns" {
		t.Error(err)
	}
}

// A record with too many values is an error of that record only.
func TestElementOfManyValues(t *testing.T) {
	t.Parallel()
	got := records(open(t, `[{"version":"2.0","name":{"full":"Ana"}},{"emails":{`+strings.Repeat(`"a":{},`, 60_000)+`"b":{}}},{"name":{"full":"Ben"}}]`, source.Options{}))
	if len(got) != 3 || got[0].Person.Name != "Ana" || !fault.Is(got[1].Err, fault.Invalid) || got[2].Person.Name != "Ben" {
		t.Errorf("%+v", got)
	}
}

// A card of too many properties loses the others, and says so before anything else. What is read
// costs little: a repeated address is kept once, and all that the person can't have is in the note.
func TestCardOfManyProperties(t *testing.T) {
	t.Parallel()
	const tooMany = "the card has more than 1000 properties; the others were left out"
	got := records(open(t, "BEGIN:VCARD\nFN:Ana\n"+strings.Repeat("EMAIL:ana@helios.example\n", 5000)+"END:VCARD\n", source.Options{}))
	if len(got) != 1 || len(got[0].Person.Handles) != 1 || len(got[0].Notes) != 0 || !slices.Equal(got[0].Warnings, []string{tooMany}) {
		t.Errorf("%+v", got)
	}

	var lines strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&lines, "EMAIL:ana%d@helios.example\nEMAIL:nobody\n", i)
	}
	got = records(open(t, "BEGIN:VCARD\nFN:Ana\n"+lines.String()+"END:VCARD\n", source.Options{}))
	if len(got) != 1 || len(got[0].Person.Handles) != 20 || len(got[0].Notes) != 1 || len(got[0].Warnings) != 21 {
		t.Fatalf("%+v", got)
	}
	want := []string{
		tooMany, `the e-mail address "nobody" is kept in a note: it is no e-mail address`,
		`the e-mail address "ana200@helios.example" is kept in a note: there are too many addresses`,
	}
	if !slices.Equal(got[0].Warnings[:3], want) {
		t.Errorf("%q", got[0].Warnings)
	}
	kept := strings.Split(got[0].Notes[0], "\n")
	if slices.Sort(kept); len(kept) != 1+500-20 || len(slices.Compact(kept)) != 1+500-20 {
		t.Errorf("%d lines: %q", len(kept), kept)
	}
}

// Records starts from the beginning each time, and stops when the loop ends.
func TestRecordsStartAnew(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"csv_several_values.csv", "google_new.csv", "vcard_missing_end.vcf", "vcard40.vcf", "jscontact_bad_elements.json", "kith.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t, string(testFile(t, name)), source.Options{})
			for range f.Records() {
				break
			}
			for range f.Notes() {
				break
			}
			for range f.Interactions() {
				break
			}
			first, second := records(f), records(f)
			if diff := cmp.Diff(fmt.Sprintf("%+v", first), fmt.Sprintf("%+v", second)); diff != "" {
				t.Error(diff)
			}
			if len(first) != f.Total() {
				t.Errorf("%d records, %d were announced", len(first), f.Total())
			}
		})
	}
}
