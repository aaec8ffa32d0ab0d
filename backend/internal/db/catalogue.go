package db

import (
	"context"
	"fmt"
	"slices"
)

// ColumnKind is what a column holds. It is the same in both databases, whose names for it differ.
type ColumnKind string

// The kinds of columns.
const (
	TextColumn   ColumnKind = "text"
	NumberColumn ColumnKind = "number" // 64 bits, signed
	FlagColumn   ColumnKind = "flag"   // true or false
	TimeColumn   ColumnKind = "time"
	BytesColumn  ColumnKind = "bytes"
)

// columnKinds returns the kinds by the types that the schemas use.
func columnKinds() map[string]ColumnKind {
	return map[string]ColumnKind{
		"TEXT": TextColumn, "INTEGER": NumberColumn, "BIGINT": NumberColumn, "BOOLEAN": FlagColumn, "TIMESTAMP": TimeColumn, "BLOB": BytesColumn,
		"text": TextColumn, "integer": NumberColumn, "bigint": NumberColumn, "boolean": FlagColumn, "timestamp with time zone": TimeColumn, "bytea": BytesColumn,
	}
}

// Table is a table of the database.
type Table struct {
	Name string
	// Columns are in the order of the table.
	Columns []Column
}

// Column is a column of a table.
type Column struct {
	Name string
	Kind ColumnKind
	// Key is the position in the primary key, from 1; 0 if the column is not part of it.
	Key int
}

// Key returns the columns of the primary key, in its order.
func (t Table) Key() []string {
	columns := slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return c.Key == 0 })
	slices.SortFunc(columns, func(a, b Column) int { return a.Key - b.Key })
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// Has reports whether the table has a column.
func (t Table) Has(column string) bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == column })
}

const (
	sqliteCatalogue = `SELECT l.name AS table_name, c.name AS column_name, c.type AS column_type, c.pk AS key_position
FROM pragma_table_list AS l JOIN pragma_table_info(l.name) AS c
WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite_%' ORDER BY l.name, c.cid`

	// The positions of an index's columns count from 0.
	postgresCatalogue = `SELECT t.relname AS table_name, c.attname AS column_name, format_type(c.atttypid, NULL) AS column_type,
    coalesce(array_position(i.indkey::int2[], c.attnum) + 1, 0) AS key_position
FROM pg_catalog.pg_class AS t JOIN pg_catalog.pg_attribute AS c ON c.attrelid = t.oid
    LEFT JOIN pg_catalog.pg_index AS i ON i.indrelid = t.oid AND i.indisprimary
WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind IN ('r', 'p') AND NOT t.relispartition AND c.attnum > 0 AND NOT c.attisdropped
ORDER BY t.relname COLLATE "C", c.attnum`
)

// Catalogue returns the tables of the database by name, as the database itself lists them, without
// the tables of SQLite's full-text index.
func Catalogue(ctx context.Context, q Querier) (map[string]Table, error) {
	var rows []struct {
		TableName, ColumnName, ColumnType string
		KeyPosition                       int
	}
	query := sqliteCatalogue
	if isPostgres(q) {
		query = postgresCatalogue
	}
	if err := q.NewRaw(query).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read the catalogue of the database: %w", err)
	}
	kinds, tables := columnKinds(), map[string]Table{}
	for _, row := range rows {
		t := tables[row.TableName]
		t.Name = row.TableName
		t.Columns = append(t.Columns, Column{Name: row.ColumnName, Kind: kinds[row.ColumnType], Key: row.KeyPosition})
		tables[row.TableName] = t
	}
	return tables, nil
}

// SchemaVersion returns the name of the last migration that the binary knows; later ones have
// greater names. An open database has it, or a later one (Config.AcceptNewer).
func (s *DB) SchemaVersion() (string, error) {
	known, err := s.migrations()
	if err != nil {
		return "", err
	}
	return known[len(known)-1].name, nil
}
