package network_test

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const path = "/network"

// add adds a person, and returns their id.
func add(t *testing.T, s *webtest.Site, owner tenant.ID, d people.Draft) string {
	t.Helper()
	return webtest.By(t, s, owner, "test", func(ctx context.Context, tx *db.Tx) (string, error) {
		made, err := people.Create(ctx, tx, d)
		return made.Connection.ID, err
	})
}

// met logs meetings with a person, each some days ago.
func met(t *testing.T, s *webtest.Site, owner tenant.ID, person string, days ...int) {
	t.Helper()
	for _, ago := range days {
		webtest.By(t, s, owner, "test", func(ctx context.Context, tx *db.Tx) (any, error) {
			return timeline.LogInteractions(ctx, tx, timeline.Interaction{ConnectionIDs: []string{person}, Kind: "meeting", OccurredAt: s.Clock.Now().AddDate(0, 0, -ago)})
		})
	}
}

func want(t *testing.T, p *webtest.Page, status int, words ...string) {
	t.Helper()
	if p.Status != status {
		t.Fatalf("status %d, not %d:\n%s", p.Status, status, p.Text())
	}
	for _, word := range words {
		if !strings.Contains(p.Text(), word) {
			t.Errorf("no %q in:\n%s", word, p.Text())
		}
	}
}

// marks returns the address of each link in a chart, by its label.
func marks(p *webtest.Page) map[string]string {
	out := map[string]string{}
	for _, svg := range p.All("svg") {
		if webtest.Attr(svg, "role") != "group" {
			continue
		}
		for n := range svg.Descendants() {
			if n.Type == html.ElementNode && n.Data == "a" {
				out[cmp.Or(webtest.Attr(n, "aria-label"), webtest.TextOf(n))] = webtest.Attr(n, "href")
			}
		}
	}
	return out
}

// The charts count people, and each mark leads to the list with exactly those.
func TestChartsLeadToTheirPeople(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Organization: "Helios & Co", Title: "Head of sales", Location: "Lisbon", Tags: []string{"investor"}})
		ben := add(t, s, b.Owner, people.Draft{Name: "Ben Okafor", Organization: "Helios & Co", Location: "Porto", Tags: []string{"investor", "sailing"}})
		add(t, s, b.Owner, people.Draft{Name: "Cleo Marsh"})
		met(t, s, b.Owner, ada, 1, 2, 3)
		for ago := range 6 {
			met(t, s, b.Owner, ben, 300+ago)
		}
		p := b.Get(path)
		want(t, p, http.StatusOK, "You know 3 people", "in touch with 1 of them", "Losing touch", "People who might gain from meeting", "Never: 1")
		found := marks(p)
		month := s.Clock.Now().AddDate(0, 0, -300).Format("Jan 2006")
		for label, who := range map[string]string{
			"Helios & Co: 2": "Ada Stone Ben Okafor", "Lisbon: 1": "Ada Stone", "investor: 2": "Ada Stone Ben Okafor", "sailing: 1": "Ben Okafor",
			month + ": 1": "Ben Okafor",
		} {
			address, ok := found[label]
			if !ok {
				t.Errorf("no mark %q: %v", label, found)
				continue
			}
			list := b.Get(address)
			var names []string
			for _, a := range list.All("a") {
				if webtest.Attr(a, "class") == "name" {
					names = append(names, webtest.TextOf(a))
				}
			}
			if strings.Join(names, " ") != who {
				t.Errorf("%s (%s) leads to %v", label, address, names)
			}
		}
		inTables := map[string]bool{}
		for _, table := range p.All("table") {
			for n := range table.Descendants() {
				if n.Data == "a" {
					inTables[webtest.Attr(n, "href")] = true
				}
			}
		}
		var closest string
		for label, address := range found {
			if strings.HasPrefix(label, "Ada Stone, Head of sales at Helios & Co: ") {
				closest = address
				if strings.Contains(label, "Helios & Co: 0") || !strings.HasSuffix(label, "a year ago 0") {
					t.Error(label)
				}
			}
			if !inTables[address] {
				t.Errorf("%s is not in a table", label)
			}
		}
		if closest != "/people/"+ada {
			t.Errorf("Ada leads to %q", closest)
		}
	})
}

// A path to an organisation leads through people who know somebody there.
func TestWayIntoOrganisation(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Organization: "Helios", Title: "Founder"})
		ben := add(t, s, b.Owner, people.Draft{Name: "Ben Okafor"})
		met(t, s, b.Owner, ben, 1)
		webtest.By(t, s, b.Owner, "test", func(ctx context.Context, tx *db.Tx) (any, error) {
			_, changeID, err := people.Link(ctx, tx, ben, ada, people.RelationFriend, false)
			return changeID, err
		})
		p := b.Get(path + "?organization=helios")
		want(t, p, http.StatusOK, "Founder at Helios", "is a friend of theirs")
		found := marks(p)
		if to := found["Ben Okafor, closeness 53, can introduce you"]; to != "/people/"+ben {
			t.Errorf("Ben leads to %q: %v", to, found)
		}
		if to := found["Ada Stone, Founder at Helios"]; to != "/people/"+ada {
			t.Errorf("Ada leads to %q: %v", to, found)
		}
	})
}

// An error in the organisation is shown at its field, and what was typed is kept.
func TestWrongOrganisation(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Organization: "Helios"})
	const evil = `"><script>alert(1)</script>`
	for given, message := range map[string]string{"Acme": "Nobody is or was at", evil: "Nobody is or was at", ", ": "must be the name", strings.Repeat("x", 201): "200"} {
		p := b.Get(path + "?" + url.Values{"organization": {given}}.Encode())
		want(t, p, http.StatusBadRequest, message)
		input := p.ByID("organization")
		if input == nil || webtest.Attr(input, "value") != given || webtest.Attr(input, "aria-invalid") != "true" || p.ByID("organization-error") == nil {
			t.Errorf("%.20q is not kept, or has no error:\n%s", given, p.Text())
		}
		if strings.Contains(p.Body, "<script>alert") {
			t.Error("the page runs what was typed")
		}
	}
	for _, query := range []string{"?organization=", "?organization=&x=1", "?limit=1"} {
		want(t, b.Get(path+query), http.StatusOK, "Who can introduce you")
	}
}

// Where there is nothing to show, the page links to what the member can do next.
func TestEmptyNetwork(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	want(t, b.Get(path), http.StatusOK, "Import your contacts", "Add a person", "Connect an agent")
	add(t, s, b.Owner, people.Draft{Name: "Ada Stone"})
	p := b.Get(path)
	want(t, p, http.StatusOK, "You know 1 person.", "Nobody has an organisation", "Nobody has a place", "Nobody has a tag", "Nobody yet.")
	for _, name := range []string{"Nobody has an organisation. Add where they work.", "Nobody has a place. Add where they live."} {
		want(t, b.Get(webtest.LinkTo(p, name)), http.StatusOK, "Ada Stone")
	}
}

// Another member's people are in no chart and on no path, a visitor signs in first, and text of
// others is escaped.
func TestOnlyTheMembersOwn(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "tomas")
		const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
		ada := add(t, s, b.Owner, people.Draft{Name: evil, Organization: evil, Title: evil, Location: evil[:25], Tags: []string{evil[:25]}})
		met(t, s, b.Owner, ada, 1)
		add(t, s, other.Owner, people.Draft{Name: "Own Person"})
		if p := other.Get(path); p.Status != http.StatusOK || strings.Contains(p.Body, "alert(1)") || strings.Contains(p.Body, ada) {
			t.Errorf("status %d:\n%s", p.Status, p.Text())
		}
		want(t, other.Get(path+"?"+url.Values{"organization": {evil}}.Encode()), http.StatusBadRequest, "Nobody is or was at")
		for _, address := range []string{path, path + "?" + url.Values{"organization": {evil}}.Encode()} {
			p := b.Get(address)
			want(t, p, http.StatusOK, "alert(1)")
			if strings.Contains(p.Body, "<script>alert") || strings.Contains(p.Body, "<img src=x") {
				t.Errorf("%s runs stored text", address)
			}
		}
		if to := s.Browser(t).Get(path + "?organization=Helios").Header.Get("Location"); to != "/sign-in?return_to=%2Fnetwork%3Forganization%3DHelios" {
			t.Errorf("a visitor is sent to %q", to)
		}
		if p := b.Post(path, nil); p.Status != http.StatusMethodNotAllowed {
			t.Errorf("POST: %d", p.Status)
		}
	})
}

// In another time zone, the months are those of the member.
func TestMonthsOfTheMember(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	add(t, s, b.Owner, people.Draft{Name: "Ada Stone"})
	form := b.Get("/settings/time").Fill("/settings/time", url.Values{"timezone": {"Pacific/Kiritimati"}})
	b.Post("/settings/time", form)
	now := s.Clock.Now().In(time.FixedZone("", 14*60*60))
	if _, ok := marks(b.Get(path))[now.Format("Jan 2006")+": 0"]; !ok {
		t.Errorf("no month %s", now.Format("Jan 2006"))
	}
}
