package integration_test

import (
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/retention"
)

func notMeLink(t *testing.T, f flow, email string) (hash string) {
	t.Helper()
	secret, err := account.CreateNotMeLink(t.Context(), f.s, f.owner, email)
	if err != nil {
		t.Fatal(err)
	}
	return account.HashSecret(secret)
}

func change(t *testing.T, s *db.DB, statement string) {
	t.Helper()
	if _, err := s.NewWrite(statement).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The link ends all access, once, and nothing of another member.
func TestNotMeEndsAllAccess(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		f.redeem(t, f.code(t, "code"), "0")
		bearer := dbtest.Token(t, f.s, f.owner, "connections")
		other := dbtest.Member(t, f.s, "other")
		login(t, f.s, other, "others")
		others := dbtest.Token(t, f.s, other, "connections")
		email := f.name + "@people.example"
		changeLink(t, f.s, f.owner, email, "pending change", "thief@people.example")
		linked(t, f.s, f.owner, "subject")
		change(t, f.s, "UPDATE members SET password_hash = 'x'")
		hash := notMeLink(t, f, email)
		if l, err := account.GetNotMeLink(t.Context(), f.s, hash); err != nil || l.Username != f.name || l.Email != email || l.Present != email {
			t.Errorf("the link is %+v, %v", l, err)
		}
		oneWins(t, together(10, func(int) error {
			done, err := account.UseNotMeLink(t.Context(), f.s, hash)
			if err == nil && (done.MemberID != f.owner || !done.Reset || done.Email != email) {
				t.Errorf("it did %+v", done)
			}
			return err
		}), fault.NotFound)
		if _, err := account.GetLoginSession(t.Context(), f.s, f.session); !fault.Is(err, fault.NotFound) {
			t.Errorf("the session: %v", err)
		}
		for name, token := range map[string]string{"the token": bearer, "the agent": oauth.PrefixAccessToken + f.name + "0"} {
			if _, err := oauth.Authenticate(t.Context(), f.s, token); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := f.rotate(t, "0", "1"); !fault.Is(err, fault.Conflict) {
			t.Errorf("a refresh: %v", err)
		}
		if err := account.ChangeEmail(t.Context(), f.s, account.Access{Owner: f.owner}, "", "pending change"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a change of the address: %v", err)
		}
		m, err := account.GetMemberByID(t.Context(), f.s, f.owner)
		if err != nil || m.MaySignIn() || !m.Active() || m.EmailVerifiedAt.IsZero() {
			t.Errorf("the member is %+v, %v", m, err)
		}
		if _, err := oauth.Authenticate(t.Context(), f.s, others); err != nil {
			t.Errorf("another member's token: %v", err)
		}
		session(t, f.s, "others")
	})
}

func TestNotMeLinkExpires(t *testing.T) {
	t.Parallel()
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		hash := notMeLink(t, f, f.name+"@people.example")
		advance(account.NotMeLifetime - time.Second)
		if _, err := account.GetNotMeLink(t.Context(), f.s, hash); err != nil {
			t.Errorf("early: %v", err)
		}
		advance(time.Second)
		if _, err := account.GetNotMeLink(t.Context(), f.s, hash); !fault.Is(err, fault.NotFound) {
			t.Errorf("late: %v", err)
		}
		if _, err := account.UseNotMeLink(t.Context(), f.s, hash); !fault.Is(err, fault.NotFound) {
			t.Errorf("used late: %v", err)
		}
		if r, err := retention.Sweep(t.Context(), f.s, f.s.Now()); err != nil || r.NotMeLinks != 1 {
			t.Errorf("swept %+v, %v", r, err)
		}
	})
}
