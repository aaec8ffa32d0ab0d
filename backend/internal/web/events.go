package web

import (
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/securityevent"
	"github.com/kith-crm/kith/backend/internal/session"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// record records a security event of a member; object is the credential, client
// or deletion that it is about, or empty.
func (v *visit) record(kind securityevent.Kind, owner tenant.ID, object string) {
	v.events.Record(v.r.Context(), securityevent.Event{Kind: kind, TenantID: owner, Address: v.addressBucket(), ObjectID: object})
}

// recordFailure records a wrong password: of a member, or of a name that nobody has.
func (v *visit) recordFailure(m *member.Member, login string) {
	e := securityevent.Event{Kind: securityevent.SignInFailed, Address: v.addressBucket()}
	if m != nil {
		e.TenantID = m.ID
	} else {
		e.Subject = session.Subject("login name", login)
	}
	v.events.Record(v.r.Context(), e)
}

// recentEvents is how many security events the security page shows.
const recentEvents = 20

// eventRow is a security event on the security page.
type eventRow struct {
	securityevent.Event

	What string
}

func (v *visit) eventRows(owner tenant.ID) ([]eventRow, error) {
	events, err := v.Store.ListSecurityEvents(v.r.Context(), owner, recentEvents)
	rows := make([]eventRow, len(events))
	for i, e := range events {
		rows[i] = eventRow{e, eventWords(e.Kind)}
	}
	return rows, err
}

func eventWords(kind securityevent.Kind) string {
	switch kind {
	case securityevent.SignedIn:
		return "Signed in"
	case securityevent.SignInFailed:
		return "Failed sign-in"
	case securityevent.PasswordCheckFailed:
		return "Wrong password in the settings"
	case securityevent.AgentAllowed:
		return "Agent connected"
	case securityevent.TokenCreated:
		return "Personal token created"
	case securityevent.AccessRevoked:
		return "Access revoked"
	case securityevent.PasswordChanged:
		return "Password changed"
	case securityevent.PasswordReset:
		return "Password reset"
	case securityevent.AccountExported:
		return "Account exported"
	case securityevent.DeletedForGood:
		return "People deleted for good"
	case securityevent.MemberSuspended:
		return "Account suspended"
	case securityevent.MemberResumed:
		return "Account resumed"
	default:
		return string(kind)
	}
}
