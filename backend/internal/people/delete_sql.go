package people

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/uptrace/bun"
)

// DeleteConnections removes connections, and those merged into them, with their lists,
// dates, reminders and relationships. It also removes the notes and interactions that are
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
	history.Reminder:     "SELECT id FROM reminders WHERE tenant_id = ? AND connection_id IN (?) ORDER BY id",
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
