package today_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// wantSteps fails unless the page shows the first steps, of which those named are done.
func wantSteps(t *testing.T, p *webtest.Page, done ...string) {
	t.Helper()
	want(t, p, http.StatusOK, "First steps", "Import your contacts", "Connect an agent", "Ask your agent a question")
	if got := strings.Count(p.Text(), "Done: "); got != len(done) {
		t.Errorf("%d steps are done, not %v", got, done)
	}
	for _, title := range done {
		want(t, p, http.StatusOK, "Done: "+title)
	}
}

// token makes a personal token of a member, and returns its id.
func token(t *testing.T, s *webtest.Site, owner tenant.ID) string {
	t.Helper()
	row := &account.PersonalToken{MemberID: owner, Name: "laptop", Hash: account.HashSecret(string(owner)), Scopes: "connections"}
	if err := account.CreatePersonalToken(t.Context(), s.Store, row); err != nil {
		t.Fatal(err)
	}
	return row.ID
}

// A first step counts as done once the member has imported people, connected an agent or had a call
// from one; other members' data changes nothing. When all are done, the list disappears.
func TestSteps(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		other := s.Member(t, "other")
		if err := account.MarkTokenUsed(t.Context(), s.Store, token(t, s, other), s.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		add(t, s, other, people.Draft{Name: "Ada Stone"})
		b := s.SignedIn(t, "maria")
		wantSteps(t, b.Get("/"))
		add(t, s, b.Owner, people.Draft{Name: "Ada Stone"})
		wantSteps(t, b.Get("/"), "Import your contacts")
		made := token(t, s, b.Owner)
		wantSteps(t, b.Get("/"), "Import your contacts", "Connect an agent")
		if err := account.MarkTokenUsed(t.Context(), s.Store, made, s.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		without(t, b.Get("/"), "First steps", "Import your contacts")
	})
}

func TestHideSteps(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		shown := b.Get("/")
		want(t, b.Submit(shown, "/today/steps", map[string][]string{"form_token": {"forged"}}), http.StatusForbidden, "out of date")
		wantSteps(t, b.Get("/"))
		hidden := b.Follow(b.Submit(shown, "/today/steps", nil))
		want(t, hidden, http.StatusOK, "The first steps are hidden.", "Import your contacts")
		without(t, hidden, "First steps<")
		b.Submit(shown, "/today/steps", nil) // again: nothing more happens
		wantSteps(t, other.Get("/"))
	})
}
