package account

import (
	"context"
	"log/slog"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	SignedIn     EventKind = "signed_in"
	SignInFailed EventKind = "sign_in_failed"
	// PasswordCheckFailed is a wrong password on a settings page that asks for the
	// member's own password.
	PasswordCheckFailed EventKind = "password_check_failed"
	AgentAllowed        EventKind = "agent_allowed"
	TokenCreated        EventKind = "token_created"
	AccessRevoked       EventKind = "access_revoked"
	// AgentNarrowed means that the member took scopes or tools from an agent.
	AgentNarrowed    EventKind = "agent_narrowed"
	AgentPaused      EventKind = "agent_paused"
	AgentResumed     EventKind = "agent_resumed"
	PasswordChanged  EventKind = "password_changed"
	PasswordReset    EventKind = "password_reset"
	EmailChangeAsked EventKind = "email_change_asked"
	EmailChanged     EventKind = "email_changed"
	AccountExported  EventKind = "account_exported"
	// DeletedForGood is the permanent deletion of people in the bin by the member.
	DeletedForGood  EventKind = "deleted_for_good"
	AccountDeleted  EventKind = "account_deleted"
	MemberSuspended EventKind = "member_suspended"
	MemberResumed   EventKind = "member_resumed"
)

// SecurityEvent is a security event, and its row.
type SecurityEvent struct {
	bun.BaseModel `bun:"table:security_events"`

	ID int64 `bun:",pk,autoincrement"`
	// TenantID is the member's tenant; empty if unknown.
	TenantID tenant.ID `bun:",nullzero"`
	At       time.Time
	Kind     EventKind
	// Subject is a hash of the member or, if there is no such member, of the typed
	// name. The same subject has the same hash.
	Subject string
	// Address is the client's address: an IPv4 address or the /64 of an IPv6 one; empty
	// for an operator's command.
	Address string
	// ObjectID is the credential, client or deletion that the event concerns; empty for
	// none, and for more than one.
	ObjectID string
}

// EventRecorder records events. A nil EventRecorder records nothing.
type EventRecorder struct {
	store  *db.DB
	logger *slog.Logger
}

// NewEventRecorder returns an EventRecorder that stores rows in the store.
func NewEventRecorder(store *db.DB, logger *slog.Logger) *EventRecorder {
	return &EventRecorder{store: store, logger: logger}
}

// Record logs and stores an event, even if the caller has disconnected. An event of a
// member needs no subject. The recorded action has already happened, so if the store
// fails, the error is logged and not returned.
func (r *EventRecorder) Record(ctx context.Context, e SecurityEvent) {
	if r == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if e.Subject == "" {
		e.Subject = SubjectOf(e.TenantID)
	}
	r.logger.InfoContext(ctx, "security event", "event", e.Kind, "subject", e.Subject, "address", e.Address, "object", e.ObjectID)
	if err := CreateSecurityEvent(ctx, r.store, &e); err != nil {
		r.logger.WarnContext(ctx, "keep security event", "event", e.Kind, "error", err)
	}
}

// SubjectOf returns the subject of a member's events.
func SubjectOf(owner tenant.ID) string { return Subject("member", string(owner)) }
