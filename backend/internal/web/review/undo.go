package review

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// undoContent is the content of the page that undoes a change.
type undoContent struct {
	Change Row
	// Effects are what the undo would restore, More is how many more there are.
	Effects []effectRow
	More    int
	// Conflicts are the reasons why the undo is refused, MoreConflicts is how many more
	// there are, First are the changes to undo before this one, the latest first.
	Conflicts     []effectRow
	MoreConflicts int
	First         []Row
}

// Limits on how much of one undo is shown.
const (
	maxEffects   = 20
	maxConflicts = 10
	// wholeText is how much of a value the page of one change shows, in characters.
	wholeText = 4000
)

// undoTool is the name under which the page's undos are recorded.
const undoTool = "activity"

// showUndo shows what an undo would restore, or why it is refused: of one change, of several
// that were ticked, or of everything by one agent since a time. It changes nothing.
func (v *request) showUndo() error {
	address := v.R.URL.Query()
	asked := address[changeParameter]
	switch {
	case address.Has(agentParameter):
		return v.showUndoOfAgent()
	case len(asked) > 1:
		return v.showUndoOfMany(asked)
	case len(asked) == 0 && address.Has(severalParameter):
		return page.Refuse(http.StatusBadRequest, "Nothing is ticked", "Go back and tick the changes that you want to undo.")
	}
	c, err := v.change(address.Get(changeParameter))
	if err != nil {
		return err
	}
	if !c.Undoable() {
		return v.renderUndo(http.StatusOK, c, history.Undone{})
	}
	would, err := history.UndoChange(db.WithExtraQuota(v.Ctx), v.Data(), v.Kinds, undoTool, c.ID, true)
	if err == nil && would.AlreadyUndone { // in the meantime
		c, err = v.change(c.ID)
	}
	if err != nil {
		return err
	}
	return v.renderUndo(http.StatusOK, c, would)
}

// undo undoes changes, or shows why they were not undone. If a change is already undone,
// the page says so. After one it leads back to the page that the form names, or to the list
// of changes.
func (v *request) undo() error {
	if asked := v.R.PostForm[changeParameter]; len(asked) > 1 {
		return v.undoMany(asked)
	}
	c, err := v.change(v.R.PostForm.Get(changeParameter))
	if err != nil {
		return err
	}
	back := page.LocalPath(v.R.PostForm.Get(page.ReturnParameter))
	return v.takeBack(c, undoTool, cmp.Or(back, v.To(page.PathActivity)), "undone")
}

// takeBack undoes a change under a page's name and redirects to a path with a notice,
// or shows why nothing was undone.
func (v *request) takeBack(c *history.Change, tool, path, notice string) error {
	if !c.Undoable() && c.UndoneBy == "" {
		return v.renderUndo(http.StatusConflict, c, history.Undone{})
	}
	undone, err := history.UndoChange(db.WithExtraQuota(v.Ctx), v.Data(), v.Kinds, tool, c.ID, false)
	switch {
	case err != nil:
		return err
	case len(undone.Conflicts) > 0:
		return v.renderUndo(http.StatusConflict, c, undone)
	case undone.AlreadyUndone:
		notice = "undone-already"
	}
	return v.RedirectDone(path, notice)
}

// change returns one change of the member. For a change of another member, one that
// does not exist and an invalid id it returns the same fault.NotFound.
func (v *request) change(changeID string) (*history.Change, error) {
	found, err := v.changes([]string{changeID})
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// changes returns changes of the member, the latest first. It fails as change does.
func (v *request) changes(ids []string) ([]history.Change, error) {
	missing := fault.New(fault.NotFound, "there is no such change")
	if slices.ContainsFunc(ids, func(one string) bool { return !id.Valid(id.Change, one) }) {
		return nil, missing
	}
	found, err := history.ListChanges(v.Ctx, v.Data(), history.Query{IDs: ids, Limit: len(ids)})
	if err == nil && len(found) < len(ids) {
		err = missing
	}
	return found, err
}

func (v *request) renderUndo(status int, c *history.Change, undone history.Undone) error {
	first := firstOf(undone, maxEffects, maxConflicts)
	rows, err := v.rows([]history.Change{*c}, maxEffects, wholeText)
	if err != nil {
		return err
	}
	content := undoContent{Change: rows[0], More: len(undone.Restored) - len(first.Restored), MoreConflicts: len(undone.Conflicts) - len(first.Conflicts)}
	recorded := recordedOn(c, first)
	names, err := v.namesOf(recorded, *c)
	if err != nil {
		return err
	}
	content.Effects, content.Conflicts = names.effectRows(recorded, first)
	if content.First, err = v.undoFirst(first.Conflicts); err != nil {
		return err
	}
	return v.Render(status, "undo", page.Page{Title: undoTitle(content), Area: page.PathActivity, Content: content})
}

// firstOf cuts what an undo did, or would do, to its first objects and conflicts.
func firstOf(u history.Undone, objects, conflicts int) history.Undone {
	u.Restored, u.Conflicts = u.Restored[:min(len(u.Restored), objects)], u.Conflicts[:min(len(u.Conflicts), conflicts)]
	return u
}

// recordedOn returns the effects of a change on the objects of its undo.
func recordedOn(c *history.Change, u history.Undone) []history.Effect {
	shown := map[string]bool{}
	for _, o := range u.Restored {
		shown[o.Kind+o.ID] = true
	}
	for _, o := range u.Conflicts {
		shown[o.Kind+o.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(c.Effects), func(e history.Effect) bool { return !shown[e.Kind+e.ID] })
}

// effectRows returns the objects of an undo, and those that prevent it.
func (n objectNames) effectRows(recorded []history.Effect, u history.Undone) (effects, inTheWay []effectRow) {
	for _, o := range u.Restored {
		effects = append(effects, n.effectRow(o.Kind, o.ID, recorded, effectText(o)))
	}
	for _, o := range u.Conflicts {
		inTheWay = append(inTheWay, n.effectRow(o.Kind, o.ID, recorded, conflictText(o)))
	}
	return effects, inTheWay
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

// undoFirst returns the changes that made conflicts, the latest first. They can be undone
// one by one in that order.
func (v *request) undoFirst(conflicts []history.Conflict) ([]Row, error) {
	var ids []string
	for _, conflict := range conflicts {
		if conflict.ChangeID != "" && !slices.Contains(ids, conflict.ChangeID) {
			ids = append(ids, conflict.ChangeID)
		}
	}
	found, err := changesByID(v.Ctx, v.Data(), ids)
	if err != nil {
		return nil, err
	}
	return v.Rows(v.Ctx, v.Data(), v.Zone, v.Format(), found)
}
