// Package securityevent records what operators and members may have to look back
// at: each event is one line of the log and one row, and holds no secret and no
// text that a person typed.
package securityevent

import (
	"context"
	"log/slog"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/session"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Kind says what happened.
type Kind string

// The kinds of events.
const (
	SignedIn     Kind = "signed_in"
	SignInFailed Kind = "sign_in_failed"
	// PasswordCheckFailed is a wrong password on a settings page that asks for the
	// member's own.
	PasswordCheckFailed Kind = "password_check_failed"
	AgentAllowed        Kind = "agent_allowed"
	TokenCreated        Kind = "token_created"
	AccessRevoked       Kind = "access_revoked"
	PasswordChanged     Kind = "password_changed"
	PasswordReset       Kind = "password_reset"
	AccountExported     Kind = "account_exported"
	// DeletedForGood is people in the bin whom the member deleted for good.
	DeletedForGood  Kind = "deleted_for_good"
	AccountDeleted  Kind = "account_deleted"
	MemberSuspended Kind = "member_suspended"
	MemberResumed   Kind = "member_resumed"
)

// Event is something that happened, and its row.
type Event struct {
	bun.BaseModel `bun:"table:security_events"`

	ID int64 `bun:",pk,autoincrement"`
	// TenantID is whose account it is; empty where that is not known.
	TenantID tenant.ID `bun:",nullzero"`
	At       time.Time
	Kind     Kind
	// Subject is a hash: of the member, or of the name that was typed where there is
	// no such member. The same subject has the same hash.
	Subject string
	// Address is where it came from: an IPv4 address or the /64 of an IPv6 one;
	// empty for an operator's command.
	Address string
	// ObjectID is the credential, client or deletion that it is about; empty for none,
	// and for more than one.
	ObjectID string
}

// Store keeps events.
type Store interface {
	// CreateSecurityEvent keeps an event under the present time.
	CreateSecurityEvent(ctx context.Context, e *Event) error
	// ListSecurityEvents returns a member's latest events, the latest first.
	ListSecurityEvents(ctx context.Context, owner tenant.ID, limit int) ([]Event, error)
}

// Recorder records events. A nil Recorder records nothing.
type Recorder struct {
	store  Store
	logger *slog.Logger
}

// NewRecorder returns a Recorder that keeps rows in the store.
func NewRecorder(store Store, logger *slog.Logger) *Recorder {
	return &Recorder{store: store, logger: logger}
}

// Record logs and keeps an event, even when the caller has gone away. An event of
// a member needs no subject. What it is about has happened already, so a store that
// fails is logged and is not the caller's error.
func (r *Recorder) Record(ctx context.Context, e Event) {
	if r == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if e.Subject == "" {
		e.Subject = SubjectOf(e.TenantID)
	}
	r.logger.InfoContext(ctx, "security event", "event", e.Kind, "subject", e.Subject, "address", e.Address, "object", e.ObjectID)
	if err := r.store.CreateSecurityEvent(ctx, &e); err != nil {
		r.logger.WarnContext(ctx, "keep security event", "event", e.Kind, "error", err)
	}
}

// SubjectOf is the subject of a member's events.
func SubjectOf(owner tenant.ID) string { return session.Subject("member", string(owner)) }
