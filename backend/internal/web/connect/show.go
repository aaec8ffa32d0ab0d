package connect

import (
	"cmp"
	"html/template"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/proto/catalog"
)

// content is the content of the page.
type content struct {
	// Address is the MCP server at which applications sign in, API the one for scripts with a token. The
	// demo has one for both.
	Address, API string
	Tabs         []tab
	// Private is set if the address works on this machine or network only, and the page is of a member.
	Private bool
	// Chosen is the client of the current tab; nil for the command line.
	Chosen *client
	// Looking is the same client at the sandbox; nil without a sandbox, and in the demo.
	Looking *client
	// LookingAddress is the sandbox's address; empty if there is no sandbox, and in the demo.
	LookingAddress string
	// Agents are the member's agents; nil in the demo.
	Agents  *agents
	Prompts []string
	// Tokens is the address of the page that makes personal tokens; empty in the demo.
	Tokens string
}

// tab is a link to how one client is connected.
type tab struct {
	Title, Path string
	Current     bool
}

// client is how to connect one client.
type client struct {
	catalog.Client

	Text []span
	// Open is the link that sets the client up; empty if it has none.
	Open template.URL
}

// span is a part of a sentence. At most one of Bold, Code and Link is set.
type span struct {
	Text       string
	Bold, Code bool
	Link       string
}

// agents says which agents are connected.
type agents struct {
	// Rows are the newest agents and tokens.
	Rows []agentRow
	// Again is the address of the page, for browsers that run no script.
	Again string
}

type agentRow struct {
	Name     string
	Since    time.Time
	CalledAt time.Time
	IsToken  bool
}

const (
	// commandLine is the tab for the command line, which has no client.
	commandLine = "command-line"
	// shownAgents is how many agents are shown.
	shownAgents = 5
)

func (v *request) show() error {
	chosen := v.R.URL.Query().Get("client")
	c := content{Address: v.BaseURL + "/mcp/v1/me", API: v.BaseURL + "/mcp/v1"}
	demo := v.Login == nil
	looking := v.BaseURL + "/mcp/sandbox"
	if demo {
		c.Address, c.API = looking, looking
	} else {
		c.Tokens, c.Private = page.PathTokens, isPrivate(v.BaseURL)
		if v.sandboxOn {
			c.LookingAddress = looking
		}
	}
	clients := catalog.Clients(c.Address)
	if chosen != commandLine && !slices.ContainsFunc(clients, func(known catalog.Client) bool { return known.ID == chosen }) {
		chosen = clients[0].ID
	}
	for i, known := range clients {
		c.Tabs = append(c.Tabs, tab{known.Name, v.address(known.ID), known.ID == chosen})
		if known.ID == chosen {
			c.Chosen = v.clientOf(known, c.Address)
			if c.LookingAddress != "" {
				c.Looking = v.clientOf(catalog.Clients(looking)[i], looking)
			}
		}
	}
	c.Tabs = append(c.Tabs, tab{"Command line", v.address(commandLine), chosen == commandLine})
	var err error
	if !demo {
		if c.Agents, err = v.agents(chosen); err != nil {
			return err
		}
		if v.R.URL.Query().Get("part") == "agents" {
			return v.RenderPart("connect", "agents", c.Agents)
		}
	}
	if c.Prompts, err = v.prompts(); err != nil {
		return err
	}
	return v.Render(http.StatusOK, "connect", page.Page{Title: "Connect an agent", Area: page.PathSettings, Script: page.ScriptConnect, Content: c})
}

// isPrivate reports whether nobody outside of this machine or network can call an address.
func isPrivate(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || slices.ContainsFunc([]string{".localhost", ".local", ".internal", ".home.arpa", ".lan"}, func(end string) bool { return strings.HasSuffix(host, end) })
}

func (v *request) address(client string) string { return v.Link(page.PathConnect, "client", client) }

// clientOf returns what the page shows of a client that connects to an address, in the language of the member. Templates would refuse the scheme of the link
// that opens a program. The link is safe: it contains only our own text.
func (v *request) clientOf(c catalog.Client, address string) *client {
	steps := strings.ReplaceAll(v.Text(strings.ReplaceAll(c.Steps, address, catalog.AddressMark)), catalog.AddressMark, address)
	return &client{Client: c, Text: spans(steps), Open: template.URL(c.Install)} //nolint:gosec // see above
}

// The markup of catalog.Client.Steps.
var markup = regexp.MustCompile("\\*\\*([^*]+)\\*\\*|`([^`]+)`|\\[([^\\]]+)\\]\\(([^)]+)\\)")

// spans returns the parts of a text with bold text, code and links.
func spans(markdown string) []span {
	var out []span
	at := 0
	for _, m := range markup.FindAllStringSubmatchIndex(markdown, -1) {
		if m[0] > at {
			out = append(out, span{Text: markdown[at:m[0]]})
		}
		switch {
		case m[2] >= 0:
			out = append(out, span{Text: markdown[m[2]:m[3]], Bold: true})
		case m[4] >= 0:
			out = append(out, span{Text: markdown[m[4]:m[5]], Code: true})
		default:
			out = append(out, span{Text: markdown[m[6]:m[7]], Link: markdown[m[8]:m[9]]})
		}
		at = m[1]
	}
	if at < len(markdown) {
		out = append(out, span{Text: markdown[at:]})
	}
	return out
}

// agents returns the newest agents and personal tokens that work.
func (v *request) agents(chosen string) (*agents, error) {
	a := &agents{Again: v.address(chosen)}
	grants, err := oauth.ListGrants(v.Ctx, v.Store, v.Principal.Tenant)
	if err != nil {
		return nil, err
	}
	for _, g := range grants {
		a.Rows = append(a.Rows, agentRow{Name: cmp.Or(oauth.ShownName(g.ClientName), "an application without a name"), Since: g.CreatedAt, CalledAt: g.LastUsedAt})
	}
	tokens, err := account.ListPersonalTokens(v.Ctx, v.Store, v.Principal.Tenant)
	for _, t := range tokens {
		if t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || t.ExpiresAt.After(v.At)) {
			a.Rows = append(a.Rows, agentRow{Name: t.Name, Since: t.CreatedAt, CalledAt: t.LastUsedAt, IsToken: true})
		}
	}
	slices.SortStableFunc(a.Rows, func(x, y agentRow) int { return y.Since.Compare(x.Since) })
	a.Rows = a.Rows[:min(shownAgents, len(a.Rows))]
	for i := range a.Rows {
		r := &a.Rows[i]
		r.Since = r.Since.In(v.Zone)
		if !r.CalledAt.IsZero() {
			r.CalledAt = r.CalledAt.In(v.Zone)
		}
	}
	return a, err
}
