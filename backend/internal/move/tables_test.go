package move

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

// Every table of the database is either moved or left out with a reason. If you add a table, add it
// to one of the two lists.
func TestEveryTableIsListed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		var catalogue map[string]db.Table
		err := s.Snapshot(t.Context(), func(ctx context.Context, q db.Querier) (err error) {
			catalogue, err = db.Catalogue(ctx, q)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, table := range catalogue {
			isMoved, why := slices.Contains(moved(), name), leftOut()[name]
			if isMoved == (why != "") {
				t.Errorf("list the table %s in moved, or in leftOut with a reason", name)
			}
			if isMoved && ownerOf(table) == "" {
				t.Errorf("%s has no column for the member", name)
			}
			if len(table.Key()) == 0 && isMoved {
				t.Errorf("%s has no primary key to order its rows by", name)
			}
			for _, c := range table.Columns {
				if c.Kind == "" && isMoved {
					t.Errorf("%s.%s has a type that a file can't have", name, c.Name)
				}
			}
		}
		for name := range leftOut() {
			if _, ok := catalogue[name]; !ok {
				t.Errorf("%s is left out and does not exist", name)
			}
		}
	})
}

// The members' rows come first and the counters last, since triggers count in them.
func TestOrderOfTables(t *testing.T) {
	t.Parallel()
	all := moved()
	if all[0] != membersTable || all[len(all)-1] != statesTable {
		t.Errorf("the order is %v", all)
	}
	if sorted := slices.Sorted(slices.Values(all)); len(slices.Compact(sorted)) != len(all) {
		t.Errorf("a table is listed twice: %v", all)
	}
	for name := range ended() {
		if !slices.Contains(all, name) {
			t.Errorf("ended lists %s, which is not moved", name)
		}
	}
	for name := range numbered() {
		if !slices.Contains(all, name) {
			t.Errorf("numbered lists %s, which is not moved", name)
		}
	}
}

// decode returns the value that encode was given.
func TestValues(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 3, 4, 5, 6, 789_012_000, time.UTC)
	for name, c := range map[string]struct {
		kind   db.ColumnKind
		stored any
		text   string
		want   any
	}{
		"text":             {db.TextColumn, "a\"é\u2028", `"a\"é\u2028"`, "a\"é\u2028"},
		"text as bytes":    {db.TextColumn, []byte("a"), `"a"`, "a"},
		"a large number":   {db.NumberColumn, int64(-9223372036854775808), "-9223372036854775808", int64(-9223372036854775808)},
		"a flag of SQLite": {db.FlagColumn, int64(1), "true", true},
		"a flag":           {db.FlagColumn, false, "false", false},
		"a time":           {db.TimeColumn, at.In(time.FixedZone("", 3600)), `"2026-02-03T04:05:06.789012Z"`, at},
		"bytes":            {db.BytesColumn, []byte{0, 255}, `"AP8="`, []byte{0, 255}},
		"no bytes":         {db.BytesColumn, []byte{}, `""`, []byte{}},
		"NULL":             {db.TimeColumn, nil, "null", nil},
	} {
		encoded, err := encode(c.kind, c.stored)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := encodeJSON(t, encoded)
		if text != c.text {
			t.Errorf("%s: %s instead of %s", name, text, c.text)
		}
		if got, err := decode(c.kind, []byte(text)); err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%s: %v instead of %v, %v", name, got, c.want, err)
		}
	}
	for name, c := range map[string]struct {
		kind   db.ColumnKind
		stored any
	}{
		"not UTF-8":         {db.TextColumn, "\xff"},
		"a text for a time": {db.TimeColumn, "yesterday"},
		"a type not known":  {"", "x"},
	} {
		if got, err := encode(c.kind, c.stored); err == nil {
			t.Errorf("%s is %v", name, got)
		}
	}
	for name, c := range map[string]struct {
		kind db.ColumnKind
		text string
	}{
		"a text for a number":    {db.NumberColumn, `"1"`},
		"too large a number":     {db.NumberColumn, "9223372036854775808"},
		"a number for a flag":    {db.FlagColumn, "1"},
		"a number for a text":    {db.TextColumn, "1"},
		"a list":                 {db.TextColumn, `["a"]`},
		"no base64":              {db.BytesColumn, `"?"`},
		"a time without a zone":  {db.TimeColumn, `"2026-02-03T04:05:06"`},
		"a type that is unknown": {"", `"x"`},
	} {
		if got, err := decode(c.kind, []byte(c.text)); err == nil {
			t.Errorf("%s is %v", name, got)
		}
	}
}

func encodeJSON(t *testing.T, value any) string {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
