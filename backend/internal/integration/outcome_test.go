package integration

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/kith-crm/kith/backend/internal/db"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "ok"},
		{sql.ErrNoRows, "ok"},
		{context.Canceled, "abandoned"},
		{&pgconn.PgError{Code: "40P01"}, "conflict"},
		{&pgconn.PgError{Code: "55P03"}, "conflict"},
		{&pgconn.PgError{Code: "57P01"}, "unavailable"},
		{&pgconn.PgError{Code: "25006"}, "unavailable"},
		{&pgconn.PgError{Code: "23505"}, "failed"},
		{driver.ErrBadConn, "unavailable"},
		{errors.New("odd"), "failed"},
	} {
		if got := db.Outcome(c.err); got != c.want {
			t.Errorf("%v: %s, not %s", c.err, got, c.want)
		}
	}
}

func TestOperation(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT 1": "select", "\n\tselect\n1": "select", "WITH a AS (SELECT 1) SELECT 2": "with", "(SELECT 1)": "select", "COMMIT": "commit", "": "",
	} {
		if got := db.Operation(query); got != want {
			t.Errorf("%q: %q, not %q", query, got, want)
		}
	}
}
