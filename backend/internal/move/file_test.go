package move

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// someTables are four tables with few columns, and someLines the rows of an account in them.
func someTables() []table {
	column := func(name string, kind db.ColumnKind) db.Column { return db.Column{Name: name, Kind: kind} }
	return []table{
		{name: membersTable, owner: "id", columns: []db.Column{
			column("id", db.TextColumn), column("username", db.TextColumn), column("email", db.TextColumn), column("plan", db.TextColumn), column("suspended_at", db.TimeColumn),
		}},
		{name: "profiles", owner: "member_id", columns: []db.Column{column("member_id", db.TextColumn), column("username", db.TextColumn)}},
		{name: "photos", owner: "tenant_id", columns: []db.Column{column("tenant_id", db.TextColumn), column("media", db.TextColumn), column("data", db.BytesColumn)}},
		{name: "jobs", owner: "tenant_id", states: ended()["jobs"], columns: []db.Column{column("tenant_id", db.TextColumn), column("state", db.TextColumn), column("number", db.NumberColumn)}},
		{name: statesTable, owner: "tenant_id", columns: []db.Column{column("tenant_id", db.TextColumn), column("jobs", db.NumberColumn), column("read_only", db.FlagColumn)}},
	}
}

func someLines() []string {
	lines := []string{
		`{"kith_account":1,"schema":"1","member":"MEM","username":"maria"}`,
		`{"table":"members","row":{"id":"MEM","username":"maria","email":"maria@people.example","plan":"free","suspended_at":"2026-02-03T04:05:06Z"}}`,
		`{"table":"profiles","row":{"member_id":"MEM","username":"maria"}}`,
		`{"table":"photos","row":{"tenant_id":"MEM","media":"image/png","data":"iVBORw0KGgo="}}`,
		`{"table":"jobs","row":{"tenant_id":"MEM","state":"failed","number":7}}`,
		`{"table":"tenant_states","row":{"tenant_id":"MEM","jobs":7,"read_only":false}}`,
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "MEM", "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV")
	}
	return lines
}

// readLines reads a file of the lines, with the end that fits them.
func readLines(t *testing.T, lines string) (Account, error) {
	t.Helper()
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	digest := sha256.Sum256([]byte(lines))
	_, err := fmt.Fprintf(w, `%s{"end":{"rows":%d,"sha256":"%x"}}`+"\n", lines, strings.Count(lines, "\n")-1, digest)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return eachRow(&file, "1", someTables(), func(h header, t table, l line, _ []any) error {
		if l.text(t.owner) != string(h.Member) {
			return errors.New("a row of another member was accepted")
		}
		return nil
	})
}

// FuzzFile reads files of any lines: each is accepted, or refused with an error that has a code.
func FuzzFile(f *testing.F) {
	for i := range someLines() {
		f.Add(strings.Join(someLines()[:i+1], "\n") + "\n")
	}
	f.Add("{}\n[]\nnull\n")
	f.Fuzz(func(t *testing.T, lines string) {
		a, err := readLines(t, lines)
		if err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("the error has no code: %v", err)
		}
		if err == nil && a.Rows < 3 {
			t.Errorf("a file of %d rows was accepted", a.Rows)
		}
	})
}

func TestFileIsRead(t *testing.T) {
	t.Parallel()
	a, err := readLines(t, strings.Join(someLines(), "\n")+"\n")
	if err != nil || a.Rows != 5 || a.Username != "maria" || !a.Suspended {
		t.Errorf("got %+v, %v", a, err)
	}
}

// A line that is longer than a file may have is refused before it is all in memory.
func TestLongLines(t *testing.T) {
	t.Parallel()
	const limit = 1 << 10
	for size, taken := range map[int]bool{limit: true, limit + 1: false} {
		var file bytes.Buffer
		w := gzip.NewWriter(&file)
		if _, err := fmt.Fprintf(w, "{%*s\n", size-1, "}"); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		r, err := newReader(&file, limit)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.readRow(); taken != (err == nil) || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
