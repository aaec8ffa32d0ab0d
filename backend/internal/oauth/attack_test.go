package oauth_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// A browser is never redirected to an address that differs from a registered one in a
// single byte, and such an address receives no data.
func TestOpenRedirect(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	browsers := map[string]*webtest.Browser{"signed in": b, "signed out": s.Browser(t)}
	for name, given := range map[string]string{
		"nothing": "", "another host": "https://evil.example/cb", "a longer host": "https://agent.example.evil.example/cb", "the host as user": "https://agent.example@evil.example/cb",
		"the host as user, escaped": "https://agent.example%40evil.example/cb", "a backslash": "https://agent.example\\@evil.example/cb", "no scheme": "//agent.example/cb", "http": "http://agent.example/cb",
		"the scheme in capitals": "HTTPS://agent.example/cb", "the host in capitals": "https://AGENT.example/cb", "a dot behind the host": "https://agent.example./cb", "a port": "https://agent.example:443/cb",
		"the path escaped": "https://agent.example/%63b", "the path escaped twice": "https://agent.example/%2563b", "the slash escaped": "https://agent.example%2fcb", "a longer path": "https://agent.example/cb/x",
		"a slash behind": "https://agent.example/cb/", "two slashes": "https://agent.example//cb", "a step back": "https://agent.example/x/../cb", "a step back behind": "https://agent.example/cb/../x", "the path in capitals": "https://agent.example/CB",
		"a query": "https://agent.example/cb?x=y", "an empty query": "https://agent.example/cb?", "a fragment": "https://agent.example/cb#x", "an empty fragment": "https://agent.example/cb#", "an escaped fragment": "https://agent.example/cb%23",
		"a space before": " https://agent.example/cb", "a space behind": "https://agent.example/cb ", "a line break": "https://agent.example/cb\r\nSet-Cookie: a=b", "a tab": "https://agent.example/\tcb", "a NUL": "https://agent.example/cb\x00", "no text": "https://agent.example/cb\xff",
		"a script": "javascript:alert(1)", "data": "data:text/html,x", "localhost": "http://localhost/cb", "a letter that looks the same": "https://аgent.example/cb", "only the host": "https://agent.example", "two of them": callback + " " + callback,
	} {
		for who, browser := range browsers {
			p := authorize(browser, with(a.ask(), "redirect_uri", given))
			if p.Status != http.StatusBadRequest || p.Header.Get("Location") != "" || !strings.Contains(p.Text(), "Unknown return address") || strings.Contains(p.Body, "evil.example") {
				t.Errorf("%s, %s: %d to %q", name, who, p.Status, p.Header.Get("Location"))
			}
			// Not even an error, of which this request has several.
			wantPage(t, authorize(browser, values("client_id", a.id, "redirect_uri", given, "state", "st-1")), http.StatusBadRequest, "Unknown return address")
		}
	}
	for name, query := range map[string]url.Values{
		"the address twice":             twice(a.ask(), "redirect_uri", callback, callback),
		"the address and another":       twice(a.ask(), "redirect_uri", callback, "https://evil.example/cb"),
		"another and the address":       twice(a.ask(), "redirect_uri", "https://evil.example/cb", callback),
		"the client and another client": twice(a.ask(), "client_id", a.id, agentAt(t, s, "https://evil.example/cb").id),
	} {
		t.Run(name, func(t *testing.T) { wantPage(t, authorize(b, query), http.StatusBadRequest, "named twice") })
	}
	wantPage(t, authorize(b, without(a.ask(), "redirect_uri")), http.StatusBadRequest, "Unknown return address")
	wantPage(t, b.Get("/oauth/authorize?client_id="+a.id+"&redirect_uri=%zz"), http.StatusBadRequest, "This link is broken")
	wantPage(t, b.Get("/oauth/authorize?client_id="+a.id+";redirect_uri="+url.QueryEscape(callback)), http.StatusBadRequest, "This link is broken")
}

// Without a login session, an invalid authorization request gets a page and never a
// redirect: anyone can register a redirect URI and send such a link.
func TestOpenRedirectThroughAnError(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	evil, anonymous, expired := agentAt(t, s, "https://evil.example/cb"), s.Browser(t), s.SignedIn(t, "maria")
	if p := expired.Submit(expired.Get("/settings/security"), "/settings/security/sign-out", nil); p.Status != http.StatusSeeOther {
		t.Fatalf("not signed out: %d %s", p.Status, p.Text())
	}
	forged := s.Browser(t)
	forged.SetCookie("kith_session", strings.Repeat("A", 43))
	for name, query := range map[string]url.Values{
		"no response_type": without(evil.ask(), "response_type"), "implicit": with(evil.ask(), "response_type", "token"), "form_post": with(evil.ask(), "response_mode", "form_post"),
		"no challenge": without(evil.ask(), "code_challenge"), "plain": with(evil.ask(), "code_challenge_method", "plain"), "no method": without(evil.ask(), "code_challenge_method"),
		"a challenge that is none": with(evil.ask(), "code_challenge", "x"), "an unknown scope": with(evil.ask(), "scope", "Call +1 555 0100 now"),
		"no state": without(evil.ask(), "state"), "state that is no text": with(evil.ask(), "state", "\xff"), "another's resource": with(evil.ask(), "resource", "https://other.example"),
		"a parameter twice": twice(evil.ask(), "Call +1 555 0100 now", "a", "b"), "nothing but client and address": values("client_id", evil.id, "redirect_uri", evil.redirectURI),
	} {
		for who, browser := range map[string]*webtest.Browser{"anonymous": anonymous, "signed out": expired, "a made-up session": forged} {
			p := authorize(browser, query)
			wantPage(t, p, http.StatusBadRequest, "This request has a mistake")
			if p.Header.Get("Location") != "" || strings.Contains(p.Text(), "evil.example") || strings.Contains(p.Text(), "555") {
				t.Errorf("%s, %s: the page repeats what the attacker wrote: %s", name, who, p.Text())
			}
		}
	}
	if p := authorize(anonymous, evil.ask()); !strings.HasPrefix(p.Header.Get("Location"), "/sign-in?") {
		t.Errorf("a request without a mistake: %d to %q", p.Status, p.Header.Get("Location"))
	}
}

// A page that opens many requests in the member's browser cannot fill the store: the
// newest requests of each session are kept, and those of other sessions are not
// affected.
func TestManyRequestsOfOneSession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *webtest.Site, databaseURL string) {
		a, b := newAgent(t, s), s.SignedIn(t, "maria")
		elsewhere := authorize(s.BrowserOf(t, b.Owner), a.ask())
		var pages []*webtest.Page
		for range oauth.MaxRequests + 5 {
			pages = append(pages, authorize(b, a.ask()))
			s.Clock.Advance(time.Second)
		}
		waiting := column(t, dbtest.OpenSQL(t, databaseURL), "SELECT count(*) FROM authorization_requests GROUP BY session_hash ORDER BY 1")
		if len(waiting) != 2 || waiting[0] != "1" || waiting[1] != strconv.Itoa(oauth.MaxRequests) || elsewhere.Status != http.StatusOK {
			t.Errorf("%v requests wait", waiting)
		}
		for _, gone := range pages[:5] {
			wantPage(t, decide(b, gone, "allow", nil), http.StatusBadRequest, "This request is over")
		}
		for _, page := range pages[5:] {
			a.sentBack(t, decide(b, page, "deny", nil), callback)
		}
	})
}

// A host that imitates another one cannot be registered, and if a client registered one
// under earlier rules, members are not redirected to it.
func TestForgeableHosts(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for name, uri := range map[string]string{
		"an escaped fraction slash": "https://claude.ai%E2%81%84oauth%E2%81%84cb.evil.example/cb", "an escaped Cyrillic letter": "https://%D1%81laude.ai/cb",
		"an escaped full stop": "https://claude.ai%E3%80%82evil.example/cb", "an escaped letter": "https://%63laude.ai/cb", "an escaped space": "https://claude.ai%20.evil.example/cb",
		"an escaped soft hyphen": "https://cla%C2%ADude.ai/cb", "an escaped direction": "https://claude.ai%E2%80%AE.evil.example/cb", "a Cyrillic letter": "https://сlaude.ai/cb", "a full-width letter": "https://ｃlaude.ai/cb",
		"no name behind xn--": "https://xn--claude-.ai/cb", "broken Punycode": "https://xn--a/cb", "a backslash": `https://claude.ai\.evil.example/cb`, "a user": "https://claude.ai@evil.example/cb",
		"a user and a password": "https://claude.ai:443@evil.example/cb", "a dot behind": "https://claude.ai./cb", "two dots": "https://claude..ai/cb", "an underscore": "https://claude_ai.evil.example/cb",
		"a port without a number": "https://claude.ai:/cb", "a port with zeros": "https://claude.ai:0443/cb", "no such port": "https://claude.ai:70000/cb",
		"an IPv4 address as a number": "https://2130706433/cb", "in base 16": "https://0x7f000001/cb", "with zeros": "https://127.000.000.001/cb", "cut short": "https://127.1/cb",
		"an IPv6 address with a zone": "https://[fe80::1%25eth0]/cb", "spelt otherwise": "https://[2001:DB8:0::1]/cb",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := json.Marshal(map[string]any{"redirect_uris": []string{uri}})
			if err != nil {
				t.Fatal(err)
			}
			if got := (agent{site: s}).register(t, "application/json", string(body)); got.Status != http.StatusBadRequest || got.Error != "invalid_redirect_uri" || got.ClientID != "" {
				t.Errorf("registered: %d %s", got.Status, got.Body)
			}
			old := agentAt(t, s, uri)
			for _, query := range []url.Values{old.ask(), without(old.ask(), "response_type")} {
				p := authorize(b, query)
				wantPage(t, p, http.StatusBadRequest, "Return address not allowed")
				if strings.Contains(p.Body, "claude") {
					t.Errorf("the page repeats the address: %s", p.Text())
				}
			}
		})
	}
}

// A name with invisible characters, or with characters that reverse the text, cannot be
// registered; names of earlier clients are shown without them.
func TestHiddenCharactersInClientNames(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for name, hidden := range map[string]string{
		"right-to-left override": "\u202e", "left-to-right override": "\u202d", "embedding": "\u202b", "isolate": "\u2067", "pop": "\u2069", "right-to-left mark": "\u200f", "Arabic letter mark": "\u061c",
		"zero-width space": "\u200b", "zero-width joiner": "\u200d", "word joiner": "\u2060", "byte-order mark": "\ufeff", "soft hyphen": "\u00ad", "Mongolian vowel separator": "\u180e",
		"tag": "\U000e0041", "cancel tag": "\U000e007f", "variation selector": "\ufe0f", "another variation selector": "\U000e0100", "Hangul filler": "\u3164", "blank Braille": "\u2800", "invisible plus": "\u2064", "combining grapheme joiner": "\u034f",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := json.Marshal(map[string]any{"client_name": "Cla" + hidden + "ude", "redirect_uris": []string{callback}})
			if err != nil {
				t.Fatal(err)
			}
			if got := (agent{site: s}).register(t, "application/json", string(body)); got.Status != http.StatusBadRequest || got.Error != "invalid_client_metadata" || got.ClientID != "" {
				t.Errorf("registered: %d %s", got.Status, got.Body)
			}
			old := agent{site: s, id: s.Client(t, "Cla"+hidden+"ude", callback).ID, redirectURI: callback}
			if p := authorize(b, old.ask()); p.Status != http.StatusOK || strings.Contains(p.Body, hidden) || !strings.Contains(p.Text(), "calls itself Claude wants") {
				t.Errorf("%d %s", p.Status, p.Text())
			}
		})
	}
}

// The browser is redirected to exactly the bytes that were registered.
func TestRedirectKeepsItsBytes(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for _, uri := range []string{
		"https://agent.example/%63b", "https://agent.example/cb?x=%2F&y=a+b&state=mine", "https://agent.example/a/../cb?", "https://agent.example",
		"https://AGENT.example/cb", `https://agent.example/"><script>`, "http://localhost/cb", "http://[::1]/cb",
	} {
		a := agentAt(t, s, uri)
		answer := decide(b, authorize(b, a.ask()), "allow", nil)
		rest, ok := strings.CutPrefix(answer.Header.Get("Location"), uri)
		if !ok || answer.Status != http.StatusSeeOther || !strings.Contains("?&", rest[:1]) || strings.Contains(uri, "?") != (rest[0] == '&') {
			t.Errorf("%s: %d to %q", uri, answer.Status, answer.Header.Get("Location"))
			continue
		}
		got, err := url.ParseQuery(rest[1:])
		if err != nil || got.Get("state") != "st-1" || got.Get("iss") != s.URL {
			t.Errorf("%s: %v, %v", uri, got, err)
		}
		wantTokens(t, a.exchange(t, got.Get("code")))
	}
}

// RFC 8252 §7.3: a program on the member's machine listens on any free port.
func TestLoopbackPorts(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for registered, c := range map[string]struct{ taken, refused []string }{
		"http://localhost/cb": {
			[]string{"http://localhost/cb", "http://localhost:1/cb", "http://localhost:65535/cb"},
			[]string{"http://127.0.0.1/cb", "http://localhost:/cb", "http://localhost:8o/cb", "http://localhost:123456/cb", "http://[localhost]/cb", "http://localhost:80@evil.example/cb",
				"http://localhost:80.evil.example/cb", "http://localhost.evil.example/cb", "http://localhost:1/cb/x", "http://localhost:1\\@evil.example/cb", "https://localhost/cb", "http://LOCALHOST:1/cb"},
		},
		"http://127.0.0.1:3000/cb": {[]string{"http://127.0.0.1/cb", "http://127.0.0.1:4000/cb"}, []string{"http://127.0.0.2:3000/cb", "http://127.0.0.10:3000/cb", "http://127.1/cb", "http://localhost:3000/cb"}},
		"http://[::1]/cb":          {[]string{"http://[::1]:4000/cb"}, []string{"http://::1/cb", "http://[0:0:0:0:0:0:0:1]/cb", "http://[::2]/cb"}},
		"https://localhost/cb":     {[]string{"https://localhost/cb"}, []string{"https://localhost:1/cb"}},
	} {
		a := agentAt(t, s, registered)
		for _, given := range c.taken {
			code := a.code(t, b, "redirect_uri", given)
			if given != registered {
				wantError(t, a.exchange(t, code), "invalid_grant") // the token request names the same port
			}
			wantTokens(t, a.exchange(t, code, "redirect_uri", given))
		}
		for _, given := range c.refused {
			wantPage(t, authorize(b, with(a.ask(), "redirect_uri", given)), http.StatusBadRequest, "Unknown return address")
		}
	}
}

func TestPKCEDowngrade(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	code := a.code(t, b)
	for name, form := range map[string]url.Values{
		"no verifier":               without(a.exchangeForm(code), "code_verifier"),
		"an empty one":              with(a.exchangeForm(code), "code_verifier", ""),
		"the challenge, as plain":   with(a.exchangeForm(code), "code_verifier", challenge, "code_challenge_method", "plain"),
		"another method":            with(a.exchangeForm(code), "code_verifier", wrongVerifier, "code_challenge_method", "plain", "code_challenge", wrongVerifier),
		"a challenge brought along": with(a.exchangeForm(code), "code_verifier", wrongVerifier, "code_challenge", challengeOf(wrongVerifier)),
	} {
		t.Run(name, func(t *testing.T) { wantError(t, a.post(t, "/oauth/token", form), "invalid_grant") })
	}
	wantTokens(t, a.exchange(t, code))
}

// Requests by another client do not affect a code or a token; a code that its own
// client presents twice counts as stolen.
func TestStolenSecrets(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"another client redeems an issued code", func(t *testing.T, a agent, b *webtest.Browser) {
			thief, code := newAgent(t, a.site), a.code(t, b)
			wantError(t, thief.exchange(t, code), "invalid_grant")
			wantTokens(t, a.exchange(t, code))
		}},
		{"another client redeems a used code", func(t *testing.T, a agent, b *webtest.Browser) {
			thief, code := newAgent(t, a.site), a.code(t, b)
			pair := a.exchange(t, code)
			wantError(t, thief.exchange(t, code), "invalid_grant")
			a.wantAlive(t, pair)
		}},
		{"another client refreshes a current token", func(t *testing.T, a agent, b *webtest.Browser) {
			thief, pair := newAgent(t, a.site), a.tokens(t, b)
			wantError(t, thief.refresh(t, pair.RefreshToken), "invalid_grant")
			a.wantAlive(t, pair)
		}},
		{"another client refreshes a spent token", func(t *testing.T, a agent, b *webtest.Browser) {
			thief, pair := newAgent(t, a.site), a.tokens(t, b)
			next := a.refresh(t, pair.RefreshToken)
			wantError(t, thief.refresh(t, pair.RefreshToken), "invalid_grant")
			a.wantAlive(t, next)
		}},
		{"another client revokes a token", func(t *testing.T, a agent, b *webtest.Browser) {
			thief, pair := newAgent(t, a.site), a.tokens(t, b)
			wantRevoked(t, thief.revoke(t, pair.AccessToken))
			wantRevoked(t, thief.revoke(t, pair.RefreshToken))
			a.wantAlive(t, pair)
		}},
		// RFC 9700 §4.13: a caller with a used code and its verifier is the client or
		// has its secrets; a caller without the verifier gets nothing.
		{"the client replays a used code: its grant dies", func(t *testing.T, a agent, b *webtest.Browser) {
			code, other := a.code(t, b), a.tokens(t, b)
			next := a.refresh(t, a.exchange(t, code).RefreshToken)
			wantError(t, a.exchange(t, code), "invalid_grant")
			a.wantDead(t, next)
			a.wantAlive(t, other)
		}},
		{"the client replays a used code that has expired: its grant dies", func(t *testing.T, a agent, b *webtest.Browser) {
			code := a.code(t, b)
			pair := a.exchange(t, code)
			a.site.Clock.Advance(2 * oauth.CodeLifetime)
			wantError(t, a.exchange(t, code), "invalid_grant")
			a.wantDead(t, pair)
		}},
		{"a used code with a wrong verifier changes nothing", func(t *testing.T, a agent, b *webtest.Browser) {
			code := a.code(t, b)
			pair := a.exchange(t, code)
			wantError(t, a.exchange(t, code, "code_verifier", wrongVerifier), "invalid_grant")
			wantError(t, a.exchange(t, code, "redirect_uri", "https://other.example/cb"), "invalid_grant")
			a.wantAlive(t, pair)
		}},
	})
}

func TestDeletedMember(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		a, b, other := newAgent(t, s), s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		open, used, others := a.code(t, b), a.code(t, b), a.tokens(t, other)
		pair := a.exchange(t, used)
		if err := account.DeleteMember(t.Context(), s.Store, b.Owner); err != nil {
			t.Fatal(err)
		}
		a.wantDead(t, pair)
		wantError(t, a.exchange(t, open), "invalid_grant")
		wantError(t, a.exchange(t, used), "invalid_grant")
		wantRevoked(t, a.revoke(t, pair.AccessToken))
		if p := authorize(b, a.ask()); p.Status != http.StatusSeeOther || !strings.HasPrefix(p.Header.Get("Location"), "/sign-in") {
			t.Errorf("the session still works: %d", p.Status)
		}
		a.wantAlive(t, others)
	})
}

// The scopes of a token are those that were allowed, whatever the member's plan.
func TestPlanChangeWidensNoToken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *webtest.Site, databaseURL string) {
		a, b := newAgent(t, s), s.SignedIn(t, "maria")
		code, pair := a.code(t, b, "scope", "timeline"), a.tokens(t, b, "scope", "timeline")
		for _, plan := range []string{"pro", "free"} {
			statement(t, databaseURL, "UPDATE members SET plan = '"+plan+"'")
			for range 2 {
				if p := a.principal(t, pair.AccessToken); p == nil || strings.Join(p.Credential.Scopes, " ") != "timeline" || p.Plan != plan {
					t.Errorf("%s: %+v", plan, p)
				}
				wantError(t, a.refresh(t, pair.RefreshToken, "scope", "timeline write"), "invalid_scope")
				pair = a.refresh(t, pair.RefreshToken)
			}
		}
		if got := a.exchange(t, code); got.Scope != "timeline" {
			t.Errorf("got %s", got.Body)
		}
	})
}
