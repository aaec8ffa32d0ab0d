package contacts

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	organizev1 "github.com/kith-crm/kith/proto/gen/kith/organize/v1"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
)

const pathAct = page.PathPeople + "/act"

// listTool is the name under which changes made on the list are recorded.
const listTool = "people"

// act is something to do with the people who are chosen on the list.
type act struct {
	// Name is the value of the button, Label its text.
	Name, Label string
	// Title asks whether to do it; the page adds how many people.
	Title, Text string
	// Field is the input with the value that the act needs; its name is that of the tool's
	// argument. It is empty if the act needs none.
	Field page.Field
	// Alarm marks an act that hides people.
	Alarm bool
	// Archived says whether it is offered for archived people only, for others only, or for
	// both.
	Archived offered
	// leaves is set if people may no longer match the list's filters after the act.
	leaves bool
	// done is the name of the notice.
	done string
}

// offered says for which lists an act is offered.
type offered int

const (
	forAll offered = iota
	forArchived
	forOthers
)

// The acts whose pages differ from the others.
const (
	actMerge  = "merge"
	actExport = "export"
	actDelete = "delete"
)

func acts() []act {
	return []act{
		{Name: "tag", Label: "Tag", Title: "Tag", Field: page.Field{Name: "add_tags", Label: "Tag", Required: true, List: "known", Hint: "A new one is created."}, done: "people-tagged"},
		{Name: "untag", Label: "Remove tag", Title: "Remove a tag of", Field: page.Field{Name: "remove_tags", Label: "Tag", Required: true, List: "known"}, leaves: true, done: "people-tagged"},
		{Name: "group", Label: "Add to group", Title: "Add to a group", Field: page.Field{Name: "add_groups", Label: "Group", Required: true, List: "known"}, done: "people-grouped"},
		{Name: "ungroup", Label: "Remove from group", Title: "Remove from a group", Field: page.Field{Name: "remove_groups", Label: "Group", Required: true, List: "known"}, leaves: true, done: "people-grouped"},
		{
			Name: "cadence", Label: "Keep in touch", Title: "Keep in touch with",
			Field: page.Field{Name: "days", Label: "Days between contacts", Kind: "number", Required: true, Hint: "From 1 to 730: 30 is about once a month. 0 leaves it to their groups."}, done: "people-cadence",
		},
		{
			Name: "archive", Label: "Archive", Title: "Archive", Alarm: true, Archived: forOthers, leaves: true, done: "people-archived",
			Text: "They leave lists, searches and reminders. They are kept, and you can restore them at any time.",
		},
		{Name: "restore", Label: "Restore", Title: "Restore", Archived: forArchived, Text: "They are on your lists again.", leaves: true, done: "people-restored"},
		{
			Name: actMerge, Label: "Merge", Title: "Merge", Archived: forOthers, done: "people-merged", Alarm: true,
			Text: "The person who stays gets everything of the others. The others are archived.",
		},
		{Name: actExport, Label: "Export", Title: "Export", Field: page.Field{Name: "format", Label: "Format", Required: true}},
		{
			Name: actDelete, Label: "Delete", Title: "Delete", Alarm: true, leaves: true, done: "people-deleted",
			Text: "They go to the bin with the notes and interactions that are only about them. You can restore them for 30 days.",
		},
	}
}

// actsFor returns the acts that a list offers.
func actsFor(archived bool) []act {
	return slices.DeleteFunc(acts(), func(a act) bool { return a.Archived == forOthers && archived || a.Archived == forArchived && !archived })
}

// chosen are the people whom the member chose on the list.
type chosen struct {
	IDs []string
	// Selection stands for them if they were not chosen one by one; nil otherwise.
	Selection *string
	// names are the names of the first ones.
	names []string
}

// maxShown is how many names a page shows of the people who are chosen.
const maxShown = 10

// chosen returns who was chosen. It fails with fault.NotFound if one of them is not a person
// of the member, and with a refusal if the selection is not valid any more.
func (v *request) chosen() (chosen, error) {
	var who chosen
	var err error
	if selection := v.R.PostForm.Get("selection"); selection != "" {
		who.Selection = &selection
		who.IDs, err = v.Search.Selected(v.Ctx, selection)
		switch {
		case fault.Is(err, fault.Conflict):
			return who, page.Refuse(http.StatusConflict, "Other people match by now", "Nothing was changed. Go back to the list and choose again.")
		case fault.Is(err, fault.Invalid):
			return who, page.Refuse(http.StatusBadRequest, "This selection is not valid", "Nothing was changed. Go back to the list and choose again.")
		case err != nil:
			return who, err
		}
	} else {
		for _, one := range v.R.PostForm["id"] {
			if !id.Valid(id.Connection, one) {
				return who, fault.New(fault.NotFound, "there is no such person")
			}
			if !slices.Contains(who.IDs, one) {
				who.IDs = append(who.IDs, one)
			}
		}
		if len(who.IDs) > pageSize {
			return who, page.Refuse(http.StatusBadRequest, "These are too many people", "Nothing was changed. Go back to the list and choose everyone who matches.")
		}
	}
	shown := who.IDs
	if who.Selection != nil {
		shown = shown[:min(len(shown), maxShown)]
	}
	names, err := people.ListNames(v.Ctx, v.Data(), shown)
	if err == nil && len(names) < len(shown) {
		err = fault.New(fault.NotFound, "there is no such person")
	}
	for _, one := range shown[:min(len(shown), maxShown)] {
		who.names = append(who.names, names[one])
	}
	return who, err
}

// actOnPeople does what a button of the list says with the people who are chosen. If they are several,
// or if it needs a value, it first shows a page that asks for confirmation.
func (v *request) actOnPeople() error {
	at := slices.IndexFunc(acts(), func(a act) bool { return a.Name == v.R.PostForm.Get("act") })
	if at < 0 {
		return fault.New(fault.NotFound, "there is no such act")
	}
	a := acts()[at]
	if a.Name == actExport {
		if proven, err := v.Proven(""); err != nil || !proven {
			return err
		}
	}
	who, err := v.chosen()
	if err != nil {
		return err
	}
	confirmed := v.R.PostForm.Get("confirmed") != ""
	switch {
	case len(who.IDs) == 0:
		return v.backToList("people-none", "")
	case a.Name == actMerge:
		return v.mergePeople(a, who, confirmed)
	case a.Name == actExport && confirmed:
		return v.exportChosen(a, who)
	case !confirmed && (len(who.IDs) > 1 || a.Field.Name != "" || a.Name == actDelete):
		return v.confirmAct(http.StatusOK, a, who, confirmContent{}, nil)
	}
	done, wrong, err := v.doAct(a, who, false)
	switch {
	case fault.Is(err, fault.Conflict):
		return page.Refuse(http.StatusConflict, "Somebody was merged or changed meanwhile", page.Sentence(err.Error()))
	case err != nil:
		return err
	case len(wrong) > 0:
		return v.confirmAct(http.StatusBadRequest, a, who, confirmContent{}, wrong)
	case done.ChangeID == "":
		return v.backToList("people-unchanged", "")
	case a.leaves && who.Selection != nil:
		v.R.PostForm.Del("back") // perhaps nobody matches any more: go to the whole list
	}
	return v.backToList(a.done, done.ChangeID)
}

// backToList redirects to the list that the member came from, with a notice that undoes the
// change, if there is one.
func (v *request) backToList(notice, changeID string) error {
	return v.RedirectUndoable(page.Address(v.To(page.PathPeople), v.cameFrom()), notice, changeID)
}

// cameFrom returns the parameters of the list that the member came from.
func (v *request) cameFrom() url.Values {
	came, _ := url.ParseQuery(v.R.PostForm.Get("back")) // what cannot be read is left out
	return searchIn(came)
}

// outcome is what an act changed or, with a dry run, would change.
type outcome struct {
	Changed, Unchanged int
	ChangeID           string
}

// result is the answer of a tool that acts on several people.
type result interface {
	GetChanged() int32
	GetUnchanged() int32
	GetChangeId() string
}

func outcomeOf(r result, wrong []page.FieldError, err error) (outcome, []page.FieldError, error) {
	if err != nil || len(wrong) > 0 {
		for i := range wrong {
			wrong[i].Name = fieldOf(wrong[i].Name)
		}
		return outcome{}, wrong, err
	}
	return outcome{int(r.GetChanged()), int(r.GetUnchanged()), r.GetChangeId()}, nil, nil
}

// doAct calls the tool of an act. It returns the errors of its value.
func (v *request) doAct(a act, who chosen, dryRun bool) (outcome, []page.FieldError, error) {
	ids := who.IDs
	if who.Selection != nil {
		ids = nil
	}
	switch a.Name {
	case "cadence":
		days, err := strconv.ParseInt(v.Line(a.Field.Name), 10, 32)
		if err != nil {
			return outcome{}, []page.FieldError{{Name: a.Field.Name, Message: "Enter a number of days from 0 to 730."}}, nil
		}
		req := &remindersv1.SetCadenceRequest{ConnectionIds: ids, Selection: who.Selection, Days: new(int32(days)), DryRun: &dryRun}
		return outcomeOf(page.Write(v.Member, listTool, req, v.Reminders.SetCadence))
	case "archive", "restore":
		req := &connectionsv1.ArchiveConnectionsRequest{Ids: ids, Selection: who.Selection, Archived: new(a.Name == "archive"), DryRun: &dryRun}
		return outcomeOf(page.Write(v.Member, listTool, req, v.People.ArchiveConnections))
	case actDelete:
		done, err := page.Change(v.Member, listTool, func(ctx context.Context, tx *db.Tx) (people.Acted, error) {
			return people.DeleteAll(ctx, tx, v.People.Kinds, who.IDs, dryRun)
		})
		return outcome{Changed: len(done.Changed), ChangeID: done.ChangeID}, nil, err
	}
	if v.Line(a.Field.Name) == "" {
		return outcome{}, []page.FieldError{{Name: a.Field.Name, Message: map[bool]string{true: "Enter a group.", false: "Enter a tag."}[a.group()]}}, nil
	}
	req := &organizev1.UpdateMembershipRequest{ConnectionIds: ids, Selection: who.Selection, DryRun: &dryRun}
	page.Fill(req, url.Values{a.Field.Name: {v.Line(a.Field.Name)}})
	done, wrong, err := outcomeOf(page.Write(v.Member, listTool, req, v.Groups.UpdateMembership))
	if a.group() && fault.Is(err, fault.NotFound) { // the people were just read
		return done, []page.FieldError{{Name: a.Field.Name, Message: page.Sentence(err.Error())}}, nil
	}
	return done, wrong, err
}

// group reports whether the value of the act is a group.
func (a act) group() bool { return a.Name == "group" || a.Name == "ungroup" }

// exportChosen sends a file of the people who are chosen.
func (v *request) exportChosen(a act, who chosen) error {
	f := export.File{Format: v.Line(a.Field.Name), IDs: who.IDs}
	wrong, err := v.Check(&connectionsv1.ExportConnectionsRequest{Format: f.Format})
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return v.confirmAct(http.StatusBadRequest, a, who, confirmContent{}, wrong)
	}
	return v.Download(f.Name(v.At), f.MediaType(), v.writer(f), func() { v.Record(v.Request, account.PeopleExported, "") })
}
