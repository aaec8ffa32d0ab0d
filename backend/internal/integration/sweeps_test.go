package integration_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/retention"
)

// litter leaves one of everything that ends, beside what the flow has already: a
// session of an hour, a client, a grant with two refresh tokens, one of them spent.
func litter(t *testing.T, f flow) {
	t.Helper()
	f.redeem(t, f.code(t, "code"), "0")
	once, err := oauth.NewRefreshOnce("k", url.Values{}, func(*oauth.Grant) ([]byte, error) { return []byte("the answer"), nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := oauth.RotateRefreshToken(t.Context(), f.s, f.refresh("0"), f.client, f.pair("1"), once); err != nil {
		t.Fatal(err)
	}
	f.request(t, "request")
	f.code(t, "unused")
	mailLink(t, f.s, f.owner, f.name, "link", account.PurposeVerify)
	signUp(t, f.s, "sign-up", "newby")
	wentAway(t, f.s, "asked")
	answered(t, f.s, "answered", "sub", f.name)
	row := &account.PersonalToken{MemberID: f.owner, Name: "short", Hash: "h", Scopes: "account", ExpiresAt: f.now().Add(time.Hour)}
	if err := account.CreatePersonalToken(t.Context(), f.s, row); err != nil {
		t.Fatal(err)
	}
	if _, err := account.SpendAttempts(t.Context(), f.s, account.Limit{Subject: "subject", Policy: account.DefaultLogin()}); err != nil {
		t.Fatal(err)
	}
	if err := account.CreateSignInStep(t.Context(), f.s, &account.SignInStep{Hash: "step", MemberID: f.owner}); err != nil {
		t.Fatal(err)
	}
	if err := account.CreatePasskeyChallenge(t.Context(), f.s, "challenge"); err != nil {
		t.Fatal(err)
	}
	_, page := deviceLogin(t, f.s, "")
	if _, err := allowed(t, f.s, f.owner, page, "never came back"); err != nil {
		t.Fatal(err)
	}
	deviceLogin(t, f.s, "")
	printed := &account.OwnerLink{Hash: "printed", CreatedAt: f.now(), ExpiresAt: f.now().Add(account.OwnerLinkLifetime)}
	if _, err := f.s.NewInsert().Model(printed).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := oauth.CreateClient(t.Context(), f.s, &oauth.Client{Name: "never used", RedirectURIs: []string{"https://a.example/cb"}}); err != nil {
		t.Fatal(err)
	}
	if err := oauth.UpsertClient(t.Context(), f.s, &oauth.Client{ID: "https://agent.example/never-used.json"}); err != nil {
		t.Fatal(err)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	steps := []struct {
		after time.Duration
		want  retention.SweepResult
	}{
		{0, retention.SweepResult{}},
		{oauth.RepeatLifetime - time.Second, retention.SweepResult{}},
		{oauth.RepeatLifetime, retention.SweepResult{Answers: 1}},
		{5 * time.Minute, retention.SweepResult{LoginAttempts: 1}},
		{10 * time.Minute, retention.SweepResult{Requests: 3, ProviderAttempts: 2, SignInSteps: 1, PasskeyChallenges: 1}}, // two of them were answered
		{account.OwnerLinkLifetime, retention.SweepResult{OwnerLinks: 1}},
		{account.DeviceLoginLifetime, retention.SweepResult{UnusedDevices: 1, DeviceLogins: 2}},
		{30 * time.Minute, retention.SweepResult{MailLinks: 1, SignUps: 1}},
		{2 * time.Hour, retention.SweepResult{LoginSessions: 1}},
		{day, retention.SweepResult{Clients: 1}}, // the one that is known by its document
		{day + time.Minute, retention.SweepResult{Codes: 2}},
		{30 * day, retention.SweepResult{Clients: 1}},
		{60 * day, retention.SweepResult{}},
		{61 * day, retention.SweepResult{Grants: 1}},
		{90*day + account.DeviceLoginLifetime, retention.SweepResult{PersonalTokens: 1}}, // the device
		{90*day + time.Hour, retention.SweepResult{PersonalTokens: 1}},
		{1000 * day, retention.SweepResult{}},
	}
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		litter(t, f)
		begun := f.now()
		for _, step := range steps {
			advance(begun.Add(step.after).Sub(f.now()))
			got, err := retention.Sweep(t.Context(), f.s, f.now())
			if diff := cmp.Diff(step.want, got); diff != "" || err != nil {
				t.Errorf("after %s: %v (-want +got):\n%s", step.after, err, diff)
			}
		}
		if _, err := oauth.GetClient(t.Context(), f.s, f.client); err != nil {
			t.Errorf("a client that was used is gone: %v", err)
		}
	})
}

// A clock that is years ahead for a moment deletes nothing; one that stays there does, an hour later.
func TestSweepByAWrongClock(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	eachTimedFlow(t, func(t *testing.T, f flow, _ func(time.Duration)) {
		litter(t, f)
		for _, step := range []struct {
			after   time.Duration
			refused bool
		}{{0, false}, {3 * year, true}, {time.Second, false}, {3 * year, true}, {3*year + time.Hour, false}} {
			got, err := retention.SweepByClock(t.Context(), f.s, f.now().Add(step.after))
			last := step.after > 3*year
			if errors.Is(err, retention.ErrClockJumped) != step.refused || err != nil && !step.refused || (got.Total() > 0) != last {
				t.Errorf("after %s: %+v, %v", step.after, got, err)
			}
		}
	})
}

func TestSweepLeavesWhatLives(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		f.redeem(t, f.code(t, "code"), "0")
		for n := range 10 { // a grant in use, over 100 days
			advance(10 * day)
			if err := f.rotate(t, fmt.Sprint(n), fmt.Sprint(n+1)); err != nil {
				t.Fatal(err)
			}
			if _, err := retention.Sweep(t.Context(), f.s, f.now()); err != nil {
				t.Fatal(err)
			}
		}
		if !f.alive(t, "10") {
			t.Error("the grant was swept")
		}
		if err := f.rotate(t, "8", "x"); err == nil {
			t.Error("a spent token works")
		}
		if f.alive(t, "10") {
			t.Error("a replay of what was kept is not recognised")
		}
	})
}

func TestSweepTakesRevokedGrants(t *testing.T) {
	t.Parallel()
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		g := f.redeem(t, f.code(t, "code"), "0")
		if err := oauth.RevokeAgent(t.Context(), f.s, f.owner, g.ClientID); err != nil {
			t.Fatal(err)
		}
		if r, err := retention.Sweep(t.Context(), f.s, f.now()); err != nil || r.Total() != 0 {
			t.Errorf("at once: %+v, %v", r, err)
		}
		advance(25 * time.Hour)
		if r, err := retention.Sweep(t.Context(), f.s, f.now()); err != nil || r.Grants != 1 {
			t.Errorf("a day later: %+v, %v", r, err)
		}
	})
}

// A client that ever held a grant stays, with its metadata, even years after the grant, its
// tokens and its code were deleted. A client without a grant stays while it keeps asking.
func TestSweepLeavesClientsThatHeldAGrant(t *testing.T) {
	t.Parallel()
	const document, asking = "https://agent.example/client.json", "https://agent.example/asking.json"
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		keep := func(id, name string) {
			if err := oauth.UpsertClient(t.Context(), f.s, &oauth.Client{ID: id, Name: name, RedirectURIs: []string{"https://agent.example/cb"}}); err != nil {
				t.Fatal(err)
			}
		}
		keep(asking, "Asking")
		held := []string{f.client, document}
		for n, id := range held {
			f.client = id
			if id == document {
				keep(document, "Agent")
			}
			f.redeem(t, f.code(t, fmt.Sprint("code", n)), fmt.Sprint("token", n))
			if err := oauth.RevokeAgent(t.Context(), f.s, f.owner, id); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			advance(20 * time.Hour)
			keep(asking, "Asking")
			if r, err := retention.Sweep(t.Context(), f.s, f.now()); err != nil || r.Clients != 0 {
				t.Errorf("got %+v, %v", r, err)
			}
		}
		advance(3 * 365 * 24 * time.Hour)
		keep(document, "Renamed")
		if r, err := retention.Sweep(t.Context(), f.s, f.now()); err != nil || r.Clients != 1 {
			t.Errorf("got %+v, %v", r, err)
		}
		for _, id := range held {
			c, err := oauth.GetClient(t.Context(), f.s, id)
			if err != nil || c.LastUsedAt.IsZero() || id == document && (c.Name != "Renamed" || !c.CreatedAt.Before(c.LastUsedAt.Add(time.Second))) {
				t.Errorf("%s: %+v, %v", id, c, err)
			}
		}
		if _, err := oauth.GetClient(t.Context(), f.s, asking); err == nil {
			t.Error("a client without a grant still exists")
		}
	})
}

// A client that is used for the first time during the sweep stays.
func TestSweepLeavesClientsInUse(t *testing.T) {
	t.Parallel()
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		advance(31 * 24 * time.Hour)
		row := &account.LoginSession{Hash: "fresh", MemberID: f.owner, ExpiresAt: f.now().Add(time.Hour)}
		if err := account.CreateLoginSession(t.Context(), f.s, row); err != nil {
			t.Fatal(err)
		}
		f.session = "fresh"
		f.request(t, "request")
		if r, err := retention.Sweep(t.Context(), f.s, f.now()); err != nil || r.Clients != 0 {
			t.Errorf("got %+v, %v", r, err)
		}
		if _, err := oauth.GetClient(t.Context(), f.s, f.client); err != nil {
			t.Error(err)
		}
	})
}

func TestSweepOfAClosedStoreFails(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := retention.Sweep(ctx, f.s, time.Now()); err == nil {
			t.Error("no error")
		}
	})
}
