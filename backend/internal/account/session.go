package account

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// FreshFor is how long an authentication counts as fresh. After that, sensitive actions ask the
// member to authenticate again.
const FreshFor = 10 * time.Minute

// Fresh reports whether the member authenticated within the last FreshFor.
func (l *LoginSession) Fresh(now time.Time) bool { return now.Sub(l.AuthenticatedAt) <= FreshFor }

// LoginSession is the session of a signed-in browser, and its row.
type LoginSession struct {
	// Hash is the hash of the secret in the cookie. It changes when the secret is rotated.
	Hash string `bun:",pk"`
	// ID names the session on pages and in events; it gives no access.
	ID       string
	MemberID tenant.ID
	// Device is the browser and the system in words, from DeviceOf. Address is the network in
	// which the session began, from CoarseAddress.
	Device, Address string
	CreatedAt       time.Time
	// AuthenticatedAt is when the member last authenticated in this browser, with all factors
	// that the account requires.
	AuthenticatedAt time.Time
	// LastUsedAt is a few minutes late: it is written in batches.
	LastUsedAt time.Time
	ExpiresAt  time.Time
	// SeenEvent is the id of the last security event whose notice was dismissed in this browser.
	SeenEvent int64
	// Username, Name, Email, Timezone, Locale and Plan are the member's; they are read with the
	// session.
	Username string `bun:",scanonly"`
	Name     string `bun:",scanonly"`
	Email    string `bun:",scanonly"`
	Timezone string `bun:",scanonly"`
	Locale   string `bun:",scanonly"`
	Plan     string `bun:",scanonly"`
	// AccessEpoch is the member's, of which Access tells: it is read with the session, and must still be
	// the present one when the session is stored.
	AccessEpoch int64 `bun:",scanonly"`
	// SecondFactor is set if the member has one.
	SecondFactor bool `bun:",scanonly"`
}
