package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/profile"
)

// profileRestorer puts the member's own page back.
type profileRestorer struct{ u *Unit }

// Current implements change.Restorer.
func (r profileRestorer) Current(ctx context.Context, _ string) (any, error) {
	return r.u.GetOwnProfile(ctx)
}

// Restore implements change.Restorer. A page is never removed.
func (r profileRestorer) Restore(ctx context.Context, _ string, to json.RawMessage) error {
	var p profile.Profile
	if err := json.Unmarshal(to, &p); err != nil {
		return fmt.Errorf("read recorded profile: %w", err)
	}
	present, err := r.u.GetOwnProfile(ctx)
	if err != nil {
		return err
	}
	p.UpdatedAt = present.UpdatedAt
	return r.u.ReplaceProfile(ctx, &p)
}
