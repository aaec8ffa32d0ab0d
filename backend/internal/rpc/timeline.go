package rpc

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/timeline"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

// entryText bounds the text of one entry on the timeline, in characters.
const entryText = 2000

// timelines implements TimelineService.
type timelines struct {
	store *store.Store
}

func (h *timelines) ListTimeline(ctx context.Context, req *timelinev1.ListTimelineRequest) (*timelinev1.ListTimelineResponse, error) {
	q := timeline.Query{ConnectionID: req.GetConnectionId(), Kinds: req.GetKinds(), Limit: defaultLimit}
	var err error
	if q.Since, err = parseDay("since", req.Since); err != nil {
		return nil, err
	}
	if q.Until, err = parseDay("until", req.Until); err != nil {
		return nil, err
	}
	order := q
	if req.Limit != nil {
		q.Limit = int(req.GetLimit())
	}
	if req.Cursor != nil {
		q.After = &timeline.Place{}
		if err := cursor.Decode(req.GetCursor(), order, q.After); err != nil {
			return nil, err
		}
	}
	size := q.Limit
	q.Limit++ // one more tells whether there is a further page
	p := tenant.PrincipalFrom(ctx)
	entries, err := h.store.Tenant(p.Tenant, p.ReadOnly).ListTimeline(ctx, q)
	if err != nil {
		return nil, err
	}
	res := &timelinev1.ListTimelineResponse{HasMore: len(entries) > size}
	if res.HasMore {
		entries = entries[:size]
		last := entries[size-1]
		next, err := cursor.Encode(order, timeline.Place{OccurredAt: last.OccurredAt, ID: last.ID})
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	for _, e := range entries {
		res.Entries = append(res.Entries, entryMessage(e))
	}
	return res, nil
}

func entryMessage(e timeline.Entry) *timelinev1.TimelineEntry {
	m := &timelinev1.TimelineEntry{
		Id: e.ID, Kind: e.Kind, OccurredAt: timestamp(e.OccurredAt), Text: text.Truncate(e.Text, entryText),
		DurationMinutes: e.DurationMinutes, Pinned: e.Pinned,
	}
	for _, p := range e.Participants {
		m.Participants = append(m.Participants, &timelinev1.Participant{Id: p.ID, Name: p.Name})
	}
	return m
}

func (h *timelines) AddNote(ctx context.Context, req *timelinev1.AddNoteRequest) (*timelinev1.AddNoteResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	n, changeID, err := timeline.AddNote(ctx, u, timeline.Note{
		ConnectionIDs: req.GetConnectionIds(), Body: req.GetBody(), Pinned: req.GetPinned(),
	})
	if err != nil {
		return nil, err
	}
	return &timelinev1.AddNoteResponse{Note: noteMessage(n), ChangeId: changeID}, nil
}

func (h *timelines) LogInteraction(ctx context.Context, req *timelinev1.LogInteractionRequest) (*timelinev1.LogInteractionResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	i := timeline.Interaction{
		ConnectionIDs: req.GetConnectionIds(), Kind: req.GetKind(), Summary: req.GetSummary(),
		DurationMinutes: req.GetDurationMinutes(), ExternalKey: req.GetExternalKey(),
	}
	if req.OccurredAt != nil {
		i.OccurredAt = req.OccurredAt.AsTime().Truncate(time.Microsecond)
	}
	logged, err := timeline.LogInteraction(ctx, u, i)
	if err != nil {
		return nil, err
	}
	res := &timelinev1.LogInteractionResponse{Interaction: interactionMessage(logged.Interaction), ChangeId: optional(logged.ChangeID)}
	if due, ok := logged.NextDue(zoneOf(ctx)); ok {
		res.NextDue = optional(due.Format(time.DateOnly))
	}
	return res, nil
}

// parseDay reads a day of the calendar, UTC; nil is the zero time.
func parseDay(field string, value *string) (time.Time, error) {
	if value == nil {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, *value)
	if err != nil {
		return t, fault.InvalidField(field, "%q is no day of the calendar", *value)
	}
	return t, nil
}
