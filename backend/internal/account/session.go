package account

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// LoginSession is the session of a signed-in browser, and its row.
type LoginSession struct {
	Hash      string `bun:",pk"`
	MemberID  tenant.ID
	CreatedAt time.Time
	ExpiresAt time.Time
	// Username, Name, Email, Timezone and Locale belong to the member; they are read with the
	// session.
	Username string `bun:",scanonly"`
	Name     string `bun:",scanonly"`
	Email    string `bun:",scanonly"`
	Timezone string `bun:",scanonly"`
	Locale   string `bun:",scanonly"`
}
