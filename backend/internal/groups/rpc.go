package groups

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	organizev1 "github.com/kith-crm/kith/proto/gen/kith/organize/v1"
)

// groupTools implements OrganizeService.
type RPC struct {
	DB *db.DB
	// Selected reads selections of search_connections.
	Selected call.Selector
	// Index returns the search index of the caller's network, which counts people.
	Index func(context.Context) (*index.Index, error)
}

func (h *RPC) ListGroups(ctx context.Context, _ *organizev1.ListGroupsRequest) (*organizev1.ListGroupsResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	data := h.DB.Tenant(p.Tenant, p.ReadOnly)
	list, err := ListGroups(ctx, data)
	if err != nil {
		return nil, err
	}
	fields, err := people.ListFields(ctx, data)
	if err != nil {
		return nil, err
	}
	ix, err := h.Index(ctx)
	if err != nil {
		return nil, err
	}
	summary := ix.Summary()
	res := &organizev1.ListGroupsResponse{Fields: people.FieldMessages(fields)}
	for i := range list {
		list[i].People = summary.Count(index.GroupIDs, list[i].ID)
		res.Groups = append(res.Groups, groupMessage(&list[i]))
	}
	for _, tag := range summary.MostUsedTags() {
		res.Tags = append(res.Tags, &organizev1.Tag{Name: tag.Value, People: new(int32(tag.People))})
	}
	return res, nil
}

func (h *RPC) SaveGroup(ctx context.Context, u *db.Tx, req *organizev1.SaveGroupRequest) (*organizev1.SaveGroupResponse, error) {
	p := Patch{ID: req.GetId(), Name: req.Name, Description: req.Description, ExpectedVersion: req.ExpectedVersion}
	if req.CadenceDays != nil {
		p.CadenceDays = new(int(req.GetCadenceDays()))
	}
	saved, err := Save(ctx, u, p)
	if err != nil {
		return nil, err
	}
	return &organizev1.SaveGroupResponse{
		Group: groupMessage(saved.Group), Created: saved.Created, ChangeId: call.Optional(saved.ChangeID),
	}, nil
}

// DeleteGroup implements the RPC.
func (h *RPC) DeleteGroup(ctx context.Context, u *db.Tx, req *organizev1.DeleteGroupRequest) (*organizev1.DeleteGroupResponse, error) {
	g, err := FindGroup(ctx, u, req.GetGroup())
	if err != nil {
		return nil, err
	}
	changeID, err := Delete(ctx, u, g.ID)
	if err != nil {
		return nil, err
	}
	return &organizev1.DeleteGroupResponse{ChangeId: changeID}, nil
}

func (h *RPC) UpdateMembership(ctx context.Context, u *db.Tx, req *organizev1.UpdateMembershipRequest) (*organizev1.UpdateMembershipResponse, error) {
	ids, err := call.People(ctx, req.GetConnectionIds(), req.Selection, h.Selected)
	if err != nil {
		return nil, err
	}
	moved, err := UpdateMembership(ctx, u, MembershipPatch{
		ConnectionIDs: ids, DryRun: req.GetDryRun(), AddGroups: req.GetAddGroups(), RemoveGroups: req.GetRemoveGroups(),
		AddTags: req.GetAddTags(), RemoveTags: req.GetRemoveTags(),
	})
	if err != nil {
		return nil, err
	}
	return &organizev1.UpdateMembershipResponse{
		Changed: int32(len(moved.Changed)), Unchanged: int32(moved.Unchanged), ChangeId: call.Optional(moved.ChangeID), Names: moved.Names(),
	}, nil
}

// RenameTag implements the RPC.
func (h *RPC) RenameTag(ctx context.Context, u *db.Tx, req *organizev1.RenameTagRequest) (*organizev1.RenameTagResponse, error) {
	done, err := RenameTag(ctx, u, req.GetFrom(), req.GetTo(), req.GetDryRun())
	if err != nil {
		return nil, err
	}
	return &organizev1.RenameTagResponse{Changed: int32(len(done.Changed)), Names: done.Names(), ChangeId: call.Optional(done.ChangeID)}, nil
}

func groupMessage(g *Group) *organizev1.Group {
	return &organizev1.Group{
		Id: g.ID, Name: g.Name, Description: g.Description, CadenceDays: int32(g.CadenceDays),
		People: new(int32(g.People)), Version: g.Version,
	}
}
