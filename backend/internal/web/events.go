package web

import (
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// record records a security event of a member; object is the credential, client or
// deletion that it concerns, or empty.
func (v *request) record(kind account.EventKind, owner tenant.ID, object string) {
	v.events.Record(v.R.Context(), account.SecurityEvent{Kind: kind, TenantID: owner, Address: v.addressBucket(), ObjectID: object})
}

// recordDeletion records that people were deleted for good, on the pages of package review.
func (web *Web) recordDeletion(v *page.Request, kind account.EventKind, deletion string) {
	(&request{Web: web, Request: v}).record(kind, v.Owner, deletion)
}

// recordFailure records a wrong password, for a member or for an unknown login name.
func (v *request) recordFailure(m *account.Member, login string) {
	e := account.SecurityEvent{Kind: account.SignInFailed, Address: v.addressBucket()}
	if m != nil {
		e.TenantID = m.ID
	} else {
		e.Subject = account.Subject("login name", login)
	}
	v.events.Record(v.R.Context(), e)
}

// recentEvents is how many security events the security page shows.
const recentEvents = 20

// eventRow is a security event on the security page.
type eventRow struct {
	account.SecurityEvent

	What string
}

func (v *request) eventRows(owner tenant.ID) ([]eventRow, error) {
	events, err := account.ListSecurityEvents(v.R.Context(), v.Store, owner, recentEvents)
	rows := make([]eventRow, len(events))
	for i, e := range events {
		rows[i] = eventRow{e, eventWords(e.Kind)}
	}
	return rows, err
}

func eventWords(kind account.EventKind) string {
	switch kind {
	case account.SignedIn:
		return "Signed in"
	case account.SignInFailed:
		return "Failed sign-in"
	case account.PasswordCheckFailed:
		return "Wrong password in the settings"
	case account.AgentAllowed:
		return "Agent connected"
	case account.TokenCreated:
		return "Personal token created"
	case account.AgentNarrowed:
		return "Agent allowed less"
	case account.AgentPaused:
		return "Agent paused"
	case account.AgentResumed:
		return "Agent resumed"
	case account.AccessRevoked:
		return "Access revoked"
	case account.PasswordChanged:
		return "Password changed"
	case account.PasswordReset:
		return "Password reset"
	case account.EmailChangeAsked:
		return "Change of the e-mail address asked for"
	case account.EmailChanged:
		return "E-mail address changed"
	case account.AccountExported:
		return "Account exported"
	case account.DeletedForGood:
		return "People deleted for good"
	case account.MemberSuspended:
		return "Account suspended"
	case account.MemberResumed:
		return "Account resumed"
	default:
		return string(kind)
	}
}
