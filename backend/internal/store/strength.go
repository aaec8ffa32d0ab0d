package store

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/strength"
)

// GetStrength returns how close the member is to a person now; nothing for one who
// is not on file.
func (t *Tenant) GetStrength(ctx context.Context, connectionID string) (strength.Strength, error) {
	ctx, q := t.read(ctx)
	found, err := q.strengths(ctx, []string{connectionID}, t.store.time())
	return found[connectionID], translate(err)
}

// GetStrength is Tenant.GetStrength within the transaction.
func (u *Unit) GetStrength(ctx context.Context, connectionID string) (strength.Strength, error) {
	found, err := u.strengths(ctx, []string{connectionID}, u.now)
	return found[connectionID], err
}
