package integration_test

import (
	"context"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// keepCards gives a member a device that got the card of a person, and that proposes another one; both have a word.
func keepCards(t *testing.T, s *db.DB, owner tenant.ID, connectionID, word string) {
	t.Helper()
	device, _ := account.NewDevice(account.Access{Owner: owner, Epoch: dbtest.Epoch(t, s, owner)}, word, false)
	if err := account.CreatePersonalToken(t.Context(), s, device); err != nil {
		t.Fatal(err)
	}
	err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
		for _, statement := range []string{
			"INSERT INTO cards (tenant_id, name, connection_id, uid) VALUES (?0, 'a.vcf', ?1, '')",
			"INSERT INTO device_cards (tenant_id, connection_id, device_id, etag, photo, card) VALUES (?0, ?1, ?2, ?3, '', ?6)",
			"INSERT INTO device_groups (tenant_id, group_id, device_id, etag, card, pending) VALUES (?0, 'grp_aa000aa000', ?2, ?3, ?6, ?3)",
			`INSERT INTO proposals (tenant_id, id, connection_id, device_id, device_name, fingerprint, fields, base, base_photo, card, photo, state, created_at)
VALUES (?0, 'pro_aa000aa000', ?1, ?2, ?3, ?3, '', '', '', ?5, '', 'waiting', ?4)`,
		} {
			if _, err := u.NewRaw(statement, u.TenantID(), connectionID, device.ID, word, u.Now(), "BEGIN:VCARD\nVERSION:3.0\nFN:"+word+"\nEND:VCARD\n", []byte(word)).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// cardReads are the reads of what devices propose.
func cardReads(data *db.Tenant) map[string]attempt {
	return map[string]attempt{
		"ListProposals": func(ctx context.Context, _ victim) (any, error) {
			waiting, decided, err := dav.ListProposals(ctx, data, 10)
			return append(waiting, decided...), err
		},
		"CountWaiting": func(ctx context.Context, _ victim) (any, error) {
			n, err := dav.CountWaiting(ctx, data)
			if n > 0 {
				return secret, err
			}
			return n, err
		},
	}
}

// cardWrites are the decisions on what devices propose.
func cardWrites(u *db.Tx) map[string]attempt {
	decided := func(err error) (any, error) {
		if err == nil {
			return secret, nil
		}
		return nil, err
	}
	return map[string]attempt{
		"Approve": func(ctx context.Context, v victim) (any, error) {
			_, err := dav.Approve(ctx, u, &tenant.Principal{Tenant: v.tenant}, "pro_aa000aa000")
			return decided(err)
		},
		"Refuse": func(ctx context.Context, _ victim) (any, error) { return decided(dav.Refuse(ctx, u, "pro_aa000aa000")) },
	}
}
