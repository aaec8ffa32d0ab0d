package account

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
)

// profileRestorer restores the member's own page.
type profileRestorer struct{ tx *db.Tx }

func (r profileRestorer) get(ctx context.Context, _ string) (any, error) {
	return GetOwnProfile(ctx, r.tx)
}

// put restores the page, which is never removed.
func (r profileRestorer) put(ctx context.Context, _ string, to json.RawMessage) error {
	var p Profile
	if err := json.Unmarshal(to, &p); err != nil {
		return fmt.Errorf("read recorded profile: %w", err)
	}
	present, err := GetOwnProfile(ctx, r.tx)
	if err != nil {
		return err
	}
	p.UpdatedAt = present.UpdatedAt
	return ReplaceProfile(ctx, r.tx, &p)
}

// RestoreProfile returns the restorer of profiles.
func RestoreProfile(tx *db.Tx) history.Restorer {
	r := profileRestorer{tx}
	return history.Single{Get: r.get, Put: r.put}
}
