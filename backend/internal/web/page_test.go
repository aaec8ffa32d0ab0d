package web_test

import (
	"crypto/rand"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
	"github.com/kith-crm/kith/proto/catalog"
	"golang.org/x/net/html"
)

// everyPage loads every page, with and without errors. The part before a comma is the
// page's template. Its members have the locale.
func everyPage(t *testing.T, locale string) map[string]*webtest.Page {
	t.Helper()
	_, options := withMail(t)
	options.Locale = locale
	s := webtest.New(t, options)
	b, anonymous, leaving := s.SignedIn(t, "maria"), s.Browser(t), s.SignedIn(t, "leaving")
	grantOf(t, s, b)
	grace, addition := webtest.Added(t, s, b.Owner, "Grace Hopper")
	plain := b.Get(webtest.UndoPath(addition))
	first := webtest.Changed(t, s, b.Owner, people.Patch{ID: grace, Bio: new("x")})
	undone := b.Submit(b.Get(webtest.UndoPath(first)), webtest.UndoForm, nil)
	webtest.Changed(t, s, b.Owner, people.Patch{ID: grace, Bio: new("y")})
	ada, _ := webtest.Added(t, s, b.Owner, "Ada Lovelace")
	deletion := webtest.Deleted(t, s, b.Owner, ada)
	c := s.Client(t, "Agent", "https://a.example/cb")
	signUp, security, agents, account := anonymous.Get("/sign-up"), b.Get("/settings/security"), b.Get("/settings/mcp"), b.Get("/settings/account")
	tokens := b.Get("/settings/mcp/tokens")
	reset, verify, finish := links(t, s, b.Owner)
	resetPage, finishPage := anonymous.Get(reset), anonymous.Get(finish)
	_, loginPath := beginLogin(t, s, "DAVx5/4.5-ose (okhttp 5) Android/15", "203.0.113.0/24")
	login := b.Get(loginPath)
	secret := storedNotMe(t, s, b.Owner)
	waiting, objection := contested(t, s, s.SignedIn(t, "contested").Owner)
	careful := s.SignedIn(t, "careful")
	setUp := careful.Get(factorsPath)
	setUpWrong := careful.Submit(setUp, factorsPath, webtest.Values("code", "1"))
	enrol(t, s, careful)
	half, second := passwordOnly(t, s, "careful")
	asked := careful.Get("/sign-in/confirm")
	digesting := s.SignedIn(t, "digesting")
	leave := digestLink(t, s, digesting.Owner)
	empty := webtest.New(t, webtest.Options{Locale: locale})
	visitor := empty.Browser(t)
	owner := visitor.Get(ownerLink(t, empty))
	return map[string]*webtest.Page{
		"owner": owner, "owner, wrong": visitor.Submit(owner, "/owner", webtest.Values("username", "x", "timezone", "x")),
		"two-step": setUp, "two-step, wrong": setUpWrong, "two-step, on": careful.Get(factorsPath),
		"two-step, codes":  careful.Follow(careful.Submit(careful.Get(factorsPath), factorsPath+"/codes", nil)),
		"sign-in-two-step": second, "sign-in-two-step, wrong": half.Submit(second, twoStepPath, webtest.Values("code", "1")),
		"confirm": asked, "confirm, wrong": careful.Submit(asked, "/sign-in/confirm", webtest.Values("confirm_password", "x")),
		"sign-in": anonymous.Get("/sign-in"), "sign-in, wrong": signIn(anonymous, "x", "y", ""), "sign-up": signUp,
		"sign-up, wrong": anonymous.Submit(signUp, "/sign-up", webtest.Values("username", "x")), "forgot": anonymous.Get("/forgot"),
		"mail-sent": anonymous.Submit(anonymous.Get("/forgot"), "/forgot", webtest.Values("login", "x")),
		"not-me":    anonymous.Get(notMePath + "?link=" + secret), "problem, not me": anonymous.Get(notMePath + "?link=x"), "not-me, waiting": anonymous.Get(waiting), "objection": anonymous.Get(objection), "objection, made": anonymous.Follow(anonymous.Submit(anonymous.Get(objection), objectPath, nil)), "reset": resetPage, "reset, wrong": anonymous.Submit(resetPage, "/reset", webtest.Values("new_password", "x")), "verify": anonymous.Get(verify),
		"verify, new": finishPage, "verify, new and wrong": anonymous.Submit(finishPage, "/verify", webtest.Values("username", "x")),
		"consent": b.Get(authorizePath(c.ID, "https://a.example/cb")), "consent, wrong": b.Submit(b.Get(authorizePath(c.ID, "https://a.example/cb")), "/oauth/consent", map[string][]string{"decision": {"allow"}, "scope": {"write"}}),
		"consent, reading": b.Get(authorizePath(c.ID, "https://a.example/cb", "scope", "timeline")),
		"problem":          anonymous.Get("/oauth/authorize"), "problem, over": anonymous.Get("/reset?link=x"), "problem, refused": b.Post("/sign-out", webtest.Values("x", "y")),
		"problem, deleted": leaving.Submit(leaving.Get("/settings/account"), "/settings/account/delete", webtest.Values("username", "leaving", "password", webtest.Password)),
		"profile":          b.Get("/settings/profile"), "profile, wrong": b.Submit(b.Get("/settings/profile"), "/settings/profile", webtest.Values("name", "", "link_url", "x", "country", "x")),
		"profile, preview": b.Submit(b.Get("/settings/profile"), "/settings/profile", webtest.Values("action", "preview", "visibility", "public", "link_url", "https://a.example", "visibility_links", "public")),
		"agents, wrong":    b.Submit(agents, "/settings/agents/narrow", map[string][]string{"scope": nil}),
		"mcp":              agents, "tokens": tokens, "devices": b.Get("/settings/devices"), "devices, made": makeDevice(b, "phone"), "device-login": login, "device-login, wrong": b.Submit(login, "/settings/devices/login", webtest.Values("name", " ")), "devices, feed": makeFeed(b, webtest.Values("feed_name", "Dates")), "devices, wrong feed": b.Submit(b.Get("/settings/devices"), "/settings/devices/feeds", map[string][]string{"feed_name": nil, "part": nil}), "devices, wrong": b.Submit(b.Get("/settings/devices"), "/settings/devices", webtest.Values("name", " ")), "tokens, made": makeToken(t, b, webtest.Values("name", "x")), "tokens, wrong": b.Submit(tokens, "/settings/mcp/tokens", map[string][]string{"scope": nil, "name": nil, "expires": nil}),
		"activity": b.Get("/activity"), "activity, done": b.Follow(undone), "activity, empty": s.SignedIn(t, "newby").Get("/activity"),
		"undo": plain, "undo, in the way": b.Get(webtest.UndoPath(addition)), "undo, done": b.Get(webtest.UndoPath(first)), "problem, no change": b.Get(webtest.UndoPath("x")),
		"time": b.Get("/settings/time"), "time, wrong": b.Submit(b.Get("/settings/time"), "/settings/time", webtest.Values("timezone", "Nowhere", "locale", "x")), "bin": b.Get("/people/bin"), "bin, empty": s.SignedIn(t, "tidy").Get("/people/bin"),
		"bin-delete": b.Get("/people/bin/delete?change=" + deletion), "bin-delete, all": b.Get("/people/bin/delete"), "problem, not in the bin": b.Get("/people/bin/delete?change=x"),
		"security": security, "security, done": b.Get("/settings/security?done=password-changed"),
		"security, wrong":         b.Submit(security, "/settings/security/password", webtest.Values("password", "x", "new_password", "x")),
		"security, wrong address": b.Submit(security, emailForm, webtest.Values("new_email", "x")),
		"email-change":            b.Get(storedChange(t, s, b.Owner, "new@people.example")),
		"problem, sign in first":  anonymous.Get(confirmForm + "?link=x"), "problem, link over": b.Get(confirmForm + "?link=x"),
		"kept": anonymous.Post("/settings/profile", webtest.Values("bio", "Rows at dawn.")), "kept, signed in": b.Post("/settings/profile", webtest.Values("bio", "Rows at dawn.")),
		"search": b.Get("/settings/search"), "offline": anonymous.Get("/offline"), "styleguide": b.Get("/styleguide"),
		"notifications": b.Get("/settings/notifications"), "notifications, on": digesting.Get("/settings/notifications"),
		"notifications, wrong": digesting.Submit(digesting.Get("/settings/notifications"), "/settings/notifications", webtest.Values("rhythm", "hourly")),
		"unsubscribe":          anonymous.Get(leave), "unsubscribe, off": anonymous.Submit(anonymous.Get(leave), leave, nil),
		"imports": b.Get("/settings/imports"),
		"account": account, "account, wrong": b.Submit(account, "/settings/account/delete", webtest.Values("username", "x")),
	}
}

// links creates a link of each kind, as if it had been mailed, and returns its path.
func links(t *testing.T, s *webtest.Site, owner tenant.ID) (reset, verify, finish string) {
	t.Helper()
	m, err := account.GetMemberByID(t.Context(), s.Store, owner)
	if err != nil {
		t.Fatal(err)
	}
	tag := rand.Text()
	for _, purpose := range []account.LinkPurpose{account.PurposeReset, account.PurposeVerify} {
		row := &account.MailLink{Hash: account.HashSecret(string(purpose) + tag), MemberID: owner, Purpose: purpose, Email: m.Email}
		if err := account.CreateMailLink(t.Context(), s.Store, row); err != nil {
			t.Fatal(err)
		}
	}
	name := "new-" + strings.ToLower(tag)
	row := &account.SignUp{Hash: account.HashSecret("finish" + tag), Username: name, Email: name + "@people.example"}
	if err := account.CreateSignUp(t.Context(), s.Store, row); err != nil {
		t.Fatal(err)
	}
	return "/reset?link=reset" + tag, "/verify?link=verify" + tag, "/verify?link=finish" + tag
}

// contested gives a member another address and begins to restore the former one. It returns the paths
// of the mailed links.
func contested(t *testing.T, s *webtest.Site, owner tenant.ID) (waiting, objection string) {
	t.Helper()
	m, err := account.GetMemberByID(t.Context(), s.Store, owner)
	if err != nil {
		t.Fatal(err)
	}
	change := &account.MailLink{Hash: "contested", MemberID: owner, Purpose: account.PurposeChange, Email: m.Email, NewEmail: "elsewhere@people.example"}
	if err := account.CreateMailLink(t.Context(), s.Store, change); err != nil {
		t.Fatal(err)
	}
	if err := account.ChangeEmail(t.Context(), s.Store, m.Access(), "", change.Hash); err != nil {
		t.Fatal(err)
	}
	secret, err := account.CreateNotMeLink(t.Context(), s.Store, owner, m.Email)
	if err != nil {
		t.Fatal(err)
	}
	used, err := account.UseNotMeLink(t.Context(), s.Store, account.HashSecret(secret))
	if err != nil {
		t.Fatal(err)
	}
	return notMePath + "?link=" + secret, objectPath + "?link=" + used.Objection
}

func TestPagesForEverybody(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for name, p := range everyPage(t, "en") {
		template, _, _ := strings.Cut(name, ", ")
		seen[template] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkPage(t, p)
		})
	}
	files, err := filepath.Glob("templates/*.html")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		template := strings.TrimSuffix(filepath.Base(file), ".html")
		if !seen[template] && !strings.HasPrefix(template, "provider-") { // provider pages have their own test
			t.Errorf("no test loads %s", file)
		}
	}
}

// checkPage fails unless a page is accessible: with a screen, a screen reader or a
// keyboard.
func checkPage(t *testing.T, p *webtest.Page) {
	t.Helper()
	checkLandmarks(t, p)
	checkNames(t, p)
	checkReferences(t, p)
}

func checkLandmarks(t *testing.T, p *webtest.Page) {
	t.Helper()
	root := p.All("html")
	if len(root) != 1 || webtest.Attr(root[0], "lang") != "en" {
		t.Error("no language")
	}
	for tag, n := range map[string]int{"title": 1, "h1": 1, "main": 1, "header": 1, "footer": 1} {
		if got := p.All(tag); len(got) != n || webtest.TextOf(got[0]) == "" {
			t.Errorf("%d of %s", len(got), tag)
		}
	}
	if title := webtest.TextOf(p.All("title")[0]); !strings.Contains(title, p.Heading()) || !strings.HasSuffix(title, " · Kith") {
		t.Errorf("title %q, heading %q", title, p.Heading())
	}
	if skip := p.All("a")[0]; webtest.Attr(skip, "href") != "#main" || p.ByID("main") == nil {
		t.Error("no skip link")
	}
	if p.ByID("summary-title") != nil != strings.HasPrefix(webtest.TextOf(p.All("title")[0]), "Error: ") {
		t.Error("the title does not mention the errors")
	}
}

// checkNames fails unless each input, button and link has a name.
func checkNames(t *testing.T, p *webtest.Page) {
	t.Helper()
	labelled := map[string]bool{}
	for _, l := range p.All("label") {
		labelled[webtest.Attr(l, "for")] = webtest.TextOf(l) != ""
	}
	for _, tag := range []string{"input", "select", "textarea"} {
		for _, n := range p.All(tag) {
			if webtest.Attr(n, "type") == "hidden" || webtest.Attr(n, "aria-hidden") == "true" {
				continue
			}
			if !labelled[webtest.Attr(n, "id")] && webtest.Attr(n, "aria-label") == "" {
				t.Errorf("%s %s has no label", tag, webtest.Attr(n, "name"))
			}
			if kind := webtest.Attr(n, "type"); kind == "password" && webtest.Attr(n, "autocomplete") == "" {
				t.Errorf("%s has no autocomplete", webtest.Attr(n, "name"))
			}
		}
	}
	for _, tag := range []string{"button", "a", "legend", "h2", "h3"} {
		for _, n := range p.All(tag) {
			if webtest.TextOf(n) == "" {
				t.Errorf("an empty %s", tag)
			}
		}
	}
	for _, n := range p.All("img") {
		if !webtest.Has(n, "alt") {
			t.Error("a picture without a text")
		}
	}
}

// checkReferences checks that no two elements have the same id, and that each attribute that refers
// to an id, such as for, refers to an element of the page.
func checkReferences(t *testing.T, p *webtest.Page) {
	t.Helper()
	ids := map[string]int{}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if id := webtest.Attr(n, "id"); id != "" {
			ids[id]++
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	walk(p.All("html")[0])
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d elements have the id %s", n, id)
		}
	}
	for _, tag := range []string{"input", "select", "textarea", "fieldset", "section", "div", "label", "a", "link"} {
		for _, n := range p.All(tag) {
			wanted := strings.Fields(webtest.Attr(n, "aria-describedby") + " " + webtest.Attr(n, "aria-labelledby") + " " + webtest.Attr(n, "for"))
			if to, ok := strings.CutPrefix(webtest.Attr(n, "href"), "#"); ok {
				wanted = append(wanted, to)
			}
			for _, id := range wanted {
				if ids[id] == 0 {
					t.Errorf("%s refers to %s, which does not exist", tag, id)
				}
			}
		}
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.Browser(t)
	page := b.Get("/sign-in")
	links := slices.DeleteFunc(page.All("link"), func(n *html.Node) bool { return webtest.Attr(n, "rel") == "expect" })
	if len(links) != 2 {
		t.Fatalf("%d links", len(links))
	}
	for _, l := range links {
		address := webtest.Attr(l, "href")
		file, plain := b.Get(address), b.Get(strings.Split(address, "?")[0])
		if file.Status != http.StatusOK || file.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" || file.Header.Get("ETag") == "" ||
			file.Header.Get("X-Content-Type-Options") != "nosniff" || len(file.Cookies) > 0 {
			t.Errorf("%s: %d %v", address, file.Status, file.Header)
		}
		if plain.Header.Get("Cache-Control") != "no-cache" || plain.Body != file.Body {
			t.Errorf("without its version: %v", plain.Header)
		}
		r := b.Request(http.MethodGet, address, nil)
		r.Header.Set("If-None-Match", file.Header.Get("ETag"))
		if again := b.Do(r); again.Status != http.StatusNotModified || again.Body != "" {
			t.Errorf("asked again: %d", again.Status)
		}
	}
	css := b.Get(webtest.Attr(links[1], "href"))
	if css.Header.Get("Content-Type") != "text/css; charset=utf-8" || !strings.Contains(css.Body, "prefers-color-scheme: dark") || strings.Contains(css.Body, "url(") {
		t.Errorf("stylesheet: %s", css.Header.Get("Content-Type"))
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	s := webtest.New(t, webtest.Options{})
	good := web.Config{BaseURL: "https://kith.example", Store: s.Store, Catalog: rpcs, Handlers: &handlers.Handlers{}, Data: func(tenant.ID) *db.Tenant { return nil }}
	if _, err := web.New(good); err != nil {
		t.Errorf("the minimal configuration: %v", err)
	}
	for name, change := range map[string]func(c *web.Config){
		"no address":               func(c *web.Config) { c.BaseURL = "" },
		"an address with a path":   func(c *web.Config) { c.BaseURL += "/" },
		"an address with a query":  func(c *web.Config) { c.BaseURL += "?x" },
		"an address with a name":   func(c *web.Config) { c.BaseURL = "https://me@kith.example" },
		"an address of no website": func(c *web.Config) { c.BaseURL = "ftp://kith.example" },
		"no host":                  func(c *web.Config) { c.BaseURL = "https://" },
		"no store":                 func(c *web.Config) { c.Store = nil },
		"no data":                  func(c *web.Config) { c.Data = nil },
		"no catalogue":             func(c *web.Config) { c.Catalog = nil },
	} {
		c := good
		change(&c)
		if _, err := web.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSessionLifetimeIsConfigured(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		c.SessionLifetime, c.Login = time.Hour, &account.RatePolicy{}
	}})
	s.Member(t, "maria")
	b := s.Browser(t)
	signIn(b, "maria", webtest.Password, "")
	s.Clock.Advance(time.Hour)
	if isSignedIn(b) {
		t.Error("the session still works")
	}
}
