package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// keepSecret stores a paid answer with an idempotency key for the victim.
func keepSecret(t *testing.T, s *db.DB, owner tenant.ID) idempotency.Key {
	t.Helper()
	key := idempotency.Key{Scope: "pat_victim", Name: "key", Fingerprint: "print", Tenant: owner}
	_, err := dbtest.Keys(t, s).KeepAnswer(t.Context(), key, &billing.Charge{Tenant: owner, Tool: secret, Price: 1, CredentialID: key.Scope, CredentialName: secret}, func(billing.Receipt) ([]byte, error) {
		return []byte(secret), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// paidReads are the reads of credits and idempotency keys, with the victim's key.
func paidReads(data *db.Tenant) map[string]attempt {
	return map[string]attempt{
		"OpenMonth": func(ctx context.Context, v victim) (any, error) {
			return v.ledger.OpenMonth(ctx, data.TenantID())
		},
		"WriteOnce": func(ctx context.Context, v victim) (any, error) {
			answer, err := v.keys.WriteOnce(ctx, data, db.Actor{}, v.key, func(context.Context, *db.Tx) ([]byte, error) {
				return []byte("{}"), nil
			})
			return string(answer), err
		},
		"ListReads": func(ctx context.Context, _ victim) (any, error) { return billing.ListReads(ctx, data, time.Time{}) },
	}
}

// paidWrites are the writes of credits.
func paidWrites(u *db.Tx) map[string]attempt {
	return map[string]attempt{
		"Charge": func(ctx context.Context, v victim) (any, error) {
			return v.ledger.ChargeTx(ctx, u, billing.MonthOf(u.Now()), 1)
		},
		"CountRead": func(ctx context.Context, _ victim) (any, error) { return nil, billing.CountRead(ctx, u) },
	}
}
