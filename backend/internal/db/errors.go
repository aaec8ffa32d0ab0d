package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/kith-crm/kith/backend/internal/fault"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Coded gives a database's error the code that callers act on. Errors that
// are coded already, and those that nobody can act on, pass unchanged.
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

// readOnlyMark is what the triggers of the walls migration say.
const readOnlyMark = "kith: tenant is read-only"

func isReadOnly(err error) bool { return strings.Contains(err.Error(), readOnlyMark) }

func isOutage(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// 08 connection, 53 resources, 57P operator; 40 and 55P03 pass by a retry.
		class := pg.Code[:min(2, len(pg.Code))]
		return class == "08" || class == "53" || class == "40" || strings.HasPrefix(pg.Code, "57P") || pg.Code == "55P03"
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		switch lite.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
			sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM:
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

// IsTaken tells whether an insert met a row with the same unique key.
func IsTaken(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23505"
	}
	var lite *sqlite.Error
	return errors.As(err, &lite) && (lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}
