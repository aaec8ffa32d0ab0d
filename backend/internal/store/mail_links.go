package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const deadLink = "the link was used already or has expired"

// CreateMailLink implements member.LinkStore.
func (s *Store) CreateMailLink(ctx context.Context, l *member.MailLink) error {
	l.CreatedAt = s.time()
	l.ExpiresAt = l.CreatedAt.Add(member.LinkLifetime)
	_, err := s.engine.serviceWrite.NewInsert().Model(l).Exec(ctx)
	return translate(err)
}

// GetMailLink implements member.LinkStore.
func (s *Store) GetMailLink(ctx context.Context, hash string, purpose member.LinkPurpose) (*member.MailLink, error) {
	l := &member.MailLink{}
	err := s.engine.serviceRead.NewSelect().Model(l).ColumnExpr("?TableAlias.*").ColumnExpr("members.username").
		Join("JOIN members ON members.id = ?TableAlias.member_id AND members.email = ?TableAlias.email").
		Where("?TableAlias.hash = ?", hash).Where("?TableAlias.purpose = ?", purpose).Where("?TableAlias.expires_at > ?", s.time()).
		Where("members.suspended_at IS NULL" + writable).Scan(ctx)
	return found(l, err, deadLink)
}

// useLink deletes a link that works and returns it.
func (s *Store) useLink(ctx context.Context, tx bun.Tx, hash string, purpose member.LinkPurpose) (*member.MailLink, error) {
	l := &member.MailLink{}
	err := tx.NewRaw(`DELETE FROM mail_links WHERE hash = ? AND purpose = ? AND expires_at > ?
AND EXISTS (SELECT 1 FROM members WHERE members.id = mail_links.member_id AND members.email = mail_links.email
AND members.suspended_at IS NULL`+writable+`) RETURNING *`, hash, purpose, s.time()).Scan(ctx, l)
	return found(l, err, deadLink)
}

// ResetPassword implements member.LinkStore.
func (s *Store) ResetPassword(ctx context.Context, linkHash, passwordHash string) error {
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		l, err := s.useLink(ctx, tx, linkHash, member.PurposeReset)
		if err != nil {
			return err
		}
		if err := s.replacePassword(ctx, tx, l.MemberID, passwordHash); err != nil {
			return err
		}
		return s.verify(ctx, tx, l)
	})
	return translate(err)
}

// VerifyEmail implements member.LinkStore.
func (s *Store) VerifyEmail(ctx context.Context, linkHash string) error {
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		l, err := s.useLink(ctx, tx, linkHash, member.PurposeVerify)
		if err != nil {
			return err
		}
		return s.verify(ctx, tx, l)
	})
	return translate(err)
}

func (s *Store) verify(ctx context.Context, tx bun.Tx, l *member.MailLink) error {
	result, err := tx.NewRaw(markVerified, s.time(), s.time(), l.MemberID, l.Email).Exec(ctx)
	return mustMeet(result, err, deadLink)
}

// CreateSignUp implements member.LinkStore.
func (s *Store) CreateSignUp(ctx context.Context, row *member.SignUp) error {
	row.CreatedAt = s.time()
	row.ExpiresAt = row.CreatedAt.Add(member.LinkLifetime)
	// The column of the password is of versions that asked for it too early.
	_, err := s.engine.serviceWrite.NewInsert().Model(row).Value("password_hash", "''").Exec(ctx)
	return translate(err)
}

// GetSignUp implements member.LinkStore.
func (s *Store) GetSignUp(ctx context.Context, hash string) (*member.SignUp, error) {
	row := &member.SignUp{}
	err := s.engine.serviceRead.NewSelect().Model(row).Where("hash = ?", hash).Where("expires_at > ?", s.time()).Scan(ctx)
	return found(row, err, deadLink)
}

// CompleteSignUp implements member.LinkStore.
func (s *Store) CompleteSignUp(ctx context.Context, hash, username, passwordHash string) (*member.Member, error) {
	memberID, err := s.ids.New(id.Member)
	if err != nil {
		return nil, err
	}
	m := &member.Member{ID: tenant.ID(memberID), Username: username, PasswordHash: passwordHash, Plan: member.PlanFree, Timezone: "UTC", Locale: "en"}
	err = s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		return s.completeSignUp(ctx, tx, hash, m)
	})
	if isTaken(err) {
		return nil, fault.New(fault.AlreadyExists, "the username %q is taken; choose another", username)
	}
	if err != nil {
		return nil, translate(err)
	}
	return m, nil
}

func (s *Store) completeSignUp(ctx context.Context, tx bun.Tx, hash string, m *member.Member) error {
	err := tx.NewRaw("DELETE FROM sign_ups WHERE hash = ? AND expires_at > ? RETURNING email", hash, s.time()).Scan(ctx, &m.Email)
	if _, err = found(m, err, deadLink); err != nil {
		return err
	}
	var taken string
	err = tx.NewRaw("SELECT id FROM members WHERE email = ?", m.Email).Scan(ctx, &taken)
	if err == nil {
		return fault.New(fault.Conflict, "there is an account with this e-mail address already; sign in")
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, err := tx.NewRaw("DELETE FROM sign_ups WHERE email = ?", m.Email).Exec(ctx); err != nil {
		return err
	}
	now := s.time()
	m.CreatedAt, m.UpdatedAt, m.EmailVerifiedAt = now, now, now
	return insertMember(ctx, tx, m, newProfile(m), false)
}

// newProfile is the empty, private page that each member begins with.
func newProfile(m *member.Member) *profile.Profile {
	return &profile.Profile{MemberID: m.ID, Name: m.Username, Username: m.Username, Visibility: profile.Private, UpdatedAt: m.CreatedAt}
}
