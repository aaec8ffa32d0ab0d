package people

import (
	"context"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people/cadence"
	"github.com/uptrace/bun"
)

// Acted is what a write to several people changed or, with a dry run, would change.
type Acted struct {
	// Changed are the people who changed, without their lists.
	Changed   []Connection
	Unchanged int
	// ChangeID is empty when nothing was written.
	ChangeID string
}

// archiveState is the part of a connection's state that archiving changes.
type archiveState struct {
	ArchivedAt time.Time `json:"archived_at"`
}

// Archive archives people, or restores them. People who are already in that state stay
// unchanged. With dryRun it writes nothing and only reports who would change.
func Archive(ctx context.Context, w *db.Tx, ids []string, away, dryRun bool) (Acted, error) {
	people, err := ListConnections(ctx, w, ids)
	if err != nil {
		return Acted{}, err
	}
	var at time.Time
	if away {
		at = w.Now()
	}
	var moved []Connection
	var effects []history.EffectDraft
	for _, c := range people {
		if c.ArchivedAt.IsZero() != away {
			continue
		}
		if c.MergedInto != "" {
			return Acted{}, fault.New(fault.Conflict, "%s was merged into %s: undo that merge to have both again", c.ID, c.MergedInto)
		}
		moved = append(moved, c)
		effects = append(effects, history.EffectDraft{Kind: history.Connection, ID: c.ID, Before: archiveState{c.ArchivedAt}, After: archiveState{at}})
	}
	out := Acted{Changed: moved, Unchanged: len(people) - len(moved)}
	if len(moved) == 0 || dryRun {
		return out, nil
	}
	if err := SetArchived(ctx, w, IDs(moved, idOf), at); err != nil {
		return Acted{}, err
	}
	verb := "Brought back "
	if away {
		verb = "Archived "
	}
	out.ChangeID, err = history.Record(ctx, w, history.Draft{Summary: verb + namesOf(moved), Effects: effects})
	return out, err
}

func idOf(c Connection) string { return c.ID }

// namesOf is namesIn for the names of people.
func namesOf(people []Connection) string {
	return namesIn(IDs(people, func(c Connection) string { return c.Name }))
}

// namesIn lists people in a line: one name, two names, or the first name and the number of
// others.
func namesIn(names []string) string {
	switch len(names) {
	case 1:
		return names[0]
	case 2:
		return names[0] + " and " + names[1]
	default:
		return fmt.Sprintf("%s and %d others", names[0], len(names)-1)
	}
}

// ListConnections returns the connections with the ids, archived ones too, without their
// lists, in the order of their names. It fails with fault.NotFound, naming the id, when one does not exist.
func ListConnections(ctx context.Context, tx *db.Tx, ids []string) ([]Connection, error) {
	var rows []Connection
	if err := tx.From(&rows).Where("id IN (?)", bun.List(ids)).Order("folded_name", "id").Scan(ctx); err != nil {
		return nil, err
	}
	return rows, allExist(ctx, tx, rows, ids)
}

// allExist fails as NoConnection does when one of the ids is not among the rows.
func allExist(ctx context.Context, q db.Reader, rows []Connection, ids []string) error {
	held := make(map[string]bool, len(rows))
	for _, c := range rows {
		held[c.ID] = true
	}
	for _, wanted := range ids {
		if !held[wanted] {
			return NoConnection(ctx, q, wanted)
		}
	}
	return nil
}

// setCadences stores the interval and the snooze of connections and increments their
// versions.
func setCadences(ctx context.Context, tx *db.Tx, ids []string, c rhythm) error {
	tx.MarkDirty(ids...)
	_, err := tx.NewRaw("UPDATE connections SET cadence_days = ?, snoozed_until = ?, version = version + 1, updated_at = ? WHERE tenant_id = ? AND id IN (?)",
		c.CadenceDays, bun.NullTime{Time: c.SnoozedUntil}, tx.Now(), tx.TenantID(), bun.List(ids)).Exec(ctx)
	return err
}

// SetArchived archives connections at the given time, or restores them when the time is
// zero. It increments their versions.
func SetArchived(ctx context.Context, tx *db.Tx, ids []string, at time.Time) error {
	tx.MarkDirty(ids...)
	_, err := tx.NewRaw("UPDATE connections SET archived_at = ?, version = version + 1, updated_at = ? WHERE tenant_id = ? AND id IN (?)",
		bun.NullTime{Time: at}, tx.Now(), tx.TenantID(), bun.List(ids)).Exec(ctx)
	return err
}

// Cadence is how often the member wants to be in touch with the person.
func (c *Connection) Cadence() cadence.Cadence {
	if c.DeceasedOn != "" {
		return cadence.Cadence{LastContactAt: c.LastInteractionAt, CreatedAt: c.CreatedAt}
	}
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
	// Days is the people's own interval in days; 0 removes it, cadence.Never ends reminders of them.
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
