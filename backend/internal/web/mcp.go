package web

import (
	"context"
	"net/http"
	"slices"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/backend/internal/web/review"
)

// mcpContent is the content of the settings page for agents.
type mcpContent struct {
	// Address is the address of the MCP server.
	Address string
	// Connect and Tokens are the addresses of the pages that explain how to connect an agent and that list personal tokens.
	Connect, Tokens string
	Agents          []agentRow
	// Changes are the latest changes of agents; Activity is the address of all of them.
	Changes  []review.Row
	Activity string
	// AllReads is the address of what agents read, by day.
	AllReads string
	// Credits are shown when most of them are used; nil otherwise.
	Credits *Credits
}

// recentChanges is how many of the agents' latest changes are shown.
const recentChanges = 5

func (v *request) showMCP() error {
	return v.renderMCP(http.StatusOK, &page.Mistakes{}, nil)
}

// renderMCP renders the page. It first calls change, unless that is nil, to change the content.
func (v *request) renderMCP(status int, m *page.Mistakes, change func(*mcpContent) error) error {
	content, err := v.mcpContent(v.R.Context())
	if err != nil {
		return err
	}
	if change != nil {
		if err := change(&content); err != nil {
			return err
		}
	}
	return v.Render(status, "mcp", page.Page{Title: "Agents", Section: page.PathAgents, Errors: m.List, Content: content})
}

func (v *request) mcpContent(ctx context.Context) (mcpContent, error) {
	content := mcpContent{Address: v.BaseURL + "/mcp/v1/me", Connect: page.PathConnect, Tokens: page.PathTokens, Activity: page.PathActivity, AllReads: review.PathReads}
	grants, err := oauth.ListGrants(ctx, v.Store, v.Login.MemberID)
	if err != nil {
		return content, err
	}
	changes, err := history.ListChanges(ctx, v.data(), history.Query{ByAgents: true, Limit: recentChanges})
	if err != nil {
		return content, err
	}
	used, err := v.useOfCredentials(ctx)
	if err != nil {
		return content, err
	}
	content.Agents = v.agentRows(grants, used)
	if content.Changes, err = v.review.Rows(ctx, v.data(), civil.Zone(v.Login.Timezone), v.Format(), changes); err != nil {
		return content, err
	}
	if content.Credits, err = v.Credits(ctx, v.Login.MemberID); err == nil && !content.Credits.Low() {
		content.Credits = nil
	}
	return content, err
}

// credentialUse is what credentials did in the last 90 days, by their ids.
type credentialUse struct {
	reads   map[string]review.AgentReads
	changes map[string]int
}

func (v *request) useOfCredentials(ctx context.Context) (used credentialUse, err error) {
	if used.reads, err = v.review.ReadsByCredential(ctx, v.data()); err != nil {
		return used, err
	}
	used.changes, err = history.CountByCredential(ctx, v.data(), v.Now().AddDate(0, 0, 1-billing.KeepReadDays))
	return used, err
}

// destinations returns where redirect URIs lead, each place once, and whether there are
// any that cannot be shown.
func destinations(uris []string) (places []oauth.Destination, unknown bool) {
	for _, uri := range uris {
		d, err := oauth.DestinationOf(uri)
		if err != nil {
			unknown = true
			continue
		}
		if d.Loopback {
			d.Port = "" // a different one each time
		}
		if !slices.Contains(places, d) {
			places = append(places, d)
		}
	}
	return places, unknown
}
