package history

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/uptrace/bun"
)

// ListChanges returns changes, the latest first.
func ListChanges(ctx context.Context, q db.Reader, query Query) ([]Change, error) {
	var rows []Change
	wanted := q.From(&rows).Order("id DESC").Limit(int64(query.Limit))
	if len(query.ObjectIDs) > 0 {
		wanted = wanted.Where("id IN (SELECT change_id FROM change_objects WHERE tenant_id = ? AND object_id IN (?) AND kind <> ?)",
			q.TenantID(), bun.List(query.ObjectIDs), kindAbout)
	}
	if query.ConnectionID != "" {
		wanted = wanted.Where("id IN (SELECT change_id FROM change_objects WHERE tenant_id = ? AND object_id = ?)", q.TenantID(), query.ConnectionID)
	}
	if query.CredentialID != "" {
		wanted = wanted.Where("credential_id = ?", query.CredentialID)
	}
	if query.Tool != "" {
		wanted = wanted.Where("tool = ?", query.Tool)
	}
	if query.Agent != "" {
		wanted = wanted.Where("(credential_id = ? OR lower(credential_name) = lower(?) OR ? AND credential_id = '' AND credential_name = '')",
			query.Agent, query.Agent, query.ByMember)
	}
	if len(query.IDs) > 0 {
		wanted = wanted.Where("id IN (?)", bun.List(query.IDs))
	}
	if query.InBin {
		wanted = wanted.Where(inBin)
	}
	if query.InForce {
		wanted = wanted.Where("undone_by IS NULL AND NOT final")
	}
	if query.ByAgents {
		wanted = wanted.Where("(credential_id <> '' OR credential_name <> '')")
	}
	if query.Lines {
		wanted = wanted.ExcludeColumn("effects")
	}
	err := query.within(wanted).Scan(ctx)
	return rows, err
}

// CountByCredential returns how many changes each credential made since a time.
func CountByCredential(ctx context.Context, q db.Reader, since time.Time) (map[string]int, error) {
	var rows []struct {
		CredentialID string
		Changes      int
	}
	err := Query{Since: since}.within(q.From((*Change)(nil))).Column("credential_id").ColumnExpr("count(*) AS changes").
		Where("credential_id <> ''").Group("credential_id").Scan(ctx, &rows)
	counts := map[string]int{}
	for _, r := range rows {
		counts[r.CredentialID] = r.Changes
	}
	return counts, err
}

// ListPage returns a page of changes, the latest first, and the Query.Before of the next page;
// empty if there is none. A page of a filtered list may be short, because it examines at most
// maxScanned changes: the next page continues from there.
func ListPage(ctx context.Context, q db.Reader, query Query) (changes []Change, last string, err error) {
	if query.Last, err = scanEnd(ctx, q, query); err != nil {
		return nil, "", err
	}
	size := query.Limit
	query.Limit++ // one more shows whether there is a next page
	if changes, err = ListChanges(ctx, q, query); err != nil || len(changes) <= size {
		return changes, query.Last, err
	}
	return changes[:size], changes[size-1].ID, nil
}

// within limits a statement to the ids and the times of a query.
func (query Query) within(wanted *bun.SelectQuery) *bun.SelectQuery {
	if query.Before != "" {
		wanted = wanted.Where("id < ?", query.Before)
	}
	if query.Last != "" {
		wanted = wanted.Where("id >= ?", query.Last)
	}
	// Ids begin with the time, so they keep the statement to a part of the primary key. The
	// clocks of two processes differ by less than a day.
	if !query.Since.IsZero() {
		wanted = wanted.Where("id >= ?", id.First(id.Change, query.Since.Add(-skew))).Where("created_at >= ?", query.Since)
	}
	if !query.Until.IsZero() {
		wanted = wanted.Where("id < ?", id.First(id.Change, query.Until.Add(skew))).Where("created_at < ?", query.Until)
	}
	return wanted
}

const skew = 24 * time.Hour

// maxScanned is how many changes are examined for one page of a filtered list.
const maxScanned = 5_000

// scanEnd returns the id of the last change to examine for a page; empty if there is no limit,
// because no change is left out or because an index finds those of a person.
func scanEnd(ctx context.Context, q db.Reader, query Query) (string, error) {
	if query.ConnectionID != "" || query.CredentialID == "" && query.Tool == "" && query.Agent == "" {
		return "", nil
	}
	var end string
	err := query.within(q.From((*Change)(nil)).Column("id")).Order("id DESC").Limit(1).Offset(maxScanned-1).Scan(ctx, &end)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return end, err
}

// errDryRun rolls back the transaction of a dry run.
var errDryRun = errors.New("dry run")

// UndoChange undoes a change as the member, on a page. With dryRun it returns what the
// undo would do, and writes nothing.
func UndoChange(ctx context.Context, t *db.Tenant, kinds Kinds, page, id string, dryRun bool) (out Undone, err error) {
	if dryRun {
		c, err := GetChange(ctx, t, id)
		if err != nil {
			return out, err
		}
		if c.large() {
			err = t.Preview(ctx, func(ctx context.Context, tx *db.Tx) error {
				out, err = Undo(ctx, tx, kinds, id, true)
				return err
			})
			return out, err
		}
	}
	err = t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) error {
		if out, err = Undo(ctx, tx, kinds, id, dryRun); err == nil && dryRun {
			err = errDryRun
		}
		return err
	})
	if errors.Is(err, errDryRun) {
		err = nil
	}
	return out, err
}

// MaxUndo is how many changes can be undone at once.
const MaxUndo = 100

// UndoneChange is what the undo of one of several changes did, or would do.
type UndoneChange struct {
	Change

	Undone

	// Never is true for a change that can no longer be undone.
	Never bool
}

// FirstUndoable returns as many of the first changes as can be undone at once: at most MaxUndo, which
// touch at most MaxEffects objects together.
func FirstUndoable(changes []Change) []Change {
	objects := 0
	for i, c := range changes[:min(len(changes), MaxUndo)] {
		if objects += len(c.Effects); objects > MaxEffects && i > 0 {
			return changes[:i]
		}
	}
	return changes[:min(len(changes), MaxUndo)]
}

// UndoChanges undoes several changes as the member, on a page. It begins with the latest, because a
// later change may conflict with an earlier one. Each change has its own transaction: it is undone as
// a whole, or has conflicts and stays. An error ends UndoChanges; what was undone before stays undone.
// Ids of no change are skipped. With dryRun, UndoChanges writes nothing and returns what it would do.
// It fails with fault.Invalid for more changes than FirstUndoable returns.
func UndoChanges(ctx context.Context, t *db.Tenant, kinds Kinds, page string, ids []string, dryRun bool) ([]UndoneChange, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if len(ids) > MaxUndo {
		return nil, fault.New(fault.Invalid, "at most %d changes can be undone at once", MaxUndo)
	}
	changes, err := ListChanges(ctx, t, Query{IDs: ids, Limit: MaxUndo})
	if err != nil {
		return nil, err
	}
	if len(FirstUndoable(changes)) < len(changes) {
		return nil, fault.New(fault.Invalid, "these changes touch more than %d objects together: undo fewer at once", MaxEffects)
	}
	out, objects := make([]UndoneChange, len(changes)), 0
	for i, c := range changes {
		objects += len(c.Effects)
		out[i] = UndoneChange{Change: c, Never: c.Final || len(c.Effects) == 0}
	}
	each := func(ctx context.Context, undo func(ctx context.Context, c *UndoneChange) (Undone, error)) error {
		for i := range out {
			if c := &out[i]; !c.Never {
				if c.Undone, err = undo(ctx, c); err != nil {
					return err
				}
			}
		}
		return nil
	}
	switch {
	case !dryRun:
		err = each(ctx, func(ctx context.Context, c *UndoneChange) (Undone, error) {
			return UndoChange(ctx, t, kinds, page, c.ID, false)
		})
	case objects > maxTried:
		err = t.Preview(ctx, func(ctx context.Context, tx *db.Tx) error {
			u := undo{restorers: kinds.in(tx), compares: true}
			return each(ctx, func(ctx context.Context, c *UndoneChange) (Undone, error) { return u.whole(ctx, tx, &c.Change, true) })
		})
	default:
		err = t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) error {
			err := each(ctx, func(ctx context.Context, c *UndoneChange) (Undone, error) { return Undo(ctx, tx, kinds, c.ID, false) })
			return cmp.Or(err, errDryRun)
		})
		if errors.Is(err, errDryRun) {
			err = nil
		}
	}
	return out, err
}

// GetChange returns a change, or fault.NotFound.
func GetChange(ctx context.Context, q db.Reader, changeID string) (*Change, error) {
	c := &Change{}
	err := q.From(c).Where("id = ?", changeID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "there is no change %s; list_changes returns ids", changeID)
	}
	return c, err
}

// SetUndoneBy records that a change was undone by another one, or that it is in force
// again when by is empty. A deletion that is in force again stays in the bin as long as a
// new one.
func SetUndoneBy(ctx context.Context, tx *db.Tx, changeID, by string) error {
	_, err := tx.NewRaw(`UPDATE changes SET undone_by = ?, final_at = CASE WHEN final_at IS NULL THEN final_at ELSE ? END
WHERE tenant_id = ? AND id = ?`,
		sql.NullString{String: by, Valid: by != ""}, tx.Now().Add(KeepDeleted), tx.TenantID(), changeID).Exec(ctx)
	return err
}
