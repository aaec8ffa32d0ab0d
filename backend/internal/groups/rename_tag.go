package groups

import (
	"context"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// RenameTag replaces a tag by another one for everyone who has it, archived people too. If people
// already have the other one, the two tags are merged; an undo separates them again. With dryRun it
// only returns who would change. It fails with fault.Invalid when no one has the tag, or when the
// two are the same but for case and accents.
func RenameTag(ctx context.Context, tx *db.Tx, from, to string, dryRun bool) (people.Acted, error) {
	cleaned, err := cleanTags("to", []string{to})
	if err != nil {
		return people.Acted{}, err
	}
	to = cleaned[0]
	if text.Fold(from) == text.Fold(to) {
		return people.Acted{}, fault.InvalidField("to", "is the same tag: case and accents do not count")
	}
	rename := step{removeTags: []string{from}, addTags: []string{to}}
	return replaceTag(ctx, tx, rename, dryRun, fmt.Sprintf("Renamed the tag %s to %s", from, to))
}

// replaceTag applies a step to everyone who has the tag that it removes.
func replaceTag(ctx context.Context, tx *db.Tx, replace step, dryRun bool, summary string) (people.Acted, error) {
	from := replace.removeTags[0]
	ids, err := tagged(ctx, tx, from)
	if err != nil {
		return people.Acted{}, err
	}
	if len(ids) == 0 {
		return people.Acted{}, unknownTag(ctx, tx, from)
	}
	err = history.CheckEffects(len(ids), "give the new tag to fewer at a time, with update_membership and the selection of a narrower search")
	if err != nil {
		return people.Acted{}, err
	}
	persons, err := people.ListConnections(ctx, tx, ids)
	if err != nil {
		return people.Acted{}, err
	}
	before, err := memberships(ctx, tx, ids)
	if err != nil {
		return people.Acted{}, err
	}
	return replace.act(ctx, tx, persons, before, dryRun, func(int) string { return summary })
}

// tagged returns the ids of the people who have a tag, in order.
func tagged(ctx context.Context, tx *db.Tx, tag string) ([]string, error) {
	var ids []string
	err := tx.NewRaw(`SELECT l.connection_id FROM connection_tags l JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id
WHERE l.tenant_id = ? AND t.folded_name = ? ORDER BY l.connection_id`, tx.TenantID(), text.Fold(text.Clean(tag))).Scan(ctx, &ids)
	return ids, err
}

// unknownTag says that no one has a tag, and which are nearest.
func unknownTag(ctx context.Context, tx *db.Tx, tag string) error {
	tags, err := ListTags(ctx, tx, MaxTags)
	if err != nil {
		return err
	}
	names := people.IDs(tags, func(t Tag) string { return t.Name })
	return fault.InvalidField("from", "nobody has the tag %q%s", tag, text.Nearest(ctx, names, tag))
}
