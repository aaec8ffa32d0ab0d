package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// The address of a form, which is typed, bookmarked or reloaded, leads to the page with the form. It
// changes nothing.
func TestFormAddressesByGET(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	ada, _ := webtest.Added(t, s, b.Owner, "Ada Stone")
	person := "/people/" + ada
	for path, to := range map[string]string{
		person + "/edit": person + "?edit=name#edit-name", person + "/edit?section=ways": person + "?edit=ways#edit-ways", person + "/edit?section=x": person + "?edit=name#edit-name",
		person + "/link": person + "?edit=relations#edit-relations", person + "/note": person + "#bar-note", person + "/log": person + "#bar-log", person + "/remind": person + "#bar-remind",
		person + "/act": person, person + "/entry": person, person + "/entry-edit": person, person + "/reminder": person, person + "/reminder-edit": person,
		person + "/unlink": person, person + "/photo-upload": person, person + "/photo-remove": person,
		"/people/act": "/people", "/people/views/rename": "/people/views", "/people/views/delete": "/people/views", "/people/fields/save": "/people/fields", "/people/fields/remove": "/people/fields", "/people/share": "/people", "/people/bin/restore": "/people/bin",
		"/today/done": "/today", "/today/snooze": "/today", "/groups/save": "/groups", "/groups/tag/rename": "/groups/tag", "/decide/approve": "/decide",
		"/settings/imports/cancel": "/settings/imports", "/settings/agents/pause": "/settings/agents", "/settings/mcp/tokens/revoke": "/settings/mcp/tokens",
		"/settings/security/password": "/settings/security", "/settings/security/sessions/end": "/settings/security", "/settings/account/delete": "/settings/account",
		"/sign-out": "/", "/sign-in/passkey/options": "/sign-in", "/sign-in/provider": "/sign-in",
	} {
		p := b.Get(path)
		if got := p.Header.Get("Location"); p.Status != http.StatusSeeOther || got != to {
			t.Errorf("%s: %d to %q, not to %q", path, p.Status, got, to)
			continue
		}
		to, _, _ = strings.Cut(to, "#")
		if shown := b.Get(to); shown.Status != http.StatusOK && shown.Status != http.StatusSeeOther {
			t.Errorf("%s leads to %s: %d", path, to, shown.Status)
		}
	}
	want(t, b.Get(person+"/nothing"), http.StatusNotFound, "There is nothing here")
	want(t, b.Get("/oauth/consent"), http.StatusOK, "This page was answered")
	if !isSignedIn(b) || webtest.FindPerson(t, s, b.Owner, ada) == nil {
		t.Error("a GET changed something")
	}
}
