package account

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const deadLink = "the link was used already or has expired"

// CreateMailLink stores a link for LinkLifetime.
func CreateMailLink(ctx context.Context, s *db.DB, l *MailLink) error {
	l.CreatedAt = s.Now()
	l.ExpiresAt = l.CreatedAt.Add(LinkLifetime)
	_, err := s.NewInsert().Model(l).Exec(ctx)
	return err
}

// GetMailLink returns a valid link, without using it up.
func GetMailLink(ctx context.Context, s *db.DB, hash string, purpose LinkPurpose) (*MailLink, error) {
	l := &MailLink{}
	err := s.NewSelect().Model(l).ColumnExpr("?TableColumns").ColumnExpr("members.username").
		Join("JOIN members ON members.id = ?TableAlias.member_id AND members.email = ?TableAlias.email").
		Where("?TableAlias.hash = ?", hash).Where("?TableAlias.purpose = ?", purpose).Where("?TableAlias.expires_at > ?", s.Now()).
		Where("members.suspended_at IS NULL" + Writable + notDisputed).Scan(ctx)
	return db.Found(l, err, deadLink)
}

// useLink deletes a valid link and returns it. It locks the member first. Otherwise two concurrent
// calls for links of one member could deadlock, because each use deletes the member's other links.
func useLink(ctx context.Context, s *db.DB, tx db.Querier, hash string, purpose LinkPurpose) (*MailLink, error) {
	if lock := db.LockRows(tx, string(changeLock)); lock != "" {
		_, err := tx.NewRaw("SELECT id FROM members WHERE id = (SELECT member_id FROM mail_links WHERE hash = ?)"+lock, hash).Exec(ctx)
		if err != nil {
			return nil, err
		}
	}
	l := &MailLink{}
	err := tx.NewRaw(`DELETE FROM mail_links WHERE hash = ? AND purpose = ? AND expires_at > ?
AND EXISTS (SELECT 1 FROM members WHERE members.id = mail_links.member_id AND members.email = mail_links.email
AND members.suspended_at IS NULL`+Writable+notDisputed+`) RETURNING ?`, hash, purpose, s.Now(), db.Columns[MailLink](s)).Scan(ctx, l)
	return db.Found(l, err, deadLink)
}

// ResetPassword uses up a reset link: it replaces the password's hash and ends every
// login session, grant, personal token and linked identity of the member. It marks
// the address as verified.
func ResetPassword(ctx context.Context, s *db.DB, linkHash, passwordHash string) error {
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		l, err := useLink(ctx, s, tx, linkHash, PurposeReset)
		if err != nil {
			return err
		}
		if err := replacePassword(ctx, s, tx, l.MemberID, passwordHash); err != nil {
			return err
		}
		return verify(ctx, s, tx, l)
	})
	return err
}

// VerifyEmail uses up a verification link.
func VerifyEmail(ctx context.Context, s *db.DB, linkHash string) error {
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		l, err := useLink(ctx, s, tx, linkHash, PurposeVerify)
		if err != nil {
			return err
		}
		return verify(ctx, s, tx, l)
	})
	return err
}

// ChangeEmail sets the member's e-mail address to the one to which the link was sent, marks it as
// verified, and deletes the link. It ends every login session except the one to keep, and every
// other mail link of the member; agents and tokens keep their access. It fails with
// fault.NotFound if the link has expired, was used, or belongs to another member. It fails with
// fault.Conflict if another member has the address; then the link remains. It starts a new epoch of
// access, and fails with ErrAccessEnded if the access was revoked.
func ChangeEmail(ctx context.Context, s *db.DB, a Access, keep, linkHash string) error {
	owner := a.Owner
	err := changeAccess(ctx, s, a, func(ctx context.Context, tx db.Querier) error {
		l, err := useLink(ctx, s, tx, linkHash, PurposeChange)
		if err != nil {
			return err
		}
		if l.MemberID != owner {
			return fault.New(fault.NotFound, deadLink)
		}
		result, err := tx.NewRaw("UPDATE members SET email = ?, email_verified_at = ?, access_epoch = access_epoch + 1, updated_at = ? WHERE id = ? AND email = ?"+Writable,
			l.NewEmail, s.Now(), s.Now(), owner, l.Email).Exec(ctx)
		if err := db.MustMeet(result, err, deadLink); err != nil {
			return err
		}
		if err := recordAddress(ctx, s, tx, owner, l.Email); err != nil {
			return err
		}
		if _, err := tx.NewRaw("DELETE FROM login_sessions WHERE member_id = ? AND hash <> ?", owner, keep).Exec(ctx); err != nil {
			return err
		}
		_, err = tx.NewRaw("DELETE FROM mail_links WHERE member_id = ?", owner).Exec(ctx)
		return err
	})
	if db.IsTaken(err) {
		return fault.New(fault.Conflict, "another account has this e-mail address")
	}
	return err
}

// recordAddress stores that an address was the member's until now.
func recordAddress(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID, email string) error {
	_, err := tx.NewRaw(`INSERT INTO member_addresses (member_id, email, ended_at) VALUES (?, ?, ?)
ON CONFLICT (member_id, email) DO UPDATE SET ended_at = excluded.ended_at`, owner, email, s.Now()).Exec(ctx)
	return err
}

func verify(ctx context.Context, s *db.DB, tx db.Querier, l *MailLink) error {
	result, err := tx.NewRaw(markVerified, s.Now(), s.Now(), l.MemberID, l.Email).Exec(ctx)
	return db.MustMeet(result, err, deadLink)
}

// CreateSignUp stores a sign-up for LinkLifetime.
func CreateSignUp(ctx context.Context, s *db.DB, row *SignUp) error {
	row.CreatedAt = s.Now()
	row.ExpiresAt = row.CreatedAt.Add(LinkLifetime)
	_, err := s.NewInsert().Model(row).Exec(ctx)
	return err
}

// GetSignUp returns an open sign-up, without using it up.
func GetSignUp(ctx context.Context, s *db.DB, hash string) (*SignUp, error) {
	row := &SignUp{}
	err := s.NewSelect().Model(row).Where("hash = ?", hash).Where("expires_at > ?", s.Now()).Scan(ctx)
	return db.Found(row, err, deadLink)
}

// CompleteSignUp creates the member, with a username and a password of their choice,
// and uses up every sign-up of the address. It fails with fault.AlreadyExists if the
// username is taken, and with fault.Conflict if the address belongs to a member; the
// sign-up then stays.
func CompleteSignUp(ctx context.Context, s *db.DB, hash, username, passwordHash string) (*Member, error) {
	memberID, err := s.NewID(id.Member)
	if err != nil {
		return nil, err
	}
	m := &Member{ID: tenant.ID(memberID), Username: username, PasswordHash: passwordHash, Plan: PlanFree, Timezone: "UTC", Locale: "en"}
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		return completeSignUp(ctx, s, tx, hash, m)
	})
	if db.IsTaken(err) {
		return nil, fault.New(fault.AlreadyExists, "the username %q is taken; choose another", username)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func completeSignUp(ctx context.Context, s *db.DB, tx db.Querier, hash string, m *Member) error {
	err := tx.NewRaw("DELETE FROM sign_ups WHERE hash = ? AND expires_at > ? RETURNING email", hash, s.Now()).Scan(ctx, &m.Email)
	if _, err = db.Found(m, err, deadLink); err != nil {
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
	now := s.Now()
	m.CreatedAt, m.UpdatedAt, m.EmailVerifiedAt = now, now, now
	return InsertMembers(ctx, tx, []Member{*m}, []Profile{newProfile(m)})
}

// newProfile returns the empty, private profile of a new member.
func newProfile(m *Member) Profile {
	return Profile{MemberID: m.ID, Name: m.Username, Username: m.Username, Visibility: Private, UpdatedAt: m.CreatedAt}
}
