package groups

import (
	"context"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
)

// Delete deletes a group and returns the change. Its people stay; archived ones leave it too.
// An undo brings it back with its people. It fails with fault.NotFound for a group that does
// not exist.
func Delete(ctx context.Context, tx *db.Tx, groupID string) (changeID string, err error) {
	g, err := GetGroup(ctx, tx, groupID)
	if err != nil {
		return "", err
	}
	return dissolve(ctx, tx, g, nil, "Deleted the group "+g.Name)
}

// Merge moves all people of a group to another one, archived people too, deletes the first, and
// returns the change. An undo separates the two again. The second keeps its name and its interval.
// It fails with fault.NotFound for a group that does not exist, and with fault.Invalid when the two
// are the same.
func Merge(ctx context.Context, tx *db.Tx, from, into string) (changeID string, err error) {
	if from == into {
		return "", fault.InvalidField("into", "is the same group")
	}
	g, err := GetGroup(ctx, tx, from)
	if err != nil {
		return "", err
	}
	other, err := GetGroup(ctx, tx, into)
	if err != nil {
		return "", err
	}
	return dissolve(ctx, tx, g, []string{other.ID}, fmt.Sprintf("Merged the group %s into %s", g.Name, other.Name))
}

// dissolve deletes a group whose people move to others.
func dissolve(ctx context.Context, tx *db.Tx, g *Group, others []string, summary string) (string, error) {
	var ids []string
	err := tx.NewRaw("SELECT connection_id FROM group_connections WHERE tenant_id = ? AND group_id = ? ORDER BY connection_id", tx.TenantID(), g.ID).Scan(ctx, &ids)
	if err != nil {
		return "", err
	}
	err = history.CheckEffects(len(ids)+1, "take some people out of the group first, with update_membership and the selection of a narrower search")
	if err != nil {
		return "", err
	}
	var effects []history.EffectDraft
	if len(ids) > 0 {
		before, err := memberships(ctx, tx, ids)
		if err != nil {
			return "", err
		}
		move, after := step{removeGroups: []string{g.ID}, addGroups: others}, make([]Membership, len(before))
		for i, m := range before {
			after[i] = move.apply(m)
		}
		if err := ReplaceMemberships(ctx, tx, after, nil); err != nil {
			return "", err
		}
		effects = effectsOf(before, after)
	}
	if err := DeleteGroup(ctx, tx, g.ID); err != nil {
		return "", err
	}
	// An undo begins with the last effect: people can return to the group once it exists.
	effects = append(effects, history.EffectDraft{Kind: history.Group, ID: g.ID, Before: g})
	return history.Record(ctx, tx, history.Draft{Summary: summary, Effects: effects})
}

// RemoveTag takes a tag off everyone who has it, archived people too. It fails with
// fault.Invalid when no one has it.
func RemoveTag(ctx context.Context, tx *db.Tx, tag string) (people.Acted, error) {
	return replaceTag(ctx, tx, step{removeTags: []string{tag}}, false, "Removed the tag "+tag)
}
