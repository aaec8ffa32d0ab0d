package db

import (
	"database/sql/driver"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
)

// hostile are texts that would end a literal, a statement or an argument, if they were read
// as SQL.
func hostile() []string {
	return []string{
		"", "plain", "'", "''", "it's", "\x01", "\x01'", "a\x01'b", "'; DROP TABLE connections; --", "?", "$1", "\\'", "\\", "\n--", "/*", "é\u202e中",
		strings.Repeat("'\x01", 40),
	}
}

// A statement's arguments are taken out as they were given, whatever they contain.
func TestArgumentsAreTakenOut(t *testing.T) {
	t.Parallel()
	for name, dialect := range map[string]schema.Dialect{"sqlite": sqliteDialect{sqlitedialect.New()}, "postgres": postgresDialect{pgdialect.New()}} {
		gen := schema.NewQueryGen(dialect)
		for _, text := range hostile() {
			statement := gen.FormatQuery("SELECT * FROM t WHERE a = ? AND b = 'x' AND c IN (?, ?) LIMIT ?", text, "second", text, 5)
			got, keep := part(statement, questionMark)
			want := parted{text: "SELECT * FROM t WHERE a = ? AND b = 'x' AND c IN (?, ?) LIMIT 5"}
			for i, value := range []string{text, "second", text} {
				want.arguments = append(want.arguments, driver.NamedValue{Ordinal: i + 1, Value: value})
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(parted{})); diff != "" || !keep {
				t.Errorf("%s, %q: keep %v (-want +got):\n%s", name, text, keep, diff)
			}
			if plain := schema.NewQueryGen(sqlitedialect.New()).FormatQuery("SELECT ?", text); withoutMarks(gen.FormatQuery("SELECT ?", text)) != plain {
				t.Errorf("%s, %q: without marks it is %q", name, text, withoutMarks(gen.FormatQuery("SELECT ?", text)))
			}
		}
	}
}

// Statements that are rarely repeated, and those that cannot take arguments, keep their literals.
func TestArgumentsThatStay(t *testing.T) {
	t.Parallel()
	gen := schema.NewQueryGen(sqliteDialect{sqlitedialect.New()})
	for name, statement := range map[string]string{
		"many":    gen.FormatQuery("INSERT INTO t VALUES " + strings.Repeat(gen.FormatQuery("(?)", "v"), maxArguments+1)),
		"long":    gen.FormatQuery("SELECT ?", strings.Repeat("x", maxStatement)),
		"utility": gen.FormatQuery("SET x = ?", time.Time{}),
	} {
		got, keep := part(statement, questionMark)
		if keep || len(got.arguments) > 0 || strings.ContainsRune(got.text, mark) {
			t.Errorf("%s: %v, %d arguments, %q", name, keep, len(got.arguments), got.text[:min(80, len(got.text))])
		}
	}
}

// A marked text that is not a literal, such as an error of bun, stays in the statement, and the
// database refuses it.
func TestMarkBeforeNoLiteral(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{"SELECT \x01?!(bun: error)", "SELECT \x01'never ends", "\x01"} {
		got, _ := part(statement, questionMark)
		if want := strings.ReplaceAll(statement, string(mark), ""); got.text != want {
			t.Errorf("%q became %q", statement, got.text)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text)
	}
	gen := schema.NewQueryGen(postgresDialect{pgdialect.New()})
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) {
			return // bun refuses it
		}
		text = strings.ToValidUTF8(text, "\uFFFD")
		got, keep := part(gen.FormatQuery("SELECT ?, ?", text, "second"), questionMark)
		if len(text) > maxStatement/2 {
			return
		}
		if !keep || len(got.arguments) != 2 || got.text != "SELECT ?, ?" || got.arguments[0].Value != text || got.arguments[1].Value != "second" {
			t.Fatalf("%q: %+v", text, got)
		}
	})
}
