package history

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// inBin is the condition for deletions that can still be undone. Undos that removed
// people count as deletions.
const inBin = "final_at IS NOT NULL AND undone_by IS NULL AND NOT final"

// FindDeletions returns, by person, the deletions in the bin that removed the people. It
// leaves out people who are not in the bin. It takes one statement.
func FindDeletions(ctx context.Context, q db.Reader, people []string) (map[string]string, error) {
	var rows []Change
	err := q.From(&rows).Column("id", "effects").Where(inBin).
		Where("id IN (SELECT change_id FROM change_objects WHERE tenant_id = ? AND object_id IN (?) AND kind = ?)", q.TenantID(), bun.List(people), Connection).
		Order("id").Scan(ctx)
	out := map[string]string{}
	for _, c := range rows {
		for _, id := range c.Deleted(Connection) {
			if slices.Contains(people, id) {
				out[id] = c.ID
			}
		}
	}
	return out, err
}

// EndDeletion makes a deletion final before its time: it can't be undone after that.
// It fails with fault.NotFound when the change is not in the bin.
func EndDeletion(ctx context.Context, t *db.Tenant, page, changeID string) error {
	return t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) error {
		ended, err := endDeletions(ctx, tx, "id = ?", changeID)
		if err == nil && ended == 0 {
			err = fault.New(fault.NotFound, "there is no deletion %s in the bin", changeID)
		}
		return err
	})
}

// EmptyBin makes all deletions up to a change final, each in its own transaction, and returns how
// many. What was deleted after that change stays in the bin.
func EmptyBin(ctx context.Context, t *db.Tenant, page, last string) (int, error) {
	return endEach(ctx, t, page, "number <= (SELECT number FROM changes WHERE tenant_id = ? AND id = ?)", t.TenantID(), last)
}

// endEach makes the deletions in the bin that meet a condition final, one after the other.
func endEach(ctx context.Context, t *db.Tenant, page, condition string, args ...any) (ended int, err error) {
	var ids []string
	if err := t.From((*Change)(nil)).Column("id").Where(inBin).Where(condition, args...).Order("number").Scan(ctx, &ids); err != nil {
		return 0, err
	}
	for _, id := range ids {
		err = t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) error {
			n, err := endDeletions(ctx, tx, "id = ?", id)
			ended += n
			return err
		})
		if err != nil {
			break
		}
	}
	return ended, err
}

// endDeletions makes the deletions in the bin that meet a condition final, and returns
// how many there were. A deletion that removed more than people leaves the bin too: the
// rest of it can be undone.
func endDeletions(ctx context.Context, tx *db.Tx, condition string, args ...any) (int, error) {
	var deletions []Change
	if err := tx.From(&deletions).Where(inBin).Where(condition, args...).Scan(ctx); err != nil || len(deletions) == 0 {
		return 0, err
	}
	var ended, people []string
	for _, c := range deletions {
		ended = append(ended, c.ID)
		people = append(people, c.Deleted(Connection)...)
	}
	var onFile []string
	err := tx.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND id IN (?)", tx.TenantID(), bun.List(people)).Scan(ctx, &onFile)
	if err != nil {
		return 0, err
	}
	// A person whom another undo restored is not forgotten.
	people = slices.DeleteFunc(people, func(id string) bool { return slices.Contains(onFile, id) })
	if err := Forget(ctx, tx, people); err != nil {
		return 0, err
	}
	_, err = tx.NewRaw("UPDATE changes SET final_at = NULL WHERE tenant_id = ? AND id IN (?) AND NOT final", tx.TenantID(), bun.List(ended)).Exec(ctx)
	return len(ended), err
}

// Forget removes permanently deleted people from all changes, and deletes their photos, which
// stay until then for an undo, and what devices propose about them.
func Forget(ctx context.Context, tx *db.Tx, people []string) error {
	if len(people) == 0 {
		return nil
	}
	for _, table := range []string{"photos", "proposals"} {
		_, err := tx.NewRaw("DELETE FROM ? WHERE tenant_id = ? AND connection_id IN (?)", bun.Ident(table), tx.TenantID(), bun.List(people)).Exec(ctx)
		if err != nil {
			return err
		}
	}
	gone := make(map[string]bool, len(people))
	for _, id := range people {
		gone[id] = true
	}
	var changes []string
	err := tx.NewRaw("SELECT DISTINCT change_id FROM change_objects WHERE tenant_id = ? AND object_id IN (?) ORDER BY change_id",
		tx.TenantID(), bun.List(people)).Scan(ctx, &changes)
	if err != nil {
		return err
	}
	for _, id := range changes {
		c := &Change{}
		if err := tx.From(c).Where("id = ?", id).Scan(ctx); err != nil {
			return err
		}
		changed, err := c.Forget(gone)
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		_, err = tx.NewUpdate().Model(c).Column("effects", "summary", "final").
			Where("tenant_id = ?", tx.TenantID()).Where("id = ?", id).Exec(ctx)
		if err != nil {
			return err
		}
	}
	_, err = tx.NewRaw("DELETE FROM change_objects WHERE tenant_id = ? AND object_id IN (?) AND kind = ?", tx.TenantID(), bun.List(people), kindAbout).Exec(ctx)
	return err
}

// SweepBin makes the deletions final whose time in the bin is over, one tenant after the
// other, and returns how many.
func SweepBin(ctx context.Context, s *db.DB, now time.Time) (int64, error) {
	var owners []tenant.ID
	err := s.NewRaw(`SELECT DISTINCT c.tenant_id FROM changes c WHERE c.final_at <= ? AND c.undone_by IS NULL AND NOT c.final
AND NOT EXISTS (SELECT 1 FROM tenant_states s WHERE s.tenant_id = c.tenant_id AND s.read_only)`, now).Scan(ctx, &owners)
	var sum int64
	for _, owner := range owners {
		ended, writeErr := endEach(ctx, s.Tenant(owner, false), "", "final_at <= ?", now)
		sum += int64(ended)
		err = errors.Join(err, writeErr)
	}
	return sum, err
}

// The summaries that replace summaries that may name a person.
const (
	summaryForgotten = "About a person who was deleted for good"
	summaryPartly    = "About several people, one of whom was deleted for good"
)

// peopleFields are the fields of states that hold the id of one person, peopleLists
// those that hold several.
var (
	peopleFields = []string{"from_id", "to_id", "first_id", "second_id"}
	peopleLists  = []string{connectionIDs}
)

// connectionIDs is the field of a state with the people whom a note or an interaction is about.
const connectionIDs = "connection_ids"

// Forget removes permanently deleted people from the record. The states of these people,
// and of every object that was only about them, become null. A change with nothing left
// becomes final. A summary that may name the people is replaced. Forget reports whether
// it changed c.
func (c *Change) Forget(people map[string]bool) (bool, error) {
	var changed, emptied bool
	left := 0
	for i := range c.Effects {
		e := &c.Effects[i]
		if e.empty() {
			continue
		}
		touched, err := e.forget(people)
		if err != nil {
			return false, err
		}
		changed = changed || touched
		if e.empty() {
			emptied = true
		} else {
			left++
		}
	}
	if !changed {
		return false, nil
	}
	c.Final = c.Final || left == 0
	switch {
	case c.ImportID != "" || !emptied: // the summary names no person
	case c.Final:
		c.Summary = summaryForgotten
	default:
		c.Summary = summaryPartly
	}
	return true, nil
}

// empty reports whether the effect's object was permanently deleted.
func (e *Effect) empty() bool { return missing(e.Before) && missing(e.After) }

// forget removes people from the effect's states, or both states.
func (e *Effect) forget(people map[string]bool) (changed bool, err error) {
	before, after, err := e.states()
	if err != nil {
		return false, err
	}
	gone := people[e.ID]
	for _, s := range []state{before, after} {
		touched, alone := s.forget(people)
		changed, gone = changed || touched, gone || alone
	}
	if changed && before != nil && after != nil && len(changedFields(before, after)) == 0 {
		gone = true // the effect changed nothing else
	}
	switch {
	case gone:
		before, after = nil, nil
	case !changed:
		return false, nil
	}
	var errBefore, errAfter error
	e.Before, errBefore = before.encode()
	e.After, errAfter = after.encode()
	return true, errors.Join(errBefore, errAfter)
}

// forget removes people from the lists of a state. alone reports whether the state was
// about no one else.
func (s state) forget(people map[string]bool) (changed, alone bool) {
	for _, field := range peopleFields {
		id, _ := s[field].(string)
		alone = alone || people[id]
	}
	for _, field := range peopleLists {
		ids, _ := s[field].([]any)
		left := slices.DeleteFunc(slices.Clone(ids), func(one any) bool {
			id, _ := one.(string)
			return people[id]
		})
		if len(left) < len(ids) {
			s[field], changed = left, true
			alone = alone || len(left) == 0
		}
	}
	return changed, alone
}

// people returns the ids of the people whom a state is about, each once.
func (s state) people() (ids []string) {
	for _, field := range peopleFields {
		if id, _ := s[field].(string); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, field := range peopleLists {
		list, _ := s[field].([]any)
		for _, item := range list {
			if id, _ := item.(string); id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
