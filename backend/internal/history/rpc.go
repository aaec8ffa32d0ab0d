package history

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
)

// maxObjects is how many objects of one change an answer names at most.
const MaxObjects = 100

// RPC implements the RPCs of recorded changes.
type RPC struct{ DB *db.DB }

// ListChanges implements the RPC.
func (h *RPC) ListChanges(ctx context.Context, req *accountv1.ListChangesRequest) (*accountv1.ListChangesResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	q := Query{ObjectID: req.GetObjectId(), Limit: call.DefaultLimit}
	if req.GetMine() {
		q.CredentialID = p.Credential.ID
	}
	order := q
	if req.Limit != nil {
		q.Limit = int(req.GetLimit())
	}
	if req.Cursor != nil {
		if err := cursor.Decode(req.GetCursor(), order, &q.Before); err != nil {
			return nil, err
		}
	}
	size := q.Limit
	q.Limit++ // one more shows whether there is a next page
	changes, err := ListChanges(ctx, h.DB.Tenant(p.Tenant, p.ReadOnly), q)
	if err != nil {
		return nil, err
	}
	res := &accountv1.ListChangesResponse{HasMore: len(changes) > size}
	if res.HasMore {
		changes = changes[:size]
		next, err := cursor.Encode(order, changes[size-1].ID)
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	for _, c := range changes {
		res.Changes = append(res.Changes, changeMessage(&c, p))
	}
	return res, nil
}

func changeMessage(c *Change, p *tenant.Principal) *accountv1.Change {
	actor := c.CredentialName
	if c.CredentialID == "" {
		actor = p.DisplayName
	}
	if actor == "" {
		actor = p.Username
	}
	return &accountv1.Change{
		Id: c.ID, Tool: c.Tool, Actor: actor, Summary: c.Summary, Objects: ObjectMessages(c.Objects()), Undoable: c.Undoable(),
		UndoneBy: call.Optional(c.UndoneBy), Undoes: call.Optional(c.Undoes), CreatedAt: call.Timestamp(c.CreatedAt),
	}
}

func ObjectMessages(objects []Object) []*accountv1.ChangedObject {
	objects = objects[:min(len(objects), MaxObjects)]
	out := make([]*accountv1.ChangedObject, len(objects))
	for i, o := range objects {
		out[i] = &accountv1.ChangedObject{Kind: o.Kind, Id: o.ID, Action: o.Action, Fields: o.Fields}
	}
	return out
}
