package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
)

// TableRows is what Transfer copied of one table.
type TableRows struct {
	Table string
	Rows  int64
	// Digest is the sum of the SHA-256 hashes of all rows, which does not depend on their
	// order. It was the same in both databases.
	Digest string
}

// Transfer copies every row of a database into an empty one of the other kind, SQLite or
// PostgreSQL, compares both, and returns what it copied. Both must have the schema of this
// binary; a target without any table is migrated first. All rows are written in one
// transaction: after an error the target is as empty as before. Memory holds one row at a
// time, however large the database is.
//
// No Kith process may use the source: Transfer fails if one does, and keeps others from opening a
// SQLite source until it returns. begin is called with the name of each table before its rows are
// copied; it may be nil.
func Transfer(ctx context.Context, from, to string, begin func(table string)) (copied []TableRows, err error) {
	if IsPostgres(from) == IsPostgres(to) {
		return nil, errors.New("both databases are of the same kind: use `kith backup` and `kith restore`")
	}
	if begin == nil {
		begin = func(string) {}
	}
	source, err := openSource(ctx, from)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.close()) }()
	target, err := openTarget(ctx, to)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, target.close()) }()
	if err := source.exec(ctx, source.dialect.beginRead); err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	if err := target.exec(ctx, target.dialect.beginWrite); err != nil {
		return nil, fmt.Errorf("write the target: %w", err)
	}
	if copied, err = copyAll(ctx, source, target, begin); err != nil {
		return nil, err
	}
	if err := target.exec(ctx, "COMMIT"); err != nil {
		return nil, fmt.Errorf("commit the copy: %w", err)
	}
	return copied, target.dialect.refreshStatistics(ctx, target)
}

// copyAll copies and compares all tables in the transactions of both sides.
func copyAll(ctx context.Context, source, target *side, begin func(table string)) ([]TableRows, error) {
	tables, err := matchTables(ctx, source, target)
	if err != nil {
		return nil, err
	}
	restore, err := target.dialect.openTables(ctx, target, tables)
	if err != nil {
		return nil, fmt.Errorf("prepare the target: %w", err)
	}
	for _, t := range tables {
		if err := target.checkEmpty(ctx, t); err != nil {
			return nil, err
		}
	}
	digests := make([]digest, len(tables))
	for i, t := range tables {
		begin(t.name)
		if err := copyTable(ctx, source, target, t, &digests[i]); err != nil {
			return nil, fmt.Errorf("copy the table %s: %w", t.name, err)
		}
	}
	copied := make([]TableRows, len(tables))
	for i, t := range tables {
		var found digest
		if err := target.read(ctx, t, func(row []any) error { found.add(row); return nil }); err != nil {
			return nil, fmt.Errorf("compare the table %s: %w", t.name, err)
		}
		if found != digests[i] {
			return nil, fmt.Errorf("the table %s is not the same in the target (%d rows, %d in the source): nothing was kept", t.name, found.rows, digests[i].rows)
		}
		copied[i] = TableRows{Table: t.name, Rows: found.rows, Digest: found.String()}
	}
	if err := restore(ctx); err != nil {
		return nil, fmt.Errorf("finish the target: %w", err)
	}
	return copied, nil
}

// copyTable copies the rows of a table and adds them to the digest as they are read.
func copyTable(ctx context.Context, source, target *side, t table, read *digest) error {
	write, finish := target.dialect.writer(ctx, target, t)
	err := source.read(ctx, t, func(row []any) error {
		read.add(row)
		return write(row)
	})
	return finish(err)
}

// openSource opens a database to read all of it, while no other process uses it.
func openSource(ctx context.Context, url string) (_ *side, err error) {
	if err := checkUnused(ctx, url); err != nil {
		return nil, err
	}
	open := openSQLiteAlone
	if IsPostgres(url) {
		open = func(ctx context.Context, url string) (*DB, error) { return connect(ctx, Config{URL: url, MaxConns: 1}) }
	}
	s, err := open(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := s.checkSchema(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the source cannot be read: %w", err), s.Close())
	}
	// kith_service may read all rows of all tables.
	return newSide(ctx, s, s.engine.serviceRead)
}

// openTarget opens a database to write all of it, and migrates one without tables.
func openTarget(ctx context.Context, url string) (_ *side, err error) {
	if IsPostgres(url) {
		if err := checkUnused(ctx, url); err != nil {
			return nil, err
		}
	}
	s, err := connect(ctx, Config{URL: url, MaxConns: 1, create: true})
	if err != nil {
		return nil, err
	}
	known, err := s.hasMigrations(ctx)
	if err == nil && !known {
		err = s.migrateEmpty(ctx)
	}
	if err == nil {
		err = s.checkSchema(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the target cannot be written: %w", err), s.Close())
	}
	return newSide(ctx, s, s.engine.admin)
}

// migrateEmpty migrates a database that has no table yet, and refuses any other.
func (s *DB) migrateEmpty(ctx context.Context) error {
	var tables int
	query := "SELECT count(*) FROM sqlite_master"
	if s.engine.name == postgresName {
		query = "SELECT count(*) FROM pg_catalog.pg_class WHERE relnamespace = current_schema()::regnamespace"
	}
	if err := s.engine.admin.NewRaw(query).Scan(ctx, &tables); err != nil {
		return fmt.Errorf("look into the database: %w", err)
	}
	if tables > 0 {
		return errors.New("it holds tables that are not Kith's: name an empty database")
	}
	_, err := s.migrate(ctx)
	return err
}

// checkUnused fails if a Kith process is connected to a PostgreSQL database, or if there is no
// SQLite file. openSQLiteAlone checks that no other process uses the file.
func checkUnused(ctx context.Context, url string) error {
	if !IsPostgres(url) {
		if _, err := os.Stat(sqlitePath(url)); err != nil {
			return fmt.Errorf("there is no database to copy: %w", err)
		}
		return nil
	}
	conf, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("the database URL cannot be read: %w", err) // pgx masks the password
	}
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return fmt.Errorf("cannot reach the database: %w", err)
	}
	var others int
	err = conn.QueryRow(ctx, `SELECT count(*) FROM pg_catalog.pg_stat_activity
WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()`, applicationName).Scan(&others)
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return fmt.Errorf("look who uses the database: %w", err)
	}
	if others > 0 {
		return fmt.Errorf("%w (%d connections of kith)", errInUse, others)
	}
	return nil
}

// errInUse is the refusal of a database that another process uses.
var errInUse = errors.New("the database is in use: stop every kith, and every other program, that uses it first")

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

// side is one of the two databases of Transfer, with the connection of its transaction.
type side struct {
	db      *DB
	dialect transferDialect
	conn    *sql.Conn
}

func newSide(ctx context.Context, s *DB, pool *bun.DB) (*side, error) {
	conn, err := pool.DB.Conn(ctx)
	if err != nil {
		return nil, errors.Join(Coded(err), s.Close())
	}
	dialect := sqliteTransfer()
	if s.engine.name == postgresName {
		dialect = postgresTransfer()
	}
	return &side{db: s, dialect: dialect, conn: conn}, nil
}

// close ends the side and rolls back what was not committed.
func (s *side) close() error {
	_, _ = s.conn.ExecContext(context.Background(), "ROLLBACK") // fails if nothing is left to roll back
	return errors.Join(s.conn.Close(), s.db.Close())
}

func (s *side) exec(ctx context.Context, statement string) error {
	_, err := s.conn.ExecContext(ctx, statement)
	return err
}

// list runs a query. next returns where to scan a row, and what to do with it then.
func (s *side) list(ctx context.Context, query string, next func() (into []any, then func())) (err error) {
	rows, err := s.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		into, then := next()
		if err := rows.Scan(into...); err != nil {
			return err
		}
		then()
	}
	return rows.Err()
}

// checkEmpty fails if a table has a row.
func (s *side) checkEmpty(ctx context.Context, t table) error {
	var has bool
	err := s.conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM "`+t.name+`")`).Scan(&has)
	if err != nil {
		return fmt.Errorf("look into the target: %w", err)
	}
	if has {
		return fmt.Errorf("the target is not empty: its table %s has rows; name an empty database", t.name)
	}
	return nil
}

// read calls use with each row of a table, whose values are nil or of the types of value.
// The row is valid during the call.
func (s *side) read(ctx context.Context, t table, use func(row []any) error) (err error) {
	rows, err := s.conn.QueryContext(ctx, "SELECT "+t.quoted()+` FROM "`+t.name+`"`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row, into := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i := range row {
		into[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, kind := range t.kinds {
			if row[i], err = value(kind, row[i]); err != nil {
				return fmt.Errorf("column %s: %w", t.columns[i], err)
			}
		}
		if err := use(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// value returns what a driver read of a column as nil, string, []byte, int64, float64, bool
// or a time.Time in UTC, the same for both drivers. SQLite's columns take values of any
// type: it fails for one that is not of the column's kind.
func value(k kind, read any) (any, error) {
	switch v := read.(type) {
	case nil:
		return nil, nil
	case string:
		if k == kindText {
			return v, nil
		}
	case []byte:
		switch k {
		case kindBytes:
			return v, nil
		case kindText: // SQLite keeps it as bytes if it was written as bytes
			return string(v), nil
		}
	case int64:
		switch {
		case k == kindInt:
			return v, nil
		case k == kindBool && (v == 0 || v == 1):
			return v == 1, nil
		case k == kindFloat && int64(float64(v)) == v:
			return float64(v), nil
		}
	case float64:
		if k == kindFloat {
			return v, nil
		}
	case bool:
		if k == kindBool {
			return v, nil
		}
	case time.Time:
		if k == kindTime {
			return v.UTC(), nil
		}
	}
	return nil, fmt.Errorf("a row has a value of the type %T where %s is expected", read, k)
}

// digest identifies a set of rows, in whatever order they are read.
type digest struct {
	rows int64
	// sum is the sum of the hashes of the rows, modulo 2^256.
	sum [sha256.Size]byte
}

func (d *digest) String() string { return hex.EncodeToString(d.sum[:]) }

// modulus is 2^256.
var modulus = new(big.Int).Lsh(big.NewInt(1), 8*sha256.Size)

// add adds a row of values.
func (d *digest) add(row []any) {
	h := sha256.New()
	for _, v := range row {
		addValue(h, v)
	}
	sum := new(big.Int).SetBytes(h.Sum(nil))
	sum.Add(sum, new(big.Int).SetBytes(d.sum[:])).Mod(sum, modulus).FillBytes(d.sum[:])
	d.rows++
}

// addValue writes a value with its length, so that no two rows are written the same.
// Times have nanoseconds, to notice when a database cuts them off.
func addValue(h hash.Hash, v any) {
	var text []byte
	switch v := v.(type) {
	case nil:
		_, _ = h.Write([]byte{0}) // a hash never fails
		return
	case string:
		text = []byte(v)
	case []byte:
		text = v
	case int64:
		text = binary.BigEndian.AppendUint64(nil, uint64(v))
	case float64:
		text = binary.BigEndian.AppendUint64(nil, math.Float64bits(v))
	case bool:
		text = []byte{0}
		if v {
			text[0] = 1
		}
	case time.Time:
		text = binary.BigEndian.AppendUint64(nil, uint64(v.Unix()))
		text = binary.BigEndian.AppendUint32(text, uint32(v.Nanosecond()))
	}
	_, _ = h.Write(binary.BigEndian.AppendUint64([]byte{1}, uint64(len(text))))
	_, _ = h.Write(text)
}
