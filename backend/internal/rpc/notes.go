package rpc

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

func (h *timelines) UpdateNote(ctx context.Context, req *timelinev1.UpdateNoteRequest) (*timelinev1.UpdateNoteResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	n, changeID, err := timeline.UpdateNote(ctx, u, timeline.NotePatch{
		ID: req.GetId(), Body: req.Body, Pinned: req.Pinned, ConnectionIDs: req.GetConnectionIds(), ExpectedVersion: req.ExpectedVersion,
	})
	if err != nil {
		return nil, err
	}
	return &timelinev1.UpdateNoteResponse{Note: noteMessage(n), ChangeId: optional(changeID)}, nil
}

func (h *timelines) SearchNotes(ctx context.Context, req *timelinev1.SearchNotesRequest) (*timelinev1.SearchNotesResponse, error) {
	if err := checkWords(req.GetQuery(), insteadOfNotes); err != nil {
		return nil, err
	}
	q := timeline.WordQuery{Text: req.GetQuery(), ConnectionID: req.GetConnectionId(), Limit: defaultLimit}
	order := []any{q.Text, q.ConnectionID}
	if req.Limit != nil {
		q.Limit = int(req.GetLimit())
	}
	if req.Cursor != nil {
		q.After = &timeline.Rank{}
		if err := cursor.Decode(req.GetCursor(), order, q.After); err != nil {
			return nil, err
		}
	}
	size := q.Limit
	q.Limit++ // one more tells whether there is a further page
	p := tenant.PrincipalFrom(ctx)
	found, err := timeline.SearchWords(ctx, h.store.Tenant(p.Tenant, p.ReadOnly), q)
	if err != nil {
		return nil, err
	}
	res := &timelinev1.SearchNotesResponse{HasMore: len(found) > size}
	if res.HasMore {
		found = found[:size]
		next, err := cursor.Encode(order, found[size-1].Rank)
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	for _, f := range found {
		res.Entries = append(res.Entries, entryMessage(f.Entry))
	}
	return res, nil
}
