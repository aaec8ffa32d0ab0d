package account

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// LinkPurpose is the purpose of a mail link.
type LinkPurpose string

// The purposes of mail links.
const (
	PurposeVerify LinkPurpose = "verify"
	PurposeReset  LinkPurpose = "reset"
	// PurposeChange changes the member's address to the one to which the link was sent.
	PurposeChange LinkPurpose = "change"
)

// LinkLifetime is how long a mailed link works.
const LinkLifetime = 30 * time.Minute

// MailLink is a single-use link that was mailed to a member, and its row. Only the hash
// of its secret is stored.
type MailLink struct {
	Hash     string `bun:",pk"`
	MemberID tenant.ID
	Purpose  LinkPurpose
	// Email is the member's address when the link was made; the link stops working if it
	// changes. The link was sent to it, or to NewEmail if that is set.
	Email string
	// NewEmail is the address that the member changes to, for PurposeChange.
	NewEmail  string
	CreatedAt time.Time
	ExpiresAt time.Time
	// Username is the member's; it is read with the link but stored with the member.
	Username string `bun:",scanonly"`
}

// SignUp is a person who wants to become a member and was sent a link to verify their
// address, and its row. The member is created only after that, so that an address or a
// username cannot be taken without a verified address. It has no password: the person
// who typed the address may not be the one who reads its mail, so the password is
// chosen after the link is opened.
type SignUp struct {
	Hash     string `bun:",pk"`
	Username string
	Email    string
	// ReturnTo is the path to return to, a path of this service or empty.
	ReturnTo  string
	CreatedAt time.Time
	ExpiresAt time.Time
}
