package account

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// GetSettings returns the member's settings. It fails with fault.NotFound if the member
// does not exist any more.
func GetSettings(ctx context.Context, r db.Reader) (s Settings, err error) {
	err = r.NewRaw("SELECT timezone, locale FROM members WHERE id = ?", r.TenantID()).Scan(ctx, &s.Timezone, &s.Locale)
	if errors.Is(err, sql.ErrNoRows) {
		err = fault.New(fault.NotFound, "there is no such member")
	}
	return s, err
}

func setSettings(ctx context.Context, tx *db.Tx, s Settings) error {
	_, err := tx.NewRaw("UPDATE members SET timezone = ?, locale = ?, updated_at = ? WHERE id = ?",
		s.Timezone, s.Locale, tx.Now(), tx.TenantID()).Exec(ctx)
	return err
}
