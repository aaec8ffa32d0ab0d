package db

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
)

// Querier builds statements: a transaction across tenants, or a *Tx.
type Querier interface {
	NewSelect() *bun.SelectQuery
	NewInsert() *bun.InsertQuery
	NewUpdate() *bun.UpdateQuery
	NewDelete() *bun.DeleteQuery
	NewRaw(query string, args ...any) *bun.RawQuery
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	Dialect() schema.Dialect
}

// pool is a pool of connections as a Querier. Its errors have codes, and its connections
// are set to the tenant, if there is one.
type pool struct {
	*bun.DB

	tenant tenant.ID
	fault  func(statement string) error
	wal    *walSync
}

func (p pool) conn() conn { return conn{DB: p.DB.DB, tenant: p.tenant, fault: p.fault, wal: p.wal} }

// NewSelect implements Querier.
func (p pool) NewSelect() *bun.SelectQuery { return p.DB.NewSelect().Conn(p.conn()) }

// NewInsert implements Querier.
func (p pool) NewInsert() *bun.InsertQuery { return p.DB.NewInsert().Conn(p.conn()) }

// NewUpdate implements Querier.
func (p pool) NewUpdate() *bun.UpdateQuery { return p.DB.NewUpdate().Conn(p.conn()) }

// NewDelete implements Querier.
func (p pool) NewDelete() *bun.DeleteQuery { return p.DB.NewDelete().Conn(p.conn()) }

// NewRaw implements Querier.
func (p pool) NewRaw(query string, args ...any) *bun.RawQuery {
	return p.DB.NewRaw(query, args...).Conn(p.conn())
}

// QueryContext implements Querier.
func (p pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := p.fault(query); err != nil {
		return nil, Coded(err)
	}
	rows, err := p.DB.QueryContext(withTenant(ctx, p.tenant), query, args...)
	return rows, Coded(err)
}

// conn runs the statements of a pool.
type conn struct {
	*sql.DB

	tenant tenant.ID
	fault  func(statement string) error
	// wal makes a statement without a transaction durable, unless it returns rows.
	wal *walSync
}

// QueryContext implements bun.IConn.
func (c conn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := c.fault(query); err != nil {
		return nil, Coded(err)
	}
	rows, err := c.DB.QueryContext(withTenant(ctx, c.tenant), query, args...)
	return rows, Coded(err)
}

// QueryRowContext implements bun.IConn.
func (c conn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return c.DB.QueryRowContext(withTenant(ctx, c.tenant), query, args...)
}

// ExecContext implements bun.IConn.
func (c conn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := c.fault(query); err != nil {
		return nil, Coded(err)
	}
	result, err := c.DB.ExecContext(withTenant(ctx, c.tenant), query, args...)
	if err == nil {
		err = c.wal.wait()
	}
	return result, Coded(err)
}

// Reader builds statements that read one tenant's rows. A *Tenant and a *Tx are readers.
type Reader interface {
	// TenantID is the tenant whose rows are read. A statement that From didn't begin must
	// name it.
	TenantID() tenant.ID
	// Now is the current time, fixed within a transaction.
	Now() time.Time
	// From selects from the tenant's rows of a model.
	From(model any) *bun.SelectQuery
	NewSelect() *bun.SelectQuery
	NewRaw(query string, args ...any) *bun.RawQuery
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	Dialect() schema.Dialect
}

// reader implements Reader without Now.
type reader struct {
	db  Querier
	id  tenant.ID
	now func() time.Time
}

// TenantID implements Reader.
func (r reader) TenantID() tenant.ID { return r.id }

// Now implements Reader.
func (r reader) Now() time.Time { return r.now() }

// From implements Reader. The rows are a derived table, so that no condition added later,
// not even an OR, can select rows of another tenant. The statement selects the columns of the model
// from it, not all that it has.
func (r reader) From(model any) *bun.SelectQuery {
	return r.db.NewSelect().Model(model).
		ModelTableExpr("(SELECT * FROM ?TableName WHERE tenant_id = ?) AS ?TableAlias", r.id)
}

// NewSelect implements Reader.
func (r reader) NewSelect() *bun.SelectQuery { return r.db.NewSelect() }

// NewRaw implements Reader.
func (r reader) NewRaw(query string, args ...any) *bun.RawQuery { return r.db.NewRaw(query, args...) }

// QueryContext implements Reader.
func (r reader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return r.db.QueryContext(ctx, query, args...)
}

// Dialect implements Reader.
func (r reader) Dialect() schema.Dialect { return r.db.Dialect() }

// Columns returns the columns of a model, as an argument of a statement that selects or returns its
// rows; each after the name of a table, if one is given. Statements never use an asterisk: a column
// that the next version adds must not disturb this one, while both run.
func Columns[Model any](q interface{ Dialect() schema.Dialect }, of ...string) bun.Safe {
	var list []byte
	for i, field := range q.Dialect().Tables().Get(reflect.TypeFor[*Model]()).Fields {
		if i > 0 {
			list = append(list, ", "...)
		}
		for _, table := range of {
			list = append(append(list, table...), '.')
		}
		list = append(list, field.SQLName...)
	}
	return bun.Safe(list)
}

// isPostgres reports whether statements go to PostgreSQL.
func isPostgres(q interface{ Dialect() schema.Dialect }) bool {
	return q.Dialect().Name() == dialect.PG
}

// OnPostgres reports whether a transaction is one of PostgreSQL.
func OnPostgres(q Querier) bool { return isPostgres(q) }

// LockRows returns the clause that keeps selected rows from changing until the end
// of the transaction, such as "FOR UPDATE". SQLite has one writer and needs none.
func LockRows(q Querier, clause string) string {
	if isPostgres(q) {
		return " " + clause
	}
	return ""
}

// TryLock locks a key across all processes until the transaction ends, and reports whether
// it was free. SQLite has one writer, so it always is.
func TryLock(ctx context.Context, q Querier, key string) (free bool, err error) {
	if !isPostgres(q) {
		return true, nil
	}
	err = q.NewRaw("SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))", key).Scan(ctx, &free)
	return free, err
}

// LockTable prevents other transactions from writing a table until this one ends. In
// SQLite it does nothing: there is only one writer.
func LockTable(ctx context.Context, q Querier, table string) error {
	if !isPostgres(q) {
		return nil
	}
	_, err := q.NewRaw("LOCK TABLE ? IN EXCLUSIVE MODE", bun.Ident(table)).Exec(ctx)
	return err
}

// Halving returns SQL for 2^(-age/halfLife) of a column of times; 1 for future times.
func Halving(r Reader, column string, now time.Time, halfLife time.Duration) schema.QueryAppender {
	if isPostgres(r) {
		return bun.SafeQuery("power(2.0, -greatest(extract(epoch FROM ?::timestamptz - ?)::float8, 0) / ?)",
			now, bun.Safe(column), halfLife.Seconds())
	}
	return bun.SafeQuery("pow(2.0, -max(julianday(?) - julianday(?), 0) / ?)", now, bun.Safe(column), halfLife.Hours()/24)
}

// Prepared is a read across tenants with one argument. It is used for reads that are so
// frequent that parsing their text would cost as much as running them.
type Prepared struct {
	stmt *sql.Stmt // in SQLite
	db   *sql.DB
	text string
	mode []any

	watch QueryObserver
	fault func(statement string) error
}

// Prepared returns the prepared statement with a name. The first call renders its text,
// in which a question mark is the one argument.
func (s *DB) Prepared(ctx context.Context, name string, render func() string) (*Prepared, error) {
	if made, ok := s.prepared.Load(name); ok {
		return made.(*Prepared), nil //nolint:forcetypeassert // nothing else is stored
	}
	text := withoutMarks(render())
	h := &Prepared{db: s.engine.serviceRead.DB, text: text, mode: s.engine.mode, watch: s.queryWatch, fault: s.fault}
	if s.engine.name == postgresName {
		// pgx keeps the prepared statement with each connection.
		h.text = strings.Replace(text, "?", "$1", 1)
	} else {
		var err error
		if h.stmt, err = h.db.PrepareContext(context.WithoutCancel(ctx), text); err != nil {
			return nil, fmt.Errorf("prepare a statement: %w", Coded(err))
		}
	}
	made, other := s.prepared.LoadOrStore(name, h)
	if other && h.stmt != nil {
		_ = h.stmt.Close()
	}
	return made.(*Prepared), nil //nolint:forcetypeassert // nothing else is stored
}

// Scan reads the one row that the statement finds, or fails with sql.ErrNoRows.
func (h *Prepared) Scan(ctx context.Context, argument string, into ...any) error {
	rows, err := h.Rows(ctx, argument)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return Coded(cmp.Or(rows.Err(), sql.ErrNoRows))
	}
	if err := rows.Scan(into...); err != nil {
		return fmt.Errorf("read a row: %w", err)
	}
	return Coded(rows.Close())
}

// Rows runs the statement for any number of rows.
func (h *Prepared) Rows(ctx context.Context, argument string) (*sql.Rows, error) {
	start := time.Now()
	rows, err := h.query(ctx, argument)
	h.watch.Observe(ctx, Statement{h.text}, Outcome(err), time.Since(start))
	return rows, Coded(err)
}

func (h *Prepared) query(ctx context.Context, argument string) (*sql.Rows, error) {
	if err := h.fault(h.text); err != nil {
		return nil, err
	}
	if h.stmt != nil {
		return h.stmt.QueryContext(context.WithoutCancel(ctx), argument)
	}
	return h.db.QueryContext(ctx, h.text, append(slices.Clip(h.mode), argument)...)
}

// MustMeet returns fault.NotFound for a statement that affected no row.
func MustMeet(result sql.Result, err error, missing string) error {
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = fault.New(fault.NotFound, "%s", missing)
	}
	return err
}

// Found turns "no rows" into an error that names what was not found.
func Found[T any](row *T, err error, missing string) (*T, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "%s", missing)
	}
	if err != nil {
		return nil, err
	}
	return row, nil
}

// LikeEscape escapes text so that it matches literally in LIKE '%' || ? || '%' ESCAPE '\'. Where the
// pattern is an argument alone, SQLite prepares the statement again for each value.
func LikeEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

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
