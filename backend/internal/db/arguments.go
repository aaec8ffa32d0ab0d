package db

import (
	"database/sql/driver"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
)

// bun writes arguments into the text of a statement. So each call has a different text, which the
// database has to parse: in SQLite that takes as long as running it. Our dialects mark the texts,
// times and JSON that bun writes, and the drivers of sqlite_statements.go and postgres.go take them
// out again. So each statement is parsed once per connection.
//
// The mark is a byte that is not valid in SQL: a statement with a leftover mark fails. It stands
// before a quoted literal, which is read as a whole, so that a mark within a literal is part of its
// text.
const mark = '\x01'

const (
	// maxArguments is how many arguments are taken out of a statement. Longer ones, such as
	// those of an import, are rarely repeated.
	maxArguments = 100
	// maxStatement is the maximum length of a statement that is kept, in bytes.
	maxStatement = 16 << 10
)

// sqliteDialect and postgresDialect mark arguments.
type (
	sqliteDialect   struct{ *sqlitedialect.Dialect }
	postgresDialect struct{ *pgdialect.Dialect }
)

var _, _ schema.Dialect = sqliteDialect{}, postgresDialect{}

// AppendString implements schema.Dialect.
func (d sqliteDialect) AppendString(b []byte, s string) []byte {
	return d.Dialect.AppendString(append(b, mark), s)
}

// AppendTime implements schema.Dialect.
func (d sqliteDialect) AppendTime(b []byte, t time.Time) []byte {
	return d.Dialect.AppendTime(append(b, mark), t)
}

// AppendJSON implements schema.Dialect.
func (d sqliteDialect) AppendJSON(b, data []byte) []byte {
	return d.Dialect.AppendJSON(append(b, mark), data)
}

// AppendString implements schema.Dialect.
func (d postgresDialect) AppendString(b []byte, s string) []byte {
	return d.Dialect.AppendString(append(b, mark), s)
}

// AppendTime implements schema.Dialect.
func (d postgresDialect) AppendTime(b []byte, t time.Time) []byte {
	return d.Dialect.AppendTime(append(b, mark), t)
}

// AppendJSON implements schema.Dialect.
func (d postgresDialect) AppendJSON(b, data []byte) []byte {
	return d.Dialect.AppendJSON(append(b, mark), data)
}

// parted is a statement whose marked arguments were taken out.
type parted struct {
	text      string
	arguments []driver.NamedValue
}

// part takes the marked arguments out of a statement. placeholder appends the placeholder of the
// nth one, counted from 1. If the statement has none, or is not worth keeping, part returns it with
// its arguments and false.
func part(statement string, placeholder func(text []byte, n int) []byte) (p parted, keep bool) {
	n := strings.Count(statement, string(mark))
	if n == 0 {
		return parted{text: statement}, false
	}
	if n > maxArguments || len(statement) > maxStatement || !isPlain(statement) {
		return parted{text: withoutMarks(statement)}, false
	}
	p.text = replaceMarked(statement, func(text []byte, literal string) []byte {
		value := strings.ReplaceAll(literal[1:len(literal)-1], "''", "'")
		p.arguments = append(p.arguments, driver.NamedValue{Ordinal: len(p.arguments) + 1, Value: value})
		return placeholder(text, len(p.arguments))
	})
	return p, true
}

// withoutMarks returns a statement with its arguments and without their marks.
func withoutMarks(statement string) string {
	if !strings.Contains(statement, string(mark)) {
		return statement
	}
	return replaceMarked(statement, func(text []byte, literal string) []byte { return append(text, literal...) })
}

// replaceMarked replaces each marked literal by what replace appends to the text before it.
func replaceMarked(statement string, replace func(text []byte, literal string) []byte) string {
	text := make([]byte, 0, len(statement))
	for rest := statement; ; {
		before, after, found := strings.Cut(rest, string(mark))
		text = append(text, before...)
		if !found {
			return string(text)
		}
		end := literalEnd(after)
		if end > 0 {
			text = replace(text, after[:end])
		}
		rest = after[end:]
	}
}

// literalEnd returns the length of the quoted literal that a text begins with; 0 if it
// begins with none.
func literalEnd(text string) int {
	if text == "" || text[0] != '\'' {
		return 0
	}
	for i := 1; i < len(text); i++ {
		if text[i] != '\'' {
			continue
		}
		if i+1 == len(text) || text[i+1] != '\'' {
			return i + 1
		}
		i++ // a doubled quote stands for one
	}
	return 0
}

// isPlain reports whether a statement may have arguments in both databases.
func isPlain(statement string) bool {
	return slices.Contains([]string{"select", "insert", "update", "delete", "with"}, Operation(statement))
}
