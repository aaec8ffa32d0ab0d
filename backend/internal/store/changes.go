package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// ListChanges returns changes, the latest first.
func (t *Tenant) ListChanges(ctx context.Context, query change.Query) ([]change.Change, error) {
	ctx, q := t.read(ctx)
	var rows []change.Change
	wanted := q.from(&rows).Order("id DESC").Limit(int64(query.Limit))
	if query.ObjectID != "" {
		wanted = wanted.Where(`effects LIKE ?`, `%"id":"`+query.ObjectID+`"%`)
	}
	if query.CredentialID != "" {
		wanted = wanted.Where("credential_id = ?", query.CredentialID)
	}
	if len(query.IDs) > 0 {
		wanted = wanted.Where("id IN (?)", bun.List(query.IDs))
	}
	if query.InBin {
		wanted = wanted.Where(inBin)
	}
	if query.ByAgents {
		wanted = wanted.Where("(credential_id <> '' OR credential_name <> '')")
	}
	if query.Before != "" {
		wanted = wanted.Where("id < ?", query.Before)
	}
	err := wanted.Scan(ctx)
	return rows, translate(err)
}

// errDryRun takes back a transaction that was only to tell what it would do.
var errDryRun = errors.New("dry run")

// UndoChange takes a change back as the member themselves, on a page. With dryRun
// it tells what that would do, and leaves no trace.
func (t *Tenant) UndoChange(ctx context.Context, page, id string, dryRun bool) (change.Undone, error) {
	var out change.Undone
	err := t.Write(ctx, Actor{Tool: page}, func(ctx context.Context, u *Unit) error {
		undone, err := change.Undo(ctx, u, id, dryRun)
		if err == nil && dryRun {
			err = errDryRun
		}
		out = undone
		return err
	})
	if errors.Is(err, errDryRun) {
		err = nil
	}
	return out, err
}

// ListNames returns the names of connections that are on file, archived or not,
// by id.
func (t *Tenant) ListNames(ctx context.Context, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	ctx, q := t.read(ctx)
	var rows []struct{ ID, Name string }
	err := q.db.NewRaw("SELECT id, name FROM connections WHERE tenant_id = ? AND id IN (?)", q.id, bun.List(ids)).Scan(ctx, &rows)
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names, translate(err)
}

// GetChange implements change.Undoer.
func (u *Unit) GetChange(ctx context.Context, changeID string) (*change.Change, error) {
	c := &change.Change{}
	err := u.from(c).Where("id = ?", changeID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "there is no change %s", changeID)
	}
	return c, err
}

// SetUndoneBy implements change.Undoer. A deletion that is in force again stays in the
// bin for as long as a new one.
func (u *Unit) SetUndoneBy(ctx context.Context, changeID, by string) error {
	_, err := u.db.NewRaw(`UPDATE changes SET undone_by = ?, final_at = CASE WHEN final_at IS NULL THEN final_at ELSE ? END
WHERE tenant_id = ? AND id = ?`,
		sql.NullString{String: by, Valid: by != ""}, u.now.Add(connection.KeepDeleted), u.id, changeID).Exec(ctx)
	return err
}

// Restorers implements change.Undoer. A kind that writes record is entered here.
func (u *Unit) Restorers() map[string]change.Restorer {
	return map[string]change.Restorer{
		connection.ObjectKind:       connectionRestorer{u},
		connection.RelationshipKind: relationshipRestorer{u},
		timeline.NoteObject:         noteRestorer{u},
		timeline.InteractionObject:  interactionRestorer{u},
		organize.GroupObject:        groupRestorer{u},
		organize.MembershipObject:   membershipRestorer{u},
		reminder.Object:             reminderRestorer{u},
		profile.ObjectKind:          profileRestorer{u},
	}
}

// Attempt implements change.Undoer: fn runs within a savepoint.
func (u *Unit) Attempt(ctx context.Context, fn func(context.Context) (keep bool, err error)) error {
	outer, ok := u.db.(bun.Tx)
	if !ok {
		return fmt.Errorf("attempt: %T is no transaction", u.db)
	}
	inner, err := outer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	touched, removed := maps.Clone(u.touched), u.removed
	u.db = inner
	keep, err := fn(ctx)
	u.db = outer
	if keep && err == nil {
		return inner.Commit()
	}
	u.touched, u.removed = touched, removed
	return errors.Join(err, inner.Rollback())
}
