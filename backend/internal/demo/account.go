package demo

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/sandbox"
)

// TokenID is the id of the sandbox's public token.
const TokenID = "pat_00000000000000000000000000"

// build returns the demo account of a day. scopes are what its public token may do.
func build(day time.Time, scopes string) (Demo, error) {
	data := sandbox.Build(day)
	out := Demo{Day: data.Day, Token: account.PersonalToken{
		ID: TokenID, MemberID: tenant.ID(data.Members[0].ID), Name: "Sandbox", Hash: account.HashSecret(sandbox.Token), Scopes: scopes, CreatedAt: data.Day,
	}}
	for _, m := range data.Members {
		out.Members = append(out.Members, account.Member{
			ID: tenant.ID(m.ID), Username: m.Username, Email: m.Email, Timezone: m.Timezone, Locale: "en",
			Plan: m.Plan, CreatedAt: data.Day, UpdatedAt: m.UpdatedAt,
		})
		out.Profiles = append(out.Profiles, page(m))
	}
	for name, domain := range data.Domains {
		out.Organizations = append(out.Organizations, people.Organization{
			Name: name, NormalName: people.NormalOrganization(name), Domain: domain, CreatedAt: data.Day, UpdatedAt: data.Day,
		})
	}
	document, err := json.Marshal(data.Document)
	out.Fill = func(ctx context.Context, tx *db.Tx) error { return importer.Seed(ctx, tx, document) }
	return out, err
}

func page(m sandbox.Member) account.Profile {
	p := m.Profile
	out := account.Profile{
		MemberID: tenant.ID(m.ID), Username: m.Username, Name: p.Name, Headline: p.Headline, Bio: p.Bio,
		LocationText: p.LocationText, Country: p.Country, Organization: p.Organization, Title: p.Title,
		Skills: p.Skills, Languages: p.Languages, OpenTo: p.OpenTo, Visibility: account.Public,
		FieldVisibility: map[string]account.Visibility{}, Listed: p.Listed, UpdatedAt: m.UpdatedAt,
	}
	for _, l := range p.Links {
		out.Links = append(out.Links, account.Link(l))
	}
	for _, field := range p.PublicFields {
		out.FieldVisibility[field] = account.Public
	}
	return out
}
