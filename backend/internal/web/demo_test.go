package web_test

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
	"github.com/kith-crm/kith/proto/catalog"
)

// demoSite returns a site with the demo account, whose browsers ask for a language.
func demoSite(t *testing.T, locale string) *webtest.Site {
	t.Helper()
	s := webtest.New(t, webtest.Options{Locale: locale})
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := demo.NewSeeder(s.Store, rpcs, s.Clock.Now, slog.New(slog.DiscardHandler)).Seed(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// within is how many links from /demo the crawl follows, and perShape how many addresses of one
// kind, which differ only in ids and values.
const (
	within   = 4
	perShape = 3
)

// crawl follows links and returns the pages of the demo by their addresses. It reports links that
// leave the demo as errors.
func crawl(t *testing.T, b *webtest.Browser) map[string]*webtest.Page {
	t.Helper()
	leaves := []string{"/", "/sign-up", "/sign-in"}
	pages, shapes := map[string]*webtest.Page{}, map[string]int{}
	next := []string{page.PathDemo}
	for range within {
		var found []string
		for _, at := range next {
			p := b.Get(at)
			pages[at] = p
			if p.Status == http.StatusSeeOther { // the first page, by its other address
				p = b.Follow(p)
			}
			if p.Status != http.StatusOK {
				t.Errorf("%s answers %d: %s", at, p.Status, p.Text())
			}
			for _, to := range targets(t, p, at) {
				switch {
				case slices.Contains(leaves, to):
				case to != page.PathDemo && !strings.HasPrefix(to, page.PathDemo+"/") && !strings.HasPrefix(to, page.PathDemo+"?"):
					t.Errorf("%s leads out of the demo: %s", at, to)
				case pages[to] == nil && !slices.Contains(found, to):
					if shape := shapeOf(t, to); shapes[shape] < perShape {
						shapes[shape]++
						found = append(found, to)
					}
				}
			}
		}
		next = found
	}
	return pages
}

// targets returns the addresses of the links and forms of a page, within this site.
func targets(t *testing.T, p *webtest.Page, at string) []string {
	t.Helper()
	base, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	add := func(address string) {
		u, err := base.Parse(address)
		if err != nil {
			t.Errorf("%s has a broken link %q", at, address)
		} else if u.Host == "" && u.Scheme == "" {
			u.Fragment = ""
			out = append(out, u.String())
		}
	}
	for _, a := range p.All("a") {
		add(webtest.Attr(a, "href"))
	}
	for _, form := range p.All("form") {
		if webtest.Attr(form, "method") != "post" {
			add(webtest.Attr(form, "action"))
		}
	}
	return out
}

// shapeOf returns the path of an address with its ids replaced, and its parameters' names.
func shapeOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(u.Path, "/")
	for i := range parts {
		if strings.Contains(parts[i], "_") {
			parts[i] = "{id}"
		}
	}
	return strings.Join(append(parts, slices.Sorted(maps.Keys(u.Query()))...), "/")
}

// Every page of the demo can be reached without a cookie and links only to pages of the demo. Every
// control that would write is disabled and says why.
func TestDemoIsReadOnlyAndStaysTheDemo(t *testing.T) {
	t.Parallel()
	s := demoSite(t, "en")
	b := s.Browser(t)
	pages := crawl(t, b)
	forms, adds, shown, shapes := 0, 0, 0, map[string]bool{}
	for at, p := range pages {
		shapes[shapeOf(t, at)] = true
		if p.Status != http.StatusOK {
			continue
		}
		shown++
		if len(p.Cookies) > 0 || !strings.Contains(p.Header.Get("Cache-Control"), "no-store") {
			t.Errorf("%s sets a cookie, or may be cached", at)
		}
		if !strings.Contains(p.Text(), "This is the demo, with invented people: nothing can be changed. Make an account or run your own.") {
			t.Errorf("%s does not say that it is the demo", at)
		}
		for _, menu := range p.All("details") {
			if webtest.Attr(menu, "class") == "menu add" {
				adds++
				if webtest.TextOf(menu) != "Nothing can be changed in the demo." {
					t.Errorf("%s has a + that is on, or does not say why it is off", at)
				}
			}
		}
		for _, form := range p.All("form") {
			if webtest.Attr(form, "method") == "post" {
				forms++
				checkOff(t, at, form)
			}
		}
		if strings.Contains(p.Body, "Sign out") || strings.Contains(p.Body, "/settings") {
			t.Errorf("%s has what only members have", at)
		}
	}
	for _, shape := range []string{"/demo", "/demo/people", "/demo/people/{id}", "/demo/people/{id}/edit", "/demo/people/{id}/merge", "/demo/people/organization/name", "/demo/groups", "/demo/groups/{id}", "/demo/groups/tag/name", "/demo/activity", "/demo/people/bin", "/demo/network", "/demo/network/organization"} {
		if !shapes[shape] {
			t.Errorf("no link leads to a page like %s", shape)
		}
	}
	if adds != shown {
		t.Errorf("%d of %d pages have a +", adds, shown)
	}
	if len(pages) < 30 || forms < 30 {
		t.Errorf("the crawl found %d pages with %d forms that write", len(pages), forms)
	}
}

func checkOff(t *testing.T, at string, form *html.Node) {
	t.Helper()
	if webtest.Has(form, "action") {
		t.Errorf("%s has a form that leads somewhere", at)
	}
	for n := range form.Descendants() {
		if n.Type != html.ElementNode || !slices.Contains([]string{"button", "input", "select", "textarea"}, n.Data) {
			continue
		}
		if !webtest.Has(n, "disabled") || n.Data == "button" && webtest.Attr(n, "aria-describedby") != "demo" {
			t.Errorf("%s has a control that is on, or does not say why it is off: %s", at, n.Data)
		}
	}
}

// A signed-in member sees the same demo as a visitor. No page of the demo shows data of a member.
func TestDemoOfSignedInMember(t *testing.T) {
	t.Parallel()
	s := demoSite(t, "en")
	b := s.SignedIn(t, "maria")
	own, _ := webtest.Added(t, s, b.Owner, "Private Person")
	for _, at := range []string{"/demo", "/demo/people?q=private", "/demo/people?done=deleted"} {
		p := b.Get(at)
		if p.Status != http.StatusOK || strings.Contains(p.Body, "Private Person") || strings.Contains(p.Body, "maria") || strings.Contains(p.Text(), "in the bin") {
			t.Errorf("%s: %d\n%s", at, p.Status, p.Text())
		}
	}
	p := b.Get("/demo/people/" + own)
	want(t, p, http.StatusNotFound, "There is nothing here", "Back to People")
	if webtest.LinkTo(p, "Back to People") != "/demo/people" {
		t.Error("the error page links out of the demo")
	}
	if at := b.Get("/demo/today"); at.Header.Get("Location") != "/demo" {
		t.Errorf("/demo/today leads to %q", at.Header.Get("Location"))
	}
}

// Without a demo account, or if it is not read-only, the demo pages are not found.
func TestDemoNeedsReadOnlyAccount(t *testing.T) {
	t.Parallel()
	want(t, webtest.New(t, webtest.Options{}).Browser(t).Get("/demo/people"), http.StatusNotFound, "There is nothing here")
	s := demoSite(t, "en")
	owner, err := demo.Member(t.Context(), s.Store)
	if err != nil {
		t.Fatal(err)
	}
	want(t, s.Browser(t).Get("/demo/people"), http.StatusOK, "People")
	if err := s.Store.Write(t.Context(), func(ctx context.Context, tx db.Querier) error {
		_, err := tx.NewRaw("UPDATE tenant_states SET read_only = FALSE WHERE tenant_id = ?", owner).Exec(ctx)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want(t, s.Browser(t).Get("/demo/people"), http.StatusNotFound, "There is nothing here")
}

// A request that writes is refused at every depth: by the routes, by the pages' calls of tools, by
// transactions of the tenant, and by the database itself.
func TestDemoRefusesWrites(t *testing.T) {
	t.Parallel()
	s := demoSite(t, "en")
	owner, err := demo.Member(t.Context(), s.Store)
	if err != nil {
		t.Fatal(err)
	}
	b, ctx := s.Browser(t), t.Context()
	var somebody string
	for at := range crawl(t, b) {
		if shapeOf(t, at) == "/demo/people/{id}" {
			somebody = at
		}
		path, _, _ := strings.Cut(at, "?")
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if p := b.Do(b.Request(method, path, webtest.Values("confirmed", "yes"))); p.Status != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, path, p.Status)
			}
		}
	}
	for _, path := range []string{somebody + "/note", somebody + "/edit", "/demo/people/act", "/demo/people/views/delete", "/demo/today/done", "/demo/groups/save", "/demo/activity/undo", "/demo/people/bin/restore", "/demo/settings/account/delete", "/demo/sign-out"} {
		if p := b.Post(path, webtest.Values("act", "delete", "body", "x", "id", "x")); p.Status != http.StatusMethodNotAllowed && p.Status != http.StatusNotFound {
			t.Errorf("POST %s: %d", path, p.Status)
		}
	}

	if p := s.BrowserOf(t, owner).Get("/groups"); p.Header.Get("Location") != "/sign-in?return_to=%2Fgroups" {
		t.Errorf("a session of the demo account is live: %d", p.Status)
	}
	before := b.Get("/demo/people?starred=true").Text()
	if err := s.Store.Tenant(owner, false).Write(ctx, db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.NewRaw("UPDATE connections SET starred = TRUE WHERE tenant_id = ?", owner).Exec(ctx)
		return err
	}); !fault.Is(err, fault.ReadOnly) {
		t.Errorf("the database: %v", err)
	}
	if after := b.Get("/demo/people?starred=true").Text(); after != before {
		t.Error("something was written")
	}
}
