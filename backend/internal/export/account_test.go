package export

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// A document that skips a list is still valid.
func TestDocument(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := &document{out: &out}
	w.begin([]named{{"format", "x"}})
	for _, object := range []any{&people.Connection{ID: "con_1"}, &people.Connection{ID: "con_2"}, &timeline.Interaction{ID: "int_1"}} {
		if err := w.object(object); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatalf("%v:\n%s", err, out.String())
	}
	for list, n := range map[string]int{"connections": 2, "organizations": 0, "notes": 0, "interactions": 1, "changes": 0} {
		if got, ok := file[list].([]any); !ok || len(got) != n {
			t.Errorf("%s: %v", list, file[list])
		}
	}
	if err := w.object(&people.Connection{}); err == nil {
		t.Error("a list was opened again")
	}
	if err := w.object("something else"); err == nil {
		t.Error("an unknown object was written")
	}
}

// failing is a writer that fails after a few bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("gone")
	}
	return len(p), nil
}

func TestDocumentEndsWithItsReader(t *testing.T) {
	t.Parallel()
	w := &document{out: &failing{left: 40}}
	w.begin([]named{{"format", "x"}})
	if err := w.object(&people.Connection{ID: "con_1"}); err == nil {
		t.Error("no error")
	}
	if err := w.end(); err == nil {
		t.Error("no error at the end")
	}
}

// crowd is a member with many people, and one note about all of them.
type crowd struct{ pages, size int }

func (c crowd) file(out io.Writer) *file {
	return &file{
		archive: zip.NewWriter(out), now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
		objects: func(func(any) error) error { return nil }, people: c.people,
	}
}

func (c crowd) people(withTimeline, _ bool, each func(People) error) error {
	for n := range c.pages {
		page := People{People: []Person{{Connection: people.Connection{ID: fmt.Sprintf("con_%02d", n), Name: "Ana", Bio: strings.Repeat("x", c.size)}}}}
		if withTimeline {
			page.Notes = []timeline.Note{{ID: "not_1", Body: "met them all"}}
		}
		if err := each(page); err != nil {
			return err
		}
	}
	return nil
}

// written returns the files of a member's ZIP, by name.
func written(t *testing.T, data crowd) (names []string, files map[string]string) {
	t.Helper()
	var out bytes.Buffer
	of := Account{Member: &account.Member{Username: "maria"}, Profile: &account.Profile{}}
	if err := data.file(&out).write(of); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, entry := range archive.File {
		r, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, entry.Name)
		files[entry.Name] = string(content)
	}
	return names, files
}

// A member with too much data for one import gets several documents. Each is small enough
// and valid, each person is in one of them, and no document has anything twice.
func TestParts(t *testing.T) {
	t.Parallel()
	names, files := written(t, crowd{pages: 7, size: 1 << 20})
	if want := "README.txt account.json contacts.json contacts-2.json contacts.csv contacts.vcf contacts.jscontact.json"; strings.Join(names, " ") != want {
		t.Errorf("%v", names)
	}
	var people []string
	for _, name := range names {
		if !strings.HasPrefix(name, "contacts") || strings.HasSuffix(name, "jscontact.json") || !strings.HasSuffix(name, ".json") {
			continue
		}
		var doc Document
		if err := json.Unmarshal([]byte(files[name]), &doc); err != nil || len(files[name]) > 10<<20 || doc.Format != Format || len(doc.Notes) != 1 {
			t.Errorf("%s: %d bytes, format %q, %d notes, %v", name, len(files[name]), doc.Format, len(doc.Notes), err)
		}
		for _, p := range doc.People {
			people = append(people, p.ID)
		}
	}
	if len(people) != 7 || !slices.IsSorted(people) || len(slices.Compact(people)) != 7 {
		t.Errorf("people: %v", people)
	}
	for name, each := range map[string]string{"contacts.vcf": "BEGIN:VCARD", "contacts.csv": "\r\ncon_", "contacts.jscontact.json": `"@type": "Card"`} {
		if got := strings.Count(files[name], each); got != 7 {
			t.Errorf("%s: %d people", name, got)
		}
	}
}

// For a member without data, every file exists and is valid.
func TestNothing(t *testing.T) {
	t.Parallel()
	_, files := written(t, crowd{})
	if !strings.HasPrefix(files["README.txt"], "Everything that Kith keeps for maria, 2026-11-21.\r\n") || strings.Count(files["contacts.csv"], "\n") != 1 ||
		files["contacts.jscontact.json"] != "[]\n" || files["contacts.vcf"] != "" || !json.Valid([]byte(files["contacts.json"])) {
		t.Errorf("%q", files)
	}
}

// An error of the output ends the export.
func TestWriteEndsWithItsReader(t *testing.T) {
	t.Parallel()
	of := Account{Member: &account.Member{Username: "maria"}, Profile: &account.Profile{}}
	for _, left := range []int{0, 100, 1000, 2000} {
		if err := (crowd{pages: 3, size: 10}).file(&failing{left: left}).write(of); err == nil {
			t.Errorf("no error after %d bytes", left)
		}
	}
}
