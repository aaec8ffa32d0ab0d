package rpc

import (
	"context"
	"strings"

	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/text"
	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
)

const defaultPerPage = 20

// directory implements PublicDirectoryService.
type directory struct{ profiles profile.Store }

func (h *directory) BatchGetProfiles(ctx context.Context, req *directoryv1.BatchGetProfilesRequest) (*directoryv1.BatchGetProfilesResponse, error) {
	var usernames []string
	for _, name := range req.GetUsernames() {
		if name = strings.ToLower(name); member.IsUsername(name) { // others cannot exist
			usernames = append(usernames, name)
		}
	}
	if len(usernames) == 0 {
		return &directoryv1.BatchGetProfilesResponse{}, nil
	}
	found, err := h.profiles.GetPublicProfiles(ctx, usernames)
	if err != nil {
		return nil, err
	}
	return &directoryv1.BatchGetProfilesResponse{Profiles: profileMessages(found)}, nil
}

func (h *directory) ListMembers(ctx context.Context, req *directoryv1.ListMembersRequest) (*directoryv1.ListMembersResponse, error) {
	words := strings.Fields(text.Fold(text.Line(req.GetQ())))
	size := defaultPerPage
	if req.PerPage != nil {
		size = int(req.GetPerPage())
	}
	var after profile.Position
	if req.Cursor != nil {
		if err := cursor.Decode(req.GetCursor(), words, &after); err != nil {
			return nil, err
		}
	}
	found, err := h.profiles.ListPublicProfiles(ctx, words, after, size+1)
	if err != nil {
		return nil, err
	}
	res := &directoryv1.ListMembersResponse{HasMore: len(found) > size}
	if res.HasMore {
		found = found[:size]
		last := found[size-1]
		next, err := cursor.Encode(words, profile.Position{SortName: last.SortName, Username: last.Username})
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	res.Members = profileMessages(found)
	return res, nil
}

// profileMessages renders what anybody may see; the rest is not set.
func profileMessages(found []profile.Profile) []*directoryv1.Profile {
	out := make([]*directoryv1.Profile, len(found))
	for i := range found {
		found[i].Reduce(profile.Public)
		out[i] = profileMessage(&found[i])
	}
	return out
}

// profileMessage renders all that p holds: callers reduce it to their audience.
func profileMessage(p *profile.Profile) *directoryv1.Profile {
	m := &directoryv1.Profile{
		Username: p.Username, Name: optional(p.Name), Headline: optional(p.Headline), Bio: optional(p.Bio),
		Organization: optional(p.Organization), Title: optional(p.Title), Skills: p.Skills, Languages: p.Languages,
		OpenTo: p.OpenTo, AvatarUrl: optional(p.AvatarURL), UpdatedAt: timestamp(p.UpdatedAt),
	}
	if p.LocationText != "" || p.Country != "" {
		m.Location = &directoryv1.Location{Text: p.LocationText, Country: p.Country}
	}
	for _, l := range p.Links {
		m.Links = append(m.Links, &directoryv1.Link{Label: l.Label, Url: l.URL})
	}
	return m
}
