package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"io/fs"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/uptrace/bun"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Coded gives a database's error the code that callers act on. Errors that already have
// a code, and errors that callers can't act on, are returned unchanged.
func Coded(err error) error {
	var coded *fault.Error
	switch {
	case err == nil, errors.As(err, &coded), errors.Is(err, sql.ErrNoRows), errors.Is(err, context.Canceled):
		return err
	case isReadOnly(err):
		return fault.Wrap(err, fault.ReadOnly, "this account is read-only")
	case isOutage(err):
		return fault.Wrap(err, fault.Unavailable, "the store cannot be reached; try again shortly")
	default:
		return err
	}
}

// readOnlyMark is the message of the triggers that refuse writes to a read-only tenant.
const readOnlyMark = "kith: tenant is read-only"

func isReadOnly(err error) bool { return strings.Contains(err.Error(), readOnlyMark) }

// isDamage reports whether SQLite found its file damaged, or not to be a database.
func isDamage(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && (lite.Code()&0xff == sqlite3.SQLITE_CORRUPT || lite.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

func isOutage(err error) bool {
	if errors.Is(err, errStoreLost) || errors.Is(err, errNotDurable) {
		return true
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// 08 connection, 53 resources, 57P operator; 25006 a standby, which is no longer or not
		// yet the primary; 40 and 55P03 succeed on a retry.
		class := pg.Code[:min(2, len(pg.Code))]
		return class == "08" || class == "53" || class == "40" || strings.HasPrefix(pg.Code, "57P") || pg.Code == "25006" || pg.Code == "55P03"
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		switch lite.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
			sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return true
		}
		return false
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, sql.ErrConnDone) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

// IsUnwritable reports whether SQLite could not write its file: the disk is full, broken or read-only. Reads go on.
func IsUnwritable(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch lite.Code() & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY:
		return true
	default:
		return false
	}
}

// IsTaken reports whether an insert failed because a row has the same unique key.
func IsTaken(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23505"
	}
	var lite *sqlite.Error
	return errors.As(err, &lite) && (lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// Statement is a statement that was sent to the database.
type Statement struct{ text string }

// Operation returns the first word, in lower case.
func (s Statement) Operation() string { return Operation(s.text) }

// namedTable finds what may be the name of a table.
var namedTable = regexp.MustCompile(`(?i)\b(?:from|into|update|join)\s+"?([a-z_]+)`)

// Table returns the first table that the statement names; empty if it names none of Kith's.
func (s Statement) Table() string {
	for _, found := range namedTable.FindAllStringSubmatch(s.text, -1) {
		if tableNames()[found[1]] {
			return found[1]
		}
	}
	return ""
}

// tableNames returns the names of all tables in the migrations.
var tableNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	create := regexp.MustCompile(`(?m)^CREATE (?:VIRTUAL )?TABLE (\w+)`)
	files, _ := fs.Glob(migrationFiles, "migrations/*/*.sql") // the pattern is right
	for _, file := range files {
		text, _ := migrationFiles.ReadFile(file) // it is there
		for _, found := range create.FindAllSubmatch(text, -1) {
			names[string(found[1])] = true
		}
	}
	return names
})

// QueryObserver observes statements.
type QueryObserver interface {
	// Observe is called after each statement, with one of the
	// outcomes of metrics.
	Observe(ctx context.Context, s Statement, outcome string, d time.Duration)
}

// noop counts nothing.
type noop struct{}

func (noop) Observe(context.Context, Statement, string, time.Duration) {}

// queryWatch is a query hook of bun that reports statements to an observer.
type queryWatch struct{ observer QueryObserver }

// BeforeQuery implements bun.QueryHook.
func (queryWatch) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

// AfterQuery implements bun.QueryHook.
func (w queryWatch) AfterQuery(ctx context.Context, e *bun.QueryEvent) {
	w.observer.Observe(ctx, Statement{e.Query}, Outcome(e.Err), time.Since(e.StartTime))
}

// watched adds a query hook for the statements of all pools.
func (e engine) watched(o QueryObserver) engine {
	again := map[*bun.DB]*bun.DB{}
	for _, db := range e.pools() {
		again[db] = db.WithQueryHook(queryWatch{o})
	}
	for _, db := range []**bun.DB{&e.serviceRead, &e.serviceWrite, &e.tenantRead, &e.tenantWrite, &e.admin} {
		*db = again[*db]
	}
	return e
}

// Operation returns the first word of a statement, in lower case.
func Operation(query string) string {
	query = strings.TrimLeft(query, " \n\t(")
	if end := strings.IndexAny(query, " \n\t("); end > 0 {
		query = query[:end]
	}
	switch query { // most of them, without an allocation
	case "SELECT":
		return "select"
	case "INSERT":
		return "insert"
	case "UPDATE":
		return "update"
	case "DELETE":
		return "delete"
	case "WITH":
		return "with"
	}
	return strings.ToLower(query)
}

// Outcome returns how a statement ended, as metrics.Queries counts it.
func Outcome(err error) string {
	switch {
	case err == nil, errors.Is(err, sql.ErrNoRows):
		return metrics.QueryOK
	case errors.Is(err, context.Canceled):
		return metrics.QueryAbandoned
	case isConflict(err):
		return metrics.QueryConflict
	case isOutage(err):
		return metrics.QueryUnavailable
	default:
		return metrics.QueryFailed
	}
}

// isAborted reports whether PostgreSQL rolled a transaction back because of others: a deadlock or a
// serialisation failure.
func isAborted(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40P01" || pg.Code == "40001")
}

// isConflict reports whether a statement was aborted because of another transaction, so
// that it may succeed when it is repeated.
func isConflict(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(pg.Code, "40") || pg.Code == "55P03"
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && (lite.Code()&0xff == sqlite3.SQLITE_BUSY || lite.Code()&0xff == sqlite3.SQLITE_LOCKED)
}
