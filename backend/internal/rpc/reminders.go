package rpc

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/day"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
)

// defaultDays is how far list_due looks ahead.
const defaultDays = 7

// reminders implements ReminderService.
type reminders struct {
	store *store.Store
	now   func() time.Time
}

func (h *reminders) ListDue(ctx context.Context, req *remindersv1.ListDueRequest) (*remindersv1.ListDueResponse, error) {
	q := reminder.DueQuery{Kinds: req.GetKinds(), ConnectionID: req.GetConnectionId(), Zone: zoneOf(ctx), Limit: defaultLimit}
	days := defaultDays
	if req.Days != nil {
		days = int(req.GetDays())
	}
	q.Today = day.Of(h.now(), q.Zone)
	q.Until = q.Today.AddDate(0, 0, days)
	if req.Limit != nil {
		q.Limit = int(req.GetLimit())
	}
	order := []any{days, q.Kinds, q.ConnectionID}
	if req.Cursor != nil {
		q.After = &reminder.Place{}
		if err := cursor.Decode(req.GetCursor(), order, q.After); err != nil {
			return nil, err
		}
	}
	size := q.Limit
	q.Limit++ // one more tells whether there is a further page
	p := tenant.PrincipalFrom(ctx)
	due, counts, err := reminder.List(ctx, h.store.Tenant(p.Tenant, p.ReadOnly), q)
	if err != nil {
		return nil, err
	}
	res := &remindersv1.ListDueResponse{
		Today: q.Today.Format(time.DateOnly), HasMore: len(due) > size,
		Counts: &remindersv1.DueCounts{
			Reminders: int32(counts.Reminders), Dates: int32(counts.Dates), Cadences: int32(counts.Cadences), Overdue: int32(counts.Overdue),
		},
	}
	if res.HasMore {
		due = due[:size]
		next, err := cursor.Encode(order, due[size-1].Place())
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	for _, d := range due {
		res.Items = append(res.Items, &remindersv1.DueItem{
			Kind: d.Kind, DueOn: d.DueOn, Overdue: d.Overdue, Text: d.Text, ReminderId: d.ReminderID,
			ConnectionId: d.ConnectionID, ConnectionName: d.Name, LastContactOn: d.LastContactOn,
		})
	}
	return res, nil
}

func (h *reminders) CreateReminder(ctx context.Context, req *remindersv1.CreateReminderRequest) (*remindersv1.CreateReminderResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	r, changeID, err := reminder.Create(ctx, u, reminder.Reminder{
		Text: req.GetText(), DueOn: req.GetDueOn(), ConnectionID: req.GetConnectionId(), Recurrence: req.GetRecurrence(),
	}, day.Of(u.Now(), zoneOf(ctx)))
	if err != nil {
		return nil, err
	}
	return &remindersv1.CreateReminderResponse{Reminder: reminderMessage(r), ChangeId: changeID}, nil
}

func (h *reminders) CompleteReminder(ctx context.Context, req *remindersv1.CompleteReminderRequest) (*remindersv1.CompleteReminderResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	zone := zoneOf(ctx)
	c := reminder.Completion{ID: req.GetId(), Outcome: reminder.Done, DueOn: req.GetDueOn(), Zone: zone, Today: day.Of(u.Now(), zone)}
	if req.Outcome != nil {
		c.Outcome = req.GetOutcome()
	}
	done, err := reminder.Complete(ctx, u, c)
	if err != nil {
		return nil, err
	}
	return &remindersv1.CompleteReminderResponse{
		Reminder: reminderMessage(done.Reminder), NextDue: optional(done.NextDue), ChangeId: optional(done.ChangeID),
	}, nil
}

func (h *reminders) SetCadence(ctx context.Context, req *remindersv1.SetCadenceRequest) (*remindersv1.SetCadenceResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	zone := zoneOf(ctx)
	p := connection.CadencePatch{ID: req.GetConnectionId(), SnoozeUntil: req.SnoozeUntil, Today: day.Of(u.Now(), zone)}
	if req.Days != nil {
		p.Days = new(int(req.GetDays()))
	}
	written, err := connection.SetCadence(ctx, u, p)
	if err != nil {
		return nil, err
	}
	days, from := written.Connection.Cadence()
	res := &remindersv1.SetCadenceResponse{CadenceDays: int32(days), CadenceFrom: from, ChangeId: optional(written.ChangeID)}
	if due, ok := written.Connection.NextDue(zone); ok {
		res.NextDue = optional(due.Format(time.DateOnly))
	}
	return res, nil
}

func reminderMessage(r *reminder.Reminder) *remindersv1.Reminder {
	return &remindersv1.Reminder{
		Id: r.ID, Text: r.Text, DueOn: r.DueOn, ConnectionId: r.ConnectionID, Recurrence: r.Recurrence,
		State: r.State, Version: r.Version, CreatedAt: timestamp(r.CreatedAt),
	}
}
