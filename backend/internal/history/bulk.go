package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// Bulk is a Restorer that works on many objects at once. A step of an import
// has hundreds of effects.
type Bulk interface {
	Restorer
	// CurrentAll is Current for many objects, by id; those that are not on file are
	// left out.
	CurrentAll(ctx context.Context, ids []string) (map[string]any, error)
	// RestoreAll is Restore for many objects, by id. It returns what is in the way,
	// by id, and leaves those objects as they are.
	RestoreAll(ctx context.Context, to map[string]json.RawMessage) (inTheWay map[string]string, err error)
}

// CurrentAll returns objects as they are now, by id; those that are not on file are
// left out.
func CurrentAll(ctx context.Context, r Restorer, ids []string) (map[string]any, error) {
	if bulk, ok := r.(Bulk); ok {
		return bulk.CurrentAll(ctx, ids)
	}
	out := make(map[string]any, len(ids))
	for _, id := range ids {
		object, err := r.Current(ctx, id)
		if err != nil {
			return nil, err
		}
		if object != nil {
			out[id] = object
		}
	}
	return out, nil
}

// bulkMost bounds how many objects are put back at once.
const bulkMost = 500

// revertAll takes the effects of a change back, the last one first. Those of an
// import, or of taking one back, go many at once, which is right for them alone:
// an import moves no row from one person to another, as a merge does.
func (u *undo) revertAll(ctx context.Context, c *Change) error {
	effects := slices.DeleteFunc(slices.Clone(c.Effects), func(e Effect) bool { return e.empty() })
	if c.ImportID == "" {
		return u.revertEach(ctx, effects)
	}
	for len(effects) > 0 {
		from := len(effects) - 1
		seen := map[string]bool{effects[from].ID: true}
		for from > 0 && effects[from-1].Kind == effects[from].Kind && !seen[effects[from-1].ID] && len(seen) < bulkMost {
			from--
			seen[effects[from].ID] = true
		}
		if err := u.revertRun(ctx, effects[from:]); err != nil {
			return err
		}
		effects = effects[:from]
	}
	return nil
}

// revertRun takes back effects on different objects of one kind.
func (u *undo) revertRun(ctx context.Context, effects []Effect) error {
	bulk, ok := u.restorers[effects[0].Kind].(Bulk)
	if !ok || len(effects) == 1 {
		return u.revertEach(ctx, effects)
	}
	r := run{undo: u, bulk: bulk}
	if err := r.revert(ctx, effects); err != nil {
		return fmt.Errorf("undo %d of %s: %w", len(effects), effects[0].Kind, err)
	}
	return nil
}

func (u *undo) revertEach(ctx context.Context, effects []Effect) error {
	for _, e := range slices.Backward(effects) {
		if err := u.revert(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// run is the part of an undo that puts several objects of one kind back.
type run struct {
	*undo

	bulk Bulk
}

// reverted is an effect whose object is as the effect left it.
type reverted struct {
	Effect

	before, after, present state
}

func (r *run) revert(ctx context.Context, effects []Effect) error {
	present, err := r.states(ctx, effects)
	if err != nil {
		return err
	}
	var going []reverted
	targets := map[string]json.RawMessage{}
	for _, e := range slices.Backward(effects) {
		before, errBefore := decode(e.Before)
		after, errAfter := decode(e.After)
		if err := errors.Join(errBefore, errAfter); err != nil {
			return err
		}
		if reason, fields := changedSince(after, present[e.ID]); reason != "" {
			if !r.spent(before, present[e.ID]) {
				r.conflict(e, reason, fields)
			}
			continue
		}
		targets[e.ID], err = encodeState(nil)
		if before != nil {
			targets[e.ID], err = overlay(present[e.ID], before)
		}
		if err != nil {
			return err
		}
		going = append(going, reverted{Effect: e, before: before, after: after, present: present[e.ID]})
	}
	inTheWay, err := r.bulk.RestoreAll(ctx, targets)
	if err != nil {
		return err
	}
	return r.note(ctx, going, inTheWay)
}

// note remembers what was put back, and what could not be.
func (r *run) note(ctx context.Context, going []reverted, inTheWay map[string]string) error {
	var back []Effect
	for _, e := range going {
		if reason := inTheWay[e.ID]; reason != "" {
			r.conflict(e.Effect, reason, nil)
		} else if e.before != nil {
			back = append(back, e.Effect)
		}
	}
	now, err := r.states(ctx, back)
	if err != nil {
		return err
	}
	for _, e := range going {
		if inTheWay[e.ID] != "" {
			continue
		}
		if err := r.did(e.Effect, e.present, now[e.ID], e.before, e.after); err != nil {
			return err
		}
	}
	return nil
}

// states returns the objects of effects as they are now, by id.
func (r *run) states(ctx context.Context, effects []Effect) (map[string]state, error) {
	out := make(map[string]state, len(effects))
	if len(effects) == 0 {
		return out, nil
	}
	ids := make([]string, len(effects))
	for i, e := range effects {
		ids[i] = e.ID
	}
	objects, err := r.bulk.CurrentAll(ctx, ids)
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

// RestoreEach puts objects back one by one, and returns those that are to be removed
// instead.
func RestoreEach(ctx context.Context, r Restorer, to map[string]json.RawMessage) (gone []string, inTheWay map[string]string, err error) {
	inTheWay = map[string]string{}
	for id, data := range to {
		if string(data) == "null" {
			gone = append(gone, id)
			continue
		}
		if err := r.Restore(ctx, id, data); fault.Is(err, fault.Conflict) {
			inTheWay[id] = err.Error()
		} else if err != nil {
			return nil, nil, err
		}
	}
	return gone, inTheWay, nil
}
