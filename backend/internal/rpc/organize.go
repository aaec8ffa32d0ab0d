package rpc

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	organizev1 "github.com/kith-crm/kith/proto/gen/kith/organize/v1"
)

// groupTools implements OrganizeService.
type groupTools struct {
	store *store.Store
}

func (h *groupTools) ListGroups(ctx context.Context, _ *organizev1.ListGroupsRequest) (*organizev1.ListGroupsResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	data := h.store.Tenant(p.Tenant, p.ReadOnly)
	groups, err := data.ListGroups(ctx)
	if err != nil {
		return nil, err
	}
	tags, err := data.ListTags(ctx, organize.MaxTags)
	if err != nil {
		return nil, err
	}
	res := &organizev1.ListGroupsResponse{}
	for i := range groups {
		res.Groups = append(res.Groups, groupMessage(&groups[i]))
	}
	for _, t := range tags {
		res.Tags = append(res.Tags, &organizev1.Tag{Name: t.Name, People: int32(t.People)})
	}
	return res, nil
}

func (h *groupTools) SaveGroup(ctx context.Context, req *organizev1.SaveGroupRequest) (*organizev1.SaveGroupResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	p := organize.Patch{ID: req.GetId(), Name: req.Name, Description: req.Description, ExpectedVersion: req.ExpectedVersion}
	if req.CadenceDays != nil {
		p.CadenceDays = new(int(req.GetCadenceDays()))
	}
	saved, err := organize.Save(ctx, u, p)
	if err != nil {
		return nil, err
	}
	return &organizev1.SaveGroupResponse{
		Group: groupMessage(saved.Group), Created: saved.Created, ChangeId: optional(saved.ChangeID),
	}, nil
}

func (h *groupTools) UpdateMembership(ctx context.Context, req *organizev1.UpdateMembershipRequest) (*organizev1.UpdateMembershipResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	moved, err := organize.UpdateMembership(ctx, u, organize.MembershipPatch{
		ConnectionIDs: req.GetConnectionIds(), AddGroups: req.GetAddGroups(), RemoveGroups: req.GetRemoveGroups(),
		AddTags: req.GetAddTags(), RemoveTags: req.GetRemoveTags(),
	})
	if err != nil {
		return nil, err
	}
	return &organizev1.UpdateMembershipResponse{
		Changed: int32(moved.Changed), Unchanged: int32(moved.Unchanged), ChangeId: optional(moved.ChangeID),
	}, nil
}

func groupMessage(g *organize.Group) *organizev1.Group {
	return &organizev1.Group{
		Id: g.ID, Name: g.Name, Description: g.Description, CadenceDays: int32(g.CadenceDays),
		People: int32(g.People), Version: g.Version,
	}
}
