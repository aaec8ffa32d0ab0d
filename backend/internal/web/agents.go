package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/backend/internal/web/review"
	"github.com/kith-crm/kith/proto/catalog"
)

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
	// Level is what it may do, in a few words.
	Level string
	// GrantIDs are the ids of its grants, to which a refused call links.
	GrantIDs []string
	// Grants is the number of its grants, Paused how many of them are paused, CreatedAt the
	// time of the first, and LastUsedAt when any of them was last used.
	Grants, Paused        int
	CreatedAt, LastUsedAt time.Time
	// ExpiresAt is when its last grant ends; zero if one lasts until it is revoked.
	ExpiresAt time.Time
	// Reads counts what the agent read in the last 90 days, Did what it changed in the same time.
	Reads review.AgentReads
	Did   did
	// Less is the form that takes away a part of the access.
	Less allowForm
	// More is the form that allows more; nil if it may do everything.
	More *allowForm
	// Ask is the form that chooses which acts of the agent need the member's approval; nil if the
	// agent can only read.
	Ask *askForm
}

// Open reports whether the row is folded out: one of its forms has an error.
func (r agentRow) Open() bool {
	return r.Less.Error != "" || r.More != nil && r.More.Error != "" || r.Ask != nil && r.Ask.Error != ""
}

// did is how many changes an agent made lately, and the address that lists them.
type did struct {
	Changes  int
	Activity string
}

// didOf counts the changes of an agent's credentials. If there are several, the link lists the
// changes of all credentials with the agent's name.
func didOf(ids []string, name string, changes map[string]int) did {
	d := did{}
	for _, id := range ids {
		d.Changes += changes[id]
	}
	of := ids[0]
	if len(ids) > 1 && name != "" {
		of = name
	}
	d.Activity = page.PathActivity + "?" + url.Values{"agent": {of}}.Encode()
	return d
}

// agentRows returns one row for each client, in the order of their newest grants.
func (v *request) agentRows(grants []oauth.Grant, used credentialUse) []agentRow {
	byClient, order := map[string][]oauth.Grant{}, []string{}
	for _, g := range grants {
		if byClient[g.ClientID] == nil {
			order = append(order, g.ClientID)
		}
		byClient[g.ClientID] = append(byClient[g.ClientID], g)
	}
	rows := make([]agentRow, len(order))
	for i, clientID := range order {
		rows[i] = v.agentRow(byClient[clientID], used)
		rows[i].Less.Prefix = "agent-" + strconv.Itoa(i) + "-"
		if rows[i].More != nil {
			rows[i].More.Prefix = rows[i].Less.Prefix + "more-"
		}
		if rows[i].Ask != nil {
			rows[i].Ask.Prefix = rows[i].Less.Prefix
		}
	}
	return rows
}

// agentRow returns the row of a client with these grants, of which there is at least one.
func (v *request) agentRow(grants []oauth.Grant, used credentialUse) agentRow {
	g := grants[0]
	row := agentRow{ClientID: g.ClientID, Name: oauth.ShownName(g.ClientName), Grants: len(grants), CreatedAt: g.CreatedAt, ExpiresAt: g.ExpiresAt}
	row.Destinations, row.Unknown = destinations(g.ClientRedirectURIs)
	if oauth.IsDocumentURL(g.ClientID) {
		row.Publisher, _ = publisherOf(g.ClientID) // no such URL fails
	}
	for _, g := range grants {
		row.GrantIDs = append(row.GrantIDs, g.ID)
		row.Reads.AddAll(used.reads[g.ID])
		if g.CreatedAt.Before(row.CreatedAt) {
			row.CreatedAt = g.CreatedAt
		}
		if g.LastUsedAt.After(row.LastUsedAt) {
			row.LastUsedAt = g.LastUsedAt
		}
		if !g.PausedAt.IsZero() {
			row.Paused++
		}
		if g.ExpiresAt.IsZero() || !row.ExpiresAt.IsZero() && g.ExpiresAt.After(row.ExpiresAt) {
			row.ExpiresAt = g.ExpiresAt
		}
	}
	scopes, preset := v.heldBy(grants)
	row.Scopes = namesOf(scopes)
	row.Scopes.Adds = preset == oauth.PresetAdd
	row.Level = v.levelOf(row.Scopes)
	presets := oauth.PresetsOf(v.Catalog, scopes)
	if at := slices.Index(presets, preset); at >= 0 {
		presets = presets[:at+1]
	}
	row.Less = allowFormOf(v.Format(), scopes, scopes, presets, preset)
	row.More = v.moreForm(scopes, preset)
	row.Did = didOf(row.GrantIDs, row.Name, used.changes)
	row.Ask = askFormOf(v.Format(), "", scopes, g.Asks)
	return row
}

// levelOf says in a few words what may be done with scopes.
func (v *request) levelOf(scopes scopeNames) string {
	areas := strconv.Itoa(len(scopes.Groups)) + " areas"
	switch {
	case len(scopes.Groups) == len(namesOf(v.Catalog.Scopes()).Groups):
		areas = "everything"
	case len(scopes.Groups) == 1:
		areas = "1 area"
	}
	switch {
	case scopes.Readonly:
		return "Can read " + areas
	case scopes.Adds:
		return "Can read " + areas + ", and add"
	}
	return "Can change " + areas
}

// moreForm returns the form that allows more to an agent with these scopes and the preset, or nil if it
// may do everything.
func (v *request) moreForm(scopes []string, preset oauth.Preset) *allowForm {
	all := v.Catalog.Scopes()
	if len(scopes) == len(all) && preset == oauth.PresetAll {
		return nil
	}
	presets := oauth.PresetsOf(v.Catalog, all)
	form := allowFormOf(v.Format(), all, scopes, presets[max(0, slices.Index(presets, preset)):], preset)
	form.Reads = nil // it lists what could be read
	for i, p := range form.Presets {
		if p.Value == oauth.PresetAll {
			form.Presets[i].Label = "Read and change everything in its areas"
		}
	}
	return &form
}

// heldBy returns the scopes that grants have together, in the catalogue's order, and the
// preset of the one that permits the most.
func (v *request) heldBy(grants []oauth.Grant) (scopes []string, preset oauth.Preset) {
	order := []oauth.Preset{oauth.PresetRead, oauth.PresetAdd, oauth.PresetAll}
	preset = order[0]
	for _, g := range grants {
		scopes = append(scopes, strings.Fields(g.Scopes)...)
		preset = order[max(slices.Index(order, preset), slices.Index(order, g.PresetOf()))]
	}
	return slices.DeleteFunc(v.Catalog.Scopes(), func(s string) bool { return !slices.Contains(scopes, s) }), preset
}

// actOnAgent calls act for the agent of a form, records the event, and redirects to the notice.
func (v *request) actOnAgent(act agentAct, kind account.EventKind, path, notice string) error {
	clientID := v.Line("id")
	if err := act(v.R.Context(), v.Store, v.Login.MemberID, clientID); err != nil {
		return err
	}
	v.record(kind, v.Login.MemberID, clientID)
	return v.RedirectDone(path, notice)
}

// agentAct does something with an agent of a member.
type agentAct func(ctx context.Context, store *db.DB, owner tenant.ID, clientID string) error

// onAgent returns a handler that calls actOnAgent.
func onAgent(act agentAct, kind account.EventKind, path, notice string) func(*request) error {
	return func(v *request) error { return v.actOnAgent(act, kind, path, notice) }
}

// narrowAgent limits the access of an agent to what the form allows. It never adds access.
func (v *request) narrowAgent() error {
	return v.changeAccess(oauth.NarrowAgent, account.AgentNarrowed, "agent-narrowed", func(row *agentRow) *allowForm { return &row.Less })
}

// widenAgent allows an agent what the form allows, besides what it may do. It never takes access away.
func (v *request) widenAgent() error {
	return v.changeAccess(oauth.WidenAgent, account.AgentWidened, "agent-widened", func(row *agentRow) *allowForm { return row.More })
}

// changeAccess changes the access of an agent by a form of its row.
func (v *request) changeAccess(
	change func(ctx context.Context, s *db.DB, owner tenant.ID, clientID string, scopes, tools []string) error,
	kind account.EventKind, notice string, formOf func(*agentRow) *allowForm,
) error {
	ticked, preset := v.R.PostForm["scope"], oauth.Preset(v.R.PostForm.Get("preset"))
	scopes, tools, err := preset.Apply(v.Catalog, ticked)
	field, mistake := "preset", "Choose what it may do."
	if err == nil {
		field, mistake = "scope", "Tick at least one area, or revoke the access."
		err = v.checkScopes(slices.DeleteFunc(slices.Clone(ticked), func(s string) bool { return s == catalog.ScopeWrite }))
	}
	if err == nil {
		err = v.actOnAgent(func(ctx context.Context, store *db.DB, owner tenant.ID, clientID string) error {
			return change(ctx, store, owner, clientID, scopes, tools)
		}, kind, page.PathAgents, notice)
	}
	if !fault.Is(err, fault.Invalid) {
		return err
	}
	m := &page.Mistakes{}
	return v.renderMCP(http.StatusUnprocessableEntity, m, func(c *mcpContent) error {
		i := slices.IndexFunc(c.Agents, func(row agentRow) bool { return row.ClientID == v.Line("id") })
		if i < 0 {
			return fault.New(fault.NotFound, "there is no such connected agent")
		}
		if form := formOf(&c.Agents[i]); form != nil {
			form.refill(ticked, preset, field, mistake)
			m.Add(form.Prefix+field, mistake)
		}
		return nil
	})
}
