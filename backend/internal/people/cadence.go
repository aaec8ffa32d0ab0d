package people

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people/cadence"
	"github.com/uptrace/bun"
)

// Cadence is how often the member wants to be in touch with the person.
func (c *Connection) Cadence() cadence.Cadence {
	return cadence.Cadence{
		OwnDays: c.CadenceDays, GroupDays: c.GroupCadence, SnoozedUntil: c.SnoozedUntil,
		LastContactAt: c.LastInteractionAt, CreatedAt: c.CreatedAt,
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

// LastContact returns the day of the last contact in a time zone, and false when no
// contact is stored.
func (c *Connection) LastContact(zone *time.Location) (time.Time, bool) {
	if c.LastInteractionAt.IsZero() {
		return time.Time{}, false
	}
	return civil.Of(c.LastInteractionAt, zone), true
}

// CadencePatch says what to change of the keep-in-touch settings of people. Nil fields
// leave their value unchanged.
type CadencePatch struct {
	IDs []string
	// Days is the people's own interval in days; 0 removes it.
	Days *int
	// SnoozeUntil is the day (YYYY-MM-DD) until which the people are snoozed; empty ends
	// the snooze.
	SnoozeUntil *string
	// Today is the current day for the member.
	Today time.Time
	// DryRun writes nothing and only reports who would change.
	DryRun bool
}

// rhythm is the part of a connection's state that SetCadence changes.
type rhythm struct {
	CadenceDays  int       `json:"cadence_days"`
	SnoozedUntil time.Time `json:"snoozed_until"`
}

// SetCadence changes the keep-in-touch settings of people. People who already have these
// settings stay unchanged.
func SetCadence(ctx context.Context, w *db.Tx, p CadencePatch) (Acted, error) {
	people, err := ListConnections(ctx, w, p.IDs)
	if err != nil {
		return Acted{}, err
	}
	var snoozed time.Time
	if p.SnoozeUntil != nil {
		if snoozed, err = snooze(*p.SnoozeUntil, p.Today); err != nil {
			return Acted{}, err
		}
	}
	out := Acted{}
	var effects []history.EffectDraft
	changes := map[rhythm][]string{}
	for _, c := range people {
		if err := c.checkLive(ctx, w); err != nil {
			return Acted{}, err
		}
		before := rhythm{c.CadenceDays, c.SnoozedUntil}
		after := before
		if p.Days != nil {
			after.CadenceDays = *p.Days
		}
		if p.SnoozeUntil != nil && !snoozed.Equal(before.SnoozedUntil) {
			after.SnoozedUntil = snoozed
		}
		if after == before {
			out.Unchanged++
			continue
		}
		c.CadenceDays, c.SnoozedUntil = after.CadenceDays, after.SnoozedUntil
		out.Changed = append(out.Changed, c)
		changes[after] = append(changes[after], c.ID)
		effects = append(effects, history.EffectDraft{Kind: history.Connection, ID: c.ID, Before: before, After: after})
	}
	if len(effects) == 0 || p.DryRun {
		return out, nil
	}
	for after, ids := range changes {
		if err := setCadences(ctx, w, ids, after); err != nil {
			return Acted{}, err
		}
	}
	out.ChangeID, err = history.Record(ctx, w, history.Draft{Summary: "Set the keep-in-touch interval of " + namesOf(out.Changed), Effects: effects})
	return out, err
}

// snooze parses the day of a snooze, which must be after today.
func snooze(until string, today time.Time) (time.Time, error) {
	if until == "" {
		return time.Time{}, nil
	}
	on, err := time.Parse(time.DateOnly, until)
	if err != nil {
		return on, fault.InvalidField("snooze_until", "%s; today is %s", civil.NoDay(until), today.Format(time.DateOnly))
	}
	if !on.After(today) {
		return on, fault.InvalidField("snooze_until", "must lie after today, %s; an empty text ends a snooze", today.Format(time.DateOnly))
	}
	return on, nil
}
