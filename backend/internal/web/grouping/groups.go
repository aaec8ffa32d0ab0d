package grouping

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
	organizev1 "github.com/kith-crm/kith/proto/gen/kith/organize/v1"
)

// listContent is the content of the page of all groups and tags.
type listContent struct {
	*organizev1.ListGroupsResponse

	// New are the fields of a new group.
	New []page.Field
	// MaxTags is how many tags the page shows at most.
	MaxTags int
}

// groupContent is the content of the page of one group.
type groupContent struct {
	*organizev1.Group

	Fields []page.Field
	// Stored is set if the group was changed after the form was shown: the page then shows the
	// saved values, too.
	Stored bool
	// Into is the input with the group to merge this one into, Others the names to choose
	// from.
	Into   page.Field
	Others []string
}

func (v *request) showGroups() error {
	return v.renderGroups(http.StatusOK, groupFields("", "", "", nil), nil)
}

func (v *request) renderGroups(status int, fields []page.Field, wrong []page.FieldError) error {
	list, err := v.list()
	if err != nil {
		return err
	}
	return v.Render(status, "groups", page.Page{Title: "Groups and tags", Area: page.PathPeople, Errors: wrong, Content: listContent{list, fields, groups.MaxTags}})
}

// list returns all groups and the most used tags.
func (v *request) list() (*organizev1.ListGroupsResponse, error) {
	return v.Groups.ListGroups(v.Ctx, &organizev1.ListGroupsRequest{})
}

// fieldsOf returns the fields of the form of a group.
func fieldsOf(g *organizev1.Group) []page.Field {
	cadence := ""
	if g.GetCadenceDays() > 0 {
		cadence = strconv.Itoa(int(g.GetCadenceDays()))
	}
	return groupFields(g.GetName(), g.GetDescription(), cadence, nil)
}

// groupFields returns the fields of the form of a group, with values and their errors.
func groupFields(name, description, cadence string, wrong []page.FieldError) []page.Field {
	m := page.Mistakes{List: wrong}
	return []page.Field{
		{Name: "name", Label: "Name", Value: name, Required: true, Autocomplete: "off", Error: m.Of("name")},
		{Name: "description", Label: "What it is for", Value: description, Rows: 2, Error: m.Of("description")},
		{
			Name: "cadence_days", Label: "Keep in touch every", Value: cadence, Kind: "number", Error: m.Of("cadence_days"),
			Hint: "In days. Applies to everybody in the group; nobody is due without it.",
		},
	}
}

func (v *request) showGroup() error {
	g, list, err := v.find(v.R.PathValue("id"))
	if err != nil {
		return err
	}
	return v.renderGroup(http.StatusOK, g, list, g.GetVersion(), fieldsOf(g), nil)
}

// find returns a group of the member, and all groups. It fails with fault.NotFound.
func (v *request) find(groupID string) (*organizev1.Group, []*organizev1.Group, error) {
	missing := fault.New(fault.NotFound, "there is no such group")
	if !id.Valid(id.Group, groupID) {
		return nil, nil, missing
	}
	list, err := v.list()
	if err != nil {
		return nil, nil, err
	}
	for _, g := range list.GetGroups() {
		if g.GetId() == groupID {
			return g, list.GetGroups(), nil
		}
	}
	return nil, nil, missing
}

// renderGroup shows a group, with a form of one of its versions.
func (v *request) renderGroup(status int, g *organizev1.Group, list []*organizev1.Group, version int32, fields []page.Field, wrong []page.FieldError) error {
	m := page.Mistakes{List: wrong}
	content := groupContent{
		Group: g, Fields: fields, Stored: version != g.GetVersion(),
		Into: page.Field{Name: "into", Label: "Merge into", Value: v.R.PostForm.Get("into"), List: "other-groups", Required: true, Error: m.Of("into")},
	}
	for _, other := range list {
		if other.GetId() != g.GetId() {
			content.Others = append(content.Others, other.GetName())
		}
	}
	return v.Render(status, "group", page.Page{Title: g.GetName(), Area: page.PathPeople, Errors: wrong, Content: content})
}

// save makes a group or changes one.
func (v *request) save() error {
	form := v.R.PostForm
	name, description, cadence := v.Line("name"), form.Get("description"), v.Line("cadence_days")
	req := &organizev1.SaveGroupRequest{Name: &name, Description: &description, CadenceDays: new(int32(0))}
	var m page.Mistakes
	if !text.Visible(name) {
		m.Add("name", "Enter a name.")
		req.Name = new("x") // the other fields are checked too
	}
	if cadence != "" {
		days, err := strconv.ParseInt(cadence, 10, 32)
		if err != nil {
			m.Add("cadence_days", "Enter a whole number of days, or nothing.")
		}
		req.CadenceDays = new(int32(days))
	}
	groupID := form.Get("id")
	if groupID == "" {
		return v.create(req, cadence, m)
	}
	g, list, err := v.find(groupID)
	if err != nil {
		return err
	}
	version, err := strconv.ParseInt(form.Get("expected_version"), 10, 32)
	if err != nil || version < 1 {
		return page.Refuse(http.StatusBadRequest, "The form cannot be read", "Go back, reload the page and try again.")
	}
	req.Id, req.ExpectedVersion = &groupID, new(int32(version))
	saved, err := v.write(req, &m)
	status := http.StatusUnprocessableEntity
	switch {
	case fault.Is(err, fault.Conflict):
		status = http.StatusConflict
		if g, list, err = v.find(groupID); err != nil { // as it is now
			return err
		}
	case err != nil:
		return err
	case len(m.List) == 0:
		return v.RedirectUndoable(v.To(page.PathGroups), "group-saved", saved.GetChangeId())
	}
	return v.renderGroup(status, g, list, int32(version), groupFields(name, description, cadence, m.List), m.List)
}

// create makes a group, unless there is one with its name.
func (v *request) create(req *organizev1.SaveGroupRequest, cadence string, m page.Mistakes) error {
	list, err := v.list()
	if err != nil {
		return err
	}
	if groupNamed(list.GetGroups(), req.GetName()) != nil {
		m.Add("name", "You have a group with this name already.")
	}
	made, err := v.write(req, &m)
	if err != nil {
		return err
	}
	if len(m.List) == 0 {
		return v.RedirectUndoable(v.To(page.PathGroups), "group-made", made.GetChangeId())
	}
	return v.renderGroups(http.StatusUnprocessableEntity, groupFields(v.Line("name"), req.GetDescription(), cadence, m.List), m.List)
}

// write saves a group if nothing is wrong with the form, and adds what is.
func (v *request) write(req *organizev1.SaveGroupRequest, m *page.Mistakes) (*organizev1.SaveGroupResponse, error) {
	if len(m.List) > 0 {
		wrong, err := v.Check(req)
		for _, w := range wrong {
			if m.Of(w.Name) == "" {
				m.Add(w.Name, w.Message)
			}
		}
		return nil, err
	}
	saved, wrong, err := page.Write(v.Member, tool, req, v.Groups.SaveGroup)
	m.List = wrong
	var coded *fault.Error
	if errors.As(err, &coded) && coded.Code == fault.AlreadyExists {
		m.Add("name", "Another group has this name.")
		return nil, nil
	}
	return saved, err
}

func groupNamed(list []*organizev1.Group, name string) *organizev1.Group {
	folded := text.Fold(name)
	for _, g := range list {
		if text.Fold(g.GetName()) == folded {
			return g
		}
	}
	return nil
}

// merge moves everybody in a group to another one, and deletes the first.
func (v *request) merge() error {
	g, list, err := v.find(v.R.PostForm.Get("id"))
	if err != nil {
		return err
	}
	into, problem := groupNamed(list, v.Line("into")), ""
	switch {
	case strings.TrimSpace(v.R.PostForm.Get("into")) == "":
		problem = "Enter the name of another group."
	case into == nil:
		problem = "There is no group with this name."
	case into.GetId() == g.GetId():
		problem = "That is this group. Enter the name of another one."
	}
	if problem != "" {
		return v.renderGroup(http.StatusUnprocessableEntity, g, list, g.GetVersion(), fieldsOf(g), []page.FieldError{{Name: "into", Message: problem}})
	}
	return v.act("group-merged", func(ctx context.Context, tx *db.Tx) (string, error) {
		return groups.Merge(ctx, tx, g.GetId(), into.GetId())
	})
}

// delete deletes a group; its people stay.
func (v *request) delete() error {
	g, _, err := v.find(v.R.PostForm.Get("id"))
	if err != nil {
		return err
	}
	return v.act("group-deleted", func(ctx context.Context, tx *db.Tx) (string, error) { return groups.Delete(ctx, tx, g.GetId()) })
}

// act makes one change, and redirects to all groups with a notice that can undo it.
func (v *request) act(notice string, change func(context.Context, *db.Tx) (string, error)) error {
	changeID, err := page.Change(v.Member, tool, change)
	if err != nil {
		return err
	}
	return v.RedirectUndoable(v.To(page.PathGroups), notice, changeID)
}
