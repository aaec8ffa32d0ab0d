package signin

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// AttemptLifetime is how long a person may take at the provider, and then again to
// enter their password.
const AttemptLifetime = 10 * time.Minute

// Attempt is an unfinished sign-in, and its row. First it waits for the provider's
// response; if that names an identity that is not linked, it is replaced by another
// attempt with a Subject and an Email, which waits for the member's password.
type Attempt struct {
	// Hash is the SHA-256 of the state that the provider sends back, or of the
	// secret in the form that asks for the password.
	Hash string `bun:",pk"`
	// BrowserHash is the SHA-256 of the cookie of the browser that started it.
	BrowserHash string
	Issuer      string
	// RedirectURI, Nonce and Verifier were sent to the provider, the last as its S256
	// challenge; empty once the provider has responded.
	RedirectURI, Nonce, Verifier string
	// Subject and Email are from the provider's response; empty until then.
	Subject, Email string
	// ReturnTo is the path to return to, a path of this service or empty.
	ReturnTo             string
	CreatedAt, ExpiresAt time.Time
}

// Identity is what the provider says about the person who signed in.
type Identity struct {
	// Issuer and Subject together are the only permanent identifier of a person.
	Issuer, Subject string
	Email           string
	// EmailVerified is set if the provider has verified the address.
	EmailVerified bool
	Name          string
}

// LinkedIdentity is an identity that a member has linked, and its row.
type LinkedIdentity struct {
	Issuer                string `bun:",pk"`
	Subject               string `bun:",pk"`
	MemberID              tenant.ID
	CreatedAt, LastUsedAt time.Time
	// AccessEpoch is the member's, read with the identity by UseIdentity.
	AccessEpoch int64 `bun:",scanonly"`
}

const deadAttempt = "the sign-in is over already or has expired"

// CreateProviderAttempt stores an attempt for AttemptLifetime.
func CreateProviderAttempt(ctx context.Context, s *db.DB, a *Attempt) error {
	a.CreatedAt = s.Now()
	a.ExpiresAt = a.CreatedAt.Add(AttemptLifetime)
	_, err := s.NewInsert().Model(a).ModelTableExpr("provider_attempts").Exec(ctx)
	return err
}

// livingAttempt is the condition that an attempt belongs to a browser and has not
// expired; the subject says what it waits for.
const livingAttempt = "hash = ? AND browser_hash = ? AND expires_at > ?"

// UseProviderAttempt uses up an attempt that waits for the provider, once. It fails
// with fault.NotFound if that browser has no such live attempt.
func UseProviderAttempt(ctx context.Context, s *db.DB, hash, browserHash string) (*Attempt, error) {
	a := &Attempt{}
	err := s.NewWrite("DELETE FROM provider_attempts WHERE "+livingAttempt+" AND subject = '' RETURNING ?",
		hash, browserHash, s.Now(), db.Columns[Attempt](s)).Scan(ctx, a)
	return db.Found(a, err, deadAttempt)
}

// GetProviderAttempt returns an attempt that waits for the password, without using it
// up. It fails with fault.NotFound as UseProviderAttempt does.
func GetProviderAttempt(ctx context.Context, s *db.DB, hash, browserHash string) (*Attempt, error) {
	a := &Attempt{}
	err := s.NewRaw("SELECT ? FROM provider_attempts WHERE "+livingAttempt+" AND subject <> ''",
		db.Columns[Attempt](s), hash, browserHash, s.Now()).Scan(ctx, a)
	return db.Found(a, err, deadAttempt)
}

// LinkIdentity deletes an attempt that waits for the member's password and links its
// identity to the member; the caller has verified the password. An identity that is
// already linked to the member stays linked. It fails with fault.NotFound as
// UseProviderAttempt does, or if the member may not sign in, and with fault.Conflict if
// the identity is linked to another member or the member is linked to another identity
// of the issuer. It fails with account.ErrAccessEnded if the access was revoked since the password was
// checked.
func LinkIdentity(ctx context.Context, s *db.DB, hash, browserHash string, access account.Access) error {
	err := account.StoreCredential(ctx, s, access, func(ctx context.Context, tx db.Querier) error {
		a := &Attempt{}
		err := tx.NewRaw("DELETE FROM provider_attempts WHERE "+livingAttempt+" AND subject <> '' RETURNING ?",
			hash, browserHash, s.Now(), db.Columns[Attempt](s)).Scan(ctx, a)
		if a, err = db.Found(a, err, deadAttempt); err != nil {
			return err
		}
		return linkIdentity(ctx, s, tx, a, access.Owner)
	})
	return err
}

// linkIdentity inserts the link, or finds that it exists; the unique keys decide
// between concurrent calls.
func linkIdentity(ctx context.Context, s *db.DB, tx db.Querier, a *Attempt, owner tenant.ID) error {
	_, err := tx.NewRaw(`INSERT INTO linked_identities (issuer, subject, member_id, created_at, last_used_at)
SELECT ?, ?, id, ?, ? FROM members WHERE id = ? AND suspended_at IS NULL`+account.Writable+" ON CONFLICT DO NOTHING",
		a.Issuer, a.Subject, s.Now(), s.Now(), owner).Exec(ctx)
	if err != nil {
		return err
	}
	var links []LinkedIdentity
	err = tx.NewRaw("SELECT ? FROM linked_identities WHERE issuer = ? AND (subject = ? OR member_id = ?)", db.Columns[LinkedIdentity](s), a.Issuer, a.Subject, owner).Scan(ctx, &links)
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

// UseIdentity returns the link of an identity to a member who may sign in, with the epoch of that
// member's access, and records the time. It fails with fault.NotFound if there is none.
func UseIdentity(ctx context.Context, s *db.DB, issuer, subject string) (*LinkedIdentity, error) {
	link := &LinkedIdentity{}
	err := s.NewWrite(`UPDATE linked_identities SET last_used_at = ? WHERE issuer = ? AND subject = ?
AND EXISTS (SELECT 1 FROM members WHERE members.id = linked_identities.member_id AND members.suspended_at IS NULL`+account.Writable+") RETURNING ?, (SELECT access_epoch FROM members WHERE members.id = linked_identities.member_id) AS access_epoch",
		s.Now(), issuer, subject, db.Columns[LinkedIdentity](s)).Scan(ctx, link)
	return db.Found(link, err, "no member who may sign in is linked to the identity")
}

// ListIdentities returns a member's links, oldest first.
func ListIdentities(ctx context.Context, s *db.DB, owner tenant.ID) ([]LinkedIdentity, error) {
	var links []LinkedIdentity
	err := s.NewSelect().Model(&links).Where("member_id = ?", owner).Order("created_at", "issuer").Scan(ctx)
	return links, err
}

// DeleteIdentities unlinks all identities of a member, and starts a new epoch of access.
func DeleteIdentities(ctx context.Context, s *db.DB, owner tenant.ID) error {
	return account.RevokeAccess(ctx, s, owner, func(ctx context.Context, tx db.Querier) error {
		_, err := tx.NewRaw("DELETE FROM linked_identities WHERE member_id = ?", owner).Exec(ctx)
		return err
	})
}
