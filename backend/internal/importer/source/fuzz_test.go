package source_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// seed adds the files of testdata with one of the endings.
func seed(f *testing.F, endings ...string) {
	f.Helper()
	files, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if slices.Contains(endings, filepath.Ext(file.Name())) {
			f.Add(testFile(f, file.Name()))
		}
	}
}

func FuzzCSV(f *testing.F) {
	seed(f, ".csv", ".tsv", ".txt")
	c := newChecker()
	f.Fuzz(func(t *testing.T, data []byte) {
		c.checkFile(t, data, source.Options{Format: source.CSV})
		c.checkFile(t, append([]byte("Name,E-mail,Notes\n"), data...), source.Options{Format: source.CSV, Charset: "utf-8"})
	})
}

func FuzzVCard(f *testing.F) {
	seed(f, ".vcf")
	c := newChecker()
	f.Fuzz(func(t *testing.T, data []byte) {
		c.checkFile(t, data, source.Options{Format: source.VCard})
		c.checkFile(t, slices.Concat([]byte("BEGIN:VCARD\n"), data, []byte("\nEND:VCARD\n")), source.Options{Format: source.VCard})
	})
}

func FuzzJSContact(f *testing.F) {
	seed(f, ".json", ".jsonl")
	c := newChecker()
	f.Fuzz(func(t *testing.T, data []byte) {
		c.checkFile(t, data, source.Options{Format: source.JSContact})
		c.checkFile(t, data, source.Options{Format: source.JSON})
	})
}

func FuzzOpen(f *testing.F) {
	seed(f, ".csv", ".tsv", ".txt", ".vcf", ".json", ".jsonl", ".ldif")
	f.Add(archive(f, entry{"Connections.csv", string(testFile(f, "linkedin_preamble.csv"))}))
	c := newChecker()
	f.Fuzz(func(t *testing.T, data []byte) {
		c.checkFile(t, data, source.Options{DefaultRegion: "US", Filename: "people.csv"})
	})
}

// checker checks that what is read meets the contract (proto/kith/connections).
type checker struct{ shapes map[string]*regexp.Regexp }

func newChecker() checker {
	return checker{map[string]*regexp.Regexp{
		people.KindEmail: regexp.MustCompile("^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$"),
		people.KindPhone: regexp.MustCompile(`^[+0-9(][0-9 ()./x-]{2,38}$`),
		people.KindURL:   regexp.MustCompile(`^https?://[^\s]+$`),
	}}
}

// checkFile reads a file and checks that every error can be shown, and that every person
// could be stored.
func (c checker) checkFile(t *testing.T, data []byte, o source.Options) {
	f, err := source.Open(data, o)
	if err != nil {
		if !fault.Is(err, fault.Invalid) {
			t.Fatalf("the error has no code: %v", err)
		}
		return
	}
	records, row := 0, 0
	for r := range f.Records() {
		if records++; r.Row <= row {
			t.Fatalf("row %d comes after row %d", r.Row, row)
		}
		row = r.Row
		c.checkRecord(t, r)
	}
	if records != f.Total() || records == 0 {
		t.Fatalf("%d records, %d were announced", records, f.Total())
	}
	for n := range f.Notes() {
		if n.Err == nil && (n.Record.Body == "" || len(n.Record.ConnectionIDs) == 0) {
			t.Fatalf("%+v", n)
		}
	}
	for i := range f.Interactions() {
		if i.Err == nil && (i.Record.OccurredAt.IsZero() || len(i.Record.ConnectionIDs) == 0) {
			t.Fatalf("%+v", i)
		}
	}
}

func (c checker) checkRecord(t *testing.T, r source.Record) {
	if r.Err != nil {
		if !fault.Is(r.Err, fault.Invalid) || r.Person.Name != "" {
			t.Fatalf("row %d: %v, %+v", r.Row, r.Err, r.Person)
		}
		return
	}
	p := r.Person
	if !text.Visible(p.Name) || p.CadenceDays < 0 || p.CadenceDays > 730 || len(p.Tags) > 50 || len(p.Groups) > 50 || len(p.ImportantDates) > 20 || len(r.Warnings) > 21 { // 20, and how many more there are
		t.Fatalf("row %d: %+v", r.Row, r)
	}
	for _, field := range slices.Concat([]bounded{
		{p.Name, 200}, {p.Nickname, 100}, {p.Location, 120}, {p.MetHow, 500}, {p.ID, 255}, {p.Source, 100},
	}, all(p.Tags, 60), all(p.Groups, 80)) {
		field.check(t, text.Line)
	}
	for _, field := range slices.Concat([]bounded{{p.Bio, 2000}}, all(r.Notes, 20_000)) {
		field.check(t, text.Clean)
	}
	c.checkHandles(t, p.Handles)
	checkDays(t, p)
}

// bounded is a text and how long it may be.
type bounded struct {
	text  string
	limit int
}

func all(texts []string, limit int) []bounded {
	var out []bounded
	for _, s := range texts {
		out = append(out, bounded{s, limit})
	}
	return out
}

func (b bounded) check(t *testing.T, tidy func(string) string) {
	if !utf8.ValidString(b.text) || utf8.RuneCountInString(b.text) > b.limit || tidy(b.text) != b.text {
		t.Fatalf("%q is longer than %d or not tidy", b.text, b.limit)
	}
}

func (c checker) checkHandles(t *testing.T, handles []export.HandleRecord) {
	limits := map[string]int{people.KindEmail: 254, people.KindPhone: 40, people.KindURL: 500}
	seen, count := map[string]bool{}, map[string]int{}
	for _, h := range handles {
		kind := h.Kind
		if kind == people.KindSocial {
			kind = people.KindURL
		}
		normal := kind + people.NormalValue(h.Kind, h.Value)
		if count[kind]++; seen[normal] || normal == kind || count[kind] > 20 || !c.shapes[kind].MatchString(h.Value) {
			t.Fatalf("%+v among %+v", h, handles)
		}
		seen[normal] = true
		bounded{h.Value, limits[kind]}.check(t, text.Line)
		bounded{h.Label, 80}.check(t, text.Line)
	}
}

// checkDays checks that the dates are valid in a DateDraft.
func checkDays(t *testing.T, p export.PersonRecord) {
	days := []string{p.MetOn}
	for _, at := range p.Positions {
		bounded{at.Organization, 200}.check(t, text.Line)
		bounded{at.Title, 160}.check(t, text.Line)
		days = append(days, at.StartedOn, at.EndedOn)
	}
	for _, on := range p.ImportantDates {
		bounded{on.Label, 80}.check(t, text.Line)
		if on.Date == "" {
			t.Fatalf("%+v", on)
		}
		if rest, yearless := strings.CutPrefix(on.Date, "--"); yearless {
			days = append(days, "2000-"+rest)
		} else {
			days = append(days, strings.TrimPrefix(on.Date, "about "))
		}
	}
	for _, day := range days {
		layout := map[int]string{0: "", 4: "2006", 7: "2006-01", 10: time.DateOnly}[len(day)]
		if on, err := time.Parse(layout, day); err != nil || day != "" && on.Year() == 0 {
			t.Fatalf("%q is no date", day)
		}
	}
}
