package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/securityevent"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// keepSecurityEvents is how long security events are kept.
const keepSecurityEvents = 90 * 24 * time.Hour

// CreateSecurityEvent implements securityevent.Store.
func (s *Store) CreateSecurityEvent(ctx context.Context, e *securityevent.Event) error {
	e.At = s.time()
	_, err := s.engine.serviceWrite.NewInsert().Model(e).Exec(ctx)
	return translate(err)
}

// ListSecurityEvents implements securityevent.Store.
func (s *Store) ListSecurityEvents(ctx context.Context, owner tenant.ID, limit int) ([]securityevent.Event, error) {
	var events []securityevent.Event
	err := s.engine.serviceRead.NewSelect().Model(&events).Where("tenant_id = ?", owner).Order("id DESC").Limit(int64(limit)).Scan(ctx)
	return events, translate(err)
}

// SuspendMember shuts a member out: no sign-in, token or grant works, and their
// page and directory entry are gone. Their login sessions end; the rest works again
// after ResumeMember. It fails with fault.NotFound when there is no such member, and
// with fault.Conflict when the member is suspended already.
func (s *Store) SuspendMember(ctx context.Context, username string) (owner tenant.ID, err error) {
	err = s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		now := s.time()
		owner, err = s.setSuspended(ctx, tx, username, "UPDATE members SET suspended_at = ?, updated_at = ? WHERE username = ? AND suspended_at IS NULL", now, now)
		if err != nil {
			return err
		}
		for _, statement := range []string{
			"DELETE FROM authorization_requests WHERE session_hash IN (SELECT hash FROM login_sessions WHERE member_id = ?)",
			"DELETE FROM login_sessions WHERE member_id = ?",
		} {
			if _, err := tx.NewRaw(statement, owner).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return owner, translate(err)
}

// ResumeMember lets a suspended member in again. It fails with fault.NotFound when
// there is no such member, and with fault.Conflict when the member is not suspended.
func (s *Store) ResumeMember(ctx context.Context, username string) (owner tenant.ID, err error) {
	err = s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		owner, err = s.setSuspended(ctx, tx, username, "UPDATE members SET suspended_at = NULL, updated_at = ? WHERE username = ? AND suspended_at IS NOT NULL", s.time())
		return err
	})
	return owner, translate(err)
}

func (s *Store) setSuspended(ctx context.Context, tx bun.Tx, username, statement string, args ...any) (owner tenant.ID, err error) {
	err = tx.NewRaw("SELECT id FROM members WHERE username = ?"+writable, username).Scan(ctx, &owner)
	if _, err = found(&owner, err, "there is no member "+username+" who can be suspended"); err != nil {
		return "", err
	}
	result, err := tx.NewRaw(statement, append(args, username)...).Exec(ctx)
	if err != nil {
		return "", err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return "", fault.New(fault.Conflict, "nothing to do: %s is in that state already", username)
	}
	return owner, nil
}

// ClientUse is a registered client, and how many members have let it in.
type ClientUse struct {
	grant.Client `bun:",extend"`

	// Grants that are not revoked.
	Grants int
}

// ListClients returns the clients that have grants, those of most grants first.
func (s *Store) ListClients(ctx context.Context) ([]ClientUse, error) {
	var clients []ClientUse
	err := s.engine.serviceRead.NewRaw(`SELECT c.id, c.name, c.created_at, c.last_used_at, count(*) AS grants
FROM clients c JOIN grants g ON g.client_id = c.id AND g.revoked_at IS NULL
GROUP BY c.id, c.name, c.created_at, c.last_used_at ORDER BY grants DESC, c.id`).Scan(ctx, &clients)
	return clients, translate(err)
}

// RevokeClient ends what a client holds or waits for, of all members, and returns
// the members who had let it in. It fails with fault.NotFound when there is no such
// client. The client stays registered: members can let it in again.
func (s *Store) RevokeClient(ctx context.Context, clientID string) (owners []tenant.ID, err error) {
	err = s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		var known string
		err := tx.NewRaw("SELECT id FROM clients WHERE id = ?", clientID).Scan(ctx, &known)
		if _, err = found(&known, err, "there is no client "+clientID); err != nil {
			return err
		}
		// In this order: a request that is answered meanwhile leaves a code, and a
		// code that is redeemed leaves a grant.
		for _, statement := range []string{
			"DELETE FROM authorization_requests WHERE client_id = ?",
			"DELETE FROM authorization_codes WHERE client_id = ? AND used_at IS NULL",
		} {
			if _, err := tx.NewRaw(statement, clientID).Exec(ctx); err != nil {
				return err
			}
		}
		return tx.NewRaw("UPDATE grants SET revoked_at = ? WHERE client_id = ? AND revoked_at IS NULL RETURNING member_id", s.time(), clientID).Scan(ctx, &owners)
	})
	return owners, translate(err)
}
