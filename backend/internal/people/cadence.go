package people

import (
	"context"
	"reflect"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/uptrace/bun"
)

// Where a keep-in-touch interval comes from.
const (
	CadenceOwn   = "own"
	CadenceGroup = "group"
	CadenceNone  = "none"
)

// Cadence returns the keep-in-touch interval that counts, in days, and where it
// comes from: the person's own, else the shortest of their groups.
func (c *Connection) Cadence() (days int, from string) {
	switch {
	case c.CadenceDays > 0:
		return c.CadenceDays, CadenceOwn
	case c.GroupCadence > 0:
		return c.GroupCadence, CadenceGroup
	default:
		return 0, CadenceNone
	}
}

// GroupCadences returns the shortest interval among the groups of each of the
// connections, by id; those without one are left out.
func GroupCadences(ctx context.Context, q db.Reader, ids []string) (map[string]int, error) {
	var rows []struct {
		ConnectionID string
		CadenceDays  int
	}
	err := q.NewRaw(`SELECT l.connection_id, min(g.cadence_days) AS cadence_days FROM group_connections l
JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id AND g.cadence_days > 0
WHERE l.tenant_id = ? AND l.connection_id IN (?) GROUP BY l.connection_id`, q.TenantID(), bun.List(ids)).Scan(ctx, &rows)
	out := make(map[string]int, len(rows))
	for _, row := range rows {
		out[row.ConnectionID] = row.CadenceDays
	}
	return out, err
}

// LastContact returns the day of the last contact in a zone, and false when none
// is on file.
func (c *Connection) LastContact(zone *time.Location) (time.Time, bool) {
	if c.LastInteractionAt.IsZero() {
		return time.Time{}, false
	}
	return civil.Of(c.LastInteractionAt, zone), true
}

// countedFrom is the day that the interval begins on: that of the last contact,
// or that on which the person was added.
func (c *Connection) countedFrom(zone *time.Location) time.Time {
	if last, ok := c.LastContact(zone); ok {
		return last
	}
	return civil.Of(c.CreatedAt, zone)
}

// NextDue returns the day on which the person falls due for a contact, as seen in
// a zone; false when no interval counts. A snooze that goes on longer puts it off.
func (c *Connection) NextDue(zone *time.Location) (time.Time, bool) {
	days, _ := c.Cadence()
	if days == 0 {
		return time.Time{}, false
	}
	due := c.countedFrom(zone).AddDate(0, 0, days)
	if c.SnoozedUntil.After(due) {
		due = civil.Of(c.SnoozedUntil, time.UTC)
	}
	return due, true
}

// Overdue tells whether one and a half intervals are over on a day.
func (c *Connection) Overdue(today time.Time, zone *time.Location) bool {
	days, _ := c.Cadence()
	return days > 0 && 2*civil.Between(c.countedFrom(zone), today) > 3*days
}

// Snoozed tells whether the person is to be left alone on a day. SnoozedUntil is a
// day itself, the same in every zone.
func (c *Connection) Snoozed(today time.Time) bool { return c.SnoozedUntil.After(today) }

// CadencePatch is what to change of how often a person is contacted; nil fields
// stay as they are.
type CadencePatch struct {
	ID string
	// Days is the person's own interval; 0 takes it away.
	Days *int
	// SnoozeUntil is the day (YYYY-MM-DD) until which they are left alone; empty
	// ends a snooze.
	SnoozeUntil *string
	// Today is the member's.
	Today time.Time
}

// SetCadence changes how often a person is to be contacted. A patch that changes
// nothing writes nothing.
func SetCadence(ctx context.Context, w *db.Tx, p CadencePatch) (Written, error) {
	before, err := live(ctx, w, p.ID)
	if err != nil {
		return Written{}, err
	}
	after := before.clone()
	if p.Days != nil {
		after.CadenceDays = *p.Days
	}
	if p.SnoozeUntil != nil {
		if after.SnoozedUntil, err = snooze(*p.SnoozeUntil, p.Today); err != nil {
			return Written{}, err
		}
	}
	if after.SnoozedUntil.Equal(before.SnoozedUntil) {
		after.SnoozedUntil = before.SnoozedUntil // equal moments may differ in their zones
	}
	if reflect.DeepEqual(before, after) {
		return Written{Connection: before}, nil
	}
	after.Version++
	after.UpdatedAt = w.Now()
	if err := ReplaceConnection(ctx, w, after); err != nil {
		return Written{}, err
	}
	changeID, err := history.Record(ctx, w, history.One("Changed how often to be in touch with "+after.Name, history.Connection, p.ID, before, after))
	return Written{Connection: after, ChangeID: changeID}, err
}

// snooze reads the day of a snooze, which must lie ahead.
func snooze(until string, today time.Time) (time.Time, error) {
	if until == "" {
		return time.Time{}, nil
	}
	on, err := time.Parse(time.DateOnly, until)
	if err != nil {
		return on, fault.InvalidField("snooze_until", "%q is no day of the calendar", until)
	}
	if !on.After(today) {
		return on, fault.InvalidField("snooze_until", "must lie after today, %s; an empty text ends a snooze", today.Format(time.DateOnly))
	}
	return on, nil
}
