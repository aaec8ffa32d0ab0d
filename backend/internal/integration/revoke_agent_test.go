package integration_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
)

// Revoking an agent ends all of its access to one member's account: every grant,
// codes that were not redeemed, and requests that wait for consent.
func TestRevokeAgent(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		other := newFlow(t, f.s, "other", nil) // another member, with a client of their own
		another := other                       // the first member, with that client
		another.owner, another.session, another.name = f.owner, f.session, "another"
		elsewhere := f // the other member, with the first client
		elsewhere.owner, elsewhere.session, elsewhere.name = other.owner, other.session, "elsewhere"
		bystanders := map[string]flow{"another client": another, "another member": elsewhere}
		for _, b := range bystanders {
			b.redeem(t, b.code(t, "used "+b.name), "0")
			b.code(t, "code "+b.name)
			b.request(t, "open "+b.name)
		}
		f.redeem(t, f.code(t, "first"), "0")
		f.redeem(t, f.code(t, "second"), "1")
		f.code(t, "pending")
		f.request(t, "open")

		if err := oauth.RevokeAgent(t.Context(), f.s, f.owner, f.client); err != nil {
			t.Fatal(err)
		}
		for _, generation := range []string{"0", "1"} {
			if f.alive(t, generation) {
				t.Errorf("access token %s works", generation)
			}
			if err := f.rotate(t, generation, "new "+generation); !fault.Is(err, fault.Conflict) {
				t.Errorf("refresh token %s: %v", generation, err)
			}
		}
		if _, err := oauth.RedeemCode(t.Context(), f.s, "pending", f.pair("pending")); !fault.Is(err, fault.Conflict) {
			t.Errorf("the code: %v", err)
		}
		if _, err := oauth.DecideRequest(t.Context(), f.s, "open", f.session, &oauth.AuthorizationCode{Hash: "late", MemberID: f.owner, Scopes: asked}); !fault.Is(err, fault.NotFound) {
			t.Errorf("the request: %v", err)
		}
		if err := oauth.RevokeAgent(t.Context(), f.s, f.owner, f.client); !fault.Is(err, fault.NotFound) {
			t.Errorf("once more: %v", err)
		}
		for name, b := range bystanders {
			if !b.alive(t, "0") {
				t.Errorf("%s: the access token is dead", name)
			}
			if _, err := oauth.RedeemCode(t.Context(), b.s, "code "+b.name, b.pair("1")); err != nil {
				t.Errorf("%s: the code: %v", name, err)
			}
			if _, err := oauth.DecideRequest(t.Context(), b.s, "open "+b.name, b.session, nil); err != nil {
				t.Errorf("%s: the request: %v", name, err)
			}
		}
	})
}

func TestRevokeAgentOfNothing(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		f.redeem(t, f.code(t, "code"), "0")
		stranger := dbtest.Member(t, f.s, "stranger")
		for name, err := range map[string]error{
			"a client of another member": oauth.RevokeAgent(t.Context(), f.s, stranger, f.client),
			"no client":                  oauth.RevokeAgent(t.Context(), f.s, f.owner, "cli_none"),
		} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !f.alive(t, "0") {
			t.Error("it was revoked all the same")
		}
	})
}
