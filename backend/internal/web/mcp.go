package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/token"
)

// mcpContent is the content of the settings page for agents.
type mcpContent struct {
	// Address is the MCP server's.
	Address string
	Agents  []agentRow
	Tokens  []tokenRow
	// Changes are the agents' latest; all are at the address Activity.
	Changes  []changeRow
	Activity string
	Credits  *Credits
	// Form makes a new token.
	Form tokenForm
	// Made is a token that was just made, which is shown this once.
	Made *madeToken
}

type agentRow struct {
	ID, Name              string
	Scopes                scopeNames
	CreatedAt, LastUsedAt time.Time
}

type tokenRow struct {
	ID, Name                         string
	Scopes                           scopeNames
	CreatedAt, ExpiresAt, LastUsedAt time.Time
	Expired                          bool
}

// recentChanges is how many of the agents' latest changes are shown.
const recentChanges = 5

func (v *visit) showMCP() error {
	return v.renderMCP(http.StatusOK, v.newTokenForm(), &mistakes{})
}

func (v *visit) renderMCP(status int, form tokenForm, m *mistakes) error {
	content, err := v.mcpContent(v.r.Context())
	if err != nil {
		return err
	}
	content.Form, content.Made = form, v.takeMade() // not before: an outage must not cost the member their token
	v.render(status, "mcp", page{Title: "Agents and tokens", Section: pathMCP, Errors: m.list, Content: content})
	return nil
}

func (v *visit) mcpContent(ctx context.Context) (mcpContent, error) {
	content := mcpContent{Address: v.BaseURL + "/mcp/v1", Activity: pathActivity}
	grants, err := v.Store.ListGrants(ctx, v.login.MemberID)
	if err != nil {
		return content, err
	}
	tokens, err := v.Store.ListPersonalTokens(ctx, v.login.MemberID)
	if err != nil {
		return content, err
	}
	changes, err := v.data().ListChanges(ctx, change.Query{ByAgents: true, Limit: recentChanges})
	if err != nil {
		return content, err
	}
	content.Agents, content.Tokens = agentRows(grants), v.tokenRows(tokens)
	if content.Changes, err = v.changeRows(ctx, changes); err != nil {
		return content, err
	}
	content.Credits, err = v.Credits(ctx, v.login.MemberID)
	return content, err
}

func agentRows(grants []grant.Grant) []agentRow {
	rows := make([]agentRow, len(grants))
	for i, g := range grants {
		rows[i] = agentRow{ID: g.ID, Name: g.ClientName, Scopes: namesOf(strings.Fields(g.Scopes)), CreatedAt: g.CreatedAt, LastUsedAt: g.LastUsedAt}
	}
	return rows
}

// tokenRows shows the tokens that were not revoked.
func (v *visit) tokenRows(tokens []token.PersonalToken) []tokenRow {
	var rows []tokenRow
	for _, t := range tokens {
		if !t.RevokedAt.IsZero() {
			continue
		}
		rows = append(rows, tokenRow{
			ID: t.ID, Name: t.Name, Scopes: namesOf(strings.Fields(t.Scopes)), CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt,
			LastUsedAt: t.LastUsedAt, Expired: !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(v.Now()),
		})
	}
	return rows
}

func (v *visit) revokeAgent() error {
	if err := v.Store.RevokeGrant(v.r.Context(), v.login.MemberID, v.line("id")); err != nil {
		return err
	}
	v.redirectDone(pathMCP, "agent-revoked")
	return nil
}
