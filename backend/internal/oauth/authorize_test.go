package oauth_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

func TestScopesOfARequest(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	for name, c := range map[string]struct {
		query         url.Values
		scopes, error string
	}{
		"omitted is all":              {a.ask(), allScopes, ""},
		"one":                         {with(a.ask(), "scope", "timeline"), "timeline", ""},
		"some":                        {with(a.ask(), "scope", "timeline write"), "timeline write", ""},
		"one twice":                   {with(a.ask(), "scope", "timeline timeline"), "timeline", ""},
		"one that does not exist":     {with(a.ask(), "scope", "everything"), "", "invalid_scope"},
		"one among others":            {with(a.ask(), "scope", "timeline everything"), "", "invalid_scope"},
		"those of OpenID Connect":     {with(a.ask(), "scope", "openid profile email offline_access"), allScopes, ""},
		"one with offline_access":     {with(a.ask(), "scope", "timeline offline_access"), "timeline", ""},
		"in other letters":            {with(a.ask(), "scope", "Timeline"), "", "invalid_scope"},
		"empty":                       {with(a.ask(), "scope", ""), allScopes, ""},
		"a space":                     {with(a.ask(), "scope", " "), "", "invalid_scope"},
		"a space before":              {with(a.ask(), "scope", " timeline"), "", "invalid_scope"},
		"a space after":               {with(a.ask(), "scope", "timeline "), "", "invalid_scope"},
		"two spaces":                  {with(a.ask(), "scope", "timeline  write"), "", "invalid_scope"},
		"a tab":                       {with(a.ask(), "scope", "timeline\twrite"), "", "invalid_scope"},
		"a line break":                {with(a.ask(), "scope", "timeline\r\n"), "", "invalid_scope"},
		"a comma":                     {with(a.ask(), "scope", "timeline,write"), "", "invalid_scope"},
		"a space of another alphabet": {with(a.ask(), "scope", "timeline\u00a0write"), "", "invalid_scope"},
		"a NUL":                       {with(a.ask(), "scope", "timeline\x00"), "", "invalid_scope"},
		"no text":                     {with(a.ask(), "scope", "\xff"), "", "invalid_scope"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := authorize(b, c.query)
			if c.error == "" {
				code := a.sentBack(t, decide(b, page, "allow", nil), callback).Get("code")
				if got := a.exchange(t, code); got.Scope != c.scopes {
					t.Errorf("got %q", got.Scope)
				}
				return
			}
			if got := a.sentBack(t, page, callback); got.Get("error") != c.error || got.Get("error_description") == "" || got.Has("code") {
				t.Errorf("got %v", got)
			}
		})
	}
}

// The error of a request by a known client with its own redirect URI is sent to the
// client, with state and issuer, if the browser is signed in.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	for name, c := range map[string]struct {
		query url.Values
		error string
	}{
		"no response_type":                {without(a.ask(), "response_type"), "invalid_request"},
		"implicit":                        {with(a.ask(), "response_type", "token"), "unsupported_response_type"},
		"form_post":                       {with(a.ask(), "response_mode", "form_post"), "invalid_request"},
		"fragment":                        {with(a.ask(), "response_mode", "fragment"), "invalid_request"},
		"no challenge":                    {without(a.ask(), "code_challenge"), "invalid_request"},
		"no challenge and no method":      {without(a.ask(), "code_challenge", "code_challenge_method"), "invalid_request"},
		"no method":                       {without(a.ask(), "code_challenge_method"), "invalid_request"},
		"plain":                           {with(a.ask(), "code_challenge_method", "plain", "code_challenge", verifier), "invalid_request"},
		"a challenge of 42 characters":    {with(a.ask(), "code_challenge", challenge[1:]), "invalid_request"},
		"a challenge of 44 characters":    {with(a.ask(), "code_challenge", challenge+"="), "invalid_request"},
		"a challenge with a line break":   {with(a.ask(), "code_challenge", challenge[:20]+"\n"+challenge[20:]), "invalid_request"},
		"a challenge of another alphabet": {with(a.ask(), "code_challenge", "+"+challenge[1:]), "invalid_request"},
		"a parameter twice":               {twice(a.ask(), "scope", "timeline", "write"), "invalid_request"},
		"a challenge twice":               {twice(a.ask(), "code_challenge", challenge, challenge), "invalid_request"},
		"another's resource":              {with(a.ask(), "resource", "https://other.example/mcp"), "invalid_target"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := a.sentBack(t, authorize(b, c.query), callback)
			if got.Get("error") != c.error || got.Get("error_description") == "" || got.Has("code") {
				t.Errorf("got %v", got)
			}
		})
	}
}

// The page of an error before sign-in says that the client may be waiting, and after sign-in the error is sent to it.
func TestErrorBeforeSignIn(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a := agentAt(t, s, "http://127.0.0.1:4711/cb")
	s.Member(t, "maria")
	b := s.Browser(t)
	first := authorize(b, with(a.ask(), "scope", "everything", "prompt", "login"))
	wantPage(t, first, http.StatusBadRequest, "(invalid_scope). You were not sent back to it, so it may still be waiting.")
	link := regexp.MustCompile(`href="(/sign-in\?[^"]+)"`).FindStringSubmatch(first.Body)
	if link == nil {
		t.Fatalf("no link to sign in: %s", first.Body)
	}
	signIn := b.Get(html.UnescapeString(link[1]))
	got := a.sentBack(t, b.Follow(b.Submit(signIn, "/sign-in", values("login", "maria", "password", webtest.Password))), a.redirectURI)
	if got.Get("error") != "invalid_scope" || got.Has("code") {
		t.Errorf("got %v", got)
	}
}

// Of several errors the first is reported: those of what is requested come before those
// of PKCE.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	query := with(a.ask(), "response_type", "token", "scope", "everything", "code_challenge_method", "plain", "code_challenge", "short")
	wantPage(t, authorize(b, with(query, "client_id", "cli_01J00000000000000000000000")), http.StatusBadRequest, "not registered (invalid_client)")
	for _, step := range []struct{ error, words, mend, value string }{
		{"unsupported_response_type", "response_type", "response_type", "code"},
		{"invalid_scope", "everything", "scope", "timeline"},
		{"invalid_request", "code_challenge_method", "code_challenge_method", "S256"},
		{"invalid_request", "code_challenge must", "code_challenge", strings.Repeat("A", 42) + "B"}, // any 43 characters are a valid challenge
	} {
		got := a.sentBack(t, authorize(b, query), callback)
		if got.Get("error") != step.error || !strings.Contains(got.Get("error_description"), step.words) {
			t.Errorf("%s: %v", step.mend, got)
		}
		query = with(query, step.mend, step.value)
	}
	code := a.sentBack(t, decide(b, authorize(b, query), "allow", nil), callback).Get("code")
	wantError(t, a.exchange(t, code), "invalid_grant") // no verifier matches it
}

// twice returns a copy of a form with a parameter that is given twice.
func twice(form url.Values, name, first, second string) url.Values {
	form = with(form, name, first)
	form.Add(name, second)
	return form
}

// The client finds its request again by the state: it is required and returned
// unchanged.
func TestState(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		s := webtest.Start(t, databaseURL, webtest.Options{})
		a, b := newAgent(t, s), s.SignedIn(t, "maria")
		for _, state := range []string{"x", "a b+c&d=e%2f#?/", `"><script>`, "\r\nSet-Cookie: a=b", "ключ", strings.Repeat("s", 2048)} {
			answer := decide(b, authorize(b, with(a.ask(), "state", state)), "allow", nil)
			to, err := url.Parse(answer.Header.Get("Location"))
			if err != nil || to.Query().Get("state") != state || to.Host != "agent.example" || answer.Header.Get("Set-Cookie") != "" {
				t.Errorf("%q: %v, %v", state, to, err)
			}
		}
		for name, query := range map[string]url.Values{
			"none": without(a.ask(), "state"), "an empty one": with(a.ask(), "state", ""),
			"a NUL": with(a.ask(), "state", "a\x00"), "no text": with(a.ask(), "state", "\xff"),
			"a long one": with(a.ask(), "state", strings.Repeat("s", 2049)), "a long one of two-byte letters": with(a.ask(), "state", strings.Repeat("é", 1025)),
		} {
			p := authorize(b, query)
			to, err := url.Parse(p.Header.Get("Location"))
			if p.Status != http.StatusSeeOther || err != nil || to.Query().Get("error") != "invalid_request" ||
				to.Query().Get("iss") != s.URL || to.Query().Get("state") != query.Get("state") {
				t.Errorf("%s: %d %v", name, p.Status, to)
			}
		}
	})
}

// RFC 8707: all resources of this service are one.
func TestResource(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	for name, c := range map[string]struct {
		resource string
		ok       bool
	}{
		"the MCP server": {s.URL + "/mcp/v1", true}, "its alias": {s.URL + "/mcp", true}, "the service": {s.URL, true}, "the service with a slash": {s.URL + "/", true},
		"the server that always asks for a bearer": {s.URL + "/mcp/v1/me", true}, "a slash at the end": {s.URL + "/mcp/v1/", true}, "the alias with a slash": {s.URL + "/mcp/", true},
		"scheme and host in capitals": {strings.Replace(strings.ToUpper(s.URL), "LOCALHOST", "LocalHost", 1) + "/mcp/v1", true}, "no value, which is none": {"", true},
		"another service": {"https://other.example/mcp", false}, "another path": {s.URL + "/mcp/v2", false}, "the sandbox": {s.URL + "/mcp/sandbox", false},
		"a longer name": {s.URL + ".evil.example/mcp", false}, "two slashes more": {s.URL + "/mcp//", false}, "the path in capitals": {s.URL + "/MCP", false}, "a user": {strings.Replace(s.URL, "://", "://u@", 1) + "/mcp", false}, "an encoded path": {s.URL + "/%6dcp", false}, "a fragment": {s.URL + "/mcp#x", false},
		"a query": {s.URL + "/mcp?x", false}, "a path": {"/mcp", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !c.ok {
				if got := a.sentBack(t, authorize(b, with(a.ask(), "resource", c.resource)), callback); got.Get("error") != "invalid_target" {
					t.Errorf("authorize: %v", got)
				}
				code := a.code(t, b)
				wantError(t, a.exchange(t, code, "resource", c.resource), "invalid_target")
				pair := a.exchange(t, code)
				wantError(t, a.refresh(t, pair.RefreshToken, "resource", c.resource), "invalid_target")
				a.wantAlive(t, pair)
				return
			}
			pair := a.exchange(t, a.code(t, b, "resource", c.resource), "resource", c.resource)
			wantTokens(t, pair)
			wantTokens(t, a.refresh(t, pair.RefreshToken, "resource", c.resource))
		})
	}
}

// After a change of the base URL, an agent refreshes with the resource that its grant is for, and with the new one. It
// cannot name the resource of another agent's grant.
func TestRefreshAfterTheBaseURLChanged(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, other, b := newAgent(t, s), newAgent(t, s), s.SignedIn(t, "maria")
	pair, others := a.exchange(t, a.code(t, b)), other.exchange(t, other.code(t, b))
	const before = "https://before.example/mcp"
	if _, err := s.Store.NewWrite("UPDATE grants SET resource = ? WHERE client_id = ?", before, a.id).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantError(t, other.refresh(t, others.RefreshToken, "resource", before), "invalid_target")
	wantError(t, other.refresh(t, pair.RefreshToken, "resource", before), "invalid_target")
	wantError(t, a.refresh(t, pair.RefreshToken, "resource", "https://elsewhere.example/mcp"), "invalid_target")
	next := a.refresh(t, pair.RefreshToken, "resource", before)
	wantTokens(t, next)
	wantTokens(t, a.refresh(t, next.RefreshToken, "resource", s.URL+"/mcp"))
}

// A browser without a session returns to the same request after sign-in.
func TestSignInComesFirst(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a := newAgent(t, s)
	s.Member(t, "maria")
	b := s.Browser(t)
	first := authorize(b, with(a.ask(), "scope", "timeline"))
	to, err := url.Parse(first.Header.Get("Location"))
	if err != nil || first.Status != http.StatusSeeOther || to.Path != "/sign-in" || to.Host != "" {
		t.Fatalf("%d to %v, %v", first.Status, to, err)
	}
	signIn := b.Get(to.String())
	back := b.Submit(signIn, "/sign-in", values("login", "maria", "password", webtest.Password))
	page := b.Follow(back)
	if got := strings.Join(page.Form(oauth.PathConsent)["scope"], " "); got != "timeline" {
		t.Errorf("asks for %q", got)
	}
	code := a.sentBack(t, decide(b, page, "allow", nil), callback).Get("code")
	if got := a.exchange(t, code); got.Scope != "timeline" {
		t.Errorf("got %s", got.Body)
	}
}

func TestConsentPage(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	page := authorize(b, a.ask())
	for _, words := range []string{
		"Agent Smith", "agent.example", "maria", "It may read: Your people (and export them all)", "interactions and reminders", "Everything it asks for",
		"New to this server today", "add, change, merge, archive and delete people", "import people from files", "It also adds people, notes, logged contacts and reminders",
		"merge duplicates", "delete people (you can restore them for 30 days)", "Add and change notes", "Import people from files",
	} {
		if !strings.Contains(page.Text(), words) {
			t.Errorf("no %q in %s", words, page.Text())
		}
	}
	if page.Header.Get("Cache-Control") != "no-store" || page.Status != http.StatusOK {
		t.Errorf("%d %v", page.Status, page.Header)
	}
}
