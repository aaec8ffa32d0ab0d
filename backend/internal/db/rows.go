package db

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

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
