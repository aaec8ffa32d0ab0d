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

// A document that lacks a list in between is whole all the same.
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

// failing takes a few bytes and then no more.
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

// crowd is a member who keeps many people, each with the same note about all.
type crowd struct{ pages, size int }

func (c crowd) file(out io.Writer) *file {
	return &file{
		archive: zip.NewWriter(out), now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
		objects: func(func(any) error) error { return nil }, people: c.people,
	}
}

func (c crowd) people(withTimeline bool, each func(People) error) error {
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

// written is the ZIP of what a member keeps, by the names of its files.
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

// Whoever keeps more than one import takes gets several documents: each small
// enough, each whole, everybody in one of them, and nothing twice in one.
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

// Of somebody who keeps nothing, each file is there and whole.
func TestNothing(t *testing.T) {
	t.Parallel()
	_, files := written(t, crowd{})
	if !strings.HasPrefix(files["README.txt"], "Everything that Kith keeps for maria, 2026-11-21.\r\n") || strings.Count(files["contacts.csv"], "\n") != 1 ||
		files["contacts.jscontact.json"] != "[]\n" || files["contacts.vcf"] != "" || !json.Valid([]byte(files["contacts.json"])) {
		t.Errorf("%q", files)
	}
}

// Where the reader goes away, writing ends.
func TestWriteEndsWithItsReader(t *testing.T) {
	t.Parallel()
	of := Account{Member: &account.Member{Username: "maria"}, Profile: &account.Profile{}}
	for _, left := range []int{0, 100, 1000, 2000} {
		if err := (crowd{pages: 3, size: 10}).file(&failing{left: left}).write(of); err == nil {
			t.Errorf("no error after %d bytes", left)
		}
	}
}
