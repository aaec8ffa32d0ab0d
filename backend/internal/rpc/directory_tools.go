package rpc

import (
	"context"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
)

// directoryTools implements DirectoryService.
type directoryTools struct {
	store *store.Store
}

// memberSearch is what a cursor of search_directory belongs to.
type memberSearch struct{ Words []string }

// SearchDirectory shows pages as other members see them.
func (h *directoryTools) SearchDirectory(ctx context.Context, req *directoryv1.SearchDirectoryRequest) (*directoryv1.SearchDirectoryResponse, error) {
	if req.Query != nil {
		if err := checkWords(req.GetQuery(), insteadOfDirectory); err != nil {
			return nil, err
		}
	}
	q := memberSearch{strings.Fields(text.Fold(text.Line(req.GetQuery())))}
	size := limitOf(req.Limit, defaultLimit)
	var after profile.Position
	if req.Cursor != nil {
		if err := cursor.Decode(req.GetCursor(), q, &after); err != nil {
			return nil, err
		}
	}
	found, err := h.store.ListMemberProfiles(ctx, q.Words, after, size+1)
	if err != nil {
		return nil, err
	}
	res := &directoryv1.SearchDirectoryResponse{HasMore: len(found) > size}
	if res.HasMore {
		found = found[:size]
		last := found[size-1]
		next, err := cursor.Encode(q, profile.Position{SortName: last.SortName, Username: last.Username})
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	for i := range found {
		p := &found[i]
		p.Reduce(profile.Members)
		res.Members = append(res.Members, &directoryv1.DirectoryMember{
			Username: p.Username, Name: p.Name, Headline: p.Headline, Organization: p.Organization, Location: p.LocationText,
		})
	}
	return res, nil
}

// GetMemberProfile shows another member's page as members see it, and the
// caller's own in full.
func (h *directoryTools) GetMemberProfile(ctx context.Context, req *directoryv1.GetMemberProfileRequest) (*directoryv1.GetMemberProfileResponse, error) {
	caller := tenant.PrincipalFrom(ctx)
	username := strings.ToLower(text.Line(req.GetUsername()))
	if username != "" && username != caller.Username {
		p, err := h.store.GetMemberProfile(ctx, username)
		if err != nil {
			return nil, err
		}
		return &directoryv1.GetMemberProfileResponse{Profile: profileMessage(p)}, nil
	}
	p, err := h.store.GetProfile(ctx, caller.Tenant)
	if err != nil {
		return nil, err
	}
	visibility := string(p.Visibility)
	return &directoryv1.GetMemberProfileResponse{Profile: profileMessage(p), Visibility: &visibility, Listed: &p.Listed}, nil
}

// UpdateMyProfile changes the caller's own page.
func (h *directoryTools) UpdateMyProfile(ctx context.Context, req *directoryv1.UpdateMyProfileRequest) (*directoryv1.UpdateMyProfileResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	p, changeID, err := profile.Update(ctx, u, profile.Patch{
		Name: req.Name, Headline: req.Headline, Bio: req.Bio, Location: req.Location, Organization: req.Organization, Title: req.Title,
		Skills: slices.Clone(req.GetSkills()), Hide: req.GetHide(), Listed: req.Listed,
	})
	if err != nil {
		return nil, err
	}
	p.Username = tenant.PrincipalFrom(ctx).Username
	return &directoryv1.UpdateMyProfileResponse{Profile: profileMessage(p), ChangeId: optional(changeID)}, nil
}
