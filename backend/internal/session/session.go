// Package session owns login sessions, kept as hashes of the browsers' cookies,
// and how often a password may be tried.
package session

import (
	"context"
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

// Store keeps login sessions.
type Store interface {
	CreateLoginSession(ctx context.Context, s *LoginSession) error
	// GetLoginSession returns a live session of a member who may sign in, or
	// fault.NotFound.
	GetLoginSession(ctx context.Context, hash string) (*LoginSession, error)
	// DeleteLoginSession ends a session; one that is gone is no error.
	DeleteLoginSession(ctx context.Context, hash string) error
	// DeleteLoginSessions ends a member's sessions but the one to keep.
	DeleteLoginSessions(ctx context.Context, member tenant.ID, keep string) error
	// SpendAttempts counts one attempt on the subject of every limit, each in its
	// fixed window, which its first attempt begins. When one limit refuses, nothing
	// is counted and no row is written. A quiet limit refuses nothing: a full one
	// stays as it is and closes the decision. It returns the strictest decision. Calls
	// at the same time never count more than a quota.
	SpendAttempts(ctx context.Context, limits ...Limit) (Decision, error)
}
