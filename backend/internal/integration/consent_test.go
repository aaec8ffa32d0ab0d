package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
)

func TestRequestIsAnsweredInItsOwnSessionOnce(t *testing.T) {
	t.Parallel()
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		other := newFlow(t, f.s, "other", nil)
		f.request(t, "request")
		code := func(n int) *oauth.AuthorizationCode {
			return &oauth.AuthorizationCode{Hash: fmt.Sprintf("code%d", n), MemberID: f.owner, Scopes: "timeline"}
		}
		if _, err := oauth.DecideRequest(t.Context(), f.s, "request", other.session, code(100)); !fault.Is(err, fault.NotFound) {
			t.Errorf("in another session: %v", err)
		}
		oneWins(t, together(20, func(n int) error {
			_, err := oauth.DecideRequest(t.Context(), f.s, "request", f.session, code(n))
			return err
		}), fault.NotFound)
		f.request(t, "twice") // the same code again, while it is unused
		for range 3 {
			if r, err := oauth.DecideRequest(t.Context(), f.s, "twice", f.session, code(300)); err != nil || r.State != "st" {
				t.Errorf("the same again: %+v, %v", r, err)
			}
		}
		for name, err := range map[string]error{
			"denied":              decided(oauth.DecideRequest(t.Context(), f.s, "twice", f.session, nil)),
			"another code":        decided(oauth.DecideRequest(t.Context(), f.s, "twice", f.session, code(301))),
			"in another session":  decided(oauth.DecideRequest(t.Context(), f.s, "twice", other.session, code(300))),
			"with another choice": decided(oauth.DecideRequest(t.Context(), f.s, "twice", f.session, &oauth.AuthorizationCode{Hash: "code300", MemberID: f.owner, Scopes: "connections"})),
			"still waiting":       decided(oauth.GetRequest(t.Context(), f.s, "twice", f.session)),
		} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		f.redeem(t, "code300", "twice")
		if _, err := oauth.DecideRequest(t.Context(), f.s, "twice", f.session, code(300)); !fault.Is(err, fault.NotFound) {
			t.Errorf("the same again, of a used code: %v", err)
		}
		f.request(t, "denied")
		if r, err := oauth.GetRequest(t.Context(), f.s, "denied", f.session); err != nil || r.State != "st" || r.Scopes != asked {
			t.Errorf("waiting: %+v, %v", r, err)
		}
		if err := decided(oauth.GetRequest(t.Context(), f.s, "denied", other.session)); !fault.Is(err, fault.NotFound) {
			t.Errorf("waiting, in another session: %v", err)
		}
		if r, err := oauth.DecideRequest(t.Context(), f.s, "denied", f.session, nil); err != nil || r.State != "st" || r.RedirectURI != "https://a.example/cb" {
			t.Errorf("denied: %+v, %v", r, err)
		}
		if r, err := oauth.DecideRequest(t.Context(), f.s, "denied", f.session, nil); err != nil || r.State != "st" {
			t.Errorf("denied again: %+v, %v", r, err)
		}
		if _, err := oauth.DecideRequest(t.Context(), f.s, "denied", f.session, code(400)); !fault.Is(err, fault.NotFound) {
			t.Errorf("allowed after all: %v", err)
		}
		f.request(t, "late")
		advance(oauth.RequestLifetime)
		if _, err := oauth.DecideRequest(t.Context(), f.s, "late", f.session, code(200)); !fault.Is(err, fault.NotFound) {
			t.Errorf("after its end: %v", err)
		}
		codes := 0
		for _, n := range append(seq(20), 100, 200, 301, 400) {
			if _, err := oauth.GetCode(t.Context(), f.s, fmt.Sprintf("code%d", n)); err == nil {
				codes++
			}
		}
		if codes != 1 {
			t.Errorf("%d codes from one consent", codes)
		}
	})
}

// decided is the result of an answer.
func decided(_ *oauth.Request, err error) error { return err }

func seq(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

func TestRequestEndsWithItsSession(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		f.request(t, "request")
		if err := account.DeleteLoginSession(t.Context(), f.s, f.session); err != nil {
			t.Fatal(err)
		}
		if _, err := oauth.DecideRequest(t.Context(), f.s, "request", f.session, nil); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
}

func TestConsentNarrowsScopes(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, chosen, kept string
		code               fault.Code
	}{
		{"all", "connections timeline write", "connections timeline write", ""},
		{"in another order", "write connections", "connections write", ""},
		{"one", "timeline", "timeline", ""},
		{"none", "", "", fault.Invalid},
		{"writing alone", "write", "", fault.Invalid},
		{"more than asked", "connections account", "", fault.Invalid},
		{"what does not exist", "everything", "", fault.Invalid},
	}
	eachFlow(t, func(t *testing.T, f flow) {
		for n, c := range cases {
			request, code := fmt.Sprintf("r%d", n), fmt.Sprintf("c%d", n)
			f.request(t, request)
			_, err := oauth.DecideRequest(t.Context(), f.s, request, f.session, &oauth.AuthorizationCode{Hash: code, MemberID: f.owner, Scopes: c.chosen})
			if c.code != "" {
				if !fault.Is(err, c.code) {
					t.Errorf("%s: got %v", c.name, err)
				}
				if _, err := oauth.DecideRequest(t.Context(), f.s, request, f.session, nil); err != nil {
					t.Errorf("%s: the request cannot be answered again: %v", c.name, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			g := f.redeem(t, code, code)
			p, err := oauth.Authenticate(t.Context(), f.s, oauth.PrefixAccessToken+f.name+code)
			if err != nil || g.Scopes != c.kept || fmt.Sprint(p.Credential.Scopes) != fmt.Sprintf("[%s]", c.kept) {
				t.Errorf("%s: %q, %+v, %v", c.name, g.Scopes, p, err)
			}
		}
	})
}
