package oauth_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/oauth/clientdoc"
	"github.com/kith-crm/kith/backend/internal/outbound"
	"github.com/kith-crm/kith/backend/internal/outbound/outboundtest"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// publisher is a host with documents that a test sets.
type publisher struct {
	*outboundtest.Host

	mu    sync.Mutex
	serve http.HandlerFunc
}

// newPublisher starts a host that serves, at every path, a document about itself.
func newPublisher(t testing.TB) *publisher {
	t.Helper()
	p := &publisher{}
	p.Host = outboundtest.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		serve := p.serve
		p.mu.Unlock()
		serve(w, r)
	}))
	p.publish(`"client_name":"Agent Smith","redirect_uris":["` + callback + `","http://localhost/cb"]`)
	return p
}

// publish changes the members of the documents, except client_id.
func (p *publisher) publish(members string, header ...string) {
	p.set(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		_, _ = fmt.Fprintf(w, `{"client_id":%q,%s}`, p.URL+r.URL.Path, members)
	})
}

func (p *publisher) set(serve http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serve = serve
}

// agent returns the client that the document at a path describes.
func (p *publisher) agent(s *webtest.Site, path string) agent {
	return agent{site: s, id: p.URL + path, redirectURI: callback}
}

// lookingUp makes a site fetch documents from the publisher.
func lookingUp(o outbound.Options) webtest.Options {
	return webtest.Options{Auth: func(c *oauth.Config) { c.Documents = clientdoc.New(clientdoc.Options{Options: o}) }}
}

// The complete flow of a client that never registered, over a real https server: the
// document is fetched once, for the member's request, and never for a token.
func TestClientOfADocument(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		p := newPublisher(t)
		s := webtest.Start(t, databaseURL, lookingUp(p.Options()))
		a, b := p.agent(s, "/client.json"), s.SignedIn(t, "maria")
		page := authorize(b, a.ask())
		for _, words := range []string{"calls itself Agent Smith", "published by the website agent.example.com", "another website"} {
			if page.Status != http.StatusOK || !strings.Contains(page.Text(), words) {
				t.Errorf("%d, no %q: %s", page.Status, words, page.Text())
			}
		}
		if !strings.Contains(page.Body, "agent.<strong>example.com</strong>") {
			t.Error("the domain is not emphasised")
		}
		pair := a.exchange(t, a.sentBack(t, decide(b, page, "allow", nil), callback).Get("code"))
		wantTokens(t, pair)
		if got := a.principal(t, pair.AccessToken); got == nil || got.Credential.ClientID != a.id || got.Credential.Name != "Agent Smith" {
			t.Errorf("got %+v", got)
		}
		p.set(http.NotFound) // a granted client no longer needs its document
		pair = a.refresh(t, pair.RefreshToken)
		a.wantAlive(t, pair)
		if settings := b.Get("/settings/mcp"); !strings.Contains(settings.Text(), "Published by agent.example.com") {
			t.Errorf("the settings page: %s", settings.Text())
		}
		other := a
		other.redirectURI = "http://localhost:5599/cb"
		if local := authorize(b, other.ask()); !strings.Contains(local.Text(), "Any program on your computer can pose as it") || strings.Contains(local.Text(), "another website") {
			t.Errorf("a program on this computer: %s", local.Text())
		}
		second := a.tokens(t, b)
		if got := a.revoke(t, second.AccessToken); got.Status != http.StatusOK {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		a.wantDead(t, second)
		if n := p.Requests(); n != 1 {
			t.Errorf("%d requests for the document", n)
		}
		if ids := column(t, dbtest.OpenSQL(t, databaseURL), "SELECT id, name, redirect_uris FROM clients"); len(ids) != 1 || ids[0] != a.id+` Agent Smith ["https://agent.example/cb","http://localhost/cb"]` {
			t.Errorf("kept %q", ids)
		}
	})
}

// Tokens belong to the client that they were issued to, for both kinds of clients.
func TestClientsOfDocumentsAreApart(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	s := webtest.New(t, lookingUp(p.Options()))
	b := s.SignedIn(t, "maria")
	first, second, registered := p.agent(s, "/1.json"), p.agent(s, "/2.json"), newAgent(t, s)
	code := first.code(t, b)
	for _, other := range []agent{second, registered, p.agent(s, "/1.json?x"), p.agent(s, "/%31.json")} {
		got := other.exchange(t, code)
		if got.Status != http.StatusBadRequest || got.AccessToken != "" {
			t.Errorf("%s: %d %s", other.id, got.Status, got.Body)
		}
	}
	wantError(t, second.exchange(t, code), "invalid_client") // its document was never fetched
	second.code(t, b)
	wantError(t, second.exchange(t, code), "invalid_grant")
	wantTokens(t, first.exchange(t, code))
}

// Without a session nothing is fetched: the browser is sent to sign in first, and
// returns to the same request.
func TestStrangersFetchNothing(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	s := webtest.New(t, lookingUp(p.Options()))
	a := p.agent(s, "/client.json")
	for name, query := range map[string]url.Values{
		"a request":        a.ask(),
		"with a mistake":   with(a.ask(), "response_type", "token"),
		"to another place": with(a.ask(), "redirect_uri", "https://evil.example/cb"),
	} {
		to := s.Browser(t).Get(oauth.PathAuthorize + "?" + query.Encode())
		if want := s.URL + "/sign-in?" + values("return_to", oauth.PathAuthorize+"?"+query.Encode()).Encode(); to.Status != http.StatusSeeOther || s.URL+to.Header.Get("Location") != want {
			t.Errorf("%s: %d to %q", name, to.Status, to.Header.Get("Location"))
		}
	}
	wantError(t, a.exchange(t, "code"), "invalid_client")
	wantError(t, a.refresh(t, "kith_rt_x"), "invalid_client")
	wantError(t, a.revoke(t, "kith_at_x"), "invalid_client")
	if n := p.Requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// The errors of a document are shown to the member on a page that does not redirect and
// contains no internal details.
func TestDocumentsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	page := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		}
	}
	const redirects = `"redirect_uris":["` + callback + `"]`
	const unusable = "The application cannot be checked"
	for name, c := range map[string]struct {
		prepare func(p *publisher)
		words   string
	}{
		"huge":      {func(p *publisher) { p.publish(redirects + `,"x":"` + strings.Repeat("x", 10<<10) + `"`) }, "larger than 10 KB"},
		"slow":      {func(p *publisher) { p.set(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }) }, "could not be reached within 5 seconds"},
		"redirects": {func(p *publisher) { p.set(http.RedirectHandler("/other.json", http.StatusMovedPermanently).ServeHTTP) }, "redirect is not followed"},
		"missing":   {func(p *publisher) { p.set(http.NotFound) }, "status 404"},
		"names another id": {func(p *publisher) {
			p.set(page(`{"client_id":"https://claude.ai/oauth/client.json",` + redirects + `}`))
		}, "client_id is another address"},
		"not JSON": {func(p *publisher) { p.set(page("hello")) }, "no JSON object"},
		"a web page": {func(p *publisher) {
			p.set(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
		}, "not JSON"},
		"duplicate keys":          {func(p *publisher) { p.publish(redirects + `,` + redirects) }, "twice"},
		"a secret":                {func(p *publisher) { p.publish(redirects + `,"client_secret":"hunter2"`) }, "client secret"},
		"a redirect_uri too few":  {func(p *publisher) { p.publish(`"redirect_uris":[]`) }, "no return address"},
		"a name that is reversed": {func(p *publisher) { p.publish(redirects + `,"client_name":"\u202eedualC"`) }, "direction of text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPublisher(t)
			c.prepare(p)
			options := clientdoc.Options{Options: p.Options()}
			if name == "slow" {
				options.Timeout = 100 * time.Millisecond
			}
			databaseURL := dbtest.SQLite(t)
			s := webtest.Start(t, databaseURL, webtest.Options{Auth: func(c *oauth.Config) { c.Documents = clientdoc.New(options) }})
			b := s.SignedIn(t, "maria")
			for range 2 { // the second is answered from the cache
				got := authorize(b, p.agent(s, "/client.json").ask())
				wantPage(t, got, http.StatusBadRequest, unusable)
				wantPage(t, got, http.StatusBadRequest, c.words)
				for _, inside := range []string{"127.0.0.1", "hunter2", "dial", "x509", "context", "Get "} {
					if strings.Contains(got.Body, inside) {
						t.Errorf("%q is told: %s", inside, got.Text())
					}
				}
			}
			if n := p.Requests(); n != 1 {
				t.Errorf("%d requests", n)
			}
			if kept := len(column(t, dbtest.OpenSQL(t, databaseURL), "SELECT id FROM clients")); kept != 0 {
				t.Errorf("%d clients are kept", kept)
			}
		})
	}
}

// A valid document does not allow any other redirect URI.
func TestRedirectURIsOfADocument(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	s := webtest.New(t, lookingUp(p.Options()))
	a, b := p.agent(s, "/client.json"), s.SignedIn(t, "maria")
	for _, elsewhere := range []string{
		"https://evil.example/cb", p.URL + "/cb", callback + "/", callback + "?x=y", "https://agent.example/%63b", "HTTPS://agent.example/cb", "http://localhost/other", "http://127.0.0.1/cb", "",
	} {
		wantPage(t, authorize(b, with(a.ask(), "redirect_uri", elsewhere)), http.StatusBadRequest, "Unknown return address")
	}
	wantPage(t, authorize(b, twice(a.ask(), "redirect_uri", callback, "https://evil.example/cb")), http.StatusBadRequest, "named twice")
	wantPage(t, authorize(b, twice(a.ask(), "client_id", a.id, p.URL+"/2.json")), http.StatusBadRequest, "named twice")
	if got := a.sentBack(t, authorize(b, with(a.ask(), "response_type", "token")), callback); got.Get("error") != "unsupported_response_type" {
		t.Errorf("got %v", got)
	}
	if n := p.Requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// With production options, a document at an internal address is never requested, and
// the page is the same as for a host that does not respond.
func TestDocumentsAtAddressesOfTheInside(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	s := webtest.New(t, lookingUp(p.Production()))
	b := s.SignedIn(t, "maria")
	for n, address := range []string{"127.0.0.1", "::1", "10.1.2.3", "169.254.169.254", "fd00::1"} {
		p.Resolve(address)
		got := authorize(b, p.agent(s, fmt.Sprintf("/%d.json", n)).ask())
		wantPage(t, got, http.StatusBadRequest, "could not be reached within 5 seconds")
		if strings.Contains(got.Body, address) || strings.Contains(got.Body, "public") {
			t.Errorf("the address is told: %s", got.Text())
		}
	}
	for _, id := range []string{"https://127.0.0.1:" + p.Port() + "/c", "https://localhost/c", "https://[::1]/c", "http://agent.example.com/c", "https://agent.example.com", "https://agent.example.com/../c"} {
		wantPage(t, authorize(b, with(p.agent(s, "/").ask(), "client_id", id)), http.StatusBadRequest, "Unknown application")
	}
	if n := p.Requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A document is cached for as long as its host allows, within bounds; an invalid one is
// requested again soon.
func TestDocumentsAreRemembered(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	p.publish(`"client_name":"First","redirect_uris":["`+callback+`"]`, "Cache-Control", "max-age=600")
	s := webtest.New(t, lookingUp(p.Options()))
	a, b := p.agent(s, "/client.json"), s.SignedIn(t, "maria")
	for _, step := range []struct {
		wait     time.Duration
		change   func()
		words    string
		requests int
	}{
		{0, nil, "First", 1},
		{599 * time.Second, func() { p.publish(`"client_name":"Second","redirect_uris":["` + callback + `"]`) }, "First", 1},
		{time.Second, nil, "Second", 2},
		{59 * time.Minute, func() { p.set(http.NotFound) }, "Second", 2},
		{time.Minute, nil, "status 404", 3},
		{9 * time.Second, func() { p.publish(`"client_name":"Third","redirect_uris":["` + callback + `"]`) }, "status 404", 3},
		{time.Second, nil, "Third", 4},
	} {
		s.Clock.Advance(step.wait)
		b = s.BrowserOf(t, b.Owner) // who has just signed in
		if step.change != nil {
			step.change()
		}
		if page := authorize(b, a.ask()); !strings.Contains(page.Text(), step.words) || p.Requests() != step.requests {
			t.Errorf("after %s: %d requests, no %q: %s", step.wait, p.Requests(), step.words, page.Text())
		}
	}
}

// Members who ask at the same time wait for one request.
func TestOneRequestForAllWhoAsk(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	s := webtest.New(t, lookingUp(p.Options()))
	a := p.agent(s, "/client.json")
	browsers := make([]*webtest.Browser, 20)
	for n := range browsers {
		browsers[n] = s.SignedIn(t, fmt.Sprintf("m-%d", n))
	}
	answers, err := together(len(browsers), func(n int) (answer, error) { return ofPage(authorize(browsers[n], a.ask())), nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range answers {
		if got.Status != http.StatusOK {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	}
	if n := p.Requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// One member can have only a few unknown documents fetched at a time; other members and
// known clients are not affected.
func TestDocumentsOfOneMemberAreLimited(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	s := webtest.New(t, lookingUp(p.Options()))
	maria, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
	ask := func(b *webtest.Browser, n int) *webtest.Page {
		return authorize(b, p.agent(s, fmt.Sprintf("/%d.json", n)).ask())
	}
	for n := range 10 {
		if got := ask(maria, n); got.Status != http.StatusOK {
			t.Fatalf("%d: %d %s", n, got.Status, got.Text())
		}
	}
	limited := ask(maria, 10)
	wantPage(t, limited, http.StatusTooManyRequests, "Too many applications")
	if limited.Header.Get("Retry-After") != "30" {
		t.Errorf("Retry-After: %q", limited.Header.Get("Retry-After"))
	}
	for _, got := range []*webtest.Page{ask(maria, 0), ask(other, 10), ask(maria, 10)} {
		if got.Status != http.StatusOK {
			t.Errorf("%d %s", got.Status, got.Text())
		}
	}
	wantPage(t, ask(maria, 11), http.StatusTooManyRequests, "Too many applications")
	s.Clock.Advance(30 * time.Second)
	if got := ask(maria, 11); got.Status != http.StatusOK {
		t.Errorf("later: %d %s", got.Status, got.Text())
	}
}

// If documents are disabled, nothing is fetched and no new client is accepted; clients
// that members have already granted access continue to work.
func TestDocumentsSwitchedOff(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		p := newPublisher(t)
		s := webtest.Start(t, databaseURL, lookingUp(p.Options()))
		pair := p.agent(s, "/client.json").tokens(t, s.SignedIn(t, "maria"))
		off := webtest.Start(t, databaseURL, webtest.Options{})
		a, b := p.agent(off, "/client.json"), off.SignedIn(t, "other")
		wantPage(t, authorize(b, a.ask()), http.StatusBadRequest, "Unknown application")
		wantPage(t, authorize(off.Browser(t), a.ask()), http.StatusBadRequest, "Unknown application")
		a.wantAlive(t, pair)
		if n := p.Requests(); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// The metadata says whether documents are supported.
func TestMetadataNamesDocuments(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, lookingUp(outbound.Options{}))
	r, err := agent{site: s}.request(t.Context(), http.MethodGet, oauth.PathMetadata, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := send(r); err != nil || !strings.Contains(got.Body, `"client_id_metadata_document_supported":true`) {
		t.Errorf("%s, %v", got.Body, err)
	}
}

// Each call of a request by a client with a document fails in turn.
func TestDocumentsInAnOutage(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	s, f := flakySite(t, lookingUp(p.Options()))
	a, b := p.agent(s, "/client.json"), s.SignedIn(t, "maria")
	const calls = "SELECT login_sessions, INSERT clients, BEGIN, COMMITTED, SELECT grants"
	for n := range strings.Split(calls, ", ") {
		f.plan(t, failure{call: n, err: fmt.Errorf("broken: %s", innards)})
		wantOutage(t, ofPage(authorize(b, a.ask())), false)
	}
	f.plan(t, failure{})
	if got := authorize(b, a.ask()); got.Status != http.StatusOK || f.called() != calls {
		t.Errorf("%d, it calls %s", got.Status, f.called())
	}
}
