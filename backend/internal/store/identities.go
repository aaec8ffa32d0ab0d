package store

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/provider"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const deadAttempt = "the sign-in is over already or has expired"

// CreateProviderAttempt implements provider.Store.
func (s *Store) CreateProviderAttempt(ctx context.Context, a *provider.Attempt) error {
	a.CreatedAt = s.time()
	a.ExpiresAt = a.CreatedAt.Add(provider.AttemptLifetime)
	_, err := s.engine.serviceWrite.NewInsert().Model(a).ModelTableExpr("provider_attempts").Exec(ctx)
	return translate(err)
}

// livingAttempt is the condition that an attempt of a browser is not over; the
// subject tells what it waits for.
const livingAttempt = "hash = ? AND browser_hash = ? AND expires_at > ?"

// UseProviderAttempt implements provider.Store.
func (s *Store) UseProviderAttempt(ctx context.Context, hash, browserHash string) (*provider.Attempt, error) {
	a := &provider.Attempt{}
	err := s.engine.serviceWrite.NewRaw("DELETE FROM provider_attempts WHERE "+livingAttempt+" AND subject = '' RETURNING *",
		hash, browserHash, s.time()).Scan(ctx, a)
	return found(a, err, deadAttempt)
}

// GetProviderAttempt implements provider.Store.
func (s *Store) GetProviderAttempt(ctx context.Context, hash, browserHash string) (*provider.Attempt, error) {
	a := &provider.Attempt{}
	err := s.engine.serviceRead.NewRaw("SELECT * FROM provider_attempts WHERE "+livingAttempt+" AND subject <> ''",
		hash, browserHash, s.time()).Scan(ctx, a)
	return found(a, err, deadAttempt)
}

// LinkIdentity implements provider.Store.
func (s *Store) LinkIdentity(ctx context.Context, hash, browserHash string, owner tenant.ID) error {
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		a := &provider.Attempt{}
		err := tx.NewRaw("DELETE FROM provider_attempts WHERE "+livingAttempt+" AND subject <> '' RETURNING *",
			hash, browserHash, s.time()).Scan(ctx, a)
		if a, err = found(a, err, deadAttempt); err != nil {
			return err
		}
		return s.linkIdentity(ctx, tx, a, owner)
	})
	return translate(err)
}

// linkIdentity inserts the link, or finds that it is there; the unique keys decide
// between two at a time.
func (s *Store) linkIdentity(ctx context.Context, tx bun.Tx, a *provider.Attempt, owner tenant.ID) error {
	_, err := tx.NewRaw(`INSERT INTO linked_identities (issuer, subject, member_id, created_at, last_used_at)
SELECT ?, ?, id, ?, ? FROM members WHERE id = ? AND suspended_at IS NULL`+writable+" ON CONFLICT DO NOTHING",
		a.Issuer, a.Subject, s.time(), s.time(), owner).Exec(ctx)
	if err != nil {
		return err
	}
	var links []provider.LinkedIdentity
	err = tx.NewRaw("SELECT * FROM linked_identities WHERE issuer = ? AND (subject = ? OR member_id = ?)", a.Issuer, a.Subject, owner).Scan(ctx, &links)
	switch {
	case err != nil:
		return err
	case len(links) == 0:
		return fault.New(fault.NotFound, "there is no such member who may sign in")
	case len(links) > 1 || links[0].MemberID != owner || links[0].Subject != a.Subject:
		return fault.New(fault.Conflict, "the identity, or the member, is linked to another already")
	}
	return nil
}

// UseIdentity implements provider.Store.
func (s *Store) UseIdentity(ctx context.Context, issuer, subject string) (*provider.LinkedIdentity, error) {
	link := &provider.LinkedIdentity{}
	err := s.engine.serviceWrite.NewRaw(`UPDATE linked_identities SET last_used_at = ? WHERE issuer = ? AND subject = ?
AND EXISTS (SELECT 1 FROM members WHERE members.id = linked_identities.member_id AND members.suspended_at IS NULL`+writable+") RETURNING *",
		s.time(), issuer, subject).Scan(ctx, link)
	return found(link, err, "the identity is linked to nobody who may sign in")
}

// ListIdentities implements provider.Store.
func (s *Store) ListIdentities(ctx context.Context, owner tenant.ID) ([]provider.LinkedIdentity, error) {
	var links []provider.LinkedIdentity
	err := s.engine.serviceRead.NewSelect().Model(&links).Where("member_id = ?", owner).Order("created_at", "issuer").Scan(ctx)
	return links, translate(err)
}

// DeleteIdentities implements provider.Store.
func (s *Store) DeleteIdentities(ctx context.Context, owner tenant.ID) error {
	_, err := s.engine.serviceWrite.NewRaw("DELETE FROM linked_identities WHERE member_id = ?", owner).Exec(ctx)
	return translate(err)
}
