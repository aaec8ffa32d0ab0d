package account

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	SignedIn EventKind = "signed_in"
	// SignedInNew is a sign-in in a browser where the member had not signed in before.
	SignedInNew  EventKind = "signed_in_new_device"
	SignInFailed EventKind = "sign_in_failed"
	// SignInBlocked is a sign-in that was refused without checking the password, because many had
	// failed before.
	SignInBlocked EventKind = "sign_in_blocked"
	SignedOut     EventKind = "signed_out"
	// The member ended the session of another browser (SessionEnded), of all other browsers
	// (OtherSessionsEnded), or of all including this one (SessionsEnded).
	SessionEnded       EventKind = "session_ended"
	OtherSessionsEnded EventKind = "other_sessions_ended"
	SessionsEnded      EventKind = "sessions_ended"
	// PasswordCheckFailed is a wrong password on a settings page that asks for the
	// member's own password.
	PasswordCheckFailed EventKind = "password_check_failed"
	// FactorAdded to RecoveryCodesMade are about second factors and passkeys.
	FactorAdded       EventKind = "factor_added"
	FactorRemoved     EventKind = "factor_removed"
	FactorUsed        EventKind = "factor_used"
	FactorFailed      EventKind = "factor_failed"
	RecoveryCodeUsed  EventKind = "recovery_code_used"
	RecoveryCodesMade EventKind = "recovery_codes_made"
	FactorsReset      EventKind = "factors_reset"
	// PasskeyCloned is a passkey that was refused because its counter did not grow: a copy may exist.
	PasskeyCloned EventKind = "passkey_cloned"

	AgentAllowed  EventKind = "agent_allowed"
	TokenCreated  EventKind = "token_created"
	AccessRevoked EventKind = "access_revoked"
	// AgentNarrowed means that the member removed scopes or tools from an agent.
	AgentNarrowed EventKind = "agent_narrowed"
	AgentPaused   EventKind = "agent_paused"
	AgentResumed  EventKind = "agent_resumed"
	// AgentAsks means that the member changed for which acts an agent or a token needs approval.
	AgentAsks EventKind = "agent_asks"

	PasswordChanged  EventKind = "password_changed"
	PasswordReset    EventKind = "password_reset"
	EmailChangeAsked EventKind = "email_change_asked"
	EmailChanged     EventKind = "email_changed"
	EmailVerified    EventKind = "email_verified"
	IdentityLinked   EventKind = "identity_linked"
	IdentityUnlinked EventKind = "identity_unlinked"
	AccountExported  EventKind = "account_exported"
	PeopleExported   EventKind = "people_exported"
	// DeletedForGood is the permanent deletion of people in the bin by the member.
	DeletedForGood EventKind = "deleted_for_good"
	AccountDeleted EventKind = "account_deleted"
	// ProfileShown means that more people can see the member's page, or a part of it.
	ProfileShown EventKind = "profile_shown"
	// SendingAllowed means that texts may be sent to a provider of embeddings.
	SendingAllowed EventKind = "sending_allowed"
	OwnerLinkUsed  EventKind = "owner_link_used"
	// NotMe is the use of a link in an email that says "this was not me".
	NotMe EventKind = "not_me"
	// RestorationOpposed is an objection of the present address to the restoration of a former one.
	RestorationOpposed EventKind = "restoration_opposed"

	MemberSuspended EventKind = "member_suspended"
	MemberResumed   EventKind = "member_resumed"
	// AccountMoved is a suspension because the account was exported to another installation,
	// AccountImported the import there.
	AccountMoved    EventKind = "account_moved"
	AccountImported EventKind = "account_imported"
	PlanSet         EventKind = "plan_set"
	LimitsSet       EventKind = "limits_set"
	SettingsSet     EventKind = "settings_set"
)

// failures are the kinds about which the member is notified after ManyFailures.
func failures() []EventKind { return []EventKind{SignInFailed, PasswordCheckFailed, FactorFailed} }

// collapses reports whether events of the kind can be very frequent, so that those of an hour from
// one network share a row.
func (k EventKind) collapses() bool {
	return k == SignInBlocked || k == PasskeyCloned || slices.Contains(failures(), k)
}

// ManyFailures is the number of failures of one kind, in an hour and from one network, after which
// the member is notified.
const ManyFailures = 10

// notifiedKinds are the kinds of events about which the member is notified at once.
func notifiedKinds() []EventKind {
	return append(failures(), SignInBlocked, PasskeyCloned, SignedInNew, AgentAllowed, TokenCreated, PasswordChanged, PasswordReset, EmailChangeAsked, EmailChanged,
		IdentityLinked, FactorAdded, FactorRemoved, FactorsReset, RecoveryCodeUsed, RecoveryCodesMade, AccountExported, PeopleExported, DeletedForGood)
}

// Notifies reports whether the member is notified of the event at once. For failures that is when
// their number reaches ManyFailures.
func (e *SecurityEvent) Notifies() bool {
	switch {
	case e.Kind == SignInBlocked, e.Kind == PasskeyCloned:
		return e.Times == 1
	case e.Kind.collapses():
		return e.Times == ManyFailures
	}
	return slices.Contains(notifiedKinds(), e.Kind)
}

// CommandLine is the device of an event that an operator caused.
const CommandLine = "the operator’s command line"

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
	// Address is the client's network, as CoarseAddress returns it; empty for an operator's
	// command. Device is the browser and the system in words, as DeviceOf returns them.
	Address, Device string
	// SessionID is the login session in which it happened; empty for none.
	SessionID string
	// ObjectID is the credential, client or deletion that the event concerns; empty for
	// none, and for more than one.
	ObjectID string
	// Times is how often it happened between At and LastAt, because failures of an hour from one
	// network are one event.
	Times  int
	LastAt time.Time
	// Email is the address for the notification; empty means the member's current address.
	Email string `bun:"-"`
}

// EventRecorder records events. A nil EventRecorder records nothing.
type EventRecorder struct {
	store  *db.DB
	logger *slog.Logger
	tell   func(ctx context.Context, e SecurityEvent)
}

// NewEventRecorder returns an EventRecorder that stores rows in the store. If tell is not nil, it is
// called with each event about which the member is notified.
func NewEventRecorder(store *db.DB, logger *slog.Logger, tell func(ctx context.Context, e SecurityEvent)) *EventRecorder {
	return &EventRecorder{store: store, logger: logger, tell: tell}
}

// Record logs and stores an event, even if the caller has disconnected. An event of a member needs
// no subject. It stores only the network of the address. The action has already happened, so if the
// store fails, the error is logged and not returned.
func (r *EventRecorder) Record(ctx context.Context, e SecurityEvent) {
	if r == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if e.Subject == "" {
		e.Subject = SubjectOf(e.TenantID)
	}
	e.Address, e.Times = CoarseAddress(e.Address), 1
	e.Log(ctx, r.logger)
	if err := CreateSecurityEvent(ctx, r.store, &e); err != nil {
		r.logger.WarnContext(ctx, "keep security event", "event", e.Kind, "error", err)
	}
	if r.tell != nil && e.TenantID != "" && e.Notifies() {
		r.tell(ctx, e)
	}
}

// Log writes an event to a log.
func (e *SecurityEvent) Log(ctx context.Context, logger *slog.Logger) {
	logger.InfoContext(ctx, "security event", "event", e.Kind, "subject", e.Subject, "address", e.Address, "device", e.Device, "object", e.ObjectID)
}

// SubjectOf returns the subject of a member's events.
func SubjectOf(owner tenant.ID) string { return Subject("member", string(owner)) }
