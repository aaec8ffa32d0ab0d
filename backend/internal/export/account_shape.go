package export

import (
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/history"
)

// The records that cardfile does not have. They are separate from the rows, so that the
// file stays the same when rows change.
type (
	memberShape struct {
		ID              string    `json:"id"`
		Username        string    `json:"username"`
		Email           string    `json:"email"`
		EmailVerifiedAt time.Time `json:"email_verified_at,omitzero"`
		Timezone        string    `json:"timezone"`
		Locale          string    `json:"locale"`
		Plan            string    `json:"plan"`
		CreatedAt       time.Time `json:"created_at"`
	}
	profileShape struct {
		Name            string                        `json:"name"`
		Headline        string                        `json:"headline"`
		Bio             string                        `json:"bio"`
		Location        locationShape                 `json:"location"`
		Organization    string                        `json:"organization"`
		Title           string                        `json:"title"`
		Skills          []string                      `json:"skills"`
		Languages       []string                      `json:"languages"`
		Links           []account.Link                `json:"links"`
		OpenTo          []string                      `json:"open_to"`
		AvatarURL       string                        `json:"avatar_url"`
		Visibility      account.Visibility            `json:"visibility"`
		FieldVisibility map[string]account.Visibility `json:"field_visibility"`
		Listed          bool                          `json:"listed"`
		UpdatedAt       time.Time                     `json:"updated_at"`
	}
	locationShape struct {
		Text    string `json:"text"`
		Country string `json:"country"`
	}
	agentShape struct {
		ID         string    `json:"id"`
		ClientName string    `json:"client_name"`
		Scopes     []string  `json:"scopes"`
		Tools      []string  `json:"tools,omitempty"`
		Asks       string    `json:"asks,omitempty"`
		CreatedAt  time.Time `json:"created_at"`
		ExpiresAt  time.Time `json:"expires_at,omitzero"`
		LastUsedAt time.Time `json:"last_used_at,omitzero"`
		PausedAt   time.Time `json:"paused_at,omitzero"`
	}
	tokenShape struct {
		ID         string    `json:"id"`
		Name       string    `json:"name"`
		Scopes     []string  `json:"scopes"`
		Tools      []string  `json:"tools,omitempty"`
		Asks       string    `json:"asks,omitempty"`
		CreatedAt  time.Time `json:"created_at"`
		ExpiresAt  time.Time `json:"expires_at,omitzero"`
		LastUsedAt time.Time `json:"last_used_at,omitzero"`
		RevokedAt  time.Time `json:"revoked_at,omitzero"`
	}
	identityShape struct {
		Issuer     string    `json:"issuer"`
		Subject    string    `json:"subject"`
		CreatedAt  time.Time `json:"created_at"`
		LastUsedAt time.Time `json:"last_used_at"`
	}
	readsShape struct {
		Day            string `json:"day"`
		CredentialID   string `json:"credential_id"`
		CredentialName string `json:"credential_name"`
		Tool           string `json:"tool"`
		Reads          int    `json:"reads"`
	}
	decisionShape struct {
		ID             string    `json:"id"`
		CredentialID   string    `json:"credential_id"`
		CredentialName string    `json:"credential_name"`
		Tool           string    `json:"tool"`
		Kinds          []string  `json:"kinds"`
		State          string    `json:"state"`
		Summary        string    `json:"summary,omitempty"`
		ChangeID       string    `json:"change_id,omitempty"`
		CreatedAt      time.Time `json:"created_at"`
		ExpiresAt      time.Time `json:"expires_at"`
		DecidedAt      time.Time `json:"decided_at,omitzero"`
	}
	organizationShape struct {
		ID        string    `json:"id"`
		Name      string    `json:"name"`
		Domain    string    `json:"domain"`
		CreatedAt time.Time `json:"created_at"`
	}
	relationshipShape struct {
		ID        string    `json:"id"`
		FromID    string    `json:"from_id"`
		ToID      string    `json:"to_id"`
		Type      string    `json:"type"`
		CreatedAt time.Time `json:"created_at"`
	}
	distinctPairShape struct {
		ID        string    `json:"id"`
		FirstID   string    `json:"first_id"`
		SecondID  string    `json:"second_id"`
		SaidBy    string    `json:"said_by"`
		CreatedAt time.Time `json:"created_at"`
	}
	viewShape struct {
		ID        string    `json:"id"`
		Name      string    `json:"name"`
		Query     string    `json:"query"`
		CreatedAt time.Time `json:"created_at"`
		UpdatedAt time.Time `json:"updated_at"`
	}
	changeShape struct {
		ID             string           `json:"id"`
		CredentialID   string           `json:"credential_id"`
		CredentialName string           `json:"credential_name"`
		Tool           string           `json:"tool"`
		Summary        string           `json:"summary"`
		Effects        []history.Effect `json:"effects"`
		UndoneBy       string           `json:"undone_by,omitzero"`
		Undoes         string           `json:"undoes,omitzero"`
		CreatedAt      time.Time        `json:"created_at"`
	}
)

// named is one member of the JSON object.
type named struct {
	name  string
	value any
}

// objects returns what account.json says about the account, in order.
func (a Account) objects(now time.Time) []named {
	m, p := a.Member, a.Profile
	agents, tokens, identities := []agentShape{}, []tokenShape{}, []identityShape{}
	for _, g := range a.Grants {
		agents = append(agents, agentShape{g.ID, g.ClientName, strings.Fields(g.Scopes), strings.Fields(g.Tools), g.Asks, g.CreatedAt, g.ExpiresAt, g.LastUsedAt, g.PausedAt})
	}
	for _, t := range a.Tokens {
		tokens = append(tokens, tokenShape{t.ID, t.Name, strings.Fields(t.Scopes), strings.Fields(t.Tools), t.Asks, t.CreatedAt, t.ExpiresAt, t.LastUsedAt, t.RevokedAt})
	}
	for _, link := range a.Links {
		identities = append(identities, identityShape{link.Issuer, link.Subject, link.CreatedAt, link.LastUsedAt})
	}
	reads := []readsShape{}
	for _, r := range a.Reads {
		reads = append(reads, readsShape{r.Day, r.CredentialID, r.CredentialName, r.Tool, r.Reads})
	}
	decisions := []decisionShape{}
	for _, d := range a.Decisions {
		decisions = append(decisions, decisionShape{
			d.ID, d.CredentialID, d.CredentialName, d.Tool, d.Why(), d.State, d.Preview.Summary, d.ChangeID, d.CreatedAt, d.ExpiresAt, d.DecidedAt,
		})
	}
	return []named{
		{"format", AccountFormat},
		{"exported_at", now.UTC()},
		{"member", memberShape{string(m.ID), m.Username, m.Email, m.EmailVerifiedAt, m.Timezone, m.Locale, m.Plan, m.CreatedAt}},
		{"profile", profileShape{
			p.Name, p.Headline, p.Bio, locationShape{p.LocationText, p.Country}, p.Organization, p.Title, nonNil(p.Skills), nonNil(p.Languages),
			nonNil(p.Links), nonNil(p.OpenTo), p.AvatarURL, p.Visibility, p.FieldVisibility, p.Listed, p.UpdatedAt,
		}},
		{"agents", agents},
		{"personal_tokens", tokens},
		{"linked_identities", identities},
		{"agent_reads", reads},
		{"decisions", decisions},
	}
}
