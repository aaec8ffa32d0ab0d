package history

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// Restorer reads and restores the objects of one kind in one transaction, many at once:
// a step of an import has hundreds of effects.
type Restorer interface {
	// Current returns the current states of objects by id, in the form in which writes
	// record them. Objects that don't exist are left out.
	Current(ctx context.Context, ids []string) (map[string]any, error)
	// Restore sets objects to states, by id; each state has all fields, and null removes
	// the object. For objects that can't be restored it returns the reason, by id, and
	// leaves them unchanged.
	Restore(ctx context.Context, to map[string]json.RawMessage) (conflicts map[string]string, err error)
}

// Single is a Restorer that handles one object after the other, for kinds of which
// imports restore few objects.
type Single struct {
	// Get returns an object, or nil when it doesn't exist.
	Get func(ctx context.Context, id string) (any, error)
	// Put sets an object to a state. When the object can't be restored, it fails with
	// fault.Conflict before it writes anything; the message says why.
	Put func(ctx context.Context, id string, to json.RawMessage) error
}

// Current implements Restorer.
func (s Single) Current(ctx context.Context, ids []string) (map[string]any, error) {
	out := make(map[string]any, len(ids))
	for _, id := range ids {
		object, err := s.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if object != nil {
			out[id] = object
		}
	}
	return out, nil
}

// Restore implements Restorer.
func (s Single) Restore(ctx context.Context, to map[string]json.RawMessage) (map[string]string, error) {
	conflicts := map[string]string{}
	for id, data := range to {
		if err := s.Put(ctx, id, data); fault.Is(err, fault.Conflict) {
			conflicts[id] = err.Error()
		} else if err != nil {
			return nil, err
		}
	}
	return conflicts, nil
}

// TakeRemovals returns the ids of the objects to remove, and drops their entries from to.
func TakeRemovals(to map[string]json.RawMessage) (ids []string) {
	maps.DeleteFunc(to, func(id string, data json.RawMessage) bool {
		removed := string(data) == "null"
		if removed {
			ids = append(ids, id)
		}
		return removed
	})
	return ids
}

// maxRun bounds how many objects are restored at once.
const maxRun = 500

// revertAll undoes the effects of a change, the last one first. Effects of an import, and
// effects that touch only fields of their own objects, are undone in batches of many
// objects of one kind. Others are undone one at a time: a merge moves rows from one person
// to another, and their order matters.
func (u *undo) revertAll(ctx context.Context, c *Change) error {
	effects := slices.DeleteFunc(slices.Clone(c.Effects), func(e Effect) bool { return e.empty() })
	most := 1
	if c.ImportID != "" || !slices.ContainsFunc(effects, Effect.mayMoveRows) {
		most = maxRun
	}
	for len(effects) > 0 {
		from := len(effects) - 1
		seen := map[string]bool{effects[from].ID: true}
		for from > 0 && effects[from-1].Kind == effects[from].Kind && !seen[effects[from-1].ID] && len(seen) < most {
			from--
			seen[effects[from].ID] = true
		}
		if err := u.revert(ctx, effects[from:]); err != nil {
			return fmt.Errorf("undo %d of %s: %w", len(effects)-from, effects[from].Kind, err)
		}
		effects = effects[:from]
	}
	return nil
}

// mayMoveRows reports whether rows may have moved from another person in this effect: it
// holds lists of a person, or its object may itself have moved.
func (e Effect) mayMoveRows() bool {
	whole := []byte(`"` + handlesField + `"`) // as Connection is recorded as a whole
	return e.Kind != Membership && (e.Kind != Connection || bytes.Contains(e.Before, whole) || bytes.Contains(e.After, whole))
}

// reversal is an effect that is being undone.
type reversal struct {
	Effect

	before, after, present state
	conflict               string   // why the object can't be restored; empty when it can
	fields                 []string // that were changed since
}

// plan returns the state to set the object to, or notes why it can't be restored: a field
// that the change set was changed since, or the object exists no longer or again.
func (r *reversal) plan() (target state) {
	switch {
	case r.after == nil && r.present == nil:
		return r.before
	case r.after == nil:
		r.conflict = "it exists again"
	case r.present == nil:
		r.conflict = "it no longer exists"
	case r.before == nil: // it is removed, unless a change since would be lost
		r.fields = differing(r.after, r.present)
	default:
		target, r.fields = undoFields(r.before, r.after, r.present)
	}
	if len(r.fields) > 0 {
		r.conflict = "it was changed since: " + strings.Join(r.fields, ", ")
	}
	return target
}

// revert undoes effects on different objects of one kind, the last one first, or notes
// their conflicts.
func (u *undo) revert(ctx context.Context, effects []Effect) error {
	restorer, ok := u.restorers[effects[0].Kind]
	if !ok {
		for _, e := range slices.Backward(effects) {
			u.conflicts = append(u.conflicts, Conflict{Kind: e.Kind, ID: e.ID, Reason: "this version cannot restore a " + e.Kind})
		}
		return nil
	}
	present, err := states(ctx, restorer, effects)
	if err != nil {
		return err
	}
	u.usePlanned(effects, present)
	reversals, targets, err := u.plan(effects, present)
	if err != nil || len(reversals) == 0 {
		return err
	}
	if u.compares {
		return u.compare(reversals, targets)
	}
	conflicts, err := restorer.Restore(ctx, targets)
	if err != nil {
		return err
	}
	var restored []Effect
	for i, r := range reversals {
		if r.conflict == "" {
			reversals[i].conflict = conflicts[r.ID]
		}
		if reversals[i].conflict == "" && r.before != nil {
			restored = append(restored, r.Effect)
		}
	}
	now, err := states(ctx, restorer, restored)
	if err != nil {
		return err
	}
	return u.finish(reversals, now)
}

// finish adds the restored objects to u.done and the others to u.conflicts.
func (u *undo) finish(reversals []reversal, now map[string]state) error {
	for _, r := range reversals {
		if r.conflict != "" {
			u.conflicts = append(u.conflicts, Conflict{Kind: r.Kind, ID: r.ID, Reason: r.conflict, Fields: r.fields})
		} else if err := u.did(r, now[r.ID]); err != nil {
			return err
		}
	}
	return nil
}

// compare plans the states of objects in place of restoring them.
func (u *undo) compare(reversals []reversal, targets map[string]json.RawMessage) error {
	now := make(map[string]state, len(targets))
	if u.planned == nil {
		u.planned = map[[2]string]state{}
	}
	for _, r := range reversals {
		if r.conflict != "" {
			continue
		}
		target, err := decode(targets[r.ID])
		if err != nil {
			return err
		}
		now[r.ID] = target
		u.planned[[2]string{r.Kind, r.ID}] = target
	}
	return u.finish(reversals, now)
}

// usePlanned replaces the present states of objects that the undo would have changed already.
func (u *undo) usePlanned(effects []Effect, present map[string]state) {
	for _, e := range effects {
		switch planned, ok := u.planned[[2]string{e.Kind, e.ID}]; {
		case !ok:
		case planned == nil:
			delete(present, e.ID)
		default:
			present[e.ID] = planned
		}
	}
}

// plan returns what to do with each effect, the last one first, and the states to set
// objects to. Effects that need nothing are left out.
func (u *undo) plan(effects []Effect, present map[string]state) (reversals []reversal, targets map[string]json.RawMessage, err error) {
	targets = map[string]json.RawMessage{}
	for _, e := range slices.Backward(effects) {
		before, after, err := e.states()
		if err != nil {
			return nil, nil, err
		}
		r := reversal{Effect: e, before: before, after: after, present: present[e.ID]}
		target := r.plan()
		if r.conflict != "" && u.spent(before, after, r.present) {
			continue
		}
		if r.conflict == "" {
			if targets[e.ID], err = target.encode(); err != nil {
				return nil, nil, err
			}
		}
		reversals = append(reversals, r)
	}
	return reversals, targets, nil
}

// states returns the current states of the effects' objects, by id.
func states(ctx context.Context, restorer Restorer, effects []Effect) (map[string]state, error) {
	out := make(map[string]state, len(effects))
	if len(effects) == 0 {
		return out, nil
	}
	ids := make([]string, len(effects))
	for i, e := range effects {
		ids[i] = e.ID
	}
	objects, err := restorer.Current(ctx, ids)
	if err != nil {
		return nil, err
	}
	for id, object := range objects {
		data, err := encodeState(object)
		if err != nil {
			return nil, err
		}
		if out[id], err = decode(data); err != nil {
			return nil, err
		}
	}
	return out, nil
}
