package reminders

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// The states of a reminder.
const (
	Open      = "open"
	Done      = "done"
	Dismissed = "dismissed"
)

// Reminder is a text to remind the member of, and its database row. Its days are
// YYYY-MM-DD.
type Reminder struct {
	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk" json:"id"`
	Text     string    `json:"text"`
	DueOn    string    `json:"due_on"`
	// StartsOn is the day from which a recurring reminder counts its periods, so that one
	// created for the 31st returns to the 31st after February.
	StartsOn   string `json:"starts_on"`
	Recurrence string `json:"recurrence"`
	State      string `json:"state"`
	// Version grows by one with each change.
	Version   int32     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	// ConnectionIDs are the people it is about, sorted; none for no person.
	ConnectionIDs []string `bun:"-" json:"connection_ids"`
}

// ReminderConnection is a row of reminder_connections: the reminder is about the person.
type ReminderConnection struct {
	TenantID     tenant.ID `bun:",pk"`
	ConnectionID string    `bun:",pk"`
	ReminderID   string    `bun:",pk"`
}

// maxYears limits how many years from today a reminder may be due.
const maxYears = 100

// Create stores a reminder and returns it with the id of the change. An empty recurrence
// means RecursNever. It fails with fault.Invalid for a day before today.
func Create(ctx context.Context, w *db.Tx, r Reminder, today time.Time) (*Reminder, string, error) {
	var err error
	if r.Text, err = cleanText(r.Text); err != nil {
		return nil, "", err
	}
	if err := checkDue(r.DueOn, today); err != nil {
		return nil, "", err
	}
	if err := people.AllLive(ctx, w, r.ConnectionIDs); err != nil {
		return nil, "", err
	}
	r.ConnectionIDs = slices.Sorted(slices.Values(r.ConnectionIDs))
	if r.Recurrence == "" {
		r.Recurrence = RecursNever
	}
	r.StartsOn, r.State, r.Version, r.CreatedAt, r.UpdatedAt = r.DueOn, Open, 1, w.Now(), w.Now()
	if err := InsertReminder(ctx, w, &r); err != nil {
		return nil, "", err
	}
	changeID, err := history.Record(ctx, w, history.One("Added a reminder: "+r.Text, history.Reminder, r.ID, nil, r))
	return &r, changeID, err
}

// checkDue fails with fault.Invalid unless a reminder may be set for a day.
func checkDue(dueOn string, today time.Time) error {
	due, err := time.Parse(time.DateOnly, dueOn)
	switch {
	case err != nil:
		return fault.InvalidField("due_on", "%s; today is %s", civil.NoDay(dueOn), today.Format(time.DateOnly))
	case dueOn < today.Format(time.DateOnly):
		return fault.InvalidField("due_on", "%s is over; today is %s", dueOn, today.Format(time.DateOnly))
	case due.After(today.AddDate(maxYears, 0, 0)):
		return fault.InvalidField("due_on", "lies more than %d years away; today is %s", maxYears, today.Format(time.DateOnly))
	}
	return nil
}

// How often a reminder recurs.
const (
	RecursNever     = "none"
	RecursWeekly    = "weekly"
	RecursMonthly   = "monthly"
	RecursQuarterly = "quarterly"
	RecursYearly    = "yearly"
)

// Next returns the first day after a given day that is a whole number of periods from
// start. In a month without the day of start, it is the last day. Next returns false for a
// reminder that does not recur.
func Next(start time.Time, recurrence string, after time.Time) (time.Time, bool) {
	months := 0
	switch recurrence {
	case RecursWeekly:
		const week = 7
		periods := max(0, civil.Between(start, after)/week+1)
		if after.Before(start) {
			periods = 0
		}
		return start.AddDate(0, 0, week*periods), true
	case RecursMonthly:
		months = 1
	case RecursQuarterly:
		months = 3
	case RecursYearly:
		months = 12
	default:
		return time.Time{}, false
	}
	// The search begins with the period that contains after, or the one before it.
	passed := (after.Year()-start.Year())*12 + int(after.Month()-start.Month())
	for n := max(0, passed/months-1); ; n++ {
		next := civil.Clamped(start.Year(), start.Month()+time.Month(n*months), start.Day())
		if next.After(after) {
			return next, true
		}
	}
}

// GetReminder returns a reminder, or fault.NotFound.
func GetReminder(ctx context.Context, q db.Reader, reminderID string) (*Reminder, error) {
	r := &Reminder{}
	err := q.From(r).Where("id = ?", reminderID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "there is no reminder %s; list_due returns ids", reminderID)
	}
	if err != nil {
		return nil, err
	}
	all := []Reminder{*r}
	err = Fill(ctx, q, all)
	return &all[0], err
}

// Fill adds the people that reminders are about.
func Fill(ctx context.Context, q db.Reader, all []Reminder) error {
	about, err := people.People(ctx, q, "reminder_connections", "reminder_id", people.IDs(all, func(r Reminder) string { return r.ID }))
	for i := range all {
		all[i].ConnectionIDs = about[all[i].ID]
	}
	return err
}

// InsertReminder inserts a new reminder and sets its id.
func InsertReminder(ctx context.Context, tx *db.Tx, r *Reminder) error {
	r.TenantID = tx.TenantID()
	id.Fill(&r.ID, id.Reminder)
	if _, err := tx.NewInsert().Model(r).Exec(ctx); err != nil {
		return fmt.Errorf("insert reminder: %w", err)
	}
	return link(ctx, tx, r)
}

// link stores the people that a reminder is about.
func link(ctx context.Context, tx *db.Tx, r *Reminder) error {
	links := make([]ReminderConnection, len(r.ConnectionIDs))
	for i, c := range r.ConnectionIDs {
		links[i] = ReminderConnection{TenantID: tx.TenantID(), ConnectionID: c, ReminderID: r.ID}
	}
	return tx.InsertAll(ctx, &links, len(links))
}

// ReplaceReminder stores r in place of the version before it. It fails with fault.Conflict
// when that version is no longer the stored one.
func ReplaceReminder(ctx context.Context, tx *db.Tx, r *Reminder) error {
	r.TenantID = tx.TenantID()
	if err := tx.Replace(ctx, r, r.ID, r.Version); err != nil {
		return err
	}
	if err := tx.Delete(ctx, (*ReminderConnection)(nil), "reminder_id = ?", r.ID); err != nil {
		return err
	}
	return link(ctx, tx, r)
}

// Patch says what to change of reminders. Empty fields leave their value unchanged.
type Patch struct {
	IDs                     []string
	Text, DueOn, Recurrence string
	// ShiftDays moves the due day of each; it is 0 if DueOn is set.
	ShiftDays int
	// ConnectionIDs replace the people.
	ConnectionIDs []string
}

// Update changes open reminders as one change and returns them with the id of the change. A patch
// that changes nothing writes nothing, and its id is empty. Update fails with fault.NotFound when a
// reminder or person does not exist, with fault.Conflict when a reminder is not open, and with
// fault.Invalid for a new day before today.
func Update(ctx context.Context, w *db.Tx, p Patch, today time.Time) ([]Reminder, string, error) {
	if err := people.AllLive(ctx, w, p.ConnectionIDs); err != nil {
		return nil, "", err
	}
	var out []Reminder
	draft := history.Draft{}
	for _, reminderID := range p.IDs {
		before, err := GetReminder(ctx, w, reminderID)
		if err != nil {
			return nil, "", err
		}
		after, err := p.apply(before, today)
		if err != nil {
			return nil, "", err
		}
		if !reflect.DeepEqual(after, before) {
			after.Version++
			after.UpdatedAt = w.Now()
			if err := ReplaceReminder(ctx, w, after); err != nil {
				return nil, "", err
			}
			draft.Summary = "Changed a reminder: " + after.Text
			draft.Effects = append(draft.Effects, history.EffectDraft{Kind: history.Reminder, ID: after.ID, Before: before, After: after})
		}
		out = append(out, *after)
	}
	if len(draft.Effects) == 0 {
		return out, "", nil
	}
	if changed := len(draft.Effects); changed > 1 {
		draft.Summary = fmt.Sprintf("Changed %d reminders", changed)
	}
	changeID, err := history.Record(ctx, w, draft)
	return out, changeID, err
}

// apply returns the changed reminder.
func (p Patch) apply(before *Reminder, today time.Time) (*Reminder, error) {
	if before.State != Open {
		return nil, fault.New(fault.Conflict, "%s is %s: undo that first, or create another", before.ID, before.State)
	}
	after := *before
	var err error
	if p.Text != "" {
		if after.Text, err = cleanText(p.Text); err != nil {
			return nil, err
		}
	}
	if len(p.ConnectionIDs) > 0 {
		after.ConnectionIDs = slices.Sorted(slices.Values(p.ConnectionIDs))
	}
	return &after, p.move(&after, today)
}

// move sets the due day and the recurrence of a reminder. When the recurrence changes, the
// periods count from the due day.
func (p Patch) move(r *Reminder, today time.Time) error {
	dueOn := cmp.Or(p.DueOn, r.DueOn)
	if p.ShiftDays != 0 {
		due, _, err := r.days()
		if err != nil {
			return err
		}
		dueOn = due.AddDate(0, 0, p.ShiftDays).Format(time.DateOnly)
	}
	if dueOn != r.DueOn {
		if err := checkDue(dueOn, today); err != nil && p.ShiftDays != 0 {
			return fault.InvalidField("shift_days", "moves %s to %s; its due_on must be today or later, at most %d years ahead; today is %s",
				r.ID, dueOn, maxYears, today.Format(time.DateOnly))
		} else if err != nil {
			return err
		}
		r.DueOn, r.StartsOn = dueOn, dueOn
	}
	if recurrence := cmp.Or(p.Recurrence, r.Recurrence); recurrence != r.Recurrence {
		r.Recurrence, r.StartsOn = recurrence, r.DueOn
	}
	return nil
}

// cleanText returns a reminder's text in its stored form, or fault.Invalid.
func cleanText(typed string) (string, error) {
	cleaned := text.Line(typed)
	if !text.Visible(cleaned) {
		return "", fault.InvalidField("text", "must hold at least one visible character")
	}
	return cleaned, nil
}

// Completion says which reminder to end, and how.
type Completion struct {
	ID string
	// Outcome is Done or Dismissed.
	Outcome string
	// DueOn is the reminder's day as the caller read it; empty when unknown.
	DueOn string
	// Today is the current day for the member, in the time zone Zone.
	Today time.Time
	Zone  *time.Location
}

// Completed is the result of Complete.
type Completed struct {
	Reminder *Reminder
	// NextDue is the next day of a recurring reminder; empty for others.
	NextDue string
	// ChangeID is empty when nothing was written.
	ChangeID string
}

// Complete ends a reminder. A recurring reminder that is done moves to its next day after
// today instead; a recurring reminder that is dismissed ends.
//
// Repeating the call changes nothing more: a reminder that has ended in the same way stays
// unchanged, and one that has ended in the other way is fault.Conflict. A
// recurring one moves only from the day DueOn or, without DueOn, only once on one day of
// the member.
func Complete(ctx context.Context, w *db.Tx, c Completion) (Completed, error) {
	r, err := GetReminder(ctx, w, c.ID)
	if err != nil {
		return Completed{}, err
	}
	due, start, err := r.days()
	if err != nil {
		return Completed{}, err
	}
	again, err := c.again(r, due)
	if err != nil {
		return Completed{}, err
	}
	after := *r
	switch {
	case again:
		return Completed{Reminder: r, NextDue: r.nextDue()}, nil
	case c.moves(r):
		next, _ := Next(start, r.Recurrence, later(c.Today, due))
		after.DueOn = next.Format(time.DateOnly)
	default:
		after.State = c.Outcome
	}
	after.Version++
	after.UpdatedAt = w.Now()
	if err := ReplaceReminder(ctx, w, &after); err != nil {
		return Completed{}, err
	}
	changeID, err := history.Record(ctx, w, history.One(c.summary(&after), history.Reminder, r.ID, r, after))
	return Completed{Reminder: &after, NextDue: after.nextDue(), ChangeID: changeID}, err
}

// again reports whether the completion was made before. It fails with fault.Conflict when
// the reminder has changed since the caller read it.
func (c Completion) again(r *Reminder, due time.Time) (bool, error) {
	switch {
	case r.State != Open && r.State != c.Outcome:
		return false, fault.New(fault.Conflict, "%s is %s, so it cannot be %s: undo that first, or create another", r.ID, r.State, c.Outcome)
	case r.State != Open:
		return true, nil
	case c.DueOn != "" && c.DueOn == r.DueOn:
		return false, nil
	case c.DueOn != "":
		read, err := time.Parse(time.DateOnly, c.DueOn)
		if err != nil {
			return false, fault.InvalidField("due_on", "%s", civil.NoDay(c.DueOn))
		}
		if c.moves(r) && due.After(read) {
			return true, nil
		}
		return false, fault.New(fault.Conflict, "%s is due on %s, not on %s: read it again before you change it", r.ID, r.DueOn, c.DueOn)
	default:
		// Update restarts the periods, so that a moved reminder does not look completed.
		movedToday := r.Version > 1 && r.DueOn != r.StartsOn && civil.Of(r.UpdatedAt, c.Zone).Equal(c.Today)
		return c.moves(r) && movedToday && due.After(c.Today), nil
	}
}

// moves reports whether the completion moves the reminder to another day instead of ending
// it.
func (c Completion) moves(r *Reminder) bool { return r.Recurrence != RecursNever && c.Outcome == Done }

func (c Completion) summary(r *Reminder) string {
	verb := "Done: "
	if c.Outcome == Dismissed {
		verb = "Dismissed: "
	}
	return verb + r.Text
}

// nextDue returns the day of an open recurring reminder, and empty for others.
func (r *Reminder) nextDue() string {
	if r.Recurrence == RecursNever || r.State != Open {
		return ""
	}
	return r.DueOn
}

// days parses the days of a stored reminder.
func (r *Reminder) days() (due, start time.Time, err error) {
	if due, err = time.Parse(time.DateOnly, r.DueOn); err != nil {
		return due, start, fmt.Errorf("reminder %s: %w", r.ID, err)
	}
	if start, err = time.Parse(time.DateOnly, r.StartsOn); err != nil {
		return due, start, fmt.Errorf("reminder %s: %w", r.ID, err)
	}
	return due, start, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// putReminder sets a reminder to a state; nil removes it.
func putReminder(ctx context.Context, tx *db.Tx, id string, to json.RawMessage) error {
	var wanted *Reminder
	if err := json.Unmarshal(to, &wanted); err != nil {
		return fmt.Errorf("read recorded reminder: %w", err)
	}
	if wanted == nil {
		return tx.Delete(ctx, (*Reminder)(nil), "id = ?", id)
	}
	if err := people.NeedConnections(ctx, tx, wanted.ConnectionIDs...); err != nil {
		return err
	}
	wanted.ID = id
	present, err := GetReminder(ctx, tx, id)
	if fault.Is(err, fault.NotFound) {
		wanted.Version++
		return InsertReminder(ctx, tx, wanted)
	}
	if err != nil {
		return err
	}
	wanted.Version = present.Version + 1
	return ReplaceReminder(ctx, tx, wanted)
}

// RestoreReminder returns the restorer of reminders.
func RestoreReminder(tx *db.Tx) history.Restorer {
	return history.Single{
		Get: func(ctx context.Context, id string) (any, error) {
			r, err := GetReminder(ctx, tx, id)
			if fault.Is(err, fault.NotFound) {
				return nil, nil
			}
			return r, err
		},
		Put: func(ctx context.Context, id string, to json.RawMessage) error { return putReminder(ctx, tx, id, to) },
	}
}
