package web

import (
	"github.com/kith-crm/kith/backend/internal/change"
	"time"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/profile"
)

// The shapes of an export. They are apart from the domain's types, so that the
// file stays the same when those change.
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
		Links           []profile.Link                `json:"links"`
		OpenTo          []string                      `json:"open_to"`
		AvatarURL       string                        `json:"avatar_url"`
		Visibility      profile.Visibility            `json:"visibility"`
		FieldVisibility map[string]profile.Visibility `json:"field_visibility"`
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
		CreatedAt  time.Time `json:"created_at"`
		LastUsedAt time.Time `json:"last_used_at,omitzero"`
	}
	tokenShape struct {
		ID         string    `json:"id"`
		Name       string    `json:"name"`
		Scopes     []string  `json:"scopes"`
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
	connectedShape struct {
		ID                string          `json:"id"`
		Name              string          `json:"name"`
		Nickname          string          `json:"nickname"`
		Location          string          `json:"location"`
		Bio               string          `json:"bio"`
		Starred           bool            `json:"starred"`
		MetOn             string          `json:"met_on"`
		MetHow            string          `json:"met_how"`
		Source            string          `json:"source"`
		CadenceDays       int             `json:"cadence_days"`
		SnoozedUntil      time.Time       `json:"snoozed_until,omitzero"`
		LastInteractionAt time.Time       `json:"last_interaction_at,omitzero"`
		ArchivedAt        time.Time       `json:"archived_at,omitzero"`
		MergedInto        string          `json:"merged_into,omitempty"`
		Handles           []handleShape   `json:"handles"`
		Positions         []positionShape `json:"positions"`
		Tags              []string        `json:"tags"`
		Groups            []string        `json:"groups"`
		ImportantDates    []dateShape     `json:"important_dates"`
		CreatedAt         time.Time       `json:"created_at"`
		UpdatedAt         time.Time       `json:"updated_at"`
	}
	handleShape struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
		Label string `json:"label"`
	}
	positionShape struct {
		OrganizationID string `json:"organization_id,omitempty"`
		Organization   string `json:"organization"`
		Title          string `json:"title"`
		StartedOn      string `json:"started_on"`
		EndedOn        string `json:"ended_on"`
		Current        bool   `json:"current"`
	}
	organizationShape struct {
		ID        string    `json:"id"`
		Name      string    `json:"name"`
		Domain    string    `json:"domain"`
		CreatedAt time.Time `json:"created_at"`
	}
	dateShape struct {
		Kind  string `json:"kind"`
		Date  string `json:"date"`
		Label string `json:"label"`
	}
	groupShape struct {
		ID          string    `json:"id"`
		Name        string    `json:"name"`
		Description string    `json:"description"`
		CadenceDays int       `json:"cadence_days"`
		CreatedAt   time.Time `json:"created_at"`
		UpdatedAt   time.Time `json:"updated_at"`
	}
	relationshipShape struct {
		ID        string    `json:"id"`
		FromID    string    `json:"from_id"`
		ToID      string    `json:"to_id"`
		Type      string    `json:"type"`
		CreatedAt time.Time `json:"created_at"`
	}
	reminderShape struct {
		ID           string    `json:"id"`
		ConnectionID string    `json:"connection_id,omitempty"`
		Text         string    `json:"text"`
		DueOn        string    `json:"due_on"`
		StartsOn     string    `json:"starts_on"`
		Recurrence   string    `json:"recurrence"`
		State        string    `json:"state"`
		CreatedAt    time.Time `json:"created_at"`
		UpdatedAt    time.Time `json:"updated_at"`
	}
	noteShape struct {
		ID            string    `json:"id"`
		ConnectionIDs []string  `json:"connection_ids"`
		Body          string    `json:"body"`
		Pinned        bool      `json:"pinned"`
		CreatedAt     time.Time `json:"created_at"`
		UpdatedAt     time.Time `json:"updated_at"`
	}
	interactionShape struct {
		ID              string    `json:"id"`
		ConnectionIDs   []string  `json:"connection_ids"`
		Kind            string    `json:"kind"`
		OccurredAt      time.Time `json:"occurred_at"`
		DurationMinutes int32     `json:"duration_minutes"`
		Summary         string    `json:"summary"`
		ExternalKey     string    `json:"external_key,omitempty"`
		CreatedAt       time.Time `json:"created_at"`
	}
	changeShape struct {
		ID             string          `json:"id"`
		CredentialID   string          `json:"credential_id"`
		CredentialName string          `json:"credential_name"`
		Tool           string          `json:"tool"`
		Summary        string          `json:"summary"`
		Effects        []change.Effect `json:"effects"`
		UndoneBy       string          `json:"undone_by,omitzero"`
		Undoes         string          `json:"undoes,omitzero"`
		CreatedAt      time.Time       `json:"created_at"`
	}
)

// named is one member of the export's object.
type named struct {
	name  string
	value any
}

// objects is the head of an export, in its order.
func (h head) objects(now time.Time) []named {
	m, p := h.member, h.profile
	agents, tokens, identities := []agentShape{}, []tokenShape{}, []identityShape{}
	for _, g := range h.grants {
		agents = append(agents, agentShape{g.ID, g.ClientName, scopeList(g.Scopes), g.CreatedAt, g.LastUsedAt})
	}
	for _, t := range h.tokens {
		tokens = append(tokens, tokenShape{t.ID, t.Name, scopeList(t.Scopes), t.CreatedAt, t.ExpiresAt, t.LastUsedAt, t.RevokedAt})
	}
	for _, link := range h.links {
		identities = append(identities, identityShape{link.Issuer, link.Subject, link.CreatedAt, link.LastUsedAt})
	}
	return []named{
		{"format", exportFormat},
		{"exported_at", now.UTC()},
		{"member", memberShape{string(m.ID), m.Username, m.Email, m.EmailVerifiedAt, m.Timezone, m.Locale, m.Plan, m.CreatedAt}},
		{"profile", profileShape{
			p.Name, p.Headline, p.Bio, locationShape{p.LocationText, p.Country}, p.Organization, p.Title, nonNil(p.Skills), nonNil(p.Languages),
			nonNil(p.Links), nonNil(p.OpenTo), p.AvatarURL, p.Visibility, p.FieldVisibility, p.Listed, p.UpdatedAt,
		}},
		{"agents", agents},
		{"personal_tokens", tokens},
		{"linked_identities", identities},
	}
}

func connectionShape(c *connection.Connection) connectedShape {
	shape := connectedShape{
		ID: c.ID, Name: c.Name, Nickname: c.Nickname, Location: c.Location, Bio: c.Bio, Starred: c.Starred, MetOn: c.MetOn, MetHow: c.MetHow,
		Source: c.Source, CadenceDays: c.CadenceDays, SnoozedUntil: c.SnoozedUntil, LastInteractionAt: c.LastInteractionAt,
		ArchivedAt: c.ArchivedAt, MergedInto: c.MergedInto, Handles: []handleShape{}, Positions: []positionShape{}, Tags: nonNil(c.Tags),
		Groups: nonNil(c.Groups), ImportantDates: []dateShape{},
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
	for _, h := range c.Handles {
		shape.Handles = append(shape.Handles, handleShape{h.Kind, h.Value, h.Label})
	}
	for _, p := range c.Positions {
		shape.Positions = append(shape.Positions, positionShape{p.OrganizationID, p.Organization, p.Title, p.StartedOn, p.EndedOn, p.Current})
	}
	for _, d := range c.Dates {
		shape.ImportantDates = append(shape.ImportantDates, dateShape{d.Kind, d.String(), d.Label})
	}
	return shape
}
