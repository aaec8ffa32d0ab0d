package contacts

import (
	"cmp"
	"io"
	"net/http"
	"slices"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	organizev1 "github.com/kith-crm/kith/proto/gen/kith/organize/v1"
)

// confirmContent is the content of the page that asks before something is done with people.
type confirmContent struct {
	Act act
	// Names are the names of the first people, More is how many others there are.
	Names []string
	More  int
	// Unchanged is how many need no change.
	Unchanged int
	// IDs or Selection say who they are.
	IDs       []string
	Selection string
	// Back are the parameters of the list, List is its address.
	Back, List string
	// Known are values to choose from, Formats those of an export.
	Known   []string
	Formats []page.Option
	// Stays are the people to choose from in a merge: one of them stays. Dropped are the values of
	// the others that only a note keeps.
	Stays   []stayRow
	Dropped []*connectionsv1.MergeConflict
}

// stayRow is a person who may stay in a merge.
type stayRow struct {
	ID, Name, Headline, Email string
	Selected                  bool
}

// confirmAct shows the page that asks before an act, with the errors of its value.
func (v *request) confirmAct(status int, a act, who chosen, content confirmContent, wrong []page.FieldError) error {
	a.Field.Value = v.Line(a.Field.Name)
	for _, w := range wrong {
		if w.Name == a.Field.Name && a.Field.Name != "" {
			a.Field.Error = w.Message
		}
	}
	content.Act, content.Names, content.More, content.Back = a, who.names, len(who.IDs)-len(who.names), v.R.PostForm.Get("back")
	if content.IDs = who.IDs; who.Selection != nil {
		content.IDs, content.Selection = nil, *who.Selection
	}
	content.List = page.Address(v.To(page.PathPeople), v.cameFrom())
	var err error
	switch {
	case a.Name == actExport:
		content.Formats = page.Choose(a.Field.Value, []page.Option{
			{Value: export.CSV, Label: "Table (CSV)"}, {Value: export.VCard, Label: "Address book (vCard)"},
			{Value: export.VCard3, Label: "Older phones and Outlook (vCard 3.0)"},
			{Value: export.JSON, Label: "Everything, to import again (JSON)"}, {Value: export.JSContact, Label: "JSContact"},
		}...)
	case a.Field.List != "":
		content.Known, err = v.known(a)
	case a.Field.Name == "" && a.Name != actMerge:
		var would outcome
		if would, _, err = v.doAct(a, who, true); err == nil {
			content.Unchanged = would.Unchanged
		}
	}
	if fault.Is(err, fault.Conflict) {
		return page.Refuse(http.StatusConflict, "That cannot be done with all of them", page.Sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	title := v.Text("%s %d people", v.Text(a.Title), len(who.IDs))
	if len(who.IDs) == 1 {
		title = v.Text("%s 1 person", v.Text(a.Title))
	}
	if a.group() {
		title += "?"
	}
	return v.Render(status, "people-act", page.Page{Title: title, Area: page.PathPeople, Errors: wrong, Content: content})
}

// known returns the names of the groups, or the tags that are used most.
func (v *request) known(a act) ([]string, error) {
	all, _, err := page.Read(v.Member, &organizev1.ListGroupsRequest{}, v.Groups.ListGroups)
	if err != nil {
		return nil, err
	}
	var names []string
	if a.group() {
		for _, g := range all.GetGroups() {
			names = append(names, g.GetName())
		}
		return names, nil
	}
	for _, t := range all.GetTags() {
		names = append(names, t.GetName())
	}
	return names, nil
}

// writer writes a file of people.
func (v *request) writer(f export.File) func(io.Writer) error {
	return func(out io.Writer) error {
		_, err := f.Write(v.WithoutDeadline(), v.Data(), out)
		return err
	}
}

// maxMerged is the maximum number of people in one merge.
const maxMerged = 20

// mergePeople merges the people who are chosen into the one who stays. It first shows a page on
// which the member chooses who stays, and sees which values of the others are dropped.
func (v *request) mergePeople(a act, who chosen, confirmed bool) error {
	if len(who.IDs) < 2 || len(who.IDs) > maxMerged {
		return page.Refuse(http.StatusBadRequest, "Choose from 2 to 20 people to merge", "Nothing was changed. Go back to the list and choose who is the same person.")
	}
	keep := cmp.Or(v.R.PostForm.Get("keep"), who.IDs[0])
	if !slices.Contains(who.IDs, keep) {
		return fault.New(fault.NotFound, "there is no such person")
	}
	req := &connectionsv1.MergeConnectionsRequest{DryRun: new(!confirmed)}
	for _, one := range who.IDs {
		if one != keep {
			req.Pairs = append(req.Pairs, &connectionsv1.MergePair{KeepId: keep, MergeId: one})
		}
	}
	merged, wrong, err := page.Write(v.Member, listTool, req, v.People.MergeConnections)
	switch {
	case fault.Is(err, fault.Conflict):
		return page.Refuse(http.StatusConflict, "They cannot be merged", page.Sentence(err.Error()))
	case err != nil:
		return err
	case len(wrong) == 0 && confirmed:
		return v.backToList(a.done, merged.GetChangeId())
	}
	content := confirmContent{Dropped: merged.GetConflicts()}
	stored, err := people.GetConnections(v.Ctx, v.Data(), who.IDs)
	if err != nil {
		return err
	}
	for _, one := range who.IDs {
		if c := stored[one]; c != nil {
			row := stayRow{ID: one, Name: c.Name, Headline: c.CurrentPosition().Headline(), Selected: one == keep}
			if emails := c.Values(people.KindEmail); len(emails) > 0 {
				row.Email = emails[0]
			}
			content.Stays = append(content.Stays, row)
		}
	}
	return v.confirmAct(page.StatusOf(wrong), a, who, content, wrong)
}
