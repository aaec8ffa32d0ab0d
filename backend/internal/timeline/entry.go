package timeline

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

// GetEntry returns a note or an interaction with the people that it is about, or fault.NotFound.
func GetEntry(ctx context.Context, q db.Reader, id string) (*Entry, error) {
	n, err := note(ctx, q, id)
	if err != nil {
		return nil, err
	}
	e := Entry{ID: id, Kind: KindNote}
	if n != nil {
		e.OccurredAt, e.OccurredLocal, e.Text, e.Pinned = n.NotedAt, n.Day, n.Body, n.Pinned
	} else {
		i, err := interaction(ctx, q, id)
		if err != nil {
			return nil, err
		}
		if i == nil {
			return nil, fault.New(fault.NotFound, "there is no note or interaction %s", id)
		}
		e.Kind, e.OccurredAt, e.OccurredLocal, e.Text, e.DurationMinutes = i.Kind, i.OccurredAt, i.OccurredLocal, i.Summary, i.DurationMinutes
	}
	entries := []Entry{e}
	err = AddParticipants(ctx, q, entries)
	return &entries[0], err
}

// Entry returns a note or an interaction with its whole text, or fault.NotFound.
func (h *RPC) Entry(ctx context.Context, id string) (*timelinev1.TimelineEntry, error) {
	p := tenant.PrincipalFrom(ctx)
	e, err := GetEntry(ctx, h.DB.Tenant(p.Tenant, p.ReadOnly), id)
	if err != nil {
		return nil, err
	}
	m := entryMessage(ctx, *e, "")
	m.Text = e.Text // not cut
	return m, nil
}
