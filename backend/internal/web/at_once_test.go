package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// rival is one of several requests with the same proof.
type rival struct {
	*webtest.Browser

	request *http.Request
	answer  *webtest.Page
}

func (r *rival) send() { r.answer = r.Do(r.request) }

// copies returns requests of browsers that have the same cookies.
func copies(t *testing.T, s *webtest.Site, of *webtest.Browser, n int, path string, form url.Values) []*rival {
	t.Helper()
	rivals := make([]*rival, n)
	for i := range rivals {
		b := s.Browser(t)
		for _, name := range []string{"kith_form", "kith_step", "kith_session"} {
			if value := of.Cookie(name); value != "" {
				b.SetCookie(name, value)
			}
		}
		rivals[i] = &rival{Browser: b, request: b.Request(http.MethodPost, path, form)}
	}
	return rivals
}

// race prepares requests of a new member that all have one valid proof.
type race struct {
	name    string
	prepare func(t *testing.T, s *webtest.Site, owner *webtest.Browser, username string, n int) []*rival
	// refusal is what the others are told; empty if they may be signed out by then.
	refusal string
}

// wrongCode is part of what the second step says about a wrong code.
const wrongCode = "Each code works once"

func races() []race {
	const over, late = "Sign in again", "That took too long."
	steps := func(t *testing.T, s *webtest.Site, username, code string, n int) []*rival {
		t.Helper()
		rivals := make([]*rival, n)
		for i := range rivals {
			b, page := passwordOnly(t, s, username)
			rivals[i] = &rival{Browser: b, request: b.Request(http.MethodPost, twoStepPath, page.Fill(twoStepPath, webtest.Values("code", code)))}
		}
		return rivals
	}
	step := func(t *testing.T, s *webtest.Site, username, code string, n int) []*rival {
		t.Helper()
		b, page := passwordOnly(t, s, username)
		return copies(t, s, b, n, twoStepPath, page.Fill(twoStepPath, webtest.Values("code", code)))
	}
	return []race{
		{"a passkey alone", func(t *testing.T, s *webtest.Site, owner *webtest.Browser, _ string, n int) []*rival {
			t.Helper()
			a, _ := addPasskey(t, s, owner, "key")
			b := s.Browser(t)
			page := b.Get("/sign-in")
			answer := a.Get(t, optionsFor(t, b, page, passkeyPath+"/options"))
			return copies(t, s, b, n, passkeyPath, page.Fill(passkeyPath, webtest.Values("passkey", answer)))
		}, late},
		{"a passkey after the password", func(t *testing.T, s *webtest.Site, owner *webtest.Browser, username string, n int) []*rival {
			t.Helper()
			a, _ := addPasskey(t, s, owner, "key")
			b, page := passwordOnly(t, s, username)
			answer := a.Get(t, optionsFor(t, b, page, twoStepPath+"/options"))
			return copies(t, s, b, n, twoStepPath, webtest.Values("form_token", tokenOf(page), "passkey", answer))
		}, over},
		{"a passkey as a fresh proof", func(t *testing.T, s *webtest.Site, owner *webtest.Browser, _ string, n int) []*rival {
			t.Helper()
			a, _ := addPasskey(t, s, owner, "key")
			stale(s)
			asked := owner.Submit(owner.Get("/settings/mcp/tokens"), "/settings/mcp/tokens", webtest.Values("name", "x"))
			answer := a.Get(t, optionsFor(t, owner, asked, confirmPath+"/options"))
			return copies(t, s, owner, n, "/settings/mcp/tokens", asked.Fill("/settings/mcp/tokens", webtest.Values("confirm_passkey", answer)))
		}, ""},
		{"a code in one browser", func(t *testing.T, s *webtest.Site, owner *webtest.Browser, username string, n int) []*rival {
			t.Helper()
			return step(t, s, username, enrol(t, s, owner).code(t), n)
		}, over},
		{"a code in several browsers", func(t *testing.T, s *webtest.Site, owner *webtest.Browser, username string, n int) []*rival {
			t.Helper()
			return steps(t, s, username, enrol(t, s, owner).code(t), n)
		}, wrongCode},
		{"a recovery code in one browser", func(t *testing.T, s *webtest.Site, owner *webtest.Browser, username string, n int) []*rival {
			t.Helper()
			return step(t, s, username, enrol(t, s, owner).codes[0], n)
		}, over},
		{"a recovery code in several browsers", func(t *testing.T, s *webtest.Site, owner *webtest.Browser, username string, n int) []*rival {
			t.Helper()
			return steps(t, s, username, enrol(t, s, owner).codes[0], n)
		}, wrongCode},
	}
}

// wantOneWinner fails unless exactly one of the requests with one proof counted, the others were told the same, and
// the member is told neither of a copy of the passkey nor of a factor that was not wrong.
func wantOneWinner(t *testing.T, s *webtest.Site, what string, run race, owner *webtest.Browser, rivals []*rival) {
	t.Helper()
	winners := 0
	for _, r := range rivals {
		switch p, in := r.answer, isSignedIn(r.Browser); {
		case in && p.Status == http.StatusSeeOther:
			winners++
		case in, run.refusal != "" && (p.Status != http.StatusForbidden || !strings.Contains(p.Text(), run.refusal)):
			t.Errorf("%s: signed in: %v, %d %s", what, in, p.Status, p.Text())
		}
	}
	if winners != 1 {
		t.Errorf("%s: %d requests counted", what, winners)
	}
	events, err := account.ListSecurityEvents(t.Context(), s.Store, owner.Owner, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	times := map[account.EventKind]int{}
	for _, e := range events {
		times[e.Kind] += e.Times
	}
	if used := times[account.FactorUsed] + times[account.RecoveryCodeUsed]; used != 1 || times[account.PasskeyCloned] > 0 {
		t.Errorf("%s: the events are %v", what, times)
	}
	if run.refusal != wrongCode && times[account.FactorFailed] > 0 {
		t.Errorf("%s: the member is told of a wrong factor", what)
	}
}

// One proof that is sent many times at once counts once: the answer of a passkey, a code, a recovery code.
func TestOneProofAtOnce(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		for i, run := range races() {
			username := fmt.Sprintf("member-%d", i)
			owner := s.SignedIn(t, username)
			rivals := run.prepare(t, s, owner, username, 16)
			var calls sync.WaitGroup
			begin := make(chan struct{})
			for _, r := range rivals {
				calls.Go(func() {
					<-begin
					r.send()
				})
			}
			close(begin)
			calls.Wait()
			wantOneWinner(t, s, run.name, run, owner, rivals)
		}
	})
}

// A proof counts once also when it is sent again, and answered, just before any one store call of the first request.
func TestOneProofInBetween(t *testing.T) {
	t.Parallel()
	s, store := brittleSite(t)
	for i, run := range races() {
		for n := 1; ; n++ {
			username := fmt.Sprintf("member-%d-%d", i, n)
			owner := s.SignedIn(t, username)
			rivals := run.prepare(t, s, owner, username, 2)
			first, second := rivals[0], rivals[1]
			calls, writing := 0, false
			store.Set(func(statement string) error {
				if writing = writing && statement != "COMMITTED"; writing { // the second would wait until the first ends
					return nil
				}
				if calls++; calls == n {
					store.Set(nil)
					second.send()
				}
				writing = statement == "BEGIN"
				return nil
			})
			first.send()
			store.Set(nil)
			if second.answer == nil {
				break
			}
			wantOneWinner(t, s, fmt.Sprintf("%s, call %d", run.name, n), run, owner, rivals)
		}
	}
}
