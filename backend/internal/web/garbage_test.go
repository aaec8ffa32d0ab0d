package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// broken holds values that none of our forms sends and no database stores.
const broken = "a\x00b\xff\xed\xa0\x80c\u202e\u200b'; DROP TABLE members; --\r\nSet-Cookie: kith_session=x;"

func garbage() map[string]string {
	return map[string]string{"nothing": "", "much": strings.Repeat("é", 400), "invalid text": broken}
}

// Invalid values in fields or addresses never cause an internal error: each is
// accepted, rejected or explained.
func TestGarbage(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, anonymous := s.SignedIn(t, "maria"), s.Browser(t)
		for name, form := range formsToFill(t, s, b, anonymous) {
			send := func(what string, garbage url.Values) {
				p := form.who.Post(form.action, merge(form.get(), garbage))
				if p.Status >= http.StatusInternalServerError || strings.Contains(strings.Join(p.Header.Values("Set-Cookie"), " "), "=x;") {
					t.Errorf("%s, %s: %d %v", name, what, p.Status, p.Header)
				}
			}
			all := map[string]url.Values{}
			for field := range form.get() {
				if field == "form_token" {
					continue // TestFormTokens
				}
				if !strings.HasPrefix(field, "visibility_") { // one choice stands for all
					send(field, url.Values{field: {broken, broken}})
				}
				for kind, value := range garbage() {
					all[kind] = merge(all[kind], url.Values{field: {value, value}})
				}
			}
			for kind, values := range all {
				send(kind+" in all fields", values)
			}
		}
		garbageInAddresses(t, map[string]*webtest.Browser{"a member": b, "signed out": anonymous})
		if !isSignedIn(b) || isSignedIn(anonymous) {
			t.Error("garbage changed who is signed in")
		}
	})
}

// filled is a form with valid values.
type filled struct {
	who    *webtest.Browser
	action string
	get    func() url.Values
}

// formsToFill returns the forms by their names.
func formsToFill(t *testing.T, s *webtest.Site, b, anonymous *webtest.Browser) map[string]filled {
	t.Helper()
	makeToken(t, b, webtest.Values("name", "x"))
	grantOf(t, s, b)
	_, changeID := webtest.Added(t, s, b.Owner, "Grace Hopper")
	reset, _, finish := links(t, s, b.Owner)
	change := storedChange(t, s, b.Owner, "new@people.example")
	forms := map[string]filled{}
	for action, c := range map[string]struct {
		who  *webtest.Browser
		page string
	}{
		"/sign-in": {anonymous, "/sign-in"}, "/sign-up": {anonymous, "/sign-up"}, "/reset": {anonymous, reset}, "/verify": {anonymous, finish},
		"/settings/profile": {b, "/settings/profile"}, "/settings/mcp/tokens": {b, "/settings/mcp/tokens"},
		"/settings/mcp/tokens/revoke": {b, "/settings/mcp/tokens"}, "/settings/mcp/agents/revoke": {b, "/settings/mcp"},
		"/settings/agents/narrow": {b, "/settings/agents"}, "/settings/agents/pause": {b, "/settings/agents"},
		webtest.UndoForm: {b, webtest.UndoPath(changeID)}, "/settings/security/password": {b, "/settings/security"}, confirmForm: {b, change},
		"/settings/account/delete": {b, "/settings/account"},
	} {
		form := c.who.Get(c.page).Form(action)
		forms[action] = filled{c.who, action, func() url.Values { return form }}
	}
	consent := authorizePath(s.Client(t, "Agent", "https://a.example/cb").ID, "https://a.example/cb")
	forms["consent"] = filled{b, "/oauth/consent", func() url.Values { return allow(b.Get(consent)) }}
	return forms
}

func garbageInAddresses(t *testing.T, browsers map[string]*webtest.Browser) {
	t.Helper()
	for who, b := range browsers {
		for _, path := range []string{
			"/sign-in?return_to=", "/sign-up?return_to=", "/reset?link=", "/verify?link=", "/settings/profile?done=", confirmForm + "?link=", "/settings/mcp?",
			"/activity?cursor=", "/activity/undo?change=",
			"/sign-in/provider/callback?state=",
		} {
			for kind, value := range garbage() {
				p := b.Get(path + url.QueryEscape(value))
				if p.Status >= http.StatusInternalServerError || p.Heading() == "" && p.Status != http.StatusSeeOther {
					t.Errorf("%s, %s at %s: %d", who, kind, path, p.Status)
				}
			}
		}
	}
}
