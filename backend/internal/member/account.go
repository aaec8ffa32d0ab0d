package member

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// AccountStore is what signing in and the settings pages need of members. The
// accounts of the sandbox are read-only: nothing here changes them.
type AccountStore interface {
	// FindMember finds by username or, when login has an @, by e-mail address. It
	// fails with fault.NotFound.
	FindMember(ctx context.Context, login string) (*Member, error)
	// GetMemberByID returns a member, or fault.NotFound.
	GetMemberByID(ctx context.Context, id tenant.ID) (*Member, error)
	// SetPassword replaces the password's hash and ends all of the member's login
	// sessions and open reset links. It fails with fault.NotFound when there is no
	// such member who may have a password.
	SetPassword(ctx context.Context, id tenant.ID, hash string) error
	// MarkEmailVerified notes that the address is the member's. It fails with
	// fault.NotFound when the member has another one by now.
	MarkEmailVerified(ctx context.Context, id tenant.ID, email string) error
	// SetEmbeddingsHost notes which remote embedding provider the member allows;
	// empty takes that back. It fails with fault.NotFound when there is no such
	// member who may allow one.
	SetEmbeddingsHost(ctx context.Context, id tenant.ID, host string) error
	// DeleteMember deletes a member with all that they keep and all that was
	// granted, in one transaction. It fails with fault.NotFound or fault.ReadOnly.
	DeleteMember(ctx context.Context, id tenant.ID) error
}

// LinkPurpose says what a mail link is good for.
type LinkPurpose string

// The purposes of mail links.
const (
	PurposeVerify LinkPurpose = "verify"
	PurposeReset  LinkPurpose = "reset"
)

// LinkLifetime is how long a link that was sent by mail works.
const LinkLifetime = 30 * time.Minute

// MailLink is a single-use link that was sent to a member, and its row. Only the
// hash of its secret is kept.
type MailLink struct {
	Hash     string `bun:",pk"`
	MemberID tenant.ID
	Purpose  LinkPurpose
	// Email is the address that the link was sent to; the link dies with it.
	Email     string
	CreatedAt time.Time
	ExpiresAt time.Time
	// Username is the member's; read with the link, kept with the member.
	Username string `bun:",scanonly"`
}

// SignUp is a person who wants to become a member and was sent a link to prove
// their address, and its row. Until then there is no member, so that nobody can
// take an address, or a username, that they cannot prove. It has no password: who
// typed the address may not be who reads its mail, so the password is chosen after
// the link.
type SignUp struct {
	Hash     string `bun:",pk"`
	Username string
	Email    string
	// ReturnTo is where they were going, a path of this service or empty.
	ReturnTo  string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// LinkStore keeps what was sent by mail. A link works once, until it expires,
// and only while its member may sign in; else it is fault.NotFound.
type LinkStore interface {
	// CreateMailLink keeps a link for LinkLifetime.
	CreateMailLink(ctx context.Context, l *MailLink) error
	// GetMailLink returns a link that works, without using it up.
	GetMailLink(ctx context.Context, hash string, purpose LinkPurpose) (*MailLink, error)
	// ResetPassword uses up a reset link: it replaces the password's hash and ends
	// every login session, grant, personal token and linked identity of the member.
	// It marks the address as verified.
	ResetPassword(ctx context.Context, linkHash, passwordHash string) error
	// VerifyEmail uses up a verification link.
	VerifyEmail(ctx context.Context, linkHash string) error
	// CreateSignUp keeps a sign-up for LinkLifetime.
	CreateSignUp(ctx context.Context, s *SignUp) error
	// GetSignUp returns a sign-up that waits, without using it up.
	GetSignUp(ctx context.Context, hash string) (*SignUp, error)
	// CompleteSignUp makes the member, with a username and a password of their
	// choice, and uses up every sign-up of the address. It fails with fault.AlreadyExists when the
	// username is taken, and with fault.Conflict when the address belongs to a
	// member; the sign-up then stays.
	CompleteSignUp(ctx context.Context, hash, username, passwordHash string) (*Member, error)
}
