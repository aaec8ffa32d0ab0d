package move

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
)

// checker checks the rows of a file, in their order.
type checker struct {
	header header
	tables []table
	at     int // the index of the previous row's table
	seen   map[string]bool
	rules  map[string]rule
	sums   sums
}

// invalid returns the error for a file that Export can't have written.
func invalid(message string, args ...any) error {
	return fault.New(fault.Invalid, "the file was not written by kith: %s", fmt.Sprintf(message, args...))
}

func newChecker(h header, tables []table) (*checker, error) {
	if !id.Valid(id.Member, string(h.Member)) {
		return nil, invalid("the member's id is not a kith id")
	}
	if err := account.CheckUsername(h.Username); err != nil {
		return nil, err
	}
	return &checker{header: h, tables: tables, seen: map[string]bool{}, rules: rules(), sums: newSums()}, nil
}

// check returns the table of a row and its values in the order of the table's columns. It refuses rows
// that are not the member's, and rows that Export leaves out.
func (c *checker) check(l line) (table, []any, error) {
	i := slices.IndexFunc(c.tables, func(t table) bool { return t.name == l.Table })
	if i < 0 {
		return table{}, nil, invalid("it has rows of %.30q", l.Table)
	}
	if i < c.at {
		return table{}, nil, invalid("rows of %s come too late", l.Table)
	}
	t := c.tables[i]
	c.at, c.seen[t.name] = i, true
	if len(l.Row) != len(t.columns) {
		return t, nil, invalid("a row of %s has %d columns instead of %d", t.name, len(l.Row), len(t.columns))
	}
	values := make([]any, len(t.columns))
	for i, column := range t.columns {
		given, ok := l.Row[column.Name]
		if !ok {
			return t, nil, invalid("a row of %s has no %s", t.name, column.Name)
		}
		var err error
		if values[i], err = decode(column.Kind, given); err != nil {
			return t, nil, invalid("%s of %s has a value of the wrong type", column.Name, t.name)
		}
		if !follows(c.rules, t.name, column.Name, values[i]) {
			return t, nil, invalid("%s of %s has a value that kith does not write", column.Name, t.name)
		}
	}
	if l.text(t.owner) != string(c.header.Member) {
		return t, nil, invalid("a row of %s belongs to another member", t.name)
	}
	row := func(column string) any {
		if i := slices.IndexFunc(t.columns, func(k db.Column) bool { return k.Name == column }); i >= 0 {
			return values[i]
		}
		return nil
	}
	c.sums.add(t.name, row)
	return t, values, errors.Join(c.checkRow(t, l), checkParts(t.name, row))
}

// checkRow refuses rows that would affect other members, and values that no feature of kith writes.
func (c *checker) checkRow(t table, l line) error {
	if t.states != nil && !t.moves(l.text("state")) {
		return invalid("a row of %s is in the state %.30q", t.name, l.text("state"))
	}
	switch t.name {
	case membersTable:
		if l.text("username") != c.header.Username {
			return invalid("the username differs from the first line")
		}
		if email, err := account.CheckEmail(l.text("email")); err != nil || email != l.text("email") {
			return invalid("%.100q is no e-mail address", l.text("email"))
		}
		return account.CheckPlan(l.text("plan"))
	case "profiles": // public pages are found by this name
		if l.text("username") != c.header.Username {
			return invalid("the profile has another username")
		}
	case "security_events": // failed sign-ins are counted by subject, across members
		if l.text("subject") != account.SubjectOf(c.header.Member) {
			return invalid("a security event is about another member")
		}
	case statesTable:
		if string(l.Row["read_only"]) != "false" {
			return invalid("the account is read-only")
		}
	}
	return nil
}

// checkEnd refuses a file without one of the rows that every member has.
func (c *checker) checkEnd() error {
	for _, name := range []string{membersTable, "profiles", statesTable} {
		if !c.seen[name] {
			return invalid("it has no row of %s", name)
		}
	}
	return c.sums.check()
}

// text returns the string in a column of the row; empty if the value is not a string.
func (l line) text(column string) string {
	var text string
	if json.Unmarshal(l.Row[column], &text) != nil {
		return ""
	}
	return text
}
