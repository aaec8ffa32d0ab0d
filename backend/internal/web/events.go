package web

import (
	"context"
	"net/http"
	"strconv"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// record records a security event of a member. The member gets a notice of events of some kinds.
// object is the credential, client or deletion that the event concerns, or empty.
func (v *request) record(kind account.EventKind, owner tenant.ID, object string) {
	v.recordEvent(account.SecurityEvent{Kind: kind, TenantID: owner, ObjectID: object})
}

// recordEvent records an event of the browser.
func (v *request) recordEvent(e account.SecurityEvent) {
	e.Address, e.Device, e.SessionID = v.ClientAddress(v.R), v.Device(), v.SessionID()
	v.events.Record(v.R.Context(), e)
}

// recordFactor records which second factor a member proved with.
func (v *request) recordFactor(owner tenant.ID, proof account.Proof) {
	switch proof := proof.(type) {
	case account.RecoveryProof:
		v.record(account.RecoveryCodeUsed, owner, "")
	case account.CodeProof:
		v.record(account.FactorUsed, owner, account.TOTPObject)
	case account.PasskeyProof:
		v.record(account.FactorUsed, owner, proof.PasskeyID)
	}
}

// recordFailure records a refused sign-in, of a member or for an unknown login name. blocked is
// set if the password did not count, because too many were wrong before.
func (v *request) recordFailure(m *account.Member, login string, blocked bool) {
	e := account.SecurityEvent{Kind: account.SignInFailed}
	switch {
	case m == nil:
		e.Subject = account.Subject("login name", login)
	case blocked:
		e.Kind = account.SignInBlocked
		fallthrough
	default:
		e.TenantID = m.ID
	}
	v.recordEvent(e)
}

// eventsPerPage is how many security events the security page shows.
const eventsPerPage = 50

// eventRow is a security event on the security page.
type eventRow struct {
	account.SecurityEvent

	What string
	// Here is set if it happened in this browser, since it signed in. It is not if the device or the
	// network was another one: the cookie may be copied.
	Here bool
}

// eventList is a page of the member's security events, the latest first.
type eventList struct {
	Rows []eventRow
	// Older is the address of the next page; empty on the last. Later is set on all but the first.
	Older string
	Later bool
}

// beforeParameter is the id of the event before which the list begins.
const beforeParameter = "before"

func (v *request) eventList() (eventList, error) {
	before, err := strconv.ParseInt(v.R.URL.Query().Get(beforeParameter), 10, 64)
	if err != nil || before < 0 {
		before = 0
	}
	owner := v.Login.MemberID
	events, err := account.ListSecurityEvents(v.R.Context(), v.Store, owner, before, eventsPerPage+1)
	if err != nil {
		return eventList{}, err
	}
	list := eventList{Later: before > 0}
	if len(events) > eventsPerPage {
		events = events[:eventsPerPage]
		list.Older = page.PathSecurity + "?" + beforeParameter + "=" + strconv.FormatInt(events[eventsPerPage-1].ID, 10) + "#events-title"
	}
	names, err := v.objectNames(v.R.Context(), owner, events...)
	for _, e := range events {
		list.Rows = append(list.Rows, eventRow{e, e.Sentence(names[e.ObjectID]), e.SessionID != "" && e.SessionID == v.Login.ID && e.Device == v.Device() && e.Address == v.Network()})
	}
	return list, err
}

// objectNames returns the names of the tokens and clients that a member's events concern, by
// their ids.
func (web *Web) objectNames(ctx context.Context, owner tenant.ID, events ...account.SecurityEvent) (map[string]string, error) {
	var tokens, others []string
	names := map[string]string{account.TOTPObject: "app for one-time codes"}
	anyPasskey := false
	for _, e := range events {
		switch {
		case id.Valid(id.Token, e.ObjectID):
			tokens = append(tokens, e.ObjectID)
		case id.Valid(id.Passkey, e.ObjectID):
			anyPasskey, names[e.ObjectID] = true, "passkey" // of one that was removed
		case e.ObjectID != "":
			others = append(others, e.ObjectID)
		}
	}
	if anyPasskey {
		rows, err := account.ListPasskeys(ctx, web.Store, owner)
		if err != nil {
			return nil, err
		}
		for _, p := range rows {
			names[p.ID] = p.Name
		}
	}
	if len(tokens) > 0 {
		if err := account.TokenNames(ctx, web.Store, owner, names); err != nil {
			return nil, err
		}
	}
	if len(others) == 0 {
		return names, nil
	}
	clients, err := oauth.ClientNames(ctx, web.Store, others)
	for clientID, name := range clients {
		names[clientID] = oauth.ShownName(name)
	}
	return names, err
}

// dismissNotices hides, in this browser, the notices of the events that were shown.
func (v *request) dismissNotices() error {
	shown, err := strconv.ParseInt(v.R.PostForm.Get(page.FieldSeen), 10, 64)
	if err != nil {
		return page.Refuse(http.StatusBadRequest, "The form cannot be read", "Go back and try again.")
	}
	if err := account.MarkEventsSeen(v.R.Context(), v.Store, v.Login.ID, shown); err != nil {
		return err
	}
	return v.Redirect(orStart(page.LocalPath(v.R.PostForm.Get(page.ReturnParameter))))
}
