package contacts

import (
	"context"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/views"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

const pathViews = page.PathPeople + "/views"

// viewsTool is the name under which views are saved.
const viewsTool = "people/views"

// viewLink is a saved view above the list.
type viewLink struct {
	Name, Path string
	// Current is set for the view that the page shows.
	Current bool
}

// addViews adds the saved views to the list.
func (v *request) addViews(content *listContent) error {
	saved, err := views.ListViews(v.Ctx, v.Data())
	content.MayView = content.Back != ""
	for _, one := range saved {
		link := viewLink{Name: one.Name, Path: v.pathOf(one), Current: one.Query == content.Back}
		content.MayView = content.MayView && !link.Current
		content.Views = append(content.Views, link)
	}
	return err
}

// pathOf returns the address of the list with the filters of a view.
func (v *request) pathOf(view views.View) string {
	search, _ := url.ParseQuery(view.Query) // it was encoded when it was saved
	return page.Address(v.To(page.PathPeople), searchIn(search))
}

// viewsContent is the content of the page that manages the saved views.
type viewsContent struct {
	Views []viewRow
	// New is the name of a view that could not be saved, Back its filters; it is shown if
	// New has a label.
	New  page.Field
	Back string
	List string
}

// viewRow is a view with the input of its name.
type viewRow struct {
	ID, Name, Path string
	Field          page.Field
}

func (v *request) showViews() error { return v.renderViews(viewsContent{}, "", nil) }

// renderViews shows the saved views, with the errors of the view that was to be renamed.
func (v *request) renderViews(content viewsContent, renamed string, wrong []page.FieldError) error {
	saved, err := views.ListViews(v.Ctx, v.Data())
	if err != nil {
		return err
	}
	content.List = v.To(page.PathPeople)
	for _, one := range saved {
		row := viewRow{ID: one.ID, Name: one.Name, Path: v.pathOf(one), Field: page.Field{Name: "name-" + one.ID, Label: "Name", Value: one.Name, Required: true}}
		if one.ID == renamed && len(wrong) > 0 {
			row.Field.Value, row.Field.Error = v.R.PostForm.Get("name"), wrong[0].Message
			wrong[0].Name = row.Field.Name
		}
		content.Views = append(content.Views, row)
	}
	return v.Render(page.StatusOf(wrong), "people-views", page.Page{Title: "Saved views", Area: page.PathPeople, Errors: wrong, Content: content})
}

// writeView runs a write to the saved views. It returns the errors of its fields.
func (v *request) writeView(fn func(ctx context.Context, tx *db.Tx) error) ([]page.FieldError, error) {
	var mistakes page.Mistakes
	err := mistakes.TakeAll(v.Data().Write(v.Ctx, db.Actor{Tool: viewsTool}, fn))
	return mistakes.List, err
}

func (v *request) saveView() error {
	search := v.cameFrom()
	if len(search) == 0 {
		return v.Redirect(v.To(page.PathPeople))
	}
	wrong, err := v.writeView(func(ctx context.Context, tx *db.Tx) error {
		_, err := views.Save(ctx, tx, v.R.PostForm.Get("name"), search.Encode())
		return err
	})
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		field := page.Field{Name: "name", Label: "Name of the view", Value: v.R.PostForm.Get("name"), Required: true, Error: wrong[0].Message}
		wrong[0].Name = field.Name
		return v.renderViews(viewsContent{New: field, Back: search.Encode()}, "", wrong[:1])
	}
	return v.backToList("view-saved", "")
}

// viewID returns the view that a form is about, or fault.NotFound.
func (v *request) viewID() (string, error) {
	given := v.R.PostForm.Get("view")
	if !id.Valid(id.View, given) {
		return "", fault.New(fault.NotFound, "there is no such view")
	}
	return given, nil
}

func (v *request) renameView() error {
	view, err := v.viewID()
	if err != nil {
		return err
	}
	wrong, err := v.writeView(func(ctx context.Context, tx *db.Tx) error {
		return views.Rename(ctx, tx, view, v.R.PostForm.Get("name"))
	})
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return v.renderViews(viewsContent{}, view, wrong[:1])
	}
	return v.RedirectDone(v.To(pathViews), "view-saved")
}

func (v *request) deleteView() error {
	view, err := v.viewID()
	if err != nil {
		return err
	}
	if _, err := v.writeView(func(ctx context.Context, tx *db.Tx) error { return views.DeleteView(ctx, tx, view) }); err != nil {
		return err
	}
	return v.RedirectDone(v.To(pathViews), "view-deleted")
}
