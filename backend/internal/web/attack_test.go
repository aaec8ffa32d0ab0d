package web_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// posts are all forms: the page that contains each, and the address it is sent to.
func posts() map[string]string {
	return map[string]string{
		"/sign-in": "/sign-in", "/sign-up": "/sign-up", "/owner": "/sign-in", "/sign-out": "/settings/profile", "/settings/profile": "/settings/profile",
		"/settings/mcp/tokens": "/settings/mcp/tokens", "/settings/mcp/tokens/revoke": "/settings/mcp/tokens", "/settings/mcp/agents/revoke": "/settings/mcp",
		"/settings/agents/narrow": "/settings/agents", "/settings/agents/widen": "/settings/agents", "/settings/agents/pause": "/settings/agents", "/settings/agents/resume": "/settings/agents",
		"/settings/devices": "/settings/devices", "/settings/devices/remove": "/settings/devices", "/settings/devices/feeds": "/settings/devices", "/settings/devices/feeds/remove": "/settings/devices", "/settings/devices/login": "/settings/devices", "/settings/devices/login/refuse": "/settings/devices",
		"/settings/agents/ask": "/settings/agents", "/decide/approve": "/decide", "/decide/refuse": "/decide",
		"/settings/security/password": "/settings/security", "/settings/security/sign-out": "/settings/security",
		"/activity/undo": "/activity", "/people/bin/restore": "/people", "/people/bin/delete": "/people", "/settings/search": "/settings/search",
		"/settings/sources": "/settings/sources", "/settings/sources/{id}": "/settings/sources", "/settings/sources/{id}/people": "/settings/sources", "/settings/sources/{id}/choices": "/settings/sources",
		"/settings/security/email": "/settings/security", "/settings/security/email/confirm": "/settings/security",
		"/settings/security/verify": "/settings/security", "/settings/account/delete": "/settings/account", "/settings/time": "/settings/time",
		"/import": "/settings/imports", "/import/{id}": "/settings/imports", "/import/{id}/preview": "/settings/imports",
		"/settings/imports/cancel": "/settings/imports", "/settings/imports/undo": "/settings/imports",
		"/groups/save": "/groups", "/groups/merge": "/groups", "/groups/delete": "/groups", "/groups/tag/rename": "/groups", "/groups/tag/remove": "/groups",
		"/forgot": "/sign-in", "/reset": "/sign-in", "/verify": "/sign-in", "/not-me": "/sign-in", "/not-me/object": "/sign-in", "/unsubscribe": "/sign-in",
		"/settings/notifications": "/settings/notifications", "/settings/notifications/now": "/settings/notifications",
		"/settings/security/sessions/end": "/settings/security", "/settings/security/sessions/end-others": "/settings/security", "/settings/security/seen": "/settings/security",
		"/sign-in/provider": "/sign-in", "/sign-in/provider/link": "/sign-in", "/settings/security/provider/unlink": "/settings/security",
		"/sign-in/confirm": "/settings/security", "/sign-in/two-step": "/sign-in", "/settings/security/two-step": "/settings/security",
		"/settings/security/two-step/codes": "/settings/security", "/settings/security/two-step/off": "/settings/security",
		"/sign-in/passkey": "/sign-in", "/sign-in/passkey/options": "/sign-in", "/sign-in/two-step/options": "/sign-in", "/sign-in/confirm/options": "/settings/security",
		"/settings/security/two-step/passkeys": "/settings/security", "/settings/security/two-step/passkeys/options": "/settings/security",
		"/settings/security/two-step/passkeys/remove": "/settings/security",
	}
}

// forMembers reports whether the forms of a page need a session.
func forMembers(page string) bool { return !strings.HasPrefix(page, "/sign-") }

func TestEveryFormIsAttacked(t *testing.T) {
	t.Parallel()
	var served []string
	for _, pattern := range web.Routes() {
		if action, ok := strings.CutPrefix(pattern, "POST "); ok {
			served = append(served, action)
		}
	}
	slices.Sort(served)
	if attacked := slices.Sorted(maps.Keys(posts())); !slices.Equal(attacked, served) {
		t.Errorf("served: %v\nattacked: %v", served, attacked)
	}
}

// tokenOf returns the form token that a page contains for its own forms.
func tokenOf(p *webtest.Page) string {
	token := ""
	for _, n := range p.All("input") {
		if webtest.Attr(n, "name") == "form_token" {
			token = webtest.Attr(n, "value")
		}
	}
	return token
}

// tokensOf returns the form tokens that a browser gets: those of the public pages and,
// if signed in, those of the settings.
func tokensOf(b *webtest.Browser) (anonymous, settings string) {
	if b.Owner != "" {
		return "", tokenOf(b.Get("/settings/profile"))
	}
	return tokenOf(b.Get("/sign-in")), ""
}

func TestCrossSitePost(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{TLS: true})
	b, anonymous := s.SignedIn(t, "maria"), s.Browser(t)
	formToken, _ := tokensOf(anonymous)
	_, settingsToken := tokensOf(b)
	for name, c := range map[string]struct{ site, origin string }{
		"a cross-site form":        {"cross-site", "https://evil.example"},
		"a form of a sibling host": {"same-site", "https://evil.kith.example"},
		"an older browser":         {"", "https://evil.example"},
		"a hidden origin":          {"cross-site", "null"},
		"an older, hidden origin":  {"", "null"},
	} {
		for action, page := range posts() {
			who, token := anonymous, formToken
			if forMembers(page) {
				who, token = b, settingsToken
			}
			r := who.Request(http.MethodPost, action, webtest.Values("form_token", token, "username", "x"))
			r.Header.Set("Origin", c.origin)
			r.Header.Set("Sec-Fetch-Site", c.site)
			if c.site == "" {
				r.Header.Del("Sec-Fetch-Site")
			}
			if p := who.Do(r); p.Status != http.StatusForbidden || !strings.Contains(p.Text(), "another site") {
				t.Errorf("%s to %s: %d\n%s", name, action, p.Status, p.Text())
			}
		}
	}
	if !isSignedIn(b) {
		t.Error("the session ended")
	}
}

func TestFormTokens(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b, anonymous := s.SignedIn(t, "maria"), s.Browser(t)
	anonymousToken, _ := tokensOf(anonymous)
	otherToken, _ := tokensOf(s.Browser(t))
	_, settingsToken := tokensOf(b)
	_, othersToken := tokensOf(s.SignedIn(t, "other"))
	if anonymousToken == "" || settingsToken == "" {
		t.Fatal("there are no tokens")
	}
	for action, page := range posts() {
		if action == "/unsubscribe" { // mail programs post it: the secret of its link takes the token's place
			if p := b.Post(action, webtest.Values("form_token", settingsToken)); p.Status != http.StatusNotFound {
				t.Errorf("%s without a link: %d", action, p.Status)
			}
			continue
		}
		who, own, anothers, otherKind := b, settingsToken, othersToken, anonymousToken
		if !forMembers(page) {
			who, own, anothers, otherKind = anonymous, anonymousToken, otherToken, settingsToken
		}
		for name, token := range map[string]string{
			"none": "", "another browser's": anothers, "a cut one": own[:len(own)-1], "one of the other kind": otherKind,
		} {
			if p := who.Post(action, webtest.Values("form_token", token)); p.Status != http.StatusForbidden || !strings.Contains(p.Text(), "out of date") {
				t.Errorf("%s with %s: %d", action, name, p.Status)
			}
		}
	}
	if !isSignedIn(b) {
		t.Error("the session ended")
	}
	if strings.Contains(b.Cookie("kith_session"), settingsToken) || settingsToken == b.Cookie("kith_session") {
		t.Error("the token reveals the cookie")
	}
}

// Every form contains the token that its page was given.
func TestFormsHoldTheirToken(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	_, settings := tokensOf(b)
	_, changeID := webtest.Added(t, s, b.Owner, "Grace Hopper")
	for _, path := range []string{"/settings/profile", "/settings/mcp", webtest.UndoPath(changeID), "/settings/security", "/settings/account"} {
		p := b.Get(path)
		forms := p.All("form")
		for _, form := range forms {
			for _, values := range p.Forms(webtest.Attr(form, "action")) {
				if values.Get("form_token") != settings {
					t.Errorf("%s: the form to %s has the token %q", path, webtest.Attr(form, "action"), values.Get("form_token"))
				}
			}
		}
		if len(forms) < 2 {
			t.Errorf("%s has %d forms", path, len(forms))
		}
	}
}

func TestFormsOfSignedOutBrowsersDoNothing(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	token := tokenOf(b.Get("/settings/profile"))
	s.Member(t, "other")
	b.SetCookie("kith_session", "")
	for action, page := range posts() {
		if strings.HasPrefix(action, "/settings") {
			wantRedirect(t, b.Post(action, webtest.Values("form_token", token)), "/sign-in?"+webtest.Values("return_to", page).Encode())
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.Browser(t)
	form := b.Get("/sign-in").Form("/sign-in")
	form.Set("login", strings.Repeat("x", 300<<10))
	want(t, b.Post("/sign-in", form), http.StatusRequestEntityTooLarge, "too much")
	for name, media := range map[string]string{"multipart": "multipart/form-data; boundary=x", "text": "text/plain", "JSON": "application/json", "none": ""} {
		r := b.Request(http.MethodPost, "/sign-in", webtest.Values("login", "x"))
		r.Header.Set("Content-Type", media)
		if p := b.Do(r); p.Status != http.StatusUnsupportedMediaType {
			t.Errorf("%s: %d", name, p.Status)
		}
	}
	r := b.Request(http.MethodPost, "/sign-in?form_token="+url.QueryEscape(form.Get("form_token"))+"&login=maria", webtest.Values("password", "x"))
	want(t, b.Do(r), http.StatusForbidden, "out of date") // form fields in the address are ignored
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodPut, "/settings/profile", http.StatusMethodNotAllowed}, {http.MethodDelete, "/settings/account", http.StatusMethodNotAllowed},
		{http.MethodGet, "/settings/nothing", http.StatusNotFound}, {http.MethodHead, "/settings/account/export", http.StatusOK},
		{http.MethodHead, "/settings/profile", http.StatusOK},
	} {
		if p := b.Do(b.Request(c.method, c.path, nil)); p.Status != c.status || p.Status == http.StatusOK && p.Body != "" {
			t.Errorf("%s %s: %d", c.method, c.path, p.Status)
		}
	}
}

// Text from members and clients is shown literally and is never markup.
func TestStoredScripts(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	const attack = `"><script>alert(1)</script><img src=x onerror=alert(1)>'{{.}}`
	short := attack[:38]
	change := webtest.Values("name", attack, "headline", attack, "bio", "</textarea>"+attack, "location", attack, "organization", attack, "title", attack,
		"skills", short, "languages", short, "open_to", short, "visibility", "public", "link_label", short, "link_url", "https://a.example/?x")
	for _, field := range []string{"headline", "bio", "location", "organization", "title", "skills", "languages", "links", "open_to", "avatar_url"} {
		change.Set("visibility_"+field, "public")
	}
	page := b.Get("/settings/profile")
	preview := b.Submit(page, "/settings/profile", merge(change, webtest.Values("action", "preview")))
	want(t, preview, http.StatusOK, "once it is saved")
	wantRedirect(t, b.Submit(page, "/settings/profile", change), "/settings/profile?done=saved")
	saved := b.Get("/settings/profile")
	tokens := makeToken(t, b, webtest.Values("name", attack))
	want(t, tokens, http.StatusOK, attack)
	c := s.Client(t, attack, "https://a.example/cb")
	consent := b.Get(authorizePath(c.ID, "https://a.example/cb"))
	want(t, consent, http.StatusOK, attack)
	wrong := signIn(s.Browser(t), attack, "x", "")
	for name, p := range map[string]*webtest.Page{"preview": preview, "profile": saved, "tokens": tokens, "consent": consent, "sign-in": wrong} {
		if strings.Contains(webtest.OwnScript.ReplaceAllString(p.Body, ""), "<script") {
			t.Errorf("%s contains a script of a member", name)
		}
		for _, n := range p.All("img") {
			if webtest.Has(n, "onerror") {
				t.Errorf("%s contains the picture", name)
			}
		}
	}
	if got := saved.Form("/settings/profile").Get("name"); got != attack {
		t.Errorf("the name became %q", got)
	}
	if got := saved.Form("/settings/profile").Get("bio"); got != "</textarea>"+attack {
		t.Errorf("the biography became %q", got)
	}
}

func merge(forms ...url.Values) url.Values {
	out := url.Values{}
	for _, from := range forms {
		maps.Copy(out, from)
	}
	return out
}

func authorizePath(clientID, redirectURI string, more ...string) string {
	q := webtest.Values("response_type", "code", "client_id", clientID, "redirect_uri", redirectURI, "state", "st",
		"code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method", "S256")
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "/oauth/authorize?" + q.Encode()
}

func TestScriptLinksAreRefused(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for _, address := range []string{"javascript:alert(1)", "data:text/html,x", "http://a.example", "https://a.example@b.example"} {
		page := b.Get("/settings/profile")
		p := b.Submit(page, "/settings/profile", webtest.Values("link_url", address, "visibility", "public"))
		want(t, p, http.StatusUnprocessableEntity, "address that starts with https://")
		want(t, b.Submit(page, "/settings/profile", webtest.Values("avatar_url", address)), http.StatusUnprocessableEntity, "address that starts with https://")
		for _, n := range append(p.All("a"), p.All("img")...) {
			if strings.HasPrefix(webtest.Attr(n, "href")+webtest.Attr(n, "src"), address) {
				t.Errorf("%q became a link", address)
			}
		}
	}
}

func TestSecondMemberCannotRevoke(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	victim, attacker := s.SignedIn(t, "victim"), s.SignedIn(t, "attacker")
	made := makeToken(t, victim, webtest.Values("name", "script"))
	id := made.Form("/settings/mcp/tokens/revoke").Get("id")
	bearer := webtest.TextOf(made.ByID("made-token"))
	token := tokenOf(attacker.Get("/settings/mcp/tokens"))
	for _, action := range []string{"/settings/mcp/tokens/revoke", "/settings/mcp/agents/revoke"} {
		want(t, attacker.Post(action, webtest.Values("form_token", token, "id", id)), http.StatusNotFound)
	}
	if _, err := oauth.Authenticate(t.Context(), s.Store, bearer); err != nil {
		t.Errorf("the token was revoked: %v", err)
	}
	if p := attacker.Get("/settings/mcp/tokens"); strings.Contains(p.Body, "script</bdi>") || strings.Contains(p.Body, id) {
		t.Error("the token is shown to another member")
	}
	grantOf(t, s, victim)
	grants, err := oauth.ListGrants(t.Context(), s.Store, victim.Owner)
	if err != nil || len(grants) != 1 {
		t.Fatal(grants, err)
	}
	for _, action := range []string{"/settings/mcp/tokens/revoke", "/settings/mcp/agents/revoke"} {
		want(t, attacker.Post(action, webtest.Values("form_token", token, "id", grants[0].ClientID)), http.StatusNotFound)
	}
	if grants, err = oauth.ListGrants(t.Context(), s.Store, victim.Owner); err != nil || len(grants) != 1 {
		t.Errorf("the agent was revoked: %v, %v", grants, err)
	}
}

// placesOf returns the destinations that a page shows for a client's authorization
// responses, with the domain that owns each in brackets.
func placesOf(p *webtest.Page) []string {
	var places []string
	for _, n := range p.All("bdi") {
		if webtest.Attr(n, "class") != "destination" {
			continue
		}
		place := ""
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			if child.Data == "strong" {
				place += "[" + webtest.TextOf(child) + "]"
			} else {
				place += child.Data
			}
		}
		places = append(places, place)
	}
	return places
}

// The domain of the redirect URI stands out on the consent page and in the list of
// agents, whatever precedes it in the host name.
func TestWhereAnswersGoIsShown(t *testing.T) {
	t.Parallel()
	for uri, c := range map[string]struct {
		consent, settings string
		local             bool
	}{
		"https://claude.ai/cb":                       {"[claude.ai]", "[claude.ai]", false},
		"https://claude.ai.oauth.cb.Evil.example/cb": {"claude.ai.oauth.cb.[evil.example]", "claude.ai.oauth.cb.[evil.example]", false},
		"https://claude.ai-login.evil.co.uk:8443/cb": {"claude.ai-login.[evil.co.uk]:8443", "claude.ai-login.[evil.co.uk]:8443", false},
		"https://xn--laude-2of.ai/cb":                {"[xn--laude-2of.ai]", "[xn--laude-2of.ai]", false},
		"https://192.0.2.7/claude.ai":                {"[192.0.2.7]", "[192.0.2.7]", false},
		"http://localhost:4711/cb":                   {"http://[localhost]:4711", "http://[localhost]", true},
		"http://127.0.0.1/cb":                        {"http://[127.0.0.1]", "http://[127.0.0.1]", true},
		"cursor://claude.ai/cb":                      {"cursor://[claude.ai]", "cursor://[claude.ai]", false},
		"com.example.app:/claude.ai":                 {"com.example.app:", "com.example.app:", false},
	} {
		t.Run(uri, func(t *testing.T) {
			t.Parallel()
			s := webtest.New(t, webtest.Options{})
			b := s.SignedIn(t, "maria")
			client := s.Client(t, "Claude", uri)
			p := b.Get(authorizePath(client.ID, uri))
			if got := placesOf(p); len(got) != 1 || got[0] != c.consent || strings.Contains(p.Text(), "on this computer") != c.local {
				t.Errorf("consent: %v in %s", got, p.Text())
			}
			answer := b.Post("/oauth/consent", allow(p))
			redeem(t, s, answer)
			p = b.Get("/settings/mcp")
			if got := placesOf(p); len(got) != 1 || got[0] != c.settings || strings.Contains(p.Text(), "this computer") != c.local {
				t.Errorf("settings: %v in %s", got, p.Text())
			}
		})
	}
}

// Clients that registered under earlier rules are listed without deceptive characters.
func TestAgentsOfEarlierRules(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	client := &oauth.Client{Name: "Cl\u200baude\u202e", RedirectURIs: []string{"https://a.example/cb", "https://claude.ai%E2%81%84cb.evil.example/cb"}}
	if err := oauth.CreateClient(t.Context(), s.Store, client); err != nil {
		t.Fatal(err)
	}
	grantTo(t, s, b, client)
	p := b.Get("/settings/mcp")
	want(t, p, http.StatusOK, "Claude", "a.example", "an address that is no longer allowed")
	if strings.ContainsAny(p.Body, "\u200b\u202e") || strings.Contains(p.Text(), "claude.ai") {
		t.Errorf("shown: %s", p.Text())
	}
}
