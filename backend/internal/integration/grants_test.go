package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// flow is one member with one client, whose requests, codes and tokens it makes.
type flow struct {
	s               *db.DB
	client, session string
	owner           tenant.ID
	// name goes into the hashes, so that those of two flows differ.
	name string
	now  func() time.Time
}

const asked = "connections timeline write"

func newFlow(t *testing.T, s *db.DB, username string, now func() time.Time) flow {
	t.Helper()
	f := flow{s: s, owner: dbtest.Member(t, s, username), session: "session-" + username, name: username, now: now}
	login(t, s, f.owner, f.session)
	c := &oauth.Client{Name: "agent", RedirectURIs: []string{"https://a.example/cb", "http://localhost/cb"}, ClientURI: "https://a.example"}
	if err := oauth.CreateClient(t.Context(), s, c); err != nil {
		t.Fatal(err)
	}
	f.client = c.ID
	return f
}

func (f flow) request(t *testing.T, hash string) {
	t.Helper()
	r := &oauth.Request{
		Hash: hash, SessionHash: f.session, ClientID: f.client, RedirectURI: "https://a.example/cb", Scopes: asked,
		Resource: "https://kith.example/mcp", State: "st", CodeChallenge: "challenge",
	}
	if err := oauth.CreateRequest(t.Context(), f.s, r); err != nil {
		t.Fatal(err)
	}
}

// code makes an issued code and returns its hash.
func (f flow) code(t *testing.T, hash string) string {
	t.Helper()
	f.request(t, "request of "+hash)
	if _, err := oauth.DecideRequest(t.Context(), f.s, "request of "+hash, f.session, &oauth.AuthorizationCode{
		Hash: hash, MemberID: f.owner, Scopes: asked, AccessEpoch: dbtest.Epoch(t, f.s, f.owner),
	}); err != nil {
		t.Fatal(err)
	}
	return hash
}

// pair is the pair of tokens of a generation.
func (f flow) pair(generation string) oauth.Pair {
	now := time.Now().UTC()
	if f.now != nil {
		now = f.now().UTC()
	}
	return oauth.Pair{
		AccessHash: f.access(generation), RefreshHash: f.refresh(generation),
		AccessExpiresAt: now.Add(time.Hour), RefreshExpiresAt: now.Add(60 * 24 * time.Hour),
	}
}

func (f flow) access(generation string) string {
	return oauth.Hash(oauth.PrefixAccessToken + f.name + generation)
}

func (f flow) refresh(generation string) string { return "refresh-" + f.name + generation }

func (f flow) redeem(t *testing.T, code, generation string) *oauth.Grant {
	t.Helper()
	g, err := oauth.RedeemCode(t.Context(), f.s, code, f.pair(generation))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (f flow) rotate(t *testing.T, from, to string) error {
	_, _, err := oauth.RotateRefreshToken(t.Context(), f.s, f.refresh(from), f.client, f.pair(to), nil)
	return err
}

// alive tells whether the access token of a generation works.
func (f flow) alive(t *testing.T, generation string) bool {
	t.Helper()
	p, err := oauth.Authenticate(t.Context(), f.s, oauth.PrefixAccessToken+f.name+generation)
	if err != nil && !fault.Is(err, fault.Unauthenticated) {
		t.Fatal(err)
	}
	return err == nil && p.Tenant == f.owner
}

// livePairs counts the access tokens that work among the generations.
func (f flow) livePairs(t *testing.T, generations int) (n int) {
	t.Helper()
	for g := range generations {
		if f.alive(t, fmt.Sprint(g)) {
			n++
		}
	}
	return n
}

func eachFlow(t *testing.T, test func(t *testing.T, f flow)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, s *db.DB) { test(t, newFlow(t, s, "maria", nil)) })
}

// eachTimedFlow is eachFlow with a clock that the test moves.
func eachTimedFlow(t *testing.T, test func(t *testing.T, f flow, advance func(time.Duration))) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Now()
		clock := func() time.Time { return now }
		s := dbtest.Open(t, url, clock)
		test(t, newFlow(t, s, "maria", clock), func(d time.Duration) { now = now.Add(d) })
	})
}

func TestClientRoundTrip(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		c, err := oauth.GetClient(t.Context(), f.s, f.client)
		if err != nil || c.Name != "agent" || len(c.RedirectURIs) != 2 || c.RedirectURIs[1] != "http://localhost/cb" || c.ClientURI != "https://a.example" {
			t.Errorf("got %+v, %v", c, err)
		}
		if _, err := oauth.GetClient(t.Context(), f.s, "cli_x"); !fault.Is(err, fault.NotFound) {
			t.Errorf("an unknown client: %v", err)
		}
	})
}

// State table of the authorization code, row 1: issued → used, with tokens.
func TestCodeIssuedIsRedeemed(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		code := f.code(t, "code")
		got, err := oauth.GetCode(t.Context(), f.s, code)
		if err != nil || got.ClientID != f.client || got.MemberID != f.owner || got.CodeChallenge != "challenge" || !got.UsedAt.IsZero() {
			t.Errorf("code: %+v, %v", got, err)
		}
		if lifetime := got.ExpiresAt.Sub(got.CreatedAt); lifetime != 60*time.Second {
			t.Errorf("it works for %s", lifetime)
		}
		g := f.redeem(t, code, "0")
		if g.Scopes != asked || g.ClientID != f.client || g.MemberID != f.owner || g.Resource != "https://kith.example/mcp" {
			t.Errorf("grant: %+v", g)
		}
		if !f.alive(t, "0") {
			t.Error("the access token does not work")
		}
		used, err := oauth.GetCode(t.Context(), f.s, code)
		if err != nil || used.UsedAt.IsZero() || used.GrantID != g.ID {
			t.Errorf("used code: %+v, %v", used, err)
		}
		if c, err := oauth.GetClient(t.Context(), f.s, f.client); err != nil || c.LastUsedAt.IsZero() {
			t.Errorf("the client counts as unused: %+v, %v", c, err)
		}
	})
}

// Row 2: issued → expired after 60 seconds.
func TestCodeExpires(t *testing.T) {
	t.Parallel()
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		early, late := f.code(t, "early"), f.code(t, "late")
		advance(60*time.Second - time.Microsecond)
		f.redeem(t, early, "0")
		advance(time.Microsecond)
		if _, err := oauth.RedeemCode(t.Context(), f.s, late, f.pair("1")); !fault.Is(err, fault.Conflict) {
			t.Errorf("after 60 seconds: %v", err)
		}
		if f.alive(t, "1") {
			t.Error("an expired code gave a token")
		}
	})
}

// Row 3: used stays used; a replay revokes the grant that the code was redeemed for.
func TestCodeReplayKillsItsGrant(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		code, other := f.code(t, "code"), f.code(t, "other")
		f.redeem(t, code, "0")
		f.redeem(t, other, "1")
		if _, err := oauth.RedeemCode(t.Context(), f.s, code, f.pair("2")); !fault.Is(err, fault.Conflict) {
			t.Errorf("a replay: %v", err)
		}
		if f.alive(t, "0") || f.alive(t, "2") {
			t.Error("the grant of a replayed code is still alive")
		}
		if !f.alive(t, "1") {
			t.Error("another grant died with it")
		}
		if err := f.rotate(t, "0", "3"); !fault.Is(err, fault.Conflict) {
			t.Errorf("its refresh token: %v", err)
		}
		if _, err := oauth.RedeemCode(t.Context(), f.s, "unknown", f.pair("4")); !fault.Is(err, fault.Conflict) {
			t.Errorf("an unknown code: %v", err)
		}
	})
}

// Row 4: looking at a code, as a wrong verifier does, leaves it issued.
func TestCodeStaysIssuedWhenLookedAt(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		code := f.code(t, "code")
		for range 3 {
			if _, err := oauth.GetCode(t.Context(), f.s, code); err != nil {
				t.Fatal(err)
			}
		}
		f.redeem(t, code, "0")
	})
}

func TestFortyRedemptionsAtOnce(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		code := f.code(t, "code")
		errs := together(40, func(n int) error {
			_, err := oauth.RedeemCode(t.Context(), f.s, code, f.pair(fmt.Sprint(n)))
			return err
		})
		oneWins(t, errs, fault.Conflict)
		if n := f.livePairs(t, 40); n > 1 {
			t.Errorf("%d pairs live", n)
		}
	})
}
