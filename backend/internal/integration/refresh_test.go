package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
)

// State table of the refresh token, row 1: current → spent, with a new pair.
func TestRefreshRotates(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		f.redeem(t, f.code(t, "code"), "0")
		for n := range 5 {
			if err := f.rotate(t, fmt.Sprint(n), fmt.Sprint(n+1)); err != nil {
				t.Fatal(err)
			}
			if f.alive(t, fmt.Sprint(n)) || !f.alive(t, fmt.Sprint(n+1)) {
				t.Fatalf("after rotation %d the wrong access token works", n)
			}
		}
	})
}

// Row 2: spent, presented again: the whole chain is revoked.
func TestRefreshReplayKillsTheChain(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		f.redeem(t, f.code(t, "code"), "0")
		for n := range 3 {
			if err := f.rotate(t, fmt.Sprint(n), fmt.Sprint(n+1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.rotate(t, "1", "x"); !fault.Is(err, fault.Conflict) {
			t.Errorf("a spent token: %v", err)
		}
		if f.alive(t, "3") || f.alive(t, "x") {
			t.Error("the chain lives on")
		}
		if err := f.rotate(t, "3", "4"); !fault.Is(err, fault.Conflict) {
			t.Errorf("the newest token of a dead chain: %v", err)
		}
	})
}

func TestFortyRefreshesAtOnce(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		f.redeem(t, f.code(t, "code"), "first")
		oneWins(t, together(40, func(n int) error { return f.rotate(t, "first", fmt.Sprint(n)) }), fault.Conflict)
		if n := f.livePairs(t, 40); n != 0 {
			t.Errorf("%d pairs live after the replay", n)
		}
		for n := range 40 {
			if err := f.rotate(t, fmt.Sprint(n), fmt.Sprint(n)+"x"); !fault.Is(err, fault.Conflict) {
				t.Errorf("the chain can be refreshed: %v", err)
			}
		}
	})
}

// Rows 3 and 4: revoking either token ends the pair at once, and no other grant.
// (A member who revokes the agent ends all of its grants: TestRevokeAgent.)
func TestRevocationKillsThePair(t *testing.T) {
	t.Parallel()
	cases := map[string]func(t *testing.T, f flow) error{
		"by the access token": func(t *testing.T, f flow) error {
			_, err := oauth.RevokeToken(t.Context(), f.s, f.access("0"), f.client)
			return err
		},
		"by the refresh token": func(t *testing.T, f flow) error {
			_, err := oauth.RevokeToken(t.Context(), f.s, f.refresh("0"), f.client)
			return err
		},
	}
	for name, revoke := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachFlow(t, func(t *testing.T, f flow) {
				f.redeem(t, f.code(t, "code"), "0")
				f.redeem(t, f.code(t, "another"), "other")
				if err := revoke(t, f); err != nil {
					t.Fatal(err)
				}
				if f.alive(t, "0") {
					t.Error("the access token works")
				}
				if err := f.rotate(t, "0", "1"); !fault.Is(err, fault.Conflict) {
					t.Errorf("the refresh token: %v", err)
				}
				if !f.alive(t, "other") {
					t.Error("another grant died with it")
				}
				if grants, err := oauth.ListGrants(t.Context(), f.s, f.owner); err != nil || len(grants) != 1 {
					t.Errorf("listed: %v, %v", grants, err)
				}
			})
		})
	}
}

func TestRevokeSpentRefreshToken(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		f.redeem(t, f.code(t, "code"), "0")
		if err := f.rotate(t, "0", "1"); err != nil {
			t.Fatal(err)
		}
		if _, err := oauth.RevokeToken(t.Context(), f.s, f.refresh("0"), f.client); err != nil {
			t.Fatal(err)
		}
		if f.alive(t, "1") {
			t.Error("the pair lives on")
		}
		if _, err := oauth.RevokeToken(t.Context(), f.s, "unknown", f.client); err != nil {
			t.Errorf("an unknown token: %v", err)
		}
	})
}

func TestAnotherClientsTokensAreLeftAlone(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		thief := newFlow(t, f.s, "thief", nil)
		f.redeem(t, f.code(t, "code"), "0")
		if err := f.rotate(t, "0", "1"); err != nil {
			t.Fatal(err)
		}
		for _, hash := range []string{f.access("1"), f.refresh("1"), f.refresh("0")} {
			if _, err := oauth.RevokeToken(t.Context(), f.s, hash, thief.client); err != nil {
				t.Errorf("revoke: %v", err)
			}
			if _, _, err := oauth.RotateRefreshToken(t.Context(), f.s, hash, thief.client, thief.pair("9"), nil); !fault.Is(err, fault.Conflict) {
				t.Errorf("rotate: %v", err)
			}
		}
		if !f.alive(t, "1") {
			t.Error("another client killed the grant")
		}
		if err := f.rotate(t, "1", "2"); err != nil {
			t.Errorf("another client spent the token: %v", err)
		}
	})
}

func TestAnotherMembersGrantIsLeftAlone(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		g := f.redeem(t, f.code(t, "code"), "0")
		other := dbtest.Member(t, f.s, "other")
		if err := oauth.RevokeAgent(t.Context(), f.s, other, g.ClientID); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		if grants, err := oauth.ListGrants(t.Context(), f.s, other); err != nil || len(grants) != 0 {
			t.Errorf("listed to another: %v, %v", grants, err)
		}
		if !f.alive(t, "0") {
			t.Error("another member revoked the grant")
		}
	})
}

func TestRefreshTokenIsIdleForSixtyDays(t *testing.T) {
	t.Parallel()
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		f.redeem(t, f.code(t, "code"), "0")
		for n := range 3 { // each use begins the time anew
			advance(60*24*time.Hour - time.Second)
			if err := f.rotate(t, fmt.Sprint(n), fmt.Sprint(n+1)); err != nil {
				t.Fatalf("refresh %d: %v", n, err)
			}
		}
		advance(60 * 24 * time.Hour)
		if err := f.rotate(t, "3", "4"); !fault.Is(err, fault.Conflict) {
			t.Errorf("after 60 days: %v", err)
		}
		if grants, err := oauth.ListGrants(t.Context(), f.s, f.owner); err != nil || len(grants) != 0 {
			t.Errorf("listed: %v, %v", grants, err)
		}
	})
}

func TestAccessTokenExpires(t *testing.T) {
	t.Parallel()
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		f.redeem(t, f.code(t, "code"), "0")
		advance(time.Hour - time.Second)
		if !f.alive(t, "0") {
			t.Error("it ended early")
		}
		advance(time.Second)
		if f.alive(t, "0") {
			t.Error("it goes on")
		}
	})
}

func TestRefreshNarrowsOneTokenOnly(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		f.redeem(t, f.code(t, "code"), "0")
		narrow := f.pair("1")
		narrow.Scopes = "timeline"
		if _, _, err := oauth.RotateRefreshToken(t.Context(), f.s, f.refresh("0"), f.client, narrow, nil); err != nil {
			t.Fatal(err)
		}
		p, err := oauth.Authenticate(t.Context(), f.s, oauth.PrefixAccessToken+f.name+"1")
		if err != nil || fmt.Sprint(p.Credential.Scopes) != "[timeline]" {
			t.Errorf("got %+v, %v", p, err)
		}
		wide := f.pair("2")
		wide.Scopes = "timeline account"
		if _, _, err := oauth.RotateRefreshToken(t.Context(), f.s, f.refresh("1"), f.client, wide, nil); !fault.Is(err, fault.Invalid) {
			t.Errorf("wider than granted: %v", err)
		}
		if err := f.rotate(t, "1", "3"); err != nil {
			t.Errorf("the refused refresh spent the token: %v", err)
		}
		if p, err := oauth.Authenticate(t.Context(), f.s, oauth.PrefixAccessToken+f.name+"3"); err != nil || fmt.Sprint(p.Credential.Scopes) != "["+asked+"]" {
			t.Errorf("the grant was narrowed: %+v, %v", p, err)
		}
	})
}

func TestSuspendedMembersTokensDoNothing(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		f := newFlow(t, dbtest.Open(t, url, time.Now), "maria", nil)
		f.redeem(t, f.code(t, "code"), "0")
		suspend(t, url, f.owner)
		if f.alive(t, "0") {
			t.Error("the access token works")
		}
		if err := f.rotate(t, "0", "1"); !fault.Is(err, fault.Conflict) {
			t.Errorf("the refresh token: %v", err)
		}
	})
}

func TestDeletedMembersTokensDoNothing(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		f.redeem(t, f.code(t, "code"), "0")
		if err := account.DeleteMember(t.Context(), f.s, f.owner); err != nil {
			t.Fatal(err)
		}
		if f.alive(t, "0") {
			t.Error("the access token works")
		}
		if err := f.rotate(t, "0", "1"); !fault.Is(err, fault.Conflict) {
			t.Errorf("the refresh token: %v", err)
		}
	})
}

func TestMarkUsedNeverGoesBack(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		g := f.redeem(t, f.code(t, "code"), "0")
		late := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		for _, at := range []time.Time{late, late.Add(-time.Minute)} {
			if err := oauth.MarkUsed(t.Context(), f.s, g.ID, at); err != nil {
				t.Fatal(err)
			}
		}
		if grants, err := oauth.ListGrants(t.Context(), f.s, f.owner); err != nil || len(grants) != 1 || !grants[0].LastUsedAt.Equal(late) || grants[0].ClientName != "agent" {
			t.Errorf("got %+v, %v", grants, err)
		}
	})
}
