package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
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

// agentRow is a client with everything that the member has granted it.
type agentRow struct {
	// ClientID is the client's id, Name the name that it gives itself.
	ClientID, Name string
	// Publisher is the host of the client's metadata document; nil for a registered
	// client.
	Publisher *oauth.Destination
	// Destinations are where authorization responses are sent; Unknown is set if there
	// are others that cannot be shown.
	Destinations []oauth.Destination
	Unknown      bool
	Scopes       scopeNames
	// Grants is the number of its grants, CreatedAt the time of the first, and
	// LastUsedAt when any of them was last used.
	Grants                int
	CreatedAt, LastUsedAt time.Time
	// Reads are what it read in the days that reads are kept.
	Reads review.AgentReads
}

type tokenRow struct {
	ID, Name                         string
	Scopes                           scopeNames
	Tools                            []string
	CreatedAt, ExpiresAt, LastUsedAt time.Time
	Expired                          bool
	Reads                            review.AgentReads
}

// recentChanges is how many of the agents' latest changes are shown.
const recentChanges = 5

func (v *request) showMCP() error {
	return v.renderMCP(http.StatusOK, v.newTokenForm(), &page.Mistakes{})
}

func (v *request) renderMCP(status int, form tokenForm, m *page.Mistakes) error {
	content, err := v.mcpContent(v.R.Context())
	if err != nil {
		return err
	}
	content.Form, content.Made = form, v.takeMade() // not before: an outage must not cost the member their token
	v.Render(status, "mcp", page.Page{Title: "Agents and tokens", Section: page.PathMCP, Errors: m.List, Content: content})
	return nil
}

func (v *request) mcpContent(ctx context.Context) (mcpContent, error) {
	content := mcpContent{Address: v.BaseURL + "/mcp/v1", Connect: page.PathConnect, Activity: page.PathActivity, AllReads: review.PathReads}
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
	content.Agents, content.Tokens = agentRows(grants, reads), v.tokenRows(tokens, reads)
	if content.Changes, err = v.review.Rows(ctx, v.data(), civil.Zone(v.Login.Timezone), changes); err != nil {
		return content, err
	}
	content.Credits, err = v.Credits(ctx, v.Login.MemberID)
	return content, err
}

// agentRows returns one row for each client, in the order of their newest grants.
func agentRows(grants []oauth.Grant, reads map[string]review.AgentReads) []agentRow {
	var rows []agentRow
	scopes := map[string][]string{}
	for _, g := range grants {
		at := slices.IndexFunc(rows, func(row agentRow) bool { return row.ClientID == g.ClientID })
		if at < 0 {
			at = len(rows)
			row := agentRow{ClientID: g.ClientID, Name: oauth.ShownName(g.ClientName), CreatedAt: g.CreatedAt}
			row.Destinations, row.Unknown = destinations(g.ClientRedirectURIs)
			if oauth.IsDocumentURL(g.ClientID) {
				row.Publisher, _ = publisherOf(g.ClientID) // no such URL fails
			}
			rows = append(rows, row)
		}
		row := &rows[at]
		row.Grants++
		row.Reads.AddAll(reads[g.ID])
		if g.CreatedAt.Before(row.CreatedAt) {
			row.CreatedAt = g.CreatedAt
		}
		if g.LastUsedAt.After(row.LastUsedAt) {
			row.LastUsedAt = g.LastUsedAt
		}
		scopes[g.ClientID] = append(scopes[g.ClientID], strings.Fields(g.Scopes)...)
		row.Scopes = namesOf(scopes[g.ClientID])
	}
	return rows
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
			LastUsedAt: t.LastUsedAt, Expired: !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(v.Now()), Reads: reads[t.ID],
		})
	}
	return rows
}

func (v *request) revokeAgent() error {
	if err := oauth.RevokeAgent(v.R.Context(), v.Store, v.Login.MemberID, v.Line("id")); err != nil {
		return err
	}
	v.record(account.AccessRevoked, v.Login.MemberID, v.Line("id"))
	v.RedirectDone(page.PathMCP, "agent-revoked")
	return nil
}
