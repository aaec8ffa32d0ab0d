package integration_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/retention"
)

func session(t *testing.T, s *db.DB, hash string) *account.LoginSession {
	t.Helper()
	row, err := account.GetLoginSession(t.Context(), s, hash)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func TestEndLoginSession(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		maria, other := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other")
		for _, hash := range []string{"one", "two"} {
			login(t, s, maria, hash)
		}
		login(t, s, other, "others")
		one := session(t, s, "one")
		if err := account.EndLoginSession(t.Context(), s, other, one.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("another member ended it: %v", err)
		}
		if err := account.EndLoginSession(t.Context(), s, maria, session(t, s, "others").ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("another member's: %v", err)
		}
		oneWins(t, together(10, func(int) error { return account.EndLoginSession(t.Context(), s, maria, one.ID) }), fault.NotFound)
		if _, err := account.GetLoginSession(t.Context(), s, "one"); !fault.Is(err, fault.NotFound) {
			t.Errorf("it goes on: %v", err)
		}
		left, err := account.ListLoginSessions(t.Context(), s, maria, time.Time{})
		if err != nil || len(left) != 1 || left[0].Hash != "two" {
			t.Errorf("left %+v, %v", left, err)
		}
		session(t, s, "others")
	})
}

// A session that is ended while it is used, rotated or asked for consent is over: nothing brings
// it back.
func TestEndedSessionStaysEnded(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		row := session(t, f.s, f.session)
		errs := together(20, func(n int) error {
			switch n % 4 {
			case 0:
				return account.MarkSessionUsed(t.Context(), f.s, row.ID, time.Now().Add(time.Duration(n)*time.Second))
			case 1:
				err := account.RotateLoginSession(t.Context(), f.s, f.session, "rotated-"+strconv.Itoa(n), time.Time{})
				if fault.Is(err, fault.NotFound) {
					err = nil
				}
				return err
			case 2:
				_, err := account.GetLoginSession(t.Context(), f.s, f.session)
				if fault.Is(err, fault.NotFound) {
					err = nil
				}
				return err
			}
			err := account.EndLoginSession(t.Context(), f.s, f.owner, row.ID)
			if fault.Is(err, fault.NotFound) {
				err = nil
			}
			return err
		})
		for n, err := range errs {
			if err != nil {
				t.Errorf("%d: %v", n, err)
			}
		}
		if left, err := account.ListLoginSessions(t.Context(), f.s, f.owner, time.Time{}); err != nil || len(left) > 0 {
			t.Errorf("left %+v, %v", left, err)
		}
	})
}

func TestRotateLoginSession(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		before := session(t, f.s, f.session)
		f.request(t, "pending")
		if err := account.RotateLoginSession(t.Context(), f.s, f.session, "new", time.Time{}); err != nil {
			t.Fatal(err)
		}
		if _, err := account.GetLoginSession(t.Context(), f.s, f.session); !fault.Is(err, fault.NotFound) {
			t.Errorf("the old secret works: %v", err)
		}
		after := session(t, f.s, "new")
		if after.ID != before.ID || !after.AuthenticatedAt.Equal(before.AuthenticatedAt) || !after.ExpiresAt.Equal(before.ExpiresAt) {
			t.Errorf("got %+v, was %+v", after, before)
		}
		if _, err := oauth.GetRequest(t.Context(), f.s, "pending", "new"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a request for consent goes on: %v", err)
		}
		at := f.s.Now().Add(time.Minute)
		if err := account.RotateLoginSession(t.Context(), f.s, "new", "newer", at); err != nil {
			t.Fatal(err)
		}
		if got := session(t, f.s, "newer").AuthenticatedAt; !got.Equal(at) {
			t.Errorf("authenticated at %s, not %s", got, at)
		}
		oneWins(t, together(10, func(n int) error {
			return account.RotateLoginSession(t.Context(), f.s, "newer", "newest-"+strconv.Itoa(n), time.Time{})
		}), fault.NotFound)
	})
}

func TestSessionUseNeverGoesBack(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		clock := newClock(time.Now().UTC().Truncate(time.Second))
		s := dbtest.Open(t, url, clock.Now)
		maria := dbtest.Member(t, s, "maria")
		login(t, s, maria, "one")
		begun := session(t, s, "one")
		later := clock.Now().Add(10 * time.Minute)
		for _, at := range []time.Time{later, begun.LastUsedAt} {
			if err := oauth.MarkUsed(t.Context(), s, begun.ID, at); err != nil {
				t.Fatal(err)
			}
		}
		if got := session(t, s, "one").LastUsedAt; !got.Equal(later) {
			t.Errorf("last used at %s, not %s", got, later)
		}
		if idle, err := account.ListLoginSessions(t.Context(), s, maria, later); err != nil || len(idle) > 0 {
			t.Errorf("idle sessions are listed: %+v, %v", idle, err)
		}
	})
}

// Failures of an hour from one network are one row; their number tells the member once.
func TestFailuresCollapse(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		clock := newClock(time.Now().UTC().Truncate(time.Second))
		s := dbtest.Open(t, url, clock.Now)
		maria := dbtest.Member(t, s, "maria")
		fails := func(kind account.EventKind, owner string, address string) account.SecurityEvent {
			t.Helper()
			e := account.SecurityEvent{Kind: kind, Subject: owner, Address: address}
			if owner == "maria" {
				e.TenantID = maria
			}
			if err := account.CreateSecurityEvent(t.Context(), s, &e); err != nil {
				t.Fatal(err)
			}
			return e
		}
		for n := 1; n <= 12; n++ {
			clock.Advance(time.Minute)
			if e := fails(account.SignInFailed, "maria", "192.0.2.0/24"); e.Times != n {
				t.Errorf("failure %d counts as %d", n, e.Times)
			}
		}
		for _, e := range []account.SecurityEvent{
			fails(account.SignInFailed, "maria", "198.51.100.0/24"), fails(account.PasswordCheckFailed, "maria", "192.0.2.0/24"), fails(account.SignInFailed, "nobody", "192.0.2.0/24"),
			fails(account.SignedIn, "maria", "192.0.2.0/24"), fails(account.SignedIn, "maria", "192.0.2.0/24"),
		} {
			if e.Times != 1 {
				t.Errorf("%+v is counted on another row", e)
			}
		}
		clock.Advance(time.Hour)
		if e := fails(account.SignInFailed, "maria", "192.0.2.0/24"); e.Times != 1 {
			t.Errorf("an hour later: %+v", e)
		}
		events, err := account.ListSecurityEvents(t.Context(), s, maria, 0, 100)
		if err != nil || len(events) != 6 {
			t.Fatalf("%d events: %+v, %v", len(events), events, err)
		}
		first := events[len(events)-1]
		if first.Times != 12 || first.LastAt.Sub(first.At) != 11*time.Minute {
			t.Errorf("the first row is %+v", first)
		}
		older, err := account.ListSecurityEvents(t.Context(), s, maria, events[2].ID, 2)
		if err != nil || len(older) != 2 || older[0].ID != events[3].ID || older[1].ID != events[4].ID {
			t.Errorf("the next page is %+v, %v", older, err)
		}
		for _, change := range []string{"kind = 'signed_out'", "at = last_at", "address = ''", "device = 'x'", "object_id = 'x'", "subject = 'x'", "tenant_id = NULL", "session_id = 'x'"} {
			if _, err := dbtest.OpenSQL(t, url).Exec("UPDATE security_events SET " + change); err == nil {
				t.Errorf("an event was changed: %s", change)
			}
		}
		if r, err := retention.Sweep(t.Context(), s, clock.Now().Add(account.KeepSecurityEvents)); err != nil || r.SecurityEvents != 7 {
			t.Errorf("after a year: %+v, %v", r, err)
		}
	})
}

// A browser shows events of other browsers until it dismisses their notice.
func TestListNotices(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		clock := newClock(time.Now().UTC().Truncate(time.Second))
		s := dbtest.Open(t, url, clock.Now)
		maria, other := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other")
		row := &account.LoginSession{Hash: "one", MemberID: maria, ExpiresAt: clock.Now().Add(30 * 24 * time.Hour)}
		if err := account.CreateLoginSession(t.Context(), s, row); err != nil {
			t.Fatal(err)
		}
		notices := func() []account.SecurityEvent {
			t.Helper()
			events, err := account.ListNotices(t.Context(), s, session(t, s, "one"), "", "")
			if err != nil {
				t.Fatal(err)
			}
			return events
		}
		for _, e := range []account.SecurityEvent{
			{TenantID: maria, Kind: account.SignedIn, Subject: "m"},
			{TenantID: maria, Kind: account.TokenCreated, Subject: "m", SessionID: row.ID},
			{TenantID: maria, Kind: account.SignInFailed, Subject: "m"},
			{TenantID: other, Kind: account.TokenCreated, Subject: "o"},
		} {
			if err := account.CreateSecurityEvent(t.Context(), s, &e); err != nil {
				t.Fatal(err)
			}
		}
		if got := notices(); len(got) > 0 {
			t.Fatalf("told of %+v", got)
		}
		for range account.ManyFailures - 1 {
			e := account.SecurityEvent{TenantID: maria, Kind: account.SignInFailed, Subject: "m"}
			if err := account.CreateSecurityEvent(t.Context(), s, &e); err != nil {
				t.Fatal(err)
			}
		}
		e := account.SecurityEvent{TenantID: maria, Kind: account.SignedInNew, Subject: "m", SessionID: "ses_other"}
		if err := account.CreateSecurityEvent(t.Context(), s, &e); err != nil {
			t.Fatal(err)
		}
		got := notices()
		if len(got) != 2 || got[0].ID != e.ID || got[1].Times != account.ManyFailures {
			t.Fatalf("told of %+v", got)
		}
		for _, seen := range []int64{got[1].ID, 0} { // it never goes back
			if err := account.MarkEventsSeen(t.Context(), s, row.ID, seen); err != nil {
				t.Fatal(err)
			}
			if got := notices(); len(got) != 1 || got[0].ID != e.ID {
				t.Errorf("after %d was seen: %+v", seen, got)
			}
		}
		clock.Advance(8 * 24 * time.Hour)
		if got := notices(); len(got) > 0 {
			t.Errorf("a week later: %+v", got)
		}
	})
}
