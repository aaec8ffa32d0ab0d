package reminders

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/cadence"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

// defaultDays is how many days list_due looks ahead.
const defaultDays = 7

// RPC implements ReminderService.
type RPC struct {
	DB  *db.DB
	Now func() time.Time
	// Selected reads selections of search_connections.
	Selected call.Selector
	// Index returns the search index of the caller's network.
	Index func(context.Context) (*index.Index, error)
}

func (h *RPC) ListDue(ctx context.Context, req *remindersv1.ListDueRequest) (*remindersv1.ListDueResponse, error) {
	q := DueQuery{Kinds: req.GetKinds(), ConnectionID: req.GetConnectionId(), Zone: call.ZoneOf(ctx), Limit: call.DefaultLimit}
	days := defaultDays
	if req.Days != nil {
		days = int(req.GetDays())
	}
	q.Now = h.Now()
	q.Today = civil.Of(q.Now, q.Zone)
	q.Until = q.Today.AddDate(0, 0, days)
	if req.Limit != nil {
		q.Limit = int(req.GetLimit())
	}
	order := []any{days, q.Kinds, q.ConnectionID}
	if req.Cursor != nil {
		q.After = &Cursor{}
		if err := cursor.Decode(req.GetCursor(), order, q.After); err != nil {
			return nil, err
		}
	}
	size := q.Limit
	q.Limit++ // one more entry shows whether there is another page
	p := tenant.PrincipalFrom(ctx)
	ix, err := h.Index(ctx)
	if err != nil {
		return nil, err
	}
	due, counts, err := List(ctx, h.DB.Tenant(p.Tenant, p.ReadOnly), ix, q)
	if err != nil {
		return nil, err
	}
	res := &remindersv1.ListDueResponse{
		Today: q.Today.Format(time.DateOnly), HasMore: len(due) > size,
		Counts: &remindersv1.DueCounts{
			Reminders: new(int32(counts.Reminders)), Dates: new(int32(counts.Dates)), Cadences: new(int32(counts.Cadences)), Overdue: new(int32(counts.Overdue)),
		},
	}
	if counts.Meetings > 0 {
		res.Counts.Meetings = new(int32(counts.Meetings))
	}
	if res.HasMore {
		due = due[:size]
		next, err := cursor.Encode(order, due[size-1].Cursor())
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	for _, d := range due {
		item := &remindersv1.DueItem{
			Kind: d.Kind, DueOn: d.DueOn, Overdue: d.Overdue, Text: d.Text, ReminderId: d.ReminderID, Recurrence: d.Recurrence,
			ConnectionId: d.ConnectionID, ConnectionName: d.Name, LastContactOn: d.LastContactOn,
		}
		for _, p := range d.Others {
			item.Others = append(item.Others, &timelinev1.Participant{Id: p.ID, Name: p.Name})
		}
		res.Items = append(res.Items, item)
	}
	return res, nil
}

func (h *RPC) CreateReminder(ctx context.Context, u *db.Tx, req *remindersv1.CreateReminderRequest) (*remindersv1.CreateReminderResponse, error) {
	r, changeID, err := Create(ctx, u, Reminder{
		Text: req.GetText(), DueOn: req.GetDueOn(), ConnectionIDs: req.GetConnectionIds(), Recurrence: req.GetRecurrence(),
	}, civil.Of(u.Now(), call.ZoneOf(ctx)))
	if err != nil {
		return nil, err
	}
	return &remindersv1.CreateReminderResponse{Reminder: reminderMessage(r), ChangeId: changeID}, nil
}

func (h *RPC) UpdateReminder(ctx context.Context, u *db.Tx, req *remindersv1.UpdateReminderRequest) (*remindersv1.UpdateReminderResponse, error) {
	ids := req.GetIds()
	if req.Id != nil {
		ids = []string{req.GetId()}
	}
	changed, changeID, err := Update(ctx, u, Patch{
		IDs: ids, Text: req.GetText(), DueOn: req.GetDueOn(), ShiftDays: int(req.GetShiftDays()), ConnectionIDs: req.GetConnectionIds(), Recurrence: req.GetRecurrence(),
	}, civil.Of(u.Now(), call.ZoneOf(ctx)))
	if err != nil {
		return nil, err
	}
	res := &remindersv1.UpdateReminderResponse{ChangeId: call.Optional(changeID)}
	if req.Id != nil {
		res.Reminder = reminderMessage(&changed[0])
		return res, nil
	}
	for i := range changed {
		res.Reminders = append(res.Reminders, reminderMessage(&changed[i]))
	}
	return res, nil
}

func (h *RPC) CompleteReminder(ctx context.Context, u *db.Tx, req *remindersv1.CompleteReminderRequest) (*remindersv1.CompleteReminderResponse, error) {
	zone := call.ZoneOf(ctx)
	c := Completion{ID: req.GetId(), Outcome: Done, DueOn: req.GetDueOn(), Zone: zone, Today: civil.Of(u.Now(), zone)}
	if req.Outcome != nil {
		c.Outcome = req.GetOutcome()
	}
	done, err := Complete(ctx, u, c)
	if err != nil {
		return nil, err
	}
	return &remindersv1.CompleteReminderResponse{
		Reminder: reminderMessage(done.Reminder), NextDue: call.Optional(done.NextDue), ChangeId: call.Optional(done.ChangeID),
	}, nil
}

func (h *RPC) SetCadence(ctx context.Context, u *db.Tx, req *remindersv1.SetCadenceRequest) (*remindersv1.SetCadenceResponse, error) {
	zone := call.ZoneOf(ctx)
	ids, err := call.People(ctx, req.GetConnectionIds(), req.Selection, h.Selected)
	if err != nil {
		return nil, err
	}
	p := people.CadencePatch{IDs: ids, SnoozeUntil: req.SnoozeUntil, Today: civil.Of(u.Now(), zone), DryRun: req.GetDryRun()}
	if req.Days != nil {
		p.Days = new(int(req.GetDays()))
	} else if req.GetNever() {
		p.Days = new(cadence.Never)
	}
	done, err := people.SetCadence(ctx, u, p)
	if err != nil {
		return nil, err
	}
	res := &remindersv1.SetCadenceResponse{
		Changed: int32(len(done.Changed)), Unchanged: int32(done.Unchanged), Names: done.Names(), ChangeId: call.Optional(done.ChangeID),
	}
	ofGroups, err := people.GroupCadences(ctx, u, ids)
	if err != nil {
		return nil, err
	}
	var first time.Time
	for _, c := range done.Changed {
		c.GroupCadence = ofGroups[c.ID]
		if due, ok := c.Cadence().NextDue(zone); ok && (first.IsZero() || due.Before(first)) {
			first = due
			res.NextDue = call.Optional(due.Format(time.DateOnly))
		}
	}
	return res, nil
}

func reminderMessage(r *Reminder) *remindersv1.Reminder {
	return &remindersv1.Reminder{
		Id: r.ID, Text: r.Text, DueOn: r.DueOn, ConnectionIds: r.ConnectionIDs, Recurrence: r.Recurrence,
		State: r.State,
	}
}
