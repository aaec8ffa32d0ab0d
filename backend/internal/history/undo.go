package history

import (
	"context"
	"errors"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
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
// it returns what it would do, and writes nothing.
func Undo(ctx context.Context, w *db.Tx, kinds Kinds, id string, dryRun bool) (Undone, error) {
	c, err := GetChange(ctx, w, id)
	if err != nil {
		return Undone{}, err
	}
	switch {
	case c.UndoneBy != "":
		return Undone{AlreadyUndone: true}, nil
	case c.Final:
		return Undone{}, fault.New(fault.Invalid, "%s cannot be undone any more: what it was about was deleted for good", id)
	case len(c.Effects) == 0:
		return Undone{}, fault.New(fault.Invalid, "%s holds nothing that could be undone", id)
	}
	var out Undone
	err = w.Attempt(ctx, func(ctx context.Context) (bool, error) {
		u := undo{restorers: kinds.in(w), imported: c.ImportID != ""}
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
		out.ChangeID, err = u.record(ctx, w, c, "")
		return err == nil, err
	})
	return out, err
}

// TakeBack undoes one change of an import object by object, as one part of undoing the
// import. Objects that are already as before the import, or deleted, are skipped.
// Objects that were changed since are skipped too and returned as conflicts; for them the
// change stays in force. The changes that it records belong to undoID, as c belongs to
// its import.
func TakeBack(ctx context.Context, w *db.Tx, kinds Kinds, c *Change, undoID string) (Undone, error) {
	u := undo{restorers: kinds.in(w), imported: true}
	if err := u.revertAll(ctx, c); err != nil {
		return Undone{}, err
	}
	out := Undone{Restored: describe(u.done, true), Conflicts: u.conflicts}
	if len(u.done) == 0 && len(u.conflicts) > 0 {
		return out, nil
	}
	var err error
	out.ChangeID, err = u.record(ctx, w, c, undoID)
	return out, err
}

// undo is an undo in progress.
type undo struct {
	restorers map[string]Restorer
	// imported means that each object is undone on its own: an import may have been undone
	// in part.
	imported  bool
	done      []Effect
	conflicts []Conflict
}

// spent reports whether an object needs no undo: it is as before, or deleted.
func (u *undo) spent(before, present state) bool {
	if !u.imported || present == nil {
		return u.imported
	}
	reason, _ := changedSince(before, present)
	return reason == ""
}

// did records what was restored, as an effect that can itself be undone. For an object
// that existed all the time it keeps the recorded fields only.
func (u *undo) did(r reversal, now state) error {
	from, to := r.present, now
	if from != nil && to != nil {
		from, to = restrict(from, r.before, r.after), restrict(to, r.before, r.after)
	}
	was, errFrom := encodeState(orNil(from))
	is, errTo := encodeState(orNil(to))
	u.done = append(u.done, Effect{Kind: r.Kind, ID: r.ID, Before: was, After: is})
	return errors.Join(errFrom, errTo)
}

// orNil returns nil for a missing state, so that it isn't mistaken for an empty one.
func orNil(s state) any {
	if s == nil {
		return nil
	}
	return s
}

// changedSince returns how an object differs from what a change left, and in which
// fields; empty when it does not differ.
func changedSince(after, present state) (reason string, fields []string) {
	switch {
	case after == nil && present == nil:
		return "", nil
	case after == nil:
		return "it exists again", nil
	case present == nil:
		return "it no longer exists", nil
	}
	fields = differing(after, present)
	if len(fields) == 0 {
		return "", nil
	}
	for i, name := range fields {
		fields[i] = wireName(name)
	}
	return "it was changed since: " + strings.Join(fields, ", "), fields
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
	id, err := Record(ctx, w, Draft{Summary: summaryOfUndo(c.Summary), Effects: touches, Undoes: c.ID, ImportID: undoID})
	if err != nil {
		return "", err
	}
	for by, inForce := id, false; ; inForce = !inForce {
		if inForce || len(u.conflicts) > 0 {
			by = ""
		}
		if err := SetUndoneBy(ctx, w, c.ID, by); err != nil {
			return "", err
		}
		if c.Undoes == "" {
			return id, nil
		}
		by = c.ID
		if c, err = GetChange(ctx, w, c.Undoes); fault.Is(err, fault.NotFound) {
			return id, nil // its record is so old that it was deleted
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
