package store_test

import (
	"context"
	"testing"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// keepSecret gives the victim a keyed answer, which was paid for.
func keepSecret(t *testing.T, s *store.Store, owner tenant.ID) idempotency.Key {
	t.Helper()
	key := idempotency.Key{Scope: "pat_victim", Name: "key", Fingerprint: "print", Tenant: owner}
	_, err := s.KeepAnswer(t.Context(), key, &credit.Charge{Tenant: owner, Tool: secret, Price: 1}, func(credit.Receipt) ([]byte, error) {
		return []byte(secret), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// paidReads drives what a Tenant does about credits and keys, with the victim's key.
func paidReads(data *store.Tenant) map[string]attempt {
	return map[string]attempt{
		"OpenMonth": func(ctx context.Context, _ victim) (any, error) { return data.OpenMonth(ctx) },
		"WriteOnce": func(ctx context.Context, v victim) (any, error) {
			answer, err := data.WriteOnce(ctx, store.Actor{}, v.key, func(context.Context, *store.Unit) ([]byte, error) {
				return []byte("{}"), nil
			})
			return string(answer), err
		},
	}
}

// paidWrites drives what a Unit does about credits.
func paidWrites(u *store.Unit) map[string]attempt {
	return map[string]attempt{
		"Charge": func(ctx context.Context, _ victim) (any, error) {
			return u.Charge(ctx, credit.MonthOf(u.Now()), 1)
		},
	}
}
