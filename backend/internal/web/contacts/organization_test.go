package contacts_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const organizationPath = "/people/organization"

func organizationOf(name string) string {
	return organizationPath + "?" + url.Values{"name": {name}}.Encode()
}

// The page of a person leads to that of the organisation, where it is changed, renamed and merged. The notice undoes each.
func TestOrganization(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Emails: []string{"ada@helios.example"}, Jobs: []people.JobDraft{{Organization: "Helios", Title: "Founder", StartedOn: "2021"}}}, "")
		webtest.By(t, s, b.Owner, "test", func(ctx context.Context, tx *db.Tx) (any, error) {
			return timeline.LogInteractions(ctx, tx, timeline.Interaction{Kind: "call", ConnectionIDs: []string{ada}, OccurredAt: s.Clock.Now().Add(-time.Hour)})
		})
		add(t, s, b.Owner, people.Draft{Name: "Ben Okafor", Jobs: []people.JobDraft{{Organization: "Helios", EndedOn: "2020"}, {Organization: "Helios Energy"}}}, "")
		p := b.Get("/people/" + ada)
		if webtest.LinkTo(p, "Helios") != organizationOf("Helios") {
			t.Fatalf("the organisation is at %q", webtest.LinkTo(p, "Helios"))
		}
		p = b.Get(organizationOf("HELIOS"))
		wantPage(t, p, http.StatusOK, "1 person now, 1 before", "helios.example", "Ada Stone Founder (2021–)", "Ben Okafor (–2020)", "Last contactAda Stone")
		if webtest.LinkTo(p, "Ada Stone") != "/people/"+ada {
			t.Errorf("Ada is at %q", webtest.LinkTo(p, "Ada Stone"))
		}
		s.Clock.Advance(time.Second)
		saved := b.Submit(p, organizationPath, webtest.Values("new_name", "Helios", "website", "helios.example", "address", "Rua 1\r\nLisboa", "notes", "Solar."))
		if to := saved.Header.Get("Location"); saved.Status != http.StatusSeeOther || !strings.HasPrefix(to, organizationPath+"?") || !strings.Contains(to, "name=Helios") {
			t.Fatalf("status %d to %q:\n%s", saved.Status, to, saved.Text())
		}
		shown := b.Follow(saved)
		wantPage(t, shown, http.StatusOK, "The organisation is saved.", "Rua 1", "Solar.")
		if webtest.LinkTo(shown, "helios.example") != "https://helios.example" {
			t.Errorf("the website is at %q", webtest.LinkTo(shown, "helios.example"))
		}
		// A form of before is not saved over it.
		wantPage(t, b.Submit(p, organizationPath, webtest.Values("notes", "Wind.")), http.StatusConflict, "changed in the meantime", "Solar.")
		wantPage(t, b.Submit(shown, organizationPath, webtest.Values("new_name", " ", "website", "x")), http.StatusUnprocessableEntity, "Enter a name.")
		wantPage(t, b.Submit(shown, organizationPath, webtest.Values("notes", strings.Repeat("x", 4001))), http.StatusUnprocessableEntity)

		// The page asks before it merges.
		asked := b.Submit(shown, organizationPath, webtest.Values("new_name", "HELIOS energy", "notes", "Sun."))
		wantPage(t, asked, http.StatusOK, "Merge Helios into Helios Energy?", "Sun.")
		if strings.Contains(b.Get("/people/"+ada).Text(), "Helios Energy") {
			t.Error("merged unasked")
		}
	})
}

// A merge that was confirmed moves everyone, and is undone as one change.
func TestMergeOrganizations(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Organization: "Helios"}, "")
		add(t, s, b.Owner, people.Draft{Name: "Ben Okafor", Organization: "Helios Energy"}, "")
		asked := b.Submit(b.Get(organizationOf("Helios")), organizationPath, webtest.Values("new_name", "helios energy", "notes", "Sun."))
		merged := b.Follow(b.Submit(asked, organizationPath, nil))
		wantPage(t, merged, http.StatusOK, "Helios Energy", "2 people now", "Ada Stone", "Sun.")
		wantPage(t, b.Get(organizationOf("Helios")), http.StatusNotFound)
		b.Submit(merged, webtest.UndoForm, nil)
		wantPage(t, b.Get(organizationOf("Helios")), http.StatusOK, "1 person now", "Ada Stone")
	})
}

// Another member reads and changes nothing, a form of another site neither, and stored text is shown as text.
func TestOrganizationOfAnotherMember(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		victim, attacker := s.SignedIn(t, "maria"), s.SignedIn(t, "eve")
		const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
		add(t, s, victim.Owner, people.Draft{Name: "Ada Stone", Organization: evil}, "")
		add(t, s, attacker.Owner, people.Draft{Name: "Own Person", Organization: "Own"}, "")
		own := attacker.Get(organizationOf("Own")).Form(organizationPath)
		form := webtest.Values("form_token", own.Get("form_token"), "name", evil, "new_name", "stolen", "seen", own.Get("seen"))
		for name, p := range map[string]*webtest.Page{
			"page": attacker.Get(organizationOf(evil)), "save": attacker.Post(organizationPath, form), "broken": attacker.Get(organizationPath + "?name=%ff%00"),
			"no name": attacker.Post(organizationPath, webtest.Values("form_token", own.Get("form_token"))),
		} {
			if p.Status != http.StatusNotFound || strings.Contains(p.Text(), "Ada Stone") || strings.Contains(p.Body, "<script>alert") {
				t.Errorf("%s: %d %s", name, p.Status, p.Text())
			}
		}
		if to := attacker.Get(organizationPath).Header.Get("Location"); to != "/people" {
			t.Errorf("without a name: %q", to)
		}
		wantPage(t, victim.Post(organizationPath, form), http.StatusForbidden)
		wantPage(t, s.Browser(t).Post(organizationPath, form), http.StatusForbidden, "You are signed out")
		p := victim.Get(organizationOf(evil))
		wantPage(t, p, http.StatusOK, evil, "Ada Stone")
		wantPage(t, victim.Submit(p, organizationPath, webtest.Values("website", "javascript:alert(1)", "notes", evil, "address", evil)), http.StatusSeeOther)
		p = victim.Get(organizationOf(evil))
		if strings.Contains(p.Body, "<script>alert") || strings.Contains(p.Body, "<img src=x") || strings.Contains(p.Body, `href="javascript`) {
			t.Errorf("the page runs stored text:\n%s", p.Body)
		}
	})
}
