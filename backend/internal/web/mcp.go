package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
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
	// Connect is the address of the page that says how to connect an agent.
	Connect string
	Agents  []agentRow
	Tokens  []tokenRow
	// Changes are the latest changes of agents; Activity is the address of all of them.
	Changes  []review.Row
	Activity string
	// AllReads is the address of what agents read, by day.
	AllReads string
	Credits  *Credits
	// Form creates a new token.
	Form tokenForm
	// Made is a new token, which is shown only this once.
	Made *madeToken
}

type tokenRow struct {
	ID, Name                         string
	Scopes                           scopeNames
	Tools                            []string
	CreatedAt, ExpiresAt, LastUsedAt time.Time
	Expired                          bool
	Reads                            review.AgentReads
	Did                              did
	// Ask is the form that chooses which acts need the member's approval; nil if it can only read.
	Ask *askForm
}

// recentChanges is how many of the agents' latest changes are shown.
const recentChanges = 5

func (v *request) showMCP() error {
	return v.renderMCP(http.StatusOK, v.newTokenForm(), &page.Mistakes{}, nil)
}

// renderMCP renders the page. It first calls change, unless that is nil, to change the content.
func (v *request) renderMCP(status int, form tokenForm, m *page.Mistakes, change func(*mcpContent) error) error {
	content, err := v.mcpContent(v.R.Context())
	if err != nil {
		return err
	}
	if change != nil {
		if err := change(&content); err != nil {
			return err
		}
	}
	content.Form, content.Made = form, v.takeMade(madeCookie) // last, so that an outage does not lose the member's new token
	return v.Render(status, "mcp", page.Page{Title: "Agents and tokens", Section: page.PathAgents, Errors: m.List, Content: content})
}

func (v *request) mcpContent(ctx context.Context) (mcpContent, error) {
	content := mcpContent{Address: v.BaseURL + "/mcp/v1/me", Connect: page.PathConnect, Activity: page.PathActivity, AllReads: review.PathReads}
	grants, err := oauth.ListGrants(ctx, v.Store, v.Login.MemberID)
	if err != nil {
		return content, err
	}
	tokens, err := account.ListPersonalTokens(ctx, v.Store, v.Login.MemberID)
	if err != nil {
		return content, err
	}
	changes, err := history.ListChanges(ctx, v.data(), history.Query{ByAgents: true, Limit: recentChanges})
	if err != nil {
		return content, err
	}
	reads, err := v.review.ReadsByCredential(ctx, v.data())
	if err != nil {
		return content, err
	}
	changed, err := history.CountByCredential(ctx, v.data(), v.Now().AddDate(0, 0, 1-billing.KeepReadDays))
	if err != nil {
		return content, err
	}
	content.Agents, content.Tokens = v.agentRows(grants, reads, changed), v.tokenRows(tokens, reads)
	for i := range content.Tokens {
		content.Tokens[i].Did = didOf([]string{content.Tokens[i].ID}, content.Tokens[i].Name, changed)
	}
	if content.Changes, err = v.review.Rows(ctx, v.data(), civil.Zone(v.Login.Timezone), changes); err != nil {
		return content, err
	}
	content.Credits, err = v.Credits(ctx, v.Login.MemberID)
	return content, err
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

// tokenRows returns the tokens that are not revoked.
func (v *request) tokenRows(tokens []account.PersonalToken, reads map[string]review.AgentReads) []tokenRow {
	var rows []tokenRow
	for _, t := range tokens {
		if !t.RevokedAt.IsZero() {
			continue
		}
		rows = append(rows, tokenRow{
			ID: t.ID, Name: t.Name, Scopes: namesOf(strings.Fields(t.Scopes)), Tools: strings.Fields(t.Tools), CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt,
			Ask:        askFormOf("token-"+strconv.Itoa(len(rows))+"-", strings.Fields(t.Scopes), t.Asks),
			LastUsedAt: t.LastUsedAt, Expired: !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(v.Now()), Reads: reads[t.ID],
		})
	}
	return rows
}
