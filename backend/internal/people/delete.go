package people

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/wordindex"
	"github.com/uptrace/bun"
)

// Removal is what DeleteConnections did.
type Removal struct {
	Effects []history.EffectDraft
	// Notes and Interactions are how many of these were deleted too.
	Notes, Interactions int
}

// Deleted is what Delete did.
type Deleted struct {
	// Deleted is false when the person did not exist.
	Deleted             bool
	Notes, Interactions int
	ChangeID            string
	// FinalAt is the time until which the deletion can be undone.
	FinalAt time.Time
}

// Delete moves a person, archived or not, into the bin. The person no longer appears
// anywhere; undoing the change restores them, within change.KeepDeleted. confirm must be
// their stored name; differences in white space are ignored.
func Delete(ctx context.Context, w *db.Tx, kinds history.Kinds, id, confirm string) (Deleted, error) {
	c, err := GetConnection(ctx, w, id)
	if fault.Is(err, fault.NotFound) {
		return Deleted{}, nil
	}
	if err != nil {
		return Deleted{}, err
	}
	if text.Line(confirm) != text.Line(c.Name) {
		return Deleted{}, fault.InvalidField("confirm_name", "is not the full name of %s, which get_connection returns; nothing was deleted", id)
	}
	gone, err := DeleteConnections(ctx, w, kinds, id)
	if err != nil {
		return Deleted{}, err
	}
	out := Deleted{Deleted: true, Notes: gone.Notes, Interactions: gone.Interactions, FinalAt: w.Now().Add(history.KeepDeleted)}
	draft := history.Draft{Summary: "Deleted " + c.Name, Effects: gone.Effects, FinalAt: out.FinalAt}
	out.ChangeID, err = history.Record(ctx, w, draft)
	return out, err
}

// DeleteAll moves people, archived or not, into the bin as one change. It fails with
// fault.NotFound, naming the id, when one of them does not exist; then no one is deleted.
// With dryRun it writes nothing and only reports who would be deleted.
func DeleteAll(ctx context.Context, w *db.Tx, kinds history.Kinds, ids []string, dryRun bool) (Acted, error) {
	people, err := ListConnections(ctx, w, ids)
	if err != nil || len(people) == 0 || dryRun {
		return Acted{Changed: people}, err
	}
	gone, err := DeleteConnections(ctx, w, kinds, IDs(people, idOf)...)
	if err != nil {
		return Acted{}, err
	}
	out := Acted{Changed: people}
	draft := history.Draft{Summary: "Deleted " + namesOf(people), Effects: gone.Effects, FinalAt: w.Now().Add(history.KeepDeleted)}
	out.ChangeID, err = history.Record(ctx, w, draft)
	return out, err
}

// DeleteConnections removes connections, and those merged into them, with their lists,
// dates and relationships. It also removes the notes, interactions and reminders that are
// about no other person. It returns every effect, so that the deletion can be undone:
// first the effects that need the people to exist, last the people. An undo runs in
// reverse order.
func DeleteConnections(ctx context.Context, tx *db.Tx, kinds history.Kinds, ids ...string) (Removal, error) {
	ids, err := withMerged(ctx, tx, ids)
	if err != nil {
		return Removal{}, err
	}
	var effects []history.EffectDraft
	for _, kind := range []string{history.Note, history.Interaction, history.Reminder, history.Relationship, history.DistinctPair, history.Membership, history.Connection} {
		done, err := recordRemovals(ctx, tx, kinds[kind](tx), kind, ids)
		if err != nil {
			return Removal{}, fmt.Errorf("record deletion: %w", err)
		}
		effects = append(effects, done...)
	}
	sum, err := RemoveRows(ctx, tx, ids)
	return Removal{Effects: effects, Notes: int(sum.Notes), Interactions: int(sum.Interactions)}, err
}

// removals select, in order, the objects of each kind that are deleted with people.
var removals = map[string]string{ //nolint:gochecknoglobals // a constant
	history.Note:         "SELECT DISTINCT note_id FROM note_connections WHERE tenant_id = ? AND connection_id IN (?) ORDER BY note_id",
	history.Interaction:  "SELECT DISTINCT interaction_id FROM interaction_connections WHERE tenant_id = ? AND connection_id IN (?) ORDER BY interaction_id",
	history.Reminder:     "SELECT DISTINCT reminder_id FROM reminder_connections WHERE tenant_id = ? AND connection_id IN (?) ORDER BY reminder_id",
	history.Relationship: "SELECT id FROM relationships WHERE tenant_id = ? AND (from_id IN (?) OR to_id IN (?)) ORDER BY id",
	history.DistinctPair: "SELECT id FROM distinct_pairs WHERE tenant_id = ? AND (first_id IN (?) OR second_id IN (?)) ORDER BY id",
}

// recordRemovals records what happens to the objects of one kind when people are deleted.
func recordRemovals(ctx context.Context, tx *db.Tx, r history.Restorer, kind string, peopleFound []string) ([]history.EffectDraft, error) {
	ids := slices.Clone(peopleFound)
	slices.Reverse(ids) // merged people come first: an undo restores the person that they were merged into before them
	if query, linked := removals[kind]; linked {
		args := []any{tx.TenantID(), bun.List(peopleFound), bun.List(peopleFound)}
		if err := tx.NewRaw(query, args[:strings.Count(query, "?")]...).Scan(ctx, &ids); err != nil {
			return nil, err
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	whole, err := r.Current(ctx, ids)
	if err != nil {
		return nil, err
	}
	var about map[string][]string
	switch kind {
	case history.Note:
		about, err = People(ctx, tx, "note_connections", "note_id", ids)
	case history.Interaction:
		about, err = People(ctx, tx, "interaction_connections", "interaction_id", ids)
	case history.Reminder:
		about, err = People(ctx, tx, "reminder_connections", "reminder_id", ids)
	}
	removed := setOf(peopleFound)
	var touches []history.EffectDraft
	for _, id := range ids {
		switch object, there := whole[id]; {
		case !there:
		case about != nil:
			touches = append(touches, withdrawal(kind, id, object, about[id], removed))
		case kind == history.Membership:
			if in := object.(Groups); len(in.Groups) > 0 { //nolint:forcetypeassert // its restorer is beside it
				touches = append(touches, history.EffectDraft{Kind: kind, ID: id, Before: in, After: Groups{Groups: []string{}}})
			}
		default:
			touches = append(touches, history.EffectDraft{Kind: kind, ID: id, Before: object})
		}
	}
	return touches, err
}

// withMerged returns connections and those merged into them, those merged into these, and so
// on. Each one comes after the one that it was merged into.
func withMerged(ctx context.Context, q db.Reader, ids []string) ([]string, error) {
	all := slices.Clone(ids)
	for next, depth := ids, 0; len(next) > 0 && depth <= len(all); depth++ { // a chain of merges is never longer
		var found []string
		err := q.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND merged_into IN (?) ORDER BY id", q.TenantID(), bun.List(next)).Scan(ctx, &found)
		if err != nil {
			return nil, err
		}
		later := setOf(found)
		all = append(slices.DeleteFunc(all, func(id string) bool { return later[id] }), found...)
		next = found
	}
	return all, nil
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// withdrawal is what happens to an entry when people are removed from it: the entry is
// deleted unless it is about other people too.
func withdrawal(kind, id string, whole any, ids []string, removed map[string]bool) history.EffectDraft {
	left := slices.DeleteFunc(slices.Clone(ids), func(one string) bool { return removed[one] })
	if len(left) == 0 {
		return history.EffectDraft{Kind: kind, ID: id, Before: whole}
	}
	return history.EffectDraft{Kind: kind, ID: id, Before: about{ids}, After: about{left}}
}

// Removed is how many rows were deleted.
type Removed struct{ Connections, Notes, Interactions int64 }

// RemoveRows deletes people with everything that is about no other person, and counts it.
func RemoveRows(ctx context.Context, tx *db.Tx, ids []string) (sum Removed, err error) {
	tx.MarkRemoved(ids...)
	if err := wordindex.MarkOf(ctx, tx, ids...); err != nil {
		return sum, err
	}
	owner := tx.TenantID()
	entries := func(table, links, column string) (string, []any) {
		return `DELETE FROM ` + table + ` WHERE tenant_id = ?
AND id IN (SELECT ` + column + ` FROM ` + links + ` WHERE tenant_id = ? AND connection_id IN (?))
AND NOT EXISTS (SELECT 1 FROM ` + links + ` l WHERE l.tenant_id = ` + table + `.tenant_id AND l.` + column + ` = ` + table + `.id
AND l.connection_id NOT IN (?))`, []any{owner, owner, bun.List(ids), bun.List(ids)}
	}
	notes, notesArgs := entries("notes", "note_connections", "note_id")
	met, metArgs := entries("interactions", "interaction_connections", "interaction_id")
	due, dueArgs := entries("reminders", "reminder_connections", "reminder_id")
	for _, step := range []struct {
		count     *int64
		statement string
		args      []any
	}{
		{&sum.Notes, notes, notesArgs},
		{&sum.Interactions, met, metArgs},
		{new(int64), due, dueArgs},
		{&sum.Connections, "DELETE FROM connections WHERE tenant_id = ? AND id IN (?)", []any{owner, bun.List(ids)}},
	} {
		result, err := tx.NewRaw(step.statement, step.args...).Exec(ctx)
		if err != nil {
			return sum, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return sum, err
		}
		*step.count += n
	}
	return sum, nil
}
