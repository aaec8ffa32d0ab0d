package rpc

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
)

// maxObjects is how many objects of one change an answer names.
const maxObjects = 100

// ListChanges implements the RPC.
func (h *accounts) ListChanges(ctx context.Context, req *accountv1.ListChangesRequest) (*accountv1.ListChangesResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	q := change.Query{ObjectID: req.GetObjectId(), Limit: defaultLimit}
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
	q.Limit++ // one more tells whether there is a further page
	changes, err := h.store.Tenant(p.Tenant, p.ReadOnly).ListChanges(ctx, q)
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

func changeMessage(c *change.Change, p *tenant.Principal) *accountv1.Change {
	actor := c.CredentialName
	if c.CredentialID == "" {
		actor = p.DisplayName
	}
	if actor == "" {
		actor = p.Username
	}
	return &accountv1.Change{
		Id: c.ID, Tool: c.Tool, Actor: actor, Summary: c.Summary, Objects: objectMessages(c.Objects()), Undoable: c.Undoable(),
		UndoneBy: optional(c.UndoneBy), Undoes: optional(c.Undoes), CreatedAt: timestamp(c.CreatedAt),
	}
}

func objectMessages(objects []change.Object) []*accountv1.ChangedObject {
	objects = objects[:min(len(objects), maxObjects)]
	out := make([]*accountv1.ChangedObject, len(objects))
	for i, o := range objects {
		out[i] = &accountv1.ChangedObject{Kind: o.Kind, Id: o.ID, Action: o.Action, Fields: o.Fields}
	}
	return out
}

// UndoChange implements the RPC.
func (h *accounts) UndoChange(ctx context.Context, req *accountv1.UndoChangeRequest) (*accountv1.UndoChangeResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	var undone change.Undone
	switch {
	case req.ImportId == nil:
		undone, err = change.Undo(ctx, u, req.GetChangeId(), req.GetDryRun())
	case req.GetDryRun():
		undone, err = importer.TryUndo(ctx, u, req.GetImportId())
	default:
		return h.undoImport(ctx, u, req.GetImportId())
	}
	if err != nil {
		return nil, err
	}
	res := &accountv1.UndoChangeResponse{
		Restored: objectMessages(undone.Restored), RestoredCount: int32(len(undone.Restored)),
		AlreadyUndone: undone.AlreadyUndone, ChangeId: optional(undone.ChangeID),
	}
	for _, c := range undone.Conflicts[:min(len(undone.Conflicts), maxObjects)] {
		res.Conflicts = append(res.Conflicts, &accountv1.Conflict{Kind: c.Kind, Id: c.ID, Reason: text.Truncate(c.Reason, maxReason)})
	}
	return res, nil
}

// undoImport starts the job that takes an import back.
func (h *accounts) undoImport(ctx context.Context, u *store.Unit, importID string) (*accountv1.UndoChangeResponse, error) {
	j, started, err := importer.StartUndo(ctx, u, importID)
	if err != nil {
		return nil, err
	}
	if j == nil {
		return &accountv1.UndoChangeResponse{AlreadyUndone: true}, nil
	}
	if started {
		afterCommit(ctx, h.jobs.Wake)
	}
	return &accountv1.UndoChangeResponse{TaskId: &j.Number}, nil
}
