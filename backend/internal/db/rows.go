package db

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// MustMeet turns a statement that met no row into fault.NotFound.
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

// Found names what is missing when there was no row.
func Found[T any](row *T, err error, missing string) (*T, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "%s", missing)
	}
	if err != nil {
		return nil, err
	}
	return row, nil
}

// LikeEscape makes text match itself in LIKE … ESCAPE '\'.
func LikeEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}
