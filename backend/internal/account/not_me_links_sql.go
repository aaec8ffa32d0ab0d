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
	Email string
	// ChangedAt is when the address was replaced, if the email told of that: the link may restore it.
	ChangedAt time.Time `bun:",nullzero"`
	CreatedAt time.Time
	ExpiresAt time.Time
	// Username and Present, the current address, are the member's; they are read with the link.
	Username string `bun:",scanonly"`
	Present  string `bun:",scanonly"`
	// Restores is set if Email becomes the member's address again.
	Restores bool `bun:",scanonly"`
}

// CreateNotMeLink stores a link for an address, and returns its secret. The address is the member's, or
// the one that was replaced last: then the link tells of that change, and may restore the address. It
// fails with fault.NotFound for any other address, such as one that a link took back in the meantime.
func CreateNotMeLink(ctx context.Context, s *db.DB, owner tenant.ID, email string) (secret string, err error) {
	if secret, err = NewSecret(""); err != nil {
		return "", err
	}
	l := &NotMeLink{Hash: HashSecret(secret), MemberID: owner, Email: email, CreatedAt: s.Now(), ExpiresAt: s.Now().Add(NotMeLifetime)}
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		if _, err := lockMember(ctx, tx, owner, shareLock); err != nil {
			return err
		}
		var present bool
		if err := tx.NewRaw("SELECT email = ? FROM members WHERE id = ?", email, owner).Scan(ctx, &present); err != nil {
			return err
		}
		l.ChangedAt = time.Time{}
		if !present {
			err := tx.NewRaw(`SELECT ended_at FROM member_addresses WHERE member_id = ? AND email = ?
AND ended_at = (SELECT max(ended_at) FROM member_addresses WHERE member_id = ?)`, owner, email, owner).Scan(ctx, &l.ChangedAt)
			if _, err = db.Found(l, err, "the address is not the member's any more"); err != nil {
				return err
			}
		}
		_, err := tx.NewInsert().Model(l).Exec(ctx)
		return err
	})
	return secret, err
}

// GetNotMeLink returns a valid link, without using it up, or fault.NotFound.
func GetNotMeLink(ctx context.Context, s *db.DB, hash string) (*NotMeLink, error) {
	l := &NotMeLink{}
	err := s.NewSelect().Model(l).ColumnExpr("?TableColumns").ColumnExpr("members.username, members.email AS present").
		ColumnExpr("EXISTS (SELECT 1 FROM member_addresses a WHERE a.member_id = ?TableAlias.member_id AND a.email = ?TableAlias.email AND a.ended_at = ?TableAlias.changed_at) AS restores").
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
	// be sent there.
	Reset bool
	// Replaced is the address from which the link took the account back; empty if it restored none.
	Replaced string
	// Taken is set if Email was not restored because another member has it.
	Taken bool
}

// UseNotMeLink uses up a link. It ends all access like RevokeEverything, and removes the password and
// unconfirmed changes of the address.
//
// If the link went to the member's present address, or tells of the change that replaced its address, it also removes
// second factors that were added at the time of the event or later, because a thief's second factor
// would lock the member out. In the second case the address becomes the member's again. A link of
// before a change of the address ends access only, because the mailbox may be somebody else's by now.
//
// The links that went to other addresses end. One that tells of an earlier change survives a link
// that does not: otherwise a thief who changed the address could end the owner's way back.
//
// It fails with fault.NotFound if the link is not valid.
func UseNotMeLink(ctx context.Context, s *db.DB, hash string) (*EndedAccess, error) {
	done := &EndedAccess{}
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		*done = EndedAccess{}
		var owner tenant.ID
		err := tx.NewRaw("SELECT member_id FROM not_me_links WHERE hash = ?", hash).Scan(ctx, &owner)
		if _, err = db.Found(&owner, err, deadLink); err != nil {
			return err
		}
		if _, err := lockMember(ctx, tx, owner, changeLock); err != nil {
			return err
		}
		l := &NotMeLink{}
		err = tx.NewRaw("DELETE FROM not_me_links WHERE hash = ? AND expires_at > ? RETURNING member_id, email, changed_at, created_at", hash, s.Now()).
			Scan(ctx, l)
		if _, err = db.Found(l, err, deadLink); err != nil {
			return err
		}
		done.MemberID, done.Email = l.MemberID, l.Email
		if err := replacePassword(ctx, s, tx, l.MemberID, ""); err != nil {
			return err
		}
		return takeBack(ctx, s, tx, l, done)
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// takeBack removes what was added since a link was sent, and restores its address, as far as the link
// may do that.
func takeBack(ctx context.Context, s *db.DB, tx db.Querier, l *NotMeLink, done *EndedAccess) error {
	var present string
	if err := tx.NewRaw("SELECT email FROM members WHERE id = ?", l.MemberID).Scan(ctx, &present); err != nil {
		return err
	}
	restores, err := mayRestore(ctx, tx, l)
	if err != nil || present != l.Email && !restores {
		return err // it ends access only
	}
	if err := deleteFactorsSince(ctx, tx, l.MemberID, l.CreatedAt.Add(-notMeMargin)); err != nil {
		return err
	}
	others, args := "changed_at IS NULL", []any{l.MemberID, l.Email}
	if restores {
		others, args = "(changed_at IS NULL OR changed_at >= ?)", append(args, l.ChangedAt)
	}
	if _, err := tx.NewRaw("DELETE FROM not_me_links WHERE member_id = ? AND email <> ? AND "+others, args...).Exec(ctx); err != nil {
		return err
	}
	if present != l.Email {
		if done.Taken, err = isTaken(ctx, tx, l); err != nil || done.Taken {
			return err
		}
		done.Replaced = present
		// The change is taken back, with those after it.
		if _, err := tx.NewRaw("DELETE FROM member_addresses WHERE member_id = ? AND ended_at >= ?", l.MemberID, l.ChangedAt).Exec(ctx); err != nil {
			return err
		}
	}
	done.Reset = true
	// The link was opened, so the address is verified.
	_, err = tx.NewRaw("UPDATE members SET email = ?, email_verified_at = CASE WHEN email = ? THEN coalesce(email_verified_at, ?) ELSE ? END WHERE id = ?",
		l.Email, l.Email, s.Now(), s.Now(), l.MemberID).Exec(ctx)
	return err
}

// mayRestore reports whether a link tells of the last change that replaced its address.
func mayRestore(ctx context.Context, tx db.Querier, l *NotMeLink) (bool, error) {
	if l.ChangedAt.IsZero() {
		return false, nil
	}
	var found int
	err := tx.NewRaw("SELECT 1 FROM member_addresses WHERE member_id = ? AND email = ? AND ended_at = ?", l.MemberID, l.Email, l.ChangedAt).Scan(ctx, &found)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// isTaken reports whether another member has the address of a link.
func isTaken(ctx context.Context, tx db.Querier, l *NotMeLink) (bool, error) {
	var taken string
	err := tx.NewRaw("SELECT id FROM members WHERE email = ? AND id <> ?", l.Email, l.MemberID).Scan(ctx, &taken)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
