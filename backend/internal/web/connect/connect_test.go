package connect_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/connect"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

func withSandbox() webtest.Options {
	return webtest.Options{Web: func(c *web.Config) { c.SandboxOn = true }}
}

func want(t *testing.T, p *webtest.Page, words ...string) {
	t.Helper()
	if p.Status != http.StatusOK {
		t.Fatalf("status %d:\n%s", p.Status, p.Text())
	}
	for _, word := range words {
		if !strings.Contains(p.Text(), word) {
			t.Errorf("no %q in:\n%s", word, p.Text())
		}
	}
}

// links returns the addresses of the links of a page by their texts.
func links(p *webtest.Page) map[string]string {
	found := map[string]string{}
	for _, a := range p.All("a") {
		found[webtest.TextOf(a)] = webtest.Attr(a, "href")
	}
	return found
}

// token makes a personal token of a member, and returns its id.
func token(t *testing.T, s *webtest.Site, owner tenant.ID, name string) string {
	t.Helper()
	row := &account.PersonalToken{MemberID: owner, Name: name, Hash: account.HashSecret(string(owner) + name), Scopes: "connections"}
	if err := account.CreatePersonalToken(t.Context(), s.Store, row); err != nil {
		t.Fatal(err)
	}
	return row.ID
}

// Each tab shows how to connect its client to this server, and to the sandbox. An unknown tab shows
// the first one.
func TestTabs(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, withSandbox())
	b := s.SignedIn(t, "maria")
	for id, words := range map[string][]string{
		"claude-code":  {"claude mcp add --transport http kith " + s.URL + "/mcp/v1/me", "claude mcp add --transport http kith " + s.URL + "/mcp/sandbox"},
		"claude":       {"Add custom connector", "claude_desktop_config.json", "mcp-remote"},
		"chatgpt":      {"Add custom MCP server"},
		"cursor":       {"Add to Cursor", "~/.cursor/mcp.json"},
		"vscode":       {"Add to VS Code", ".vscode/mcp.json"},
		"goose":        {"Add to Goose", "streamable_http"},
		"command-line": {"make a personal token", "curl -s " + s.URL + "/mcp/v1 -H", "Authorization: Bearer $TOKEN"},
		"<b>":          {"claude mcp add"},
		"":             {"claude mcp add"},
	} {
		p := b.Get("/connect?" + map[bool]string{true: "", false: "client=" + id}[id == ""])
		want(t, p, append(words, s.URL+"/mcp/v1/me", s.URL+"/mcp/sandbox", "Only looking?", "Questions to try")...)
		if strings.Contains(p.Body, "ZgotmplZ") || strings.Contains(p.Body, "client=<b>") {
			t.Errorf("%s: %s", id, p.Body)
		}
	}
	if to := links(b.Get("/connect?client=cursor"))["Add to Cursor"]; !strings.HasPrefix(to, "cursor://anysphere.cursor-deeplink/mcp/install?name=kith&config=") {
		t.Errorf("the link of Cursor is %q", to)
	}
	if to := links(b.Get("/connect?client=vscode"))["Add to VS Code"]; !strings.HasPrefix(to, "vscode:mcp/install?%7B%22name%22") {
		t.Errorf("the link of VS Code is %q", to)
	}
	plain := webtest.New(t, webtest.Options{})
	if p := plain.SignedIn(t, "maria").Get("/connect"); strings.Contains(p.Body, "sandbox") {
		t.Error("the page leads to a sandbox that does not exist")
	}
	if to := s.Browser(t).Get("/connect").Header.Get("Location"); to != "/sign-in?return_to=%2Fconnect" {
		t.Errorf("a visitor is led to %q", to)
	}
}

// The page shows the member's agents and tokens, and whether they made a call. The script requests
// only that part of the page.
func TestConnected(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		token(t, s, s.Member(t, "other"), "others-laptop")
		want(t, b.Get("/connect"), "Waiting for an agent to connect.")
		made := token(t, s, b.Owner, "<i>laptop")
		want(t, b.Get("/connect"), "Connected as <i>laptop, a personal token", "Waiting for its first call.")
		if err := account.MarkTokenUsed(t.Context(), s.Store, made, s.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		part := b.Get("/connect?part=agents")
		if !strings.Contains(part.Body, "Connected as <bdi>&lt;i&gt;laptop</bdi>") || !strings.Contains(part.Body, "First call made") {
			t.Errorf("the part is %s", part.Body)
		}
		if strings.Contains(part.Body, "<html") || strings.Contains(part.Body, "others-laptop") || len(part.Body) > 1500 {
			t.Errorf("the part is %s", part.Body)
		}
		if err := account.RevokePersonalToken(t.Context(), s.Store, b.Owner, made, s.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		want(t, b.Get("/connect"), "Waiting for an agent to connect.")
	})
}

// The questions are about the member's own people. A member without people gets general ones.
func TestPrompts(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		want(t, b.Get("/connect"), "Add Ada Stone, CTO at Helios", "Remind me", "What do you know")
		soon := s.Clock.Now().AddDate(0, 0, 5)
		err := s.Store.Tenant(b.Owner, false).Write(t.Context(), db.Actor{Tool: "test"}, func(ctx context.Context, tx *db.Tx) error {
			var ids []string
			for _, d := range []people.Draft{
				{Name: "Ben Okafor", Location: "Lisbon", Dates: []people.DateDraft{{Kind: people.DateBirthday, Date: soon.Format("--01-02")}}},
				{Name: "Cleo Marsh", Location: "Lisbon"},
			} {
				made, err := people.Create(ctx, tx, d)
				if err != nil {
					return err
				}
				ids = append(ids, made.Connection.ID)
			}
			_, err := timeline.LogInteractions(ctx, tx, timeline.Interaction{Kind: "call", OccurredAt: s.Clock.Now().Add(-400 * 24 * time.Hour), ConnectionIDs: ids[1:]})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want(t, b.Get("/connect"), "Ben Okafor has a day to remember soon", "Whom do I know in Lisbon", "not been in touch with Cleo Marsh")
		if p := other.Get("/connect"); strings.Contains(p.Body, "Okafor") || strings.Contains(p.Body, "Cleo") {
			t.Error("the questions are about somebody else's people")
		}
	})
}

// The page says which agents cannot reach an address of this machine or network, and where to read what to do.
func TestPrivateAddress(t *testing.T) {
	t.Parallel()
	for base, private := range map[string]bool{
		"http://localhost:8080": true, "http://127.0.0.1:8080": true, "http://192.168.1.5": true, "https://[fd00::1]": true, "http://nas:8080": true, "https://kith.local": true,
		"https://kith.example": false, "https://93.184.215.14": false, "https://kith.localhost.example": false,
	} {
		if connect.IsPrivate(base) != private {
			t.Errorf("%s is taken for private: %t", base, !private)
		}
	}
	s := webtest.New(t, withSandbox())
	p := s.SignedIn(t, "maria").Get("/connect")
	want(t, p, "works on this computer or network only")
	if links(p)["a public address"] != "/docs/public-address" {
		t.Errorf("the links are %v", links(p))
	}
}

// The steps of every client are in the language of the member; what the client's own menus say stays as it is.
func TestStepsInGerman(t *testing.T) {
	t.Parallel()
	o := withSandbox()
	o.Locale = "de"
	s := webtest.New(t, o)
	b := s.SignedIn(t, "maria")
	for client, words := range map[string]string{
		"claude-code": "Führe das aus", "claude": "Im Web und in Claude Desktop unter", "chatgpt": "Im Web: Plugins", "cursor": "Öffne den Link", "vscode": "Öffne den Link", "goose": "Öffne den Link",
	} {
		p := b.Get("/connect?client=" + client)
		want(t, p, words, "Melde dich hier an", s.URL+"/mcp/v1/me")
		if strings.Contains(p.Text(), "%!") || strings.Contains(p.Text(), "%s") {
			t.Errorf("%s: %s", client, p.Text())
		}
	}
}
