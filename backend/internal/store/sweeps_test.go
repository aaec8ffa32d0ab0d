package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/session"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/token"
)

// litter leaves one of everything that ends, beside what the flow has already: a
// session of an hour, a client, a grant with two refresh tokens, one of them spent.
func litter(t *testing.T, f flow) {
	t.Helper()
	f.redeem(t, f.code(t, "code"), "0")
	if err := f.rotate(t, "0", "1"); err != nil {
		t.Fatal(err)
	}
	f.request(t, "request")
	f.code(t, "unused")
	mailLink(t, f.s, f.owner, f.name, "link", member.PurposeVerify)
	signUp(t, f.s, "sign-up", "newby")
	wentAway(t, f.s, "asked")
	answered(t, f.s, "answered", "sub", f.name)
	row := &token.PersonalToken{MemberID: f.owner, Name: "short", Hash: "h", Scopes: "account", ExpiresAt: f.now().Add(time.Hour)}
	if err := f.s.CreatePersonalToken(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if _, err := f.s.SpendAttempts(t.Context(), session.Limit{Subject: "subject", Policy: session.DefaultLogin()}); err != nil {
		t.Fatal(err)
	}
	if err := f.s.CreateClient(t.Context(), &grant.Client{Name: "never used", RedirectURIs: []string{"https://a.example/cb"}}); err != nil {
		t.Fatal(err)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	steps := []struct {
		after time.Duration
		want  store.SweepResult
	}{
		{0, store.SweepResult{}},
		{5 * time.Minute, store.SweepResult{LoginAttempts: 1}},
		{10 * time.Minute, store.SweepResult{Requests: 3, ProviderAttempts: 2}}, // two of them were answered
		{30 * time.Minute, store.SweepResult{MailLinks: 1, SignUps: 1}},
		{2 * time.Hour, store.SweepResult{LoginSessions: 1}},
		{day, store.SweepResult{}},
		{day + time.Minute, store.SweepResult{Codes: 2}},
		{30 * day, store.SweepResult{Clients: 1}},
		{60 * day, store.SweepResult{}},
		{61 * day, store.SweepResult{Grants: 1}},
		{90*day + time.Hour, store.SweepResult{PersonalTokens: 1}},
		{1000 * day, store.SweepResult{}},
	}
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		litter(t, f)
		begun := f.now()
		for _, step := range steps {
			advance(begun.Add(step.after).Sub(f.now()))
			got, err := f.s.Sweep(t.Context(), f.now())
			if diff := cmp.Diff(step.want, got); diff != "" || err != nil {
				t.Errorf("after %s: %v (-want +got):\n%s", step.after, err, diff)
			}
		}
		if _, err := f.s.GetClient(t.Context(), f.client); err != nil {
			t.Errorf("a client that was used is gone: %v", err)
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
			if _, err := f.s.Sweep(t.Context(), f.now()); err != nil {
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
		if err := f.s.RevokeAgent(t.Context(), f.owner, g.ClientID); err != nil {
			t.Fatal(err)
		}
		if r, err := f.s.Sweep(t.Context(), f.now()); err != nil || r.Total() != 0 {
			t.Errorf("at once: %+v, %v", r, err)
		}
		advance(25 * time.Hour)
		if r, err := f.s.Sweep(t.Context(), f.now()); err != nil || r.Grants != 1 {
			t.Errorf("a day later: %+v, %v", r, err)
		}
	})
}

// A client that is used for the first time while the sweep comes by stays.
func TestSweepLeavesClientsInUse(t *testing.T) {
	t.Parallel()
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		advance(31 * 24 * time.Hour)
		row := &session.LoginSession{Hash: "fresh", MemberID: f.owner, ExpiresAt: f.now().Add(time.Hour)}
		if err := f.s.CreateLoginSession(t.Context(), row); err != nil {
			t.Fatal(err)
		}
		f.session = "fresh"
		f.request(t, "request")
		if r, err := f.s.Sweep(t.Context(), f.now()); err != nil || r.Clients != 0 {
			t.Errorf("got %+v, %v", r, err)
		}
		if _, err := f.s.GetClient(t.Context(), f.client); err != nil {
			t.Error(err)
		}
	})
}

func TestSweepOfAClosedStoreFails(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.s.Sweep(ctx, time.Now()); err == nil {
			t.Error("no error")
		}
	})
}
