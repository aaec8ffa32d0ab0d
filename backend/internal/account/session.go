package account

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// LoginSession is a signed-in browser's record, and its row.
type LoginSession struct {
	Hash      string `bun:",pk"`
	MemberID  tenant.ID
	CreatedAt time.Time
	ExpiresAt time.Time
	// Username, Email and Timezone are the member's; read with the session.
	Username string `bun:",scanonly"`
	Email    string `bun:",scanonly"`
	Timezone string `bun:",scanonly"`
}
