package rpc_test

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// dumper reads all rows of a member directly from the database. It takes the list of
// tables from the database, so a new table is read too.
type dumper struct{ tables []dumpedTable }

type dumpedTable struct {
	name    string
	columns []string
	rows    *sql.Stmt // of two owners
}

// row is a row of a table.
type row struct {
	table   string
	owner   tenant.ID
	columns []string
	values  []string
}

func newDumper(t *testing.T, url string, q *sql.DB) *dumper {
	t.Helper()
	d := &dumper{}
	tables := columns(t, db.IsPostgres(url), q)
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		owner := ownerColumn(name, tables[name])
		if owner == "" {
			continue
		}
		query := fmt.Sprintf(`SELECT "%s", "%s" FROM "%s" WHERE "%s" IN ($1, $2)`, owner, strings.Join(tables[name], `", "`), name, owner)
		statement, err := q.PrepareContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = statement.Close() })
		d.tables = append(d.tables, dumpedTable{name: name, columns: tables[name], rows: statement})
	}
	if len(d.tables) < 20 {
		t.Fatalf("only %d tables hold anything of a member: %v", len(d.tables), tables)
	}
	return d
}

// columns returns the columns of each table.
func columns(t *testing.T, postgres bool, db *sql.DB) map[string][]string {
	t.Helper()
	query := "SELECT m.name, p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table' ORDER BY m.name, p.cid"
	if postgres {
		query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position"
	}
	tables := map[string][]string{}
	rows, err := db.QueryContext(t.Context(), query)
	for _, pair := range scan(t, rows, err) {
		tables[pair[0]] = append(tables[pair[0]], pair[1])
	}
	return tables
}

// ownerColumn is the column with the owner of a row; empty when there is none.
func ownerColumn(table string, columns []string) string {
	if table == "members" {
		return "id"
	}
	for _, name := range []string{"tenant_id", "member_id"} {
		if slices.Contains(columns, name) {
			return name
		}
	}
	return ""
}

// scan reads rows as texts; NULL is empty.
func scan(t *testing.T, rows *sql.Rows, err error) [][]string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, targets := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		targets[i] = &values[i]
	}
	var out [][]string
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = asText(v)
		}
		out = append(out, texts)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func asText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	default:
		return fmt.Sprint(v)
	}
}

// rowsOfBoth returns what is stored of two members.
func (d *dumper) rowsOfBoth(t *testing.T, one, two tenant.ID) (ofOne, ofTwo []row) {
	t.Helper()
	for _, table := range d.tables {
		found, err := table.rows.QueryContext(t.Context(), string(one), string(two))
		all := scan(t, found, err)
		slices.SortFunc(all, func(a, b []string) int { return slices.CompareFunc(a, b, cmp.Compare[string]) })
		for _, values := range all {
			r := row{table: table.name, owner: tenant.ID(values[0]), columns: table.columns, values: values[1:]}
			if r.owner == one {
				ofOne = append(ofOne, r)
			} else {
				ofTwo = append(ofTwo, r)
			}
		}
	}
	return ofOne, ofTwo
}

// textOf is rows as one text, a line for each.
func textOf(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		r.write(&b)
	}
	return b.String()
}

// write writes the row as a line, without some columns.
func (r row) write(b *strings.Builder, without ...string) {
	b.WriteString(r.table)
	for i, name := range r.columns {
		if slices.Contains(without, name) {
			continue
		}
		b.WriteString(" " + name + "=")
		if v := r.values[i]; strings.Contains(v, "\n") {
			fmt.Fprintf(b, "%q", v)
		} else {
			b.WriteString(v)
		}
	}
	b.WriteByte('\n')
}

func (r row) text(without ...string) string {
	var b strings.Builder
	r.write(&b, without...)
	return b.String()
}

// get is the value of a column; empty for NULL and for a column that is not there.
func (r row) get(column string) string {
	if i := slices.Index(r.columns, column); i >= 0 {
		return r.values[i]
	}
	return ""
}
