package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// undoContent is the content of the page that undoes a change.
type undoContent struct {
	Change changeRow
	// Effects are what the undo would restore, More is how many more there are.
	Effects []effectRow
	More    int
	// Conflicts are the reasons why the undo is refused, MoreConflicts is how many more
	// there are, First are the changes to undo before this one, the latest first.
	Conflicts     []effectRow
	MoreConflicts int
	First         []changeRow
	// Back is the address of the list of changes.
	Back string
}

// effectRow describes one object.
type effectRow struct {
	// Kind is the kind of object, Name what the member calls it; empty if not known.
	Kind, Name string
	Text       string
}

// Limits on how much of one undo is shown.
const (
	maxEffects   = 20
	maxConflicts = 10
	// maxLater is how many later changes of an object are searched for a conflicting
	// one.
	maxLater = 50
)

// undoTool is the name under which the page's undos are recorded.
const undoTool = "settings/activity"

// showUndo shows what an undo would restore, or why it is refused. It changes nothing.
func (v *request) showUndo() error {
	c, err := v.change(v.R.URL.Query().Get(changeParameter))
	if err != nil {
		return err
	}
	if !c.Undoable() {
		return v.renderUndo(http.StatusOK, c, history.Undone{})
	}
	would, err := history.UndoChange(v.R.Context(), v.data(), v.Kinds, undoTool, c.ID, true)
	if err == nil && would.AlreadyUndone { // in the meantime
		c, err = v.change(c.ID)
	}
	if err != nil {
		return err
	}
	return v.renderUndo(http.StatusOK, c, would)
}

// undo undoes a whole change, or shows why nothing was undone. If the change is already
// undone, the page says so. It leads back to the page that the form names, or to the list of
// changes.
func (v *request) undo() error {
	c, err := v.change(v.R.PostForm.Get(changeParameter))
	if err != nil {
		return err
	}
	back := page.LocalPath(v.R.PostForm.Get(page.ReturnParameter))
	return v.takeBack(c, undoTool, cmp.Or(back, page.PathActivity), "undone")
}

// takeBack undoes a change under a page's name and redirects to a path with a notice,
// or shows why nothing was undone.
func (v *request) takeBack(c *history.Change, tool, path, notice string) error {
	if !c.Undoable() && c.UndoneBy == "" {
		return v.renderUndo(http.StatusConflict, c, history.Undone{})
	}
	undone, err := history.UndoChange(v.R.Context(), v.data(), v.Kinds, tool, c.ID, false)
	switch {
	case err != nil:
		return err
	case len(undone.Conflicts) > 0:
		return v.renderUndo(http.StatusConflict, c, undone)
	case undone.AlreadyUndone:
		v.RedirectDone(path, "undone-already")
	default:
		v.RedirectDone(path, notice)
	}
	return nil
}

// change returns one change of the member. For a change of another member, one that
// does not exist and an invalid id it returns the same fault.NotFound.
func (v *request) change(changeID string) (*history.Change, error) {
	missing := fault.New(fault.NotFound, "there is no such change")
	if !id.Valid(id.Change, changeID) {
		return nil, missing
	}
	found, err := history.ListChanges(v.R.Context(), v.data(), history.Query{IDs: []string{changeID}, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, missing
	}
	return &found[0], nil
}

func (v *request) renderUndo(status int, c *history.Change, undone history.Undone) error {
	ctx := v.R.Context()
	rows, err := v.changeRows(ctx, []history.Change{*c})
	if err != nil {
		return err
	}
	content := undoContent{Change: rows[0], Back: page.PathActivity}
	restored, conflicts := undone.Restored[:min(len(undone.Restored), maxEffects)], undone.Conflicts[:min(len(undone.Conflicts), maxConflicts)]
	names, err := v.namesIn(ctx, c, restored, conflicts)
	if err != nil {
		return err
	}
	for _, o := range restored {
		content.Effects = append(content.Effects, names.row(o.Kind, o.ID, effectText(o)))
	}
	for _, o := range conflicts {
		content.Conflicts = append(content.Conflicts, names.row(o.Kind, o.ID, conflictText(o)))
	}
	content.More, content.MoreConflicts = len(undone.Restored)-len(restored), len(undone.Conflicts)-len(conflicts)
	if content.First, err = v.undoFirst(ctx, c, conflicts); err != nil {
		return err
	}
	v.Render(status, "undo", page.Page{Title: undoTitle(content), Area: page.PathActivity, Content: content})
	return nil
}

func undoTitle(c undoContent) string {
	switch {
	case c.Change.Undone:
		return "It was undone already"
	case c.Change.Final:
		return "This cannot be undone"
	case len(c.Conflicts) > 0:
		return "This cannot be undone yet"
	}
	return "Undo this change?"
}

// undoFirst returns the conflicting changes, the latest first. They can be undone one
// by one in that order.
func (v *request) undoFirst(ctx context.Context, c *history.Change, conflicts []history.Conflict) ([]changeRow, error) {
	var found []history.Change
	for _, conflict := range conflicts {
		objects := objectIDs(conflict.Reason)
		if len(objects) == 0 {
			objects = []string{conflict.ID}
		}
		for _, object := range objects {
			changes, err := history.ListChanges(ctx, v.data(), history.Query{ObjectID: object, Limit: maxLater})
			if err != nil {
				return nil, err
			}
			if i := slices.IndexFunc(changes, func(later history.Change) bool { return later.Blocking(c.ID, object, conflict.Fields) }); i >= 0 {
				found = append(found, changes[i])
			}
		}
	}
	slices.SortFunc(found, func(a, b history.Change) int { return strings.Compare(b.ID, a.ID) })
	found = slices.CompactFunc(found, func(a, b history.Change) bool { return a.ID == b.ID })
	return v.changeRows(ctx, found)
}
