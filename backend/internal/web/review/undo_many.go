package review

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// manyContent is the content of the page that undoes several changes.
type manyContent struct {
	// Agent is the agent whose changes these are, AgentName their name, empty for the
	// member, and Since the input with the time from which on; empty for ticked changes.
	Agent, AgentName string
	Since            page.Field
	// Asked is set once there are changes to show. Done is how many were undone just now.
	Asked bool
	Done  int
	// Can are the changes that can be undone, Cannot those that stay as they are; the
	// latest first.
	Can, Cannot []manyRow
	// More is set if the agent made more changes than are undone at once, Max.
	More bool
	Max  int
}

// manyRow is one of several changes to undo.
type manyRow struct {
	Row

	// Effects are the first objects that the undo restores, or that prevent it, and MoreEffects is
	// how many more there are.
	Effects     []effectRow
	MoreEffects int
	// Already is set if the change is undone already.
	Already bool
}

// severalParameter says that the changes come from boxes to tick.
const severalParameter = "several"

// ticked returns the changes that were ticked, each once, or a refusal if there are too
// many.
func (v *request) ticked(asked []string) ([]string, error) {
	slices.Sort(asked)
	asked = slices.Compact(asked)
	if len(asked) > history.MaxUndo {
		return nil, page.Refuse(http.StatusBadRequest, "That is too many at once",
			fmt.Sprintf("At most %d changes can be undone at once. Nothing was undone. Go back and tick fewer.", history.MaxUndo))
	}
	changes, err := v.changes(asked)
	if err == nil && len(history.FirstUndoable(changes)) < len(changes) {
		err = page.Refuse(http.StatusBadRequest, "That is too many at once",
			fmt.Sprintf("Together these changes touch more than %d objects. Nothing was undone. Go back and tick fewer.", history.MaxEffects))
	}
	return asked, err
}

// showUndoOfMany shows what undoing the ticked changes would do.
func (v *request) showUndoOfMany(asked []string) error {
	ids, err := v.ticked(asked)
	if err != nil {
		return err
	}
	return v.dryRun(manyContent{}, ids)
}

// showUndoOfAgent shows what undoing everything by one agent since a time would do. Without
// a time it asks for one.
func (v *request) showUndoOfAgent() error {
	agent, given := storable(v.R.URL.Query().Get(agentParameter)), v.R.URL.Query().Get(sinceParameter)
	content := manyContent{
		Agent: agent, Since: page.Field{Name: sinceParameter, Label: "Since", Kind: "datetime-local", Value: given, Required: true, Hint: "In your time zone, " + v.Zone.String() + "."},
	}
	if agent == "" || len(agent) > maxAgent {
		return page.Refuse(http.StatusBadRequest, "This address is wrong", "It names no agent.")
	}
	if !v.isMember(agent) {
		content.AgentName = nameOf(agent, agent)
	}
	if given == "" {
		return v.renderMany(http.StatusOK, content, nil)
	}
	since, err := parseSince(given, v.Zone)
	if err != nil {
		content.Since.Error = "Enter a day and a time, such as 2026-11-23T09:30."
		return v.renderMany(http.StatusBadRequest, content, []page.FieldError{{Name: sinceParameter, Message: content.Since.Error}})
	}
	content.Since.Value = since.In(v.Zone).Format(localSeconds)
	changes, err := v.inForce(agent, since)
	if err != nil {
		return err
	}
	fit := history.FirstUndoable(changes)
	content.More, changes = len(fit) < len(changes), fit
	ids := make([]string, len(changes))
	for i, c := range changes {
		ids[i] = c.ID
	}
	return v.dryRun(content, ids)
}

// maxAgent is the longest name or id of an agent, in bytes.
const maxAgent = 400

// The layouts of inputs of kind datetime-local.
const (
	localMinutes = "2006-01-02T15:04"
	localSeconds = "2006-01-02T15:04:05.999"
)

// parseSince reads a time of an address: with an offset, or as an input sends it, in the
// member's time zone.
func parseSince(given string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{localMinutes, localSeconds} {
		if at, err := time.ParseInLocation(layout, given, zone); err == nil {
			return at, nil
		}
	}
	return time.Parse(time.RFC3339Nano, given)
}

// inForce returns the changes of an agent since a time that can be undone, the latest first: at
// most one more than is undone at once. It leaves out the agent's undos of its own changes since
// then: those changes have no effect any more, or are in the list.
func (v *request) inForce(agent string, since time.Time) ([]history.Change, error) {
	changes, err := history.ListChanges(v.Ctx, v.Data(), history.Query{
		Agent: agent, ByMember: v.isMember(agent), Since: since.UTC(), InForce: true, Limit: history.MaxUndo + 1,
	})
	if err != nil {
		return nil, err
	}
	var targets []string
	for _, c := range changes {
		if c.Undoes != "" {
			targets = append(targets, c.Undoes)
		}
	}
	own := map[string]bool{}
	if len(targets) > 0 {
		found, err := history.ListChanges(v.Ctx, v.Data(), history.Query{IDs: targets, Agent: agent, ByMember: v.isMember(agent), Since: since.UTC(), Limit: len(targets)})
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			own[c.ID] = true
		}
	}
	return slices.DeleteFunc(changes, func(c history.Change) bool { return own[c.Undoes] || !c.Undoable() }), nil
}

// dryRun shows what undoing changes would do.
func (v *request) dryRun(content manyContent, ids []string) error {
	would, err := history.UndoChanges(db.WithExtraQuota(v.Ctx), v.Data(), v.Kinds, undoTool, ids, true)
	if err != nil {
		return err
	}
	content.Asked = true
	if err := v.addMany(&content, would); err != nil {
		return err
	}
	return v.renderMany(http.StatusOK, content, nil)
}

// undoMany undoes several changes. If some cannot be undone, it shows why.
func (v *request) undoMany(asked []string) error {
	ids, err := v.ticked(asked)
	if err != nil {
		return err
	}
	undone, err := history.UndoChanges(db.WithExtraQuota(v.Ctx), v.Data(), v.Kinds, undoTool, ids, false)
	if err != nil {
		return err
	}
	content := manyContent{Asked: true}
	if err := v.addMany(&content, undone); err != nil {
		return err
	}
	content.Done, content.Can = len(content.Can), nil
	switch failed := slices.ContainsFunc(content.Cannot, func(r manyRow) bool { return !r.Already }); {
	case failed:
		return v.renderMany(http.StatusConflict, content, nil)
	case content.Done == 0:
		return v.RedirectDone(v.To(page.PathActivity), "undone-already")
	}
	return v.RedirectDone(v.To(page.PathActivity), "undone-several")
}

// shownEffects is how many objects of each of several changes are shown.
const shownEffects = 3

// addMany adds changes that were, or would be, undone.
func (v *request) addMany(content *manyContent, undone []history.UndoneChange) error {
	changes := make([]history.Change, len(undone))
	var recorded []history.Effect
	for i, u := range undone {
		changes[i] = u.Change
		recorded = append(recorded, recordedOn(&u.Change, firstOf(u.Undone, shownEffects, shownEffects))...)
	}
	rows, err := v.Rows(v.Ctx, v.Data(), v.Zone, v.Format(), changes)
	if err != nil {
		return err
	}
	names, err := v.namesOf(recorded, changes...)
	if err != nil {
		return err
	}
	for i, u := range undone {
		row := manyRow{Row: rows[i], Already: u.AlreadyUndone}
		effects, inTheWay := names.effectRows(u.Effects, firstOf(u.Undone, shownEffects, shownEffects))
		row.Effects = append(effects, inTheWay...)
		row.MoreEffects = max(len(u.Restored), len(u.Conflicts)) - len(row.Effects)
		if u.Never || u.AlreadyUndone || len(u.Conflicts) > 0 {
			content.Cannot = append(content.Cannot, row)
		} else {
			content.Can = append(content.Can, row)
		}
	}
	return nil
}

func (v *request) renderMany(status int, content manyContent, wrong []page.FieldError) error {
	content.Max = history.MaxUndo
	title := "Undo these changes?"
	switch {
	case content.Done > 0 || status == http.StatusConflict:
		title = "Not everything was undone"
	case !content.Asked:
		title = "Undo everything since when?"
	case len(content.Can) == 0:
		title = "There is nothing to undo"
	}
	return v.Render(status, "undo-many", page.Page{Title: title, Area: page.PathActivity, Errors: wrong, Content: content})
}
