package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
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

	AgentAllowed EventKind = "agent_allowed"
	TokenCreated EventKind = "token_created"
	// DeviceAdded is a new app password for a device.
	DeviceAdded EventKind = "device_added"
	// FeedAdded is that a calendar feed was made.
	FeedAdded     EventKind = "feed_added"
	AccessRevoked EventKind = "access_revoked"
	// AgentNarrowed means that the member removed scopes or tools from an agent.
	AgentNarrowed EventKind = "agent_narrowed"
	// AgentWidened means that the member allowed an agent more than before.
	AgentWidened EventKind = "agent_widened"
	AgentPaused  EventKind = "agent_paused"
	AgentResumed EventKind = "agent_resumed"
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
	return append(failures(), SignInBlocked, PasskeyCloned, SignedInNew, AgentAllowed, AgentWidened, TokenCreated, DeviceAdded, FeedAdded, PasswordChanged, PasswordReset, EmailChangeAsked, EmailChanged,
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

// KeepSecurityEvents is how long security events are stored.
const KeepSecurityEvents = 365 * 24 * time.Hour

// collapseWithin is the period in which failures of one kind from one network share a row.
const collapseWithin = time.Hour

// CreateSecurityEvent stores an event with the current time and sets Times. A failure that already
// has a row within collapseWithin is counted there instead.
func CreateSecurityEvent(ctx context.Context, s *db.DB, e *SecurityEvent) error {
	now := s.Now()
	if e.Kind.collapses() {
		err := s.NewWrite(`UPDATE security_events SET times = times + 1, last_at = ? WHERE id = (
SELECT max(id) FROM security_events WHERE subject = ? AND kind = ? AND address = ? AND at > ?) RETURNING id, at, times`,
			now, e.Subject, e.Kind, e.Address, now.Add(-collapseWithin)).Scan(ctx, &e.ID, &e.At, &e.Times)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	e.At, e.LastAt, e.Times = now, now, 1
	_, err := s.NewInsert().Model(e).Exec(ctx)
	return err
}

// ListSecurityEvents returns a member's events, the latest first. Unless before is 0, it returns
// only events with a lower id.
func ListSecurityEvents(ctx context.Context, s *db.DB, owner tenant.ID, before int64, limit int) ([]SecurityEvent, error) {
	var events []SecurityEvent
	q := s.NewSelect().Model(&events).Where("tenant_id = ?", owner).Order("id DESC").Limit(int64(limit))
	if before > 0 {
		q = q.Where("id < ?", before)
	}
	err := q.Scan(ctx)
	return events, err
}

// LastSecurityEvent returns the id of the latest event of all members; 0 if there is none.
func LastSecurityEvent(ctx context.Context, s *db.DB) (last int64, err error) {
	err = s.NewRaw("SELECT coalesce(max(id), 0) FROM security_events").Scan(ctx, &last)
	return last, err
}

// ListCommandEvents returns the events of all members that an operator's commands caused, with ids greater than after,
// the earliest first.
func ListCommandEvents(ctx context.Context, s *db.DB, after int64) ([]SecurityEvent, error) {
	const most = 100
	var events []SecurityEvent
	err := s.NewSelect().Model(&events).Where("id > ?", after).Where("device = ?", CommandLine).Order("id").Limit(most).Scan(ctx)
	return events, err
}

// noticeFor is how long a new event is shown in a browser that has not dismissed its notice, and
// maxNotices how many are shown at once.
const (
	noticeFor  = 7 * 24 * time.Hour
	maxNotices = 5
)

// ListNotices returns the events for the notice in a browser, which replaces emails if no mail is
// sent: the latest events of other browsers whose notice was not dismissed in this one, the latest
// first. An event of the same session, but with another device or from another network, counts as one
// of another browser: the cookie may be copied. device and network are those of the request, from
// DeviceOf and CoarseAddress.
func ListNotices(ctx context.Context, s *db.DB, session *LoginSession, device, network string) ([]SecurityEvent, error) {
	var events []SecurityEvent
	err := s.NewSelect().Model(&events).Where("tenant_id = ?", session.MemberID).Where("id > ?", session.SeenEvent).Where("(session_id <> ? OR device <> ? OR address <> ?)", session.ID, device, network).
		Where("last_at > ?", s.Now().Add(-noticeFor)).Where("kind IN (?)", bun.List(notifiedKinds())).
		Where("(times >= ? OR kind NOT IN (?))", ManyFailures, bun.List(failures())).Order("id DESC").Limit(maxNotices).Scan(ctx)
	return events, err
}

// SuspendMember suspends a member: sign-in, tokens and grants stop working, and the profile and the
// directory entry are hidden. Login sessions end. Running jobs stop before the next step and wait.
// Everything except the sessions works again after ResumeMember. It fails with fault.NotFound if
// there is no such member, and with fault.Conflict if the member is already suspended.
func SuspendMember(ctx context.Context, s *db.DB, username string) (owner tenant.ID, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		now := s.Now()
		owner, err = setSuspended(ctx, tx, username, "UPDATE members SET suspended_at = ?, access_epoch = access_epoch + 1, updated_at = ? WHERE username = ? AND suspended_at IS NULL", now, now)
		if err != nil {
			return err
		}
		for _, statement := range []string{
			"DELETE FROM authorization_requests WHERE session_hash IN (SELECT hash FROM login_sessions WHERE member_id = ?)",
			"DELETE FROM login_sessions WHERE member_id = ?", deleteSteps,
			// The new fence ends the worker's lease, and workers do not claim jobs of suspended members.
			"UPDATE jobs SET state = 'queued', fence = fence + 1, lease_until = NULL WHERE tenant_id = ? AND state = 'running'",
		} {
			if _, err := tx.NewRaw(statement, owner).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return owner, err
}

// HasMoved reports whether a member is suspended because the account was moved to another installation.
func HasMoved(ctx context.Context, s *db.DB, owner tenant.ID) (bool, error) {
	var last EventKind
	err := s.NewRaw("SELECT kind FROM security_events WHERE tenant_id = ? AND kind IN (?) ORDER BY id DESC LIMIT 1",
		owner, bun.List([]EventKind{MemberSuspended, MemberResumed, AccountMoved, AccountImported})).Scan(ctx, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return last == AccountMoved, err
}

// ResumeMember ends a member's suspension. It fails with fault.NotFound if there is no
// such member, and with fault.Conflict if the member is not suspended.
func ResumeMember(ctx context.Context, s *db.DB, username string) (owner tenant.ID, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		owner, err = setSuspended(ctx, tx, username, "UPDATE members SET suspended_at = NULL, updated_at = ? WHERE username = ? AND suspended_at IS NOT NULL", s.Now())
		return err
	})
	return owner, err
}

func setSuspended(ctx context.Context, tx db.Querier, username, statement string, args ...any) (owner tenant.ID, err error) {
	err = tx.NewRaw("SELECT id FROM members WHERE username = ?"+Writable, username).Scan(ctx, &owner)
	if _, err = db.Found(&owner, err, "there is no member "+username+" who can be suspended"); err != nil {
		return "", err
	}
	result, err := tx.NewRaw(statement, append(args, username)...).Exec(ctx)
	if err != nil {
		return "", err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return "", fault.New(fault.Conflict, "nothing to do: %s is in that state already", username)
	}
	return owner, nil
}

// Sentence describes the event. object is the name of the agent, token or factor that it concerns;
// it may be empty.
func (e *SecurityEvent) Sentence(object string) string {
	if words, ok := objectWords()[e.Kind]; ok {
		if object == "" {
			return words[1]
		}
		return fmt.Sprintf(words[0], "“"+object+"”")
	}
	if words, ok := countedWords()[e.Kind]; ok {
		if e.Times > 1 {
			return strconv.Itoa(e.Times) + words[1]
		}
		return words[0]
	}
	if words := plainWords()[e.Kind]; words != "" {
		return words
	}
	return string(e.Kind)
}

// objectWords are the sentence with the name of an object, and the one without.
func objectWords() map[EventKind][2]string {
	return map[EventKind][2]string{
		AgentAllowed:  {"Connected the agent %s", "Connected an agent"},
		AgentNarrowed: {"Reduced the access of the agent %s", "Reduced the access of an agent"},
		AgentWidened:  {"Allowed more to the agent %s", "Allowed more to an agent"},
		AgentPaused:   {"Paused the agent %s", "Paused an agent"},
		AgentResumed:  {"Resumed the agent %s", "Resumed an agent"},
		AgentAsks:     {"Changed which actions of %s need approval", "Changed which actions of an agent need approval"},
		TokenCreated:  {"Made the personal token %s", "Made a personal token"},
		DeviceAdded:   {"Added the device %s", "Added a device"},
		FeedAdded:     {"Made the calendar feed %s", "Made a calendar feed"},
		AccessRevoked: {"Revoked the access of %s", "Revoked access"},
		FactorAdded:   {"Added the second factor %s", "Added a second factor"},
		FactorRemoved: {"Removed the second factor %s", "Removed a second factor"},
		PasskeyCloned: {"Refused the passkey %s: there may be a copy of it", "Refused a passkey: there may be a copy of it"},
		FactorUsed:    {"Confirmed with %s", "Confirmed with a second factor"},
	}
}

// countedWords are the sentence for one event, and the words after the number of several.
func countedWords() map[EventKind][2]string {
	return map[EventKind][2]string{
		SignInFailed:        {"Failed sign-in", " failed sign-ins"},
		SignInBlocked:       {"Sign-in blocked after many failures", " sign-ins blocked after many failures"},
		PasswordCheckFailed: {"Wrong password in the settings", " wrong passwords in the settings"},
		FactorFailed:        {"Wrong second factor", " wrong second factors"},
	}
}

func plainWords() map[EventKind]string {
	return map[EventKind]string{
		SignedIn:           "Signed in",
		SignedInNew:        "Signed in on a new device",
		SignedOut:          "Signed out",
		SessionEnded:       "Ended the session of another browser",
		OtherSessionsEnded: "Ended the sessions of all other browsers",
		SessionsEnded:      "Signed out everywhere",
		RecoveryCodeUsed:   "Used a recovery code",
		RecoveryCodesMade:  "Made new recovery codes",
		FactorsReset:       "Removed every second factor",
		PasswordChanged:    "Changed the password",
		PasswordReset:      "Set a new password without the old one",
		EmailChangeAsked:   "Asked for another e-mail address",
		EmailChanged:       "Changed the e-mail address",
		EmailVerified:      "Confirmed the e-mail address",
		IdentityLinked:     "Connected an identity provider",
		IdentityUnlinked:   "Disconnected the identity provider",
		AccountExported:    "Exported the account",
		PeopleExported:     "Downloaded a file with people",
		DeletedForGood:     "Deleted people for good",
		AccountDeleted:     "Deleted the account",
		ProfileShown:       "Let more people see the profile",
		SendingAllowed:     "Allowed texts to be sent for search by meaning",
		OwnerLinkUsed:      "Created the account with the owner link",
		NotMe:              "Said “this was not me”: all access ended",
		RestorationOpposed: "Objected to giving the account its previous e-mail address back",
		MemberSuspended:    "Suspended the account",
		MemberResumed:      "Resumed the account",
		AccountMoved:       "Exported the account to another installation, and suspended it here",
		AccountImported:    "Imported the account from another installation",
		PlanSet:            "Set the plan",
		LimitsSet:          "Set the limits of the account",
		SettingsSet:        "Set the time zone or the language",
	}
}
