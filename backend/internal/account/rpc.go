package account

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
)

// RPC implements DirectoryService, and the settings of AccountService.
type RPC struct {
	DB *db.DB
}

// memberSearch identifies the search of a cursor of search_directory.
type memberSearch struct{ Words []string }

// SearchDirectory returns profiles as other members see them.
func (h *RPC) SearchDirectory(ctx context.Context, req *directoryv1.SearchDirectoryRequest) (*directoryv1.SearchDirectoryResponse, error) {
	if req.Query != nil {
		if err := call.CheckWords(req.GetQuery(), insteadOfDirectory); err != nil {
			return nil, err
		}
	}
	q := memberSearch{strings.Fields(text.Fold(text.Line(req.GetQuery())))}
	size := call.LimitOf(req.Limit, call.DefaultLimit)
	var after Position
	if req.Cursor != nil {
		if err := cursor.Decode(req.GetCursor(), q, &after); err != nil {
			return nil, err
		}
	}
	found, err := listMemberProfiles(ctx, h.DB, q.Words, after, size+1)
	if err != nil {
		return nil, err
	}
	res := &directoryv1.SearchDirectoryResponse{HasMore: len(found) > size}
	if res.HasMore {
		found = found[:size]
		last := found[size-1]
		next, err := cursor.Encode(q, Position{SortName: last.SortName, Username: last.Username})
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	for i := range found {
		p := &found[i]
		p.Reduce(Members)
		res.Members = append(res.Members, &directoryv1.DirectoryMember{
			Username: p.Username, Name: p.Name, Headline: p.Headline, Organization: p.Organization, Location: p.LocationText,
		})
	}
	return res, nil
}

// GetMemberProfile returns another member's page as members see it, and the caller's
// own in full.
func (h *RPC) GetMemberProfile(ctx context.Context, req *directoryv1.GetMemberProfileRequest) (*directoryv1.GetMemberProfileResponse, error) {
	caller := tenant.PrincipalFrom(ctx)
	username := strings.ToLower(text.Line(req.GetUsername()))
	if username != "" && username != caller.Username {
		p, err := GetMemberProfile(ctx, h.DB, username)
		if err != nil {
			return nil, err
		}
		return &directoryv1.GetMemberProfileResponse{Profile: profileMessage(p)}, nil
	}
	p, err := GetProfile(ctx, h.DB, caller.Tenant)
	if err != nil {
		return nil, err
	}
	visibility := string(p.Visibility)
	return &directoryv1.GetMemberProfileResponse{Profile: profileMessage(p), Visibility: &visibility, Listed: &p.Listed}, nil
}

// UpdateMyProfile changes the caller's own page.
func (h *RPC) UpdateMyProfile(ctx context.Context, u *db.Tx, req *directoryv1.UpdateMyProfileRequest) (*directoryv1.UpdateMyProfileResponse, error) {
	p, changeID, err := Update(ctx, u, Patch{
		Name: req.Name, Headline: req.Headline, Bio: req.Bio, Location: req.Location, Organization: req.Organization, Title: req.Title,
		Skills: slices.Clone(req.GetSkills()), Hide: req.GetHide(), Listed: req.Listed,
	})
	if err != nil {
		return nil, err
	}
	p.Username = tenant.PrincipalFrom(ctx).Username
	return &directoryv1.UpdateMyProfileResponse{Profile: profileMessage(p), ChangeId: call.Optional(changeID)}, nil
}

// UpdateMySettings changes the caller's time zone and locale.
func (h *RPC) UpdateMySettings(ctx context.Context, tx *db.Tx, req *accountv1.UpdateMySettingsRequest) (*accountv1.UpdateMySettingsResponse, error) {
	s, changeID, err := UpdateSettings(ctx, tx, SettingsPatch{Timezone: req.Timezone, Locale: req.Locale})
	if err != nil {
		return nil, err
	}
	today := civil.Of(tx.Now(), civil.Zone(s.Timezone)).Format(time.DateOnly)
	return &accountv1.UpdateMySettingsResponse{Timezone: s.Timezone, Locale: s.Locale, Today: today, ChangeId: call.Optional(changeID)}, nil
}

const insteadOfDirectory = "leave query out to list everyone in the directory"

const defaultPerPage = 20

// directory implements PublicDirectoryService.
type PublicRPC struct{ DB *db.DB }

func (h *PublicRPC) BatchGetProfiles(ctx context.Context, req *directoryv1.BatchGetProfilesRequest) (*directoryv1.BatchGetProfilesResponse, error) {
	var usernames []string
	for _, name := range req.GetUsernames() {
		if name = strings.ToLower(name); IsUsername(name) { // no member has any other name
			usernames = append(usernames, name)
		}
	}
	if len(usernames) == 0 {
		return &directoryv1.BatchGetProfilesResponse{}, nil
	}
	found, err := GetPublicProfiles(ctx, h.DB, usernames)
	if err != nil {
		return nil, err
	}
	return &directoryv1.BatchGetProfilesResponse{Profiles: profileMessages(found)}, nil
}

func (h *PublicRPC) ListMembers(ctx context.Context, req *directoryv1.ListMembersRequest) (*directoryv1.ListMembersResponse, error) {
	words := strings.Fields(text.Fold(text.Line(req.GetQ())))
	size := defaultPerPage
	if req.PerPage != nil {
		size = int(req.GetPerPage())
	}
	var after Position
	if req.Cursor != nil {
		if err := cursor.Decode(req.GetCursor(), words, &after); err != nil {
			return nil, err
		}
	}
	found, err := ListPublicProfiles(ctx, h.DB, words, after, size+1)
	if err != nil {
		return nil, err
	}
	res := &directoryv1.ListMembersResponse{HasMore: len(found) > size}
	if res.HasMore {
		found = found[:size]
		last := found[size-1]
		next, err := cursor.Encode(words, Position{SortName: last.SortName, Username: last.Username})
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	res.Members = profileMessages(found)
	return res, nil
}

// profileMessages returns the public parts of the profiles.
func profileMessages(found []Profile) []*directoryv1.Profile {
	var out []*directoryv1.Profile
	for i := range found {
		if m := Published(&found[i]); m != nil {
			out = append(out, m)
		}
	}
	return out
}

// Published returns the public fields of a profile, or nil if the profile is not public. It does
// not change p.
func Published(p *Profile) *directoryv1.Profile {
	if p.Visibility != Public {
		return nil
	}
	shown := *p
	shown.Reduce(Public)
	return profileMessage(&shown)
}

// profileMessage returns all fields of p: callers reduce it to their audience first. It
// also removes invisible characters, which old rows may contain: the codec with which
// edges read profiles does not remove them.
func profileMessage(p *Profile) *directoryv1.Profile {
	shown := func(s string) *string { return call.Optional(text.WithoutInvisible(s)) }
	m := &directoryv1.Profile{
		Username: p.Username, Name: shown(p.Name), Headline: shown(p.Headline), Bio: shown(p.Bio),
		Organization: shown(p.Organization), Title: shown(p.Title), Skills: allShown(p.Skills), Languages: allShown(p.Languages),
		OpenTo: allShown(p.OpenTo), AvatarUrl: shown(p.AvatarURL), UpdatedAt: call.Timestamp(p.UpdatedAt),
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
