package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kind is what the values of a column are, in both databases.
type kind string

const (
	kindText  kind = "text"
	kindBytes kind = "bytes"
	kindInt   kind = "integer"
	kindFloat kind = "float"
	kindBool  kind = "boolean"
	kindTime  kind = "time"
)

// kindOf returns the kind of a column by its type in SQLite's or PostgreSQL's catalogue;
// empty if none of our columns has had the type so far.
func kindOf(columnType string) kind {
	switch columnType {
	case "TEXT", "text":
		return kindText
	case "BLOB", "bytea":
		return kindBytes
	case "INTEGER", "BIGINT", "integer", "bigint":
		return kindInt
	case "REAL", "double precision":
		return kindFloat
	case "BOOLEAN", "boolean":
		return kindBool
	case "TIMESTAMP", "timestamp with time zone":
		return kindTime
	default:
		return ""
	}
}

// table is a table that both databases have.
type table struct {
	name    string
	columns []string
	kinds   []kind
}

// quoted returns the columns as SQL.
func (t table) quoted() string {
	return `"` + strings.Join(t.columns, `", "`) + `"`
}

// catalogColumn is a column as the catalogue of one database describes it.
type catalogColumn struct {
	Table, Name, Type string
	// IsRowid marks SQLite's rowid. PostgreSQL may lack this column.
	IsRowid bool
}

// matchTables returns the tables of both databases, referenced ones before those that refer
// to them. It fails if one database lacks a table or a column, or if a column has different kinds.
// The tables of the migrator are left out, and so are SQLite's own and its word indexes,
// which triggers fill.
func matchTables(ctx context.Context, source, target *side) ([]table, error) {
	columns := [2]map[string]map[string]catalogColumn{}
	for i, s := range []*side{source, target} {
		found, err := s.columns(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the catalogue: %w", err)
		}
		columns[i] = found
	}
	here, there := columns[0], columns[1]
	all := maps.Clone(here)
	maps.Copy(all, there)
	tables := make(map[string]table, len(all))
	for name := range all {
		if here[name] == nil || there[name] == nil {
			return nil, fmt.Errorf("only one database has the table %s", name)
		}
		t, err := matchColumns(name, here[name], there[name])
		if err != nil {
			return nil, err
		}
		tables[name] = t
	}
	references, err := target.references(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the references: %w", err)
	}
	return inOrder(tables, references)
}

// matchColumns returns the columns that both databases have.
func matchColumns(name string, here, there map[string]catalogColumn) (table, error) {
	t := table{name: name}
	all := maps.Clone(here)
	maps.Copy(all, there)
	for _, column := range slices.Sorted(maps.Keys(all)) {
		a, has := here[column]
		b, hasToo := there[column]
		switch {
		case has && hasToo && kindOf(a.Type) == kindOf(b.Type) && kindOf(a.Type) != "":
			t.columns, t.kinds = append(t.columns, column), append(t.kinds, kindOf(a.Type))
		case has && hasToo:
			return t, fmt.Errorf("the column %s.%s is %s in one database and %s in the other", name, column, a.Type, b.Type)
		case !all[column].IsRowid:
			return t, fmt.Errorf("only one database has the column %s.%s", name, column)
		}
	}
	return t, nil
}

// inOrder sorts tables so that rows can be inserted: each after those that it refers to.
func inOrder(tables map[string]table, references map[string][]string) ([]table, error) {
	var sorted []table
	done := map[string]bool{}
	for len(sorted) < len(tables) {
		before := len(sorted)
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			waits := slices.ContainsFunc(references[name], func(other string) bool { return !done[other] })
			if !done[name] && !waits {
				sorted, done[name] = append(sorted, tables[name]), true
			}
		}
		if len(sorted) == before {
			return nil, errors.New("tables refer to each other in a circle")
		}
	}
	return sorted, nil
}

// columns reads the columns of all tables that are copied, by table and name.
func (s *side) columns(ctx context.Context) (map[string]map[string]catalogColumn, error) {
	var found []catalogColumn
	if err := s.list(ctx, s.dialect.columns, func() ([]any, func()) {
		var c catalogColumn
		return []any{&c.Table, &c.Name, &c.Type, &c.IsRowid}, func() { found = append(found, c) }
	}); err != nil {
		return nil, err
	}
	columns := map[string]map[string]catalogColumn{}
	for _, c := range found {
		if columns[c.Table] == nil {
			columns[c.Table] = map[string]catalogColumn{}
		}
		columns[c.Table][c.Name] = c
	}
	return columns, nil
}

// references reads which tables each table refers to.
func (s *side) references(ctx context.Context) (map[string][]string, error) {
	references := map[string][]string{}
	err := s.list(ctx, s.dialect.references, func() ([]any, func()) {
		var from, to string
		return []any{&from, &to}, func() { references[from] = append(references[from], to) }
	})
	return references, err
}
