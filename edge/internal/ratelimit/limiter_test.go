package ratelimit_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/clientip"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/requestlog"
)

// bench has a limiter with two policies of three requests each.
func newLimiter(t *testing.T) *ratelimit.Limiter {
	t.Helper()
	clients, err := clientip.New(clientip.Config{TrustedProxies: []string{"10.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := ratelimit.New(ratelimit.Options{
		Policies: []ratelimit.Policy{
			{Name: "reads", Quota: 3, Window: time.Minute, By: ratelimit.Address},
			{Name: "calls", Quota: 3, Window: time.Minute, By: ratelimit.Credential},
			{Name: "free", Window: time.Minute, By: ratelimit.Address},
		},
		Store: ratelimit.NewMemory(ratelimit.MemoryConfig{}), Clients: clients, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// request returns a request from an address, with a bearer unless that is empty.
func request(address, bearer string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = address + ":1234"
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r.WithContext(ratelimit.NewContext(requestlog.NewContext(r.Context(), &requestlog.Event{})))
}

// admitted returns how many of ten requests are admitted.
func admitted(l *ratelimit.Limiter, policy string, make func() *http.Request) (n int) {
	for range 10 {
		if l.Limit(httptest.NewRecorder(), make(), policy) {
			n++
		}
	}
	return n
}

func TestAddressesAreCountedApart(t *testing.T) {
	t.Parallel()
	l := newLimiter(t)
	for name, make := range map[string]func() *http.Request{
		"one":                    func() *http.Request { return request("192.0.2.1", "") },
		"another":                func() *http.Request { return request("192.0.2.2", "") },
		"behind the proxy":       func() *http.Request { return request("10.0.0.1", "", "X-Forwarded-For", "198.51.100.7") },
		"forged X-Forwarded-For": func() *http.Request { return request("198.51.100.9", "", "X-Forwarded-For", "198.51.100.10") },
		"a network":              func() *http.Request { return request("[2001:db8::1]", "") },
	} {
		if n := admitted(l, "reads", make); n != 3 {
			t.Errorf("%s: %d admitted", name, n)
		}
	}
	if l.Limit(httptest.NewRecorder(), request("[2001:db8::2]", ""), "reads") {
		t.Error("another address of the same /64 has its own budget")
	}
	if l.Limit(httptest.NewRecorder(), request("198.51.100.9", "", "X-Forwarded-For", "203.0.113.1"), "reads") {
		t.Error("a header of an untrusted peer gives a new budget")
	}
}

// answer makes the limiter learn what the backend answered: the credential and the member of a live
// bearer, or, without a credential, that it is not valid.
func answer(l *ratelimit.Limiter, r *http.Request, credential, member string) {
	e := requestlog.FromContext(r.Context())
	if e.Dead, e.Member = credential == "", member; !e.Dead {
		e.SetCredential(credential)
	}
	l.Learn(r)
}

// A bearer counts for itself until the backend has answered. If it is not valid, it has counted for
// its address, and counts there from then on; so no address keeps a live token out, and invented
// bearers use up the budget of their own address.
func TestUnknownBearersCountForThemselves(t *testing.T) {
	t.Parallel()
	l := newLimiter(t)
	for i := range 5 {
		r := request("192.0.2.1", fmt.Sprint("made-up-", i))
		if !l.Limit(httptest.NewRecorder(), r, "calls") {
			t.Errorf("the first request of bearer %d is refused", i)
		}
		answer(l, r, "", "")
	}
	for bearer, want := range map[string]bool{"": false, "made-up-1": false, "live": true} {
		if got := l.Limit(httptest.NewRecorder(), request("192.0.2.1", bearer), "calls"); got != want {
			t.Errorf("bearer %q at a spent address: admitted %v", bearer, got)
		}
	}
	if n := admitted(l, "calls", func() *http.Request { return request("192.0.2.2", "unanswered") }); n != 3 {
		t.Errorf("%d requests of one bearer were admitted before an answer", n)
	}
}

// The requests of a bearer that was not known count for its credential once it is.
func TestFirstRequestsCountForTheCredential(t *testing.T) {
	t.Parallel()
	l := newLimiter(t)
	for _, bearer := range []string{"first", "second"} { // of one grant
		r := request("192.0.2.1", bearer)
		l.Limit(httptest.NewRecorder(), r, "calls")
		answer(l, r, "gra_1", "m1")
	}
	if n := admitted(l, "calls", func() *http.Request { return request("192.0.2.1", "first") }); n != 1 {
		t.Errorf("%d more admitted", n)
	}
}

// A bearer that came with a call on the demo account is not taken for the demo account's.
func TestDemoCallsTeachNothing(t *testing.T) {
	t.Parallel()
	l := newLimiter(t)
	for _, bearer := range []string{"mine", "another"} {
		r := request("192.0.2.1", bearer)
		requestlog.FromContext(r.Context()).Demo = true
		answer(l, r, "pat_demo", "demo")
	}
	for _, bearer := range []string{"mine", "another"} {
		if n := admitted(l, "calls", func() *http.Request { return request("192.0.2.1", bearer) }); n != 3 {
			t.Errorf("%s: %d admitted", bearer, n)
		}
	}
}

// All credentials of a member have five times the quota together; another member has their own.
func TestMembersShareABudget(t *testing.T) {
	t.Parallel()
	l := newLimiter(t)
	for i := range 8 {
		answer(l, request("192.0.2.1", fmt.Sprint("token-", i)), fmt.Sprint("pat_", i), "m1")
	}
	answer(l, request("192.0.2.1", "other"), "pat_other", "m2")
	total := 0
	for i := range 8 {
		total += admitted(l, "calls", func() *http.Request { return request("192.0.2.1", fmt.Sprint("token-", i)) })
	}
	if total != 15 {
		t.Errorf("%d requests of a member were admitted", total)
	}
	answer(l, request("192.0.2.1", "new"), "pat_new", "m1")
	w, policies := httptest.NewRecorder(), "RateLimit-Policy" // spelt as in the specification
	if l.Limit(w, request("192.0.2.1", "new"), "calls") || w.Header()[policies][0] != `"calls-member";q=15;w=60` || w.Header().Get("Retry-After") == "" {
		t.Errorf("refused with %v", w.Header())
	}
	if n := admitted(l, "calls", func() *http.Request { return request("192.0.2.1", "other") }); n != 3 {
		t.Errorf("%d requests of another member were admitted", n)
	}
}

// Two bearers of one credential share its budget, whatever addresses they come from. A
// bearer that is not valid counts on its address.
func TestCredentialsAreLearned(t *testing.T) {
	t.Parallel()
	l := newLimiter(t)
	learn := func(bearer, credential string) {
		r := request("192.0.2.200", bearer)
		requestlog.FromContext(r.Context()).SetCredential(credential)
		l.Learn(r)
	}
	learn("first", "gra_1")
	learn("second", "gra_1")
	i := 0
	if n := admitted(l, "calls", func() *http.Request {
		i++
		return request(fmt.Sprintf("192.0.2.%d", i), []string{"first", "second"}[i%2])
	}); n != 3 {
		t.Errorf("%d calls of one credential were admitted", n)
	}
	r := request("192.0.2.1", "first")
	requestlog.FromContext(r.Context()).Dead = true
	l.Learn(r)
	if !l.Limit(httptest.NewRecorder(), request("192.0.2.77", "first"), "calls") {
		t.Error("a revoked bearer still counts on the credential's budget")
	}
	if l.Limit(httptest.NewRecorder(), request("192.0.2.77", "second"), "calls") {
		t.Error("a valid bearer was forgotten with a revoked one")
	}
}

func TestManyCredentialsAreBounded(t *testing.T) {
	t.Parallel()
	l := newLimiter(t)
	for i := range 20_000 {
		r := request("192.0.2.1", fmt.Sprint("bearer-", i))
		requestlog.FromContext(r.Context()).SetCredential(fmt.Sprint("gra_", i))
		l.Learn(r)
	}
	if n := admitted(l, "calls", func() *http.Request { return request("192.0.2.1", "bearer-19999") }); n != 3 {
		t.Errorf("%d admitted", n)
	}
	if n := admitted(l, "calls", func() *http.Request { return request("192.0.2.1", "bearer-0") }); n != 3 {
		t.Errorf("a forgotten one: %d admitted", n)
	}
}

func TestHeadersOfARequest(t *testing.T) {
	t.Parallel()
	l := newLimiter(t)
	w, r := httptest.NewRecorder(), request("192.0.2.1", "")
	l.Limit(w, r, "reads")
	if n, _ := l.TakeN(w, r, "calls", 5); n != 3 {
		t.Errorf("%d parts were admitted", n)
	}
	lists := [2]string{"RateLimit-Policy", "RateLimit"} // spelt as in the specification
	if got := w.Header()[lists[0]]; len(got) != 1 || got[0] != `"reads";q=3;w=60, "calls";q=3;w=60` {
		t.Errorf("policies %q", got)
	}
	if got := w.Header()[lists[1]]; len(got) != 1 || got[0] != `"reads";r=2;t=60, "calls";r=0;t=60` {
		t.Errorf("limits %q", got)
	}
	if w.Header().Get("Retry-After") != "" {
		t.Error("an answer that is not refused has Retry-After")
	}
	w = httptest.NewRecorder()
	for range 4 {
		w = httptest.NewRecorder()
		l.Limit(w, request("192.0.2.9", ""), "reads")
	}
	if w.Header().Get("Retry-After") != "60" {
		t.Errorf("a refused answer: %v", w.Header())
	}
	w = httptest.NewRecorder()
	if !l.Limit(w, request("192.0.2.9", ""), "free") || len(w.Header()) > 0 {
		t.Errorf("a policy that is off: %v", w.Header())
	}
}

func TestUnknownPolicy(t *testing.T) {
	t.Parallel()
	if err := newLimiter(t).Check("nonsense"); err == nil {
		t.Error("found")
	}
}
