package demo

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/token"
	"github.com/kith-crm/kith/sandbox"
)

// TokenID is the id under which the sandbox's public token is kept.
const TokenID = "pat_00000000000000000000000000"

// rows returns the demo account of a day as the store keeps it. scopes are what
// its public token may do.
func rows(day time.Time, scopes string) store.Demo {
	data := sandbox.Build(day)
	owner := tenant.ID(data.Members[0].ID)
	out := store.Demo{
		Day:      data.Day.Format(time.DateOnly),
		TagNames: map[string]string{},
		Token: token.PersonalToken{
			ID: TokenID, MemberID: owner, Name: "Sandbox", Hash: token.Hash(sandbox.Token), Scopes: scopes, CreatedAt: data.Day,
		},
	}
	for _, m := range data.Members {
		out.Members = append(out.Members, member.Member{
			ID: tenant.ID(m.ID), Username: m.Username, Email: m.Email, Timezone: m.Timezone, Locale: "en",
			Plan: m.Plan, CreatedAt: data.Day, UpdatedAt: m.UpdatedAt,
		})
		out.Profiles = append(out.Profiles, page(m))
	}
	for _, o := range data.Organizations {
		out.Organizations = append(out.Organizations, connection.Organization{
			TenantID: owner, ID: o.ID, Name: o.Name, NormalName: connection.NormalOrganization(o.Name), Domain: o.Domain,
			CreatedAt: data.Day, UpdatedAt: data.Day,
		})
	}
	for _, t := range data.Tags {
		out.TagNames[t.ID] = t.Name
	}
	for _, ct := range data.ConnectionTags {
		out.ConnectionTag = append(out.ConnectionTag, [2]string{ct.ConnectionID, ct.TagID})
	}
	out.Connections = people(data, owner)
	for _, n := range data.Notes {
		out.Notes = append(out.Notes, timeline.Note{
			TenantID: owner, ID: n.ID, Body: n.Body, Pinned: n.Pinned, Version: 1,
			CreatedAt: n.CreatedAt, UpdatedAt: n.CreatedAt, ConnectionIDs: n.ConnectionIDs,
		})
	}
	for _, i := range data.Interactions {
		out.Interactions = append(out.Interactions, timeline.Interaction{
			TenantID: owner, ID: i.ID, Kind: i.Kind, OccurredAt: i.OccurredAt, DurationMinutes: int32(i.DurationMinutes),
			Summary: i.Summary, CreatedAt: i.OccurredAt, ConnectionIDs: i.ConnectionIDs,
		})
	}
	addArranged(&out, data, owner)
	return out
}

func people(data *sandbox.Dataset, owner tenant.ID) []connection.Connection {
	out := make([]connection.Connection, 0, len(data.Connections))
	byID := map[string]*connection.Connection{}
	for _, c := range data.Connections {
		out = append(out, connection.Connection{
			TenantID: owner, ID: c.ID, Name: c.Name, Nickname: c.Nickname, Location: c.Location, Bio: c.Bio,
			Starred: c.Starred, MetOn: c.MetOn, MetHow: c.MetHow, Source: c.Source, CadenceDays: c.CadenceDays,
			SnoozedUntil: c.SnoozedUntil, LastInteractionAt: c.LastInteractionAt, Version: 1,
			CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
		})
		byID[c.ID] = &out[len(out)-1]
	}
	for _, h := range data.Handles {
		c := byID[h.ConnectionID]
		c.Handles = append(c.Handles, connection.Handle{
			TenantID: owner, ID: h.ID, ConnectionID: h.ConnectionID, Kind: h.Kind, Value: h.Value,
			NormalValue: connection.NormalValue(h.Kind, h.Value), Label: h.Label, Ordinal: len(c.Handles),
		})
	}
	for _, p := range data.Positions {
		c := byID[p.ConnectionID]
		c.Positions = append(c.Positions, connection.Position{
			TenantID: owner, ID: p.ID, ConnectionID: p.ConnectionID, OrganizationID: p.OrganizationID, Title: p.Title,
			StartedOn: p.StartedOn, EndedOn: p.EndedOn, Current: p.Current, Ordinal: len(c.Positions),
		})
	}
	for _, d := range data.ImportantDates {
		c := byID[d.ConnectionID]
		c.Dates = append(c.Dates, connection.ImportantDate{
			TenantID: owner, ID: d.ID, ConnectionID: d.ConnectionID, Kind: d.Kind, Year: d.Year, Month: d.Month, Day: d.Day,
			Ordinal: len(c.Dates),
		})
	}
	return out
}

func page(m sandbox.Member) profile.Profile {
	p := m.Profile
	out := profile.Profile{
		MemberID: tenant.ID(m.ID), Username: m.Username, Name: p.Name, Headline: p.Headline, Bio: p.Bio,
		LocationText: p.LocationText, Country: p.Country, Organization: p.Organization, Title: p.Title,
		Skills: p.Skills, Languages: p.Languages, OpenTo: p.OpenTo, AvatarURL: p.AvatarURL,
		Visibility: profile.Private, FieldVisibility: map[string]profile.Visibility{}, Listed: p.Listed, UpdatedAt: m.UpdatedAt,
	}
	if p.Public {
		out.Visibility = profile.Public
	}
	for _, l := range p.Links {
		out.Links = append(out.Links, profile.Link(l))
	}
	for _, field := range p.PublicFields {
		out.FieldVisibility[field] = profile.Public
	}
	return out
}
