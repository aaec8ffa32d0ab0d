package source_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/text"
	"pgregory.net/rapid"
)

// A well-formed table is read as encoding/csv writes it, with any separator and line ends:
// the content of a cell is never taken for anything else.
func TestWellFormedTablesAreReadWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.SliceOfN(rapid.StringMatching("([a-z\",;|\t \n]{0,4}){0,6}"), 2, 2), 1, 8).Draw(t, "rows")
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.Comma = rapid.SampledFrom([]rune(",;\t|")).Draw(t, "separator")
		w.UseCRLF = rapid.Bool().Draw(t, "CRLF")
		all := [][]string{{"Name", "Notes", "Nickname"}}
		for _, row := range rows {
			all = append(all, []string{"N", row[0], row[1]})
		}
		if err := w.WriteAll(all); err != nil {
			t.Fatal(err)
		}
		f, err := source.Open(b.Bytes(), source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Collect(f.Records())
		if len(got) != len(rows) {
			t.Fatalf("%d rows, %d were written:\n%s", len(got), len(rows), b.String())
		}
		for i, r := range got {
			bio, nickname := text.Clean(rows[i][0]), text.Line(rows[i][1])
			if !text.Visible(bio) {
				bio = ""
			}
			if r.Err != nil || r.Row != i+2 || r.Person.Bio != bio || r.Person.Nickname != nickname {
				t.Fatalf("row %d: %+v, want %q and %q:\n%s", r.Row, r, bio, nickname, b.String())
			}
		}
	})
}

// A row that opens a quotation mark and does not close it breaks that row and no other, at
// any place and with any quoted rows below it.
func TestOneOpenQuotationMarkCostsOneRow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 120).Draw(t, "rows")
		open := rapid.IntRange(0, n-1).Draw(t, "open")
		quoted := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "quoted")
		var b strings.Builder
		b.WriteString("Name,E-mail,Notes,Company\n")
		for i := range n {
			switch {
			case i == open:
				b.WriteString("Open,open@x.example,\"tea,Helios\n")
			case quoted[i]:
				b.WriteString("Fine,fine@x.example,\"tea, with \"\"milk\"\"\",Helios\n")
			default:
				b.WriteString("Fine,fine@x.example,tea,Helios\n")
			}
		}
		f, err := source.Open([]byte(b.String()), source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range slices.Collect(f.Records()) {
			if (r.Err != nil) != (i == open) || r.Err == nil && r.Person.Name != "Fine" || r.Row != i+2 {
				t.Fatalf("row %d: %+v\n%s", i, r, b.String())
			}
		}
		if f.Total() != n {
			t.Fatalf("%d rows of %d", f.Total(), n)
		}
	})
}

// Each header of words/headers.txt has a meaning: its values are in the person or in a note.
func TestEveryKnownHeaderKeepsItsValues(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("words/headers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		key, headers, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(key, "#") || key == "ignored" {
			continue
		}
		for header := range strings.SplitSeq(headers, "|") {
			f := open(t, "Company,"+header+"\nHelios,zq\n", source.Options{})
			if got := fmt.Sprintf("%+v", records(f)); !strings.Contains(got, "zq") || slices.ContainsFunc(f.Warnings, func(w string) bool { return strings.Contains(w, "not recognised") }) {
				t.Errorf("%s, %q: %s, %q", key, header, got, f.Warnings)
			}
		}
	}
}

// However quotation marks stand in a table, each of its words is in a person or a note, or on a line that an error
// names.
func TestBadQuotationMarksLoseNothingInSilence(t *testing.T) {
	t.Parallel()
	parts := []string{"w", "w", ",", ",", "\n", "\n", "\"", "\"", "\"\"", " ", "w,w,w\n", "\"w, w\",w,w\n", "w,\"w\nw\",w\n"}
	upTo := regexp.MustCompile(`^line (\d+) of the file opens a quotation mark that is never closed(?:; it and those up to line (\d+) were left out)?$`)
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("Name,Notes,Nickname\n")
		words := 0
		for _, part := range rapid.SliceOfN(rapid.SampledFrom(parts), 1, 40).Draw(t, "parts") {
			for c := range strings.SplitSeq(part, "") {
				if b.WriteString(c); c == "w" {
					fmt.Fprintf(&b, "%03d", words)
					words++
				}
			}
		}
		f, err := source.Open([]byte(b.String()), source.Options{})
		if err != nil {
			return // the table has no rows
		}
		var kept strings.Builder
		broken := map[int]bool{}
		for _, r := range records(f) {
			fmt.Fprintf(&kept, "%+v\n", r)
			if r.Err == nil {
				continue
			}
			lines := upTo.FindStringSubmatch(r.Err.Error())
			if lines == nil {
				return // a row of too many cells, which the error names by its number
			}
			from, _ := strconv.Atoi(lines[1])
			to, _ := strconv.Atoi(lines[2])
			for line := from; line <= max(from, to); line++ {
				broken[line] = true
			}
		}
		for i, line := range strings.Split(b.String(), "\n") {
			for _, word := range regexp.MustCompile(`w\d+`).FindAllString(line, -1) {
				if !broken[i+1] && !strings.Contains(kept.String(), word) {
					t.Fatalf("%s of line %d is lost:\n%s\n%s", word, i+1, b.String(), kept.String())
				}
			}
		}
	})
}
