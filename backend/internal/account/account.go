package account

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

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
