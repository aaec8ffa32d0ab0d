package timeline

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/wordindex"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

const insteadOfNotes = "list_timeline lists notes and interactions without a query"

func NoteMessage(ctx context.Context, n *Note) *timelinev1.Note {
	on, at := civil.OnOrAt(n.CreatedAt, n.Day, call.ZoneOf(ctx))
	return &timelinev1.Note{
		Id: n.ID, ConnectionIds: n.ConnectionIDs, Body: n.Body, Pinned: n.Pinned, On: on, At: at, Version: n.Version,
		CreatedAt: call.Timestamp(n.CreatedAt), UpdatedAt: call.Timestamp(n.UpdatedAt),
	}
}

// InteractionMessage returns the message of an interaction; times are of the caller's zone.
func InteractionMessage(ctx context.Context, i *Interaction) *timelinev1.Interaction {
	on, at := civil.OnOrAt(i.OccurredAt, i.OccurredLocal, call.ZoneOf(ctx))
	return &timelinev1.Interaction{
		Id: i.ID, Kind: i.Kind, ConnectionIds: i.ConnectionIDs, On: on, At: at,
		DurationMinutes: i.DurationMinutes, Summary: i.Summary, ExternalKey: i.ExternalKey, CreatedAt: call.Timestamp(i.CreatedAt),
	}
}

// entryText limits the text of one entry on the timeline, in characters.
const entryText = 2000

// RPC implements TimelineService.
type RPC struct {
	DB *db.DB
	// Index returns the search index of the caller's network.
	Index func(ctx context.Context) (*index.Index, error)
	// Blocks returns the times and kinds of the caller's notes and interactions.
	Blocks func(ctx context.Context) (*wordindex.Blocks, error)
}

// span returns the moments between which the entries of a list lie, of two days or nil.
func span(ctx context.Context, first, end *string) (since, until time.Time, err error) {
	since, badSince := call.StartOfDay(ctx, "since", first, 0)
	until, badUntil := call.StartOfDay(ctx, "until", end, 0)
	if err = fault.Join(badSince, badUntil); err == nil && first != nil && end != nil && !since.Before(until) {
		err = fault.InvalidField("until", "must lie after since: no entry is between the two")
	}
	return since, until, err
}

func (h *RPC) ListTimeline(ctx context.Context, req *timelinev1.ListTimelineRequest) (*timelinev1.ListTimelineResponse, error) {
	q := Query{ConnectionID: req.GetConnectionId(), Kinds: req.GetKinds(), Limit: call.DefaultLimit}
	var err error
	if q.Since, q.Until, err = span(ctx, req.Since, req.Until); err != nil {
		return nil, err
	}
	order := q
	if req.Limit != nil {
		q.Limit = int(req.GetLimit())
	}
	if req.Cursor != nil {
		q.After = &Cursor{}
		if err := cursor.Decode(req.GetCursor(), order, q.After); err != nil {
			return nil, err
		}
	}
	size := q.Limit
	q.Limit++ // one more entry shows whether there is another page
	p := tenant.PrincipalFrom(ctx)
	entries, err := ListTimeline(ctx, h.DB.Tenant(p.Tenant, p.ReadOnly), q)
	if err != nil {
		return nil, err
	}
	res := &timelinev1.ListTimelineResponse{HasMore: len(entries) > size}
	if res.HasMore {
		entries = entries[:size]
		last := entries[size-1]
		next, err := cursor.Encode(order, Cursor{OccurredAt: last.OccurredAt, ID: last.ID})
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	for _, e := range entries {
		res.Entries = append(res.Entries, entryMessage(ctx, e, q.ConnectionID))
	}
	return res, nil
}

// Pinned returns the pinned notes about a connection, the latest first, up to MaxPinned.
func (h *RPC) Pinned(ctx context.Context, connectionID string) ([]*timelinev1.TimelineEntry, error) {
	p := tenant.PrincipalFrom(ctx)
	entries, err := ListPinned(ctx, h.DB.Tenant(p.Tenant, p.ReadOnly), connectionID)
	out := make([]*timelinev1.TimelineEntry, len(entries))
	for i, e := range entries {
		out[i] = entryMessage(ctx, e, connectionID)
	}
	return out, err
}

// entryMessage shows an entry with the people that it is about, except the one whose entries were asked for.
func entryMessage(ctx context.Context, e Entry, asked string) *timelinev1.TimelineEntry {
	on, at := civil.OnOrAt(e.OccurredAt, e.OccurredLocal, call.ZoneOf(ctx))
	m := &timelinev1.TimelineEntry{
		Id: e.ID, Kind: e.Kind, On: on, At: at, Text: text.Truncate(e.Text, entryText),
		DurationMinutes: e.DurationMinutes, Pinned: e.Pinned,
	}
	for _, p := range e.Participants {
		if p.ID == asked {
			continue
		}
		m.Participants = append(m.Participants, &timelinev1.Participant{Id: p.ID, Name: p.Name})
	}
	return m
}

func (h *RPC) AddNote(ctx context.Context, u *db.Tx, req *timelinev1.AddNoteRequest) (*timelinev1.AddNoteResponse, error) {
	at, day, err := call.ParseMoment(ctx, "date", req.Date, u.Now())
	if err != nil {
		return nil, err
	}
	n, changeID, err := AddNote(ctx, u, Note{
		ConnectionIDs: req.GetConnectionIds(), Body: req.GetBody(), Pinned: req.GetPinned(), NotedAt: at, Day: day,
	})
	if err != nil {
		return nil, err
	}
	return &timelinev1.AddNoteResponse{Note: NoteMessage(ctx, n), ChangeId: changeID}, nil
}

func (h *RPC) LogInteraction(ctx context.Context, u *db.Tx, req *timelinev1.LogInteractionRequest) (*timelinev1.LogInteractionResponse, error) {
	logged, err := logAll(ctx, u, []*timelinev1.LogInteractionRequest{req})
	if err != nil {
		return nil, err
	}
	return &timelinev1.LogInteractionResponse{
		Interaction: InteractionMessage(ctx, &logged.Interactions[0]), NextDue: nextDue(ctx, logged), ChangeId: call.Optional(logged.ChangeID),
	}, nil
}

func (h *RPC) LogInteractions(ctx context.Context, u *db.Tx, req *timelinev1.LogInteractionsRequest) (*timelinev1.LogInteractionsResponse, error) {
	logged, err := logAll(ctx, u, req.GetInteractions())
	if err != nil {
		return nil, err
	}
	return &timelinev1.LogInteractionsResponse{
		Ids: people.IDs(logged.Interactions, func(i Interaction) string { return i.ID }), Known: int32(logged.Known),
		NextDue: nextDue(ctx, logged), ChangeId: call.Optional(logged.ChangeID),
	}, nil
}

// logAll logs the interactions of requests.
func logAll(ctx context.Context, u *db.Tx, requests []*timelinev1.LogInteractionRequest) (Logged, error) {
	all := make([]Interaction, len(requests))
	var wrong []error
	for n, req := range requests {
		at, local, err := call.ParseMoment(ctx, "occurred_at", req.OccurredAt, u.Now())
		wrong = append(wrong, ofEntry(err, n, len(requests)))
		all[n] = Interaction{
			ConnectionIDs: req.GetConnectionIds(), Kind: req.GetKind(), Summary: req.GetSummary(),
			DurationMinutes: req.GetDurationMinutes(), ExternalKey: req.GetExternalKey(), OccurredAt: at, OccurredLocal: local,
		}
	}
	if err := fault.Join(wrong...); err != nil {
		return Logged{}, err
	}
	return LogInteractions(ctx, u, all...)
}

func (h *RPC) UpdateNote(ctx context.Context, u *db.Tx, req *timelinev1.UpdateNoteRequest) (*timelinev1.UpdateNoteResponse, error) {
	n, changeID, err := UpdateNote(ctx, u, NotePatch{
		ID: req.GetId(), Body: req.Body, Pinned: req.Pinned, ConnectionIDs: req.GetConnectionIds(), ExpectedVersion: req.ExpectedVersion,
	})
	if err != nil {
		return nil, err
	}
	return &timelinev1.UpdateNoteResponse{Note: NoteMessage(ctx, n), ChangeId: call.Optional(changeID)}, nil
}

func (h *RPC) UpdateInteraction(ctx context.Context, u *db.Tx, req *timelinev1.UpdateInteractionRequest) (*timelinev1.UpdateInteractionResponse, error) {
	at, local, err := call.ParseMoment(ctx, "occurred_at", req.OccurredAt, u.Now())
	if err != nil {
		return nil, err
	}
	changed, err := UpdateInteraction(ctx, u, InteractionPatch{
		ID: req.GetId(), Kind: req.GetKind(), OccurredAt: at, OccurredLocal: local, Summary: req.Summary, DurationMinutes: req.DurationMinutes,
		Add: req.GetAddConnectionIds(), Remove: req.GetRemoveConnectionIds(),
	})
	if err != nil {
		return nil, err
	}
	return &timelinev1.UpdateInteractionResponse{
		Interaction: InteractionMessage(ctx, &changed.Interactions[0]), NextDue: nextDue(ctx, changed), ChangeId: call.Optional(changed.ChangeID),
	}, nil
}

// nextDue returns the first day on which one of the participants is due; nil for none.
func nextDue(ctx context.Context, l Logged) *string {
	due, ok := l.NextDue(call.ZoneOf(ctx))
	if !ok {
		return nil
	}
	return call.Optional(due.Format(time.DateOnly))
}

func (h *RPC) DeleteTimelineEntry(ctx context.Context, u *db.Tx, req *timelinev1.DeleteTimelineEntryRequest) (*timelinev1.DeleteTimelineEntryResponse, error) {
	deleted, changeID, err := DeleteEntry(ctx, u, req.GetId())
	if err != nil {
		return nil, err
	}
	return &timelinev1.DeleteTimelineEntryResponse{Deleted: deleted, ChangeId: call.Optional(changeID)}, nil
}

func (h *RPC) SearchNotes(ctx context.Context, req *timelinev1.SearchNotesRequest) (*timelinev1.SearchNotesResponse, error) {
	if err := call.CheckWords(req.GetQuery(), insteadOfNotes); err != nil {
		return nil, err
	}
	q := WordQuery{Text: req.GetQuery(), ConnectionID: req.GetConnectionId(), Kinds: req.GetKinds(), Limit: call.DefaultLimit}
	var err error
	if q.Since, q.Until, err = span(ctx, req.Since, req.Until); err != nil {
		return nil, err
	}
	order := q
	if req.Limit != nil {
		q.Limit = int(req.GetLimit())
	}
	if req.Cursor != nil {
		q.After = &SearchCursor{}
		if err := cursor.Decode(req.GetCursor(), order, q.After); err != nil {
			return nil, err
		}
	}
	size := q.Limit
	q.Limit++ // one more entry shows whether there is another page
	p := tenant.PrincipalFrom(ctx)
	blocks, err := h.Blocks(ctx)
	if err != nil {
		return nil, err
	}
	found, err := SearchWords(ctx, h.DB.Tenant(p.Tenant, p.ReadOnly), blocks, q)
	if err != nil {
		return nil, err
	}
	res := &timelinev1.SearchNotesResponse{HasMore: len(found.Entries) > size}
	if res.Why, err = found.why(func(text string) ([]index.Hit, error) { return h.nearest(ctx, text) }); err != nil {
		return nil, err
	}
	if res.HasMore {
		found.Entries = found.Entries[:size]
		next, err := cursor.Encode(order, found.Entries[size-1].SearchCursor)
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	for _, f := range found.Entries {
		res.Entries = append(res.Entries, entryMessage(ctx, f.Entry, ""))
	}
	return res, nil
}

// nearest returns the people with a name near to a text.
func (h *RPC) nearest(ctx context.Context, text string) ([]index.Hit, error) {
	ix, err := h.Index(ctx)
	if err != nil {
		return nil, err
	}
	return ix.Nearest(text, false, maxNearest), nil
}

// maxNearest is how many people with a near name a reason lists.
const maxNearest = 3
