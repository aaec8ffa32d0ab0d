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
// Invisible characters, which rows of older versions may hold, are left out here too:
// edges read profiles in a codec that does not do so.
func profileMessage(p *profile.Profile) *directoryv1.Profile {
	shown := func(s string) *string { return optional(text.WithoutInvisible(s)) }
	m := &directoryv1.Profile{
		Username: p.Username, Name: shown(p.Name), Headline: shown(p.Headline), Bio: shown(p.Bio),
		Organization: shown(p.Organization), Title: shown(p.Title), Skills: allShown(p.Skills), Languages: allShown(p.Languages),
		OpenTo: allShown(p.OpenTo), AvatarUrl: shown(p.AvatarURL), UpdatedAt: timestamp(p.UpdatedAt),
	}
	if p.LocationText != "" || p.Country != "" {
		m.Location = &directoryv1.Location{Text: text.WithoutInvisible(p.LocationText), Country: text.WithoutInvisible(p.Country)}
	}
	for _, l := range p.Links {
		m.Links = append(m.Links, &directoryv1.Link{Label: text.WithoutInvisible(l.Label), Url: text.WithoutInvisible(l.URL)})
	}
	return m
}

// allShown returns the texts without invisible characters.
func allShown(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = text.WithoutInvisible(s)
	}
	return out
}
