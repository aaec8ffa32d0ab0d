package demo

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/token"
	"github.com/kith-crm/kith/sandbox"
)

// TokenID is the id of the sandbox's public token.
const TokenID = "pat_00000000000000000000000000"

// account returns the demo account of a day. scopes are what its public token may do.
func account(day time.Time, scopes string) (store.Demo, error) {
	data := sandbox.Build(day)
	out := store.Demo{Day: data.Day, Token: token.PersonalToken{
		ID: TokenID, MemberID: tenant.ID(data.Members[0].ID), Name: "Sandbox", Hash: token.Hash(sandbox.Token), Scopes: scopes, CreatedAt: data.Day,
	}}
	for _, m := range data.Members {
		out.Members = append(out.Members, member.Member{
			ID: tenant.ID(m.ID), Username: m.Username, Email: m.Email, Timezone: m.Timezone, Locale: "en",
			Plan: m.Plan, CreatedAt: data.Day, UpdatedAt: m.UpdatedAt,
		})
		out.Profiles = append(out.Profiles, page(m))
	}
	for name, domain := range data.Domains {
		out.Organizations = append(out.Organizations, connection.Organization{
			Name: name, NormalName: connection.NormalOrganization(name), Domain: domain, CreatedAt: data.Day, UpdatedAt: data.Day,
		})
	}
	document, err := json.Marshal(data.Document)
	out.Fill = func(ctx context.Context, w importer.Writer) error { return importer.Seed(ctx, w, document) }
	return out, err
}

func page(m sandbox.Member) profile.Profile {
	p := m.Profile
	out := profile.Profile{
		MemberID: tenant.ID(m.ID), Username: m.Username, Name: p.Name, Headline: p.Headline, Bio: p.Bio,
		LocationText: p.LocationText, Country: p.Country, Organization: p.Organization, Title: p.Title,
		Skills: p.Skills, Languages: p.Languages, OpenTo: p.OpenTo, Visibility: profile.Public,
		FieldVisibility: map[string]profile.Visibility{}, Listed: p.Listed, UpdatedAt: m.UpdatedAt,
	}
	for _, l := range p.Links {
		out.Links = append(out.Links, profile.Link(l))
	}
	for _, field := range p.PublicFields {
		out.FieldVisibility[field] = profile.Public
	}
	return out
}
