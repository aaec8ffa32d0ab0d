package history

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/uptrace/bun"
)

// Kinds makes the restorer of each kind of object for a transaction.
type Kinds map[string]func(*db.Tx) Restorer

func (k Kinds) in(w *db.Tx) map[string]Restorer {
	out := make(map[string]Restorer, len(k))
	for kind, restorer := range k {
		out[kind] = restorer(w)
	}
	return out
}

// Conflict is an object that blocks an undo.
type Conflict struct {
	Kind, ID, Reason string
	// Fields are the fields that were changed since, as tools spell them; none when the
	// conflict has another cause.
	Fields []string
	// ChangeID is the latest change that made the conflict: undoing it first may help. It is
	// empty when that change is not known or can't be undone.
	ChangeID string
}

// Undone is what an undo did, or would do.
type Undone struct {
	// Restored are the restored objects, in the order of their restoration.
	Restored []Object
	// Conflicts are the objects that block the undo; with any, nothing was undone.
	Conflicts []Conflict
	// AlreadyUndone is true when the change had been undone before.
	AlreadyUndone bool
	// ChangeID is the undo itself; empty when nothing was written.
	ChangeID string
}

// Undo undoes a change as a whole, or returns the conflicts that block it. With dryRun
// it returns what it would do, and writes nothing. For that it undoes a change of at most maxTried
// objects and rolls back; of a larger change it only compares the recorded states with the present ones.
func Undo(ctx context.Context, w *db.Tx, kinds Kinds, changeID string, dryRun bool) (Undone, error) {
	c, err := GetChange(ctx, w, changeID)
	if err != nil {
		return Undone{}, err
	}
	u := undo{q: w, restorers: kinds.in(w), compares: dryRun && c.large()}
	return u.whole(ctx, w, c, dryRun)
}

// whole undoes a change as Undo does.
func (u *undo) whole(ctx context.Context, w *db.Tx, c *Change, dryRun bool) (Undone, error) {
	switch {
	case c.UndoneBy != "":
		return Undone{AlreadyUndone: true}, nil
	case c.Final:
		return Undone{}, fault.New(fault.Invalid, "%s cannot be undone any more: what it was about was deleted for good", c.ID)
	case len(c.Effects) == 0:
		return Undone{}, fault.New(fault.Invalid, "%s holds nothing that could be undone", c.ID)
	}
	u.imported, u.done, u.conflicts = c.ImportID != "", nil, nil
	var out Undone
	attempt := w.Attempt
	if u.compares {
		attempt = func(ctx context.Context, fn func(context.Context) (bool, error)) error {
			_, err := fn(ctx)
			return err
		}
	}
	err := attempt(ctx, func(ctx context.Context) (bool, error) {
		if err := u.revertAll(ctx, c); err != nil {
			return false, err
		}
		out.Conflicts = u.conflicts
		if len(u.conflicts) > 0 {
			return false, nil
		}
		out.Restored = describe(u.done, true)
		if dryRun {
			return false, nil
		}
		var err error
		out.ChangeID, err = u.record(ctx, w, c, "")
		return err == nil, err
	})
	if err != nil {
		return out, err
	}
	return out, findBlocking(ctx, w, c, out.Conflicts)
}

// maxTried is the most objects of a change that a dry run undoes and rolls back. Only this finds
// conflicts with other objects, such as a group that has the name of a deleted one.
const maxTried = 500

// large reports whether a dry run only compares states.
func (c *Change) large() bool { return len(c.Effects) > maxTried }

// findBlocking sets the change that made each of the first conflicts of an undo of c. It takes
// at most two statements.
func findBlocking(ctx context.Context, q db.Reader, c *Change, conflicts []Conflict) error {
	conflicts = conflicts[:min(len(conflicts), MaxObjects)]
	if len(conflicts) == 0 {
		return nil
	}
	objects := make([][]string, len(conflicts))
	for i, conflict := range conflicts {
		objects[i] = conflict.objects()
	}
	later, err := ListChanges(ctx, q, Query{ObjectIDs: slices.Concat(objects...), InForce: true, Last: c.Number, Limit: maxLater})
	if err != nil {
		return err
	}
	undone, err := numbersUndone(ctx, q, later)
	if err != nil {
		return err
	}
	for i := range conflicts {
		at := slices.IndexFunc(later, func(l Change) bool {
			return slices.ContainsFunc(objects[i], func(object string) bool { return l.Blocking(c.Number, undone[l.Undoes], object, conflicts[i].Fields) })
		})
		if at >= 0 {
			conflicts[i].ChangeID = later[at].ID
		}
	}
	return nil
}

// numbersUndone returns the numbers of what some changes undid, by their ids. That of an import is
// higher than all.
func numbersUndone(ctx context.Context, q db.Reader, changes []Change) (map[string]int64, error) {
	undone, ids := map[string]int64{}, []string(nil)
	for _, c := range changes {
		if id.Valid(id.Import, c.Undoes) {
			undone[c.Undoes] = math.MaxInt64
		} else if c.Undoes != "" {
			ids = append(ids, c.Undoes)
		}
	}
	if len(ids) == 0 {
		return undone, nil
	}
	found, err := ListChanges(ctx, q, Query{IDs: ids, Lines: true, Limit: len(ids)})
	for _, c := range found {
		undone[c.ID] = c.Number
	}
	return undone, err
}

// maxLater is how many later changes are searched for those that made the conflicts of an undo.
const maxLater = 100

// objects returns the objects whose changes may have made the conflict: those that its reason
// names, such as a note about a person who can't be removed, or its own object.
func (c *Conflict) objects() (ids []string) {
	words := strings.FieldsFunc(c.Reason, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, word := range words {
		for _, kind := range []string{id.Connection, id.Note, id.Interaction, id.Group, id.Reminder, id.Relationship, id.DistinctPair} {
			if id.Valid(kind, word) {
				ids = append(ids, word)
			}
		}
	}
	if len(ids) == 0 {
		ids = []string{c.ID}
	}
	return ids
}

// UndoImport undoes one change of an import object by object, as one part of undoing the
// import. Objects that are already as before the import, or deleted, are skipped.
// Objects that were changed since are skipped too and returned as conflicts; for them the
// change stays in force. The changes that it records belong to undoID, as c belongs to
// its import.
func UndoImport(ctx context.Context, w *db.Tx, kinds Kinds, c *Change, undoID string) (Undone, error) {
	u := undo{q: w, restorers: kinds.in(w), imported: true}
	if err := u.revertAll(ctx, c); err != nil {
		return Undone{}, err
	}
	out := Undone{Restored: describe(u.done, true), Conflicts: u.conflicts}
	if err := findBlocking(ctx, w, c, out.Conflicts); err != nil {
		return Undone{}, err
	}
	if len(u.done) == 0 && len(u.conflicts) > 0 {
		return out, nil
	}
	var err error
	out.ChangeID, err = u.record(ctx, w, c, undoID)
	return out, err
}

// undo is an undo in progress.
type undo struct {
	q         db.Reader
	restorers map[string]Restorer
	// imported means that each object is undone on its own: an import may have been undone
	// in part.
	imported bool
	// compares is set if nothing is written. planned then has the states that the undo would have
	// given objects so far, by kind and id.
	compares bool
	planned  map[[2]string]state
	// separated are the people whom the change merged into others. Its undo restores what is about
	// them before it restores them.
	separated map[string]bool
	done      []Effect
	conflicts []Conflict
}

// spent reports whether an object needs no undo: what the change set is as before, or the
// object is deleted.
func (u *undo) spent(before, after, present state) bool {
	if !u.imported || present == nil {
		return u.imported
	}
	return before != nil && !slices.ContainsFunc(changedFields(before, after), func(name string) bool { return !equal(before[name], present[name]) })
}

// did records what was restored, as an effect that can itself be undone. For an object
// that existed all the time it keeps the recorded fields only.
func (u *undo) did(r reversal, now state) error {
	from, to := r.present, now
	if from != nil && to != nil {
		from, to = restrict(from, r.before, r.after), restrict(to, r.before, r.after)
	}
	was, errFrom := from.encode()
	is, errTo := to.encode()
	u.done = append(u.done, Effect{Kind: r.Kind, ID: r.ID, Before: was, After: is})
	return errors.Join(errFrom, errTo)
}

// record stores the undo as a change, and updates which changes are in force: undoing an
// undo puts the change that it undid in force again. A change that could be undone only in
// part stays in force; if it is itself an undo, the change that it undid is in force again
// too.
func (u *undo) record(ctx context.Context, w *db.Tx, c *Change, undoID string) (string, error) {
	touches := make([]EffectDraft, len(u.done))
	for i, e := range u.done {
		touches[i] = EffectDraft{Kind: e.Kind, ID: e.ID, Before: e.Before, After: e.After}
	}
	undo, err := Record(ctx, w, Draft{Summary: summaryOfUndo(c.Summary), Effects: touches, Undoes: c.ID, ImportID: undoID})
	if err != nil {
		return "", err
	}
	for by, inForce := undo, false; ; inForce = !inForce {
		if inForce || len(u.conflicts) > 0 {
			by = ""
		}
		if err := SetUndoneBy(ctx, w, c.ID, by); err != nil {
			return "", err
		}
		if c.Undoes == "" {
			return undo, nil
		}
		by = c.ID
		if c, err = GetChange(ctx, w, c.Undoes); fault.Is(err, fault.NotFound) {
			return undo, nil // its record is so old that it was deleted
		} else if err != nil {
			return "", err
		}
	}
}

// summaryOfUndo returns one line that says what undoing a change does.
func summaryOfUndo(summary string) string {
	const undid, redid = "Undid: ", "Redid: "
	if rest, ok := strings.CutPrefix(summary, undid); ok {
		return redid + rest
	}
	if rest, ok := strings.CutPrefix(summary, redid); ok {
		return undid + rest
	}
	return undid + summary
}

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

// Row returns the Restorer of objects that are a row each. put sets a row to a state, nil to remove it, as Single.Put does.
func Row[T any](tx *db.Tx, put func(ctx context.Context, tx *db.Tx, id string, row *T) error) Restorer {
	return Single{
		Get: func(ctx context.Context, id string) (any, error) {
			row := new(T)
			err := tx.From(row).Where("id = ?", id).Scan(ctx)
			if errors.Is(err, sql.ErrNoRows) {
				return nil, nil
			}
			return row, err
		},
		Put: func(ctx context.Context, id string, to json.RawMessage) error {
			var row *T
			if err := json.Unmarshal(to, &row); err != nil {
				return fmt.Errorf("read recorded %T: %w", row, err)
			}
			return put(ctx, tx, id, row)
		},
	}
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
	u.separated = map[string]bool{}
	for _, e := range effects {
		if e.Kind == Connection && e.describe().Action == ActionMerged {
			u.separated[e.ID] = true
		}
	}
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
	return e.Kind != Membership && e.Kind != Organization && (e.Kind != Connection || bytes.Contains(e.Before, whole) || bytes.Contains(e.After, whole))
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
	reversals, targets, err := u.plan(ctx, effects, present)
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
func (u *undo) plan(ctx context.Context, effects []Effect, present map[string]state) (reversals []reversal, targets map[string]json.RawMessage, err error) {
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
	return reversals, targets, u.refuseMerged(ctx, reversals, targets)
}

// refuseMerged notes a conflict for each object that would be about a person whom a later change
// merged into another: what is about the two is about the one who stayed.
func (u *undo) refuseMerged(ctx context.Context, reversals []reversal, targets map[string]json.RawMessage) error {
	about := make([][]string, len(reversals))
	var all []string
	for i, r := range reversals {
		if r.conflict != "" || r.Kind == Connection {
			continue
		}
		target, err := decode(targets[r.ID])
		if err != nil {
			return err
		}
		now := r.present.people()
		about[i] = slices.DeleteFunc(target.people(), func(id string) bool { return u.separated[id] || slices.Contains(now, id) })
		if r.Kind == Membership && !empty(target["groups"]) && !u.separated[r.ID] {
			about[i] = []string{r.ID}
		}
		all = append(all, about[i]...)
	}
	slices.Sort(all)
	merged := map[string]string{}
	for some := range slices.Chunk(slices.Compact(all), maxRun) {
		var rows []struct{ ID, MergedInto string }
		err := u.q.NewRaw("SELECT id, merged_into FROM connections WHERE tenant_id = ? AND id IN (?) AND merged_into IS NOT NULL",
			u.q.TenantID(), bun.List(some)).Scan(ctx, &rows)
		if err != nil {
			return err
		}
		for _, row := range rows {
			merged[row.ID] = row.MergedInto
		}
	}
	for i, r := range reversals {
		for _, id := range about[i] {
			if merged[id] != "" && reversals[i].conflict == "" {
				reversals[i].conflict = fmt.Sprintf("%s, whom it is about, was merged into %s since", id, merged[id])
				delete(targets, r.ID)
			}
		}
	}
	return nil
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
