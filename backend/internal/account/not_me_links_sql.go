package account

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// NotMeLifetime is how long a NotMeLink works.
const NotMeLifetime = 7 * 24 * time.Hour

// notMeMargin is the maximum time between a security event and the creation of its link.
const notMeMargin = 10 * time.Minute

// NotMeLink is a single-use link in an email about a security event, with which the member says
// "this was not me", and its row. Using it ends all access to the account, and gives none.
type NotMeLink struct {
	Hash     string `bun:",pk"`
	MemberID tenant.ID
	// Email is the address to which the link was sent, the member's at that time.
	Email     string
	CreatedAt time.Time
	ExpiresAt time.Time
	// Username and Present, the current address, are the member's; they are read with the link.
	Username string `bun:",scanonly"`
	Present  string `bun:",scanonly"`
}

// CreateNotMeLink stores a link for an address, and returns its secret.
func CreateNotMeLink(ctx context.Context, s *db.DB, owner tenant.ID, email string) (secret string, err error) {
	if secret, err = NewSecret(""); err != nil {
		return "", err
	}
	l := &NotMeLink{Hash: HashSecret(secret), MemberID: owner, Email: email, CreatedAt: s.Now(), ExpiresAt: s.Now().Add(NotMeLifetime)}
	_, err = s.NewInsert().Model(l).Exec(ctx)
	return secret, err
}

// GetNotMeLink returns a valid link, without using it up, or fault.NotFound.
func GetNotMeLink(ctx context.Context, s *db.DB, hash string) (*NotMeLink, error) {
	l := &NotMeLink{}
	err := s.NewSelect().Model(l).ColumnExpr("?TableAlias.*").ColumnExpr("members.username, members.email AS present").
		Join("JOIN members ON members.id = ?TableAlias.member_id").
		Where("?TableAlias.hash = ?", hash).Where("?TableAlias.expires_at > ?", s.Now()).Scan(ctx)
	return db.Found(l, err, deadLink)
}

// EndedAccess says what UseNotMeLink did.
type EndedAccess struct {
	MemberID tenant.ID
	// Email is the address to which the link was sent.
	Email string
	// Reset is set if Email is the member's address now, so that a link to choose a new password can
	// be sent there. It is not set if the address now belongs to another member.
	Reset bool
}

// UseNotMeLink uses up a link. It ends all access like RevokeEverything, and removes the password,
// unconfirmed changes of the address, and second factors that were added at the time of the event or
// later, because a thief's second factor would lock the member out. If the address was changed since
// the link was sent, it is changed back. It fails with fault.NotFound if the link is not valid.
func UseNotMeLink(ctx context.Context, s *db.DB, hash string) (*EndedAccess, error) {
	done := &EndedAccess{}
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		*done = EndedAccess{}
		var sent time.Time
		// Lock the member first, in the same order as DeleteMember, which also deletes the link.
		if lock := db.LockRows(tx, "FOR UPDATE"); lock != "" {
			_, err := tx.NewRaw("SELECT id FROM members WHERE id = (SELECT member_id FROM not_me_links WHERE hash = ?)"+lock, hash).Exec(ctx)
			if err != nil {
				return err
			}
		}
		err := tx.NewRaw("DELETE FROM not_me_links WHERE hash = ? AND expires_at > ? RETURNING member_id, email, created_at", hash, s.Now()).
			Scan(ctx, &done.MemberID, &done.Email, &sent)
		if _, err = db.Found(done, err, deadLink); err != nil {
			return err
		}
		if err := replacePassword(ctx, s, tx, done.MemberID, ""); err != nil {
			return err
		}
		if err := deleteFactorsSince(ctx, tx, done.MemberID, sent.Add(-notMeMargin)); err != nil {
			return err
		}
		var taken string
		err = tx.NewRaw("SELECT id FROM members WHERE email = ? AND id <> ?", done.Email, done.MemberID).Scan(ctx, &taken)
		if err == nil {
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		done.Reset = true
		// The link was opened, so the address is verified.
		_, err = tx.NewRaw("UPDATE members SET email = ?, email_verified_at = CASE WHEN email = ? THEN coalesce(email_verified_at, ?) ELSE ? END WHERE id = ?",
			done.Email, done.Email, s.Now(), s.Now(), done.MemberID).Exec(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}
