package grouping

import (
	"cmp"
	"context"
	"net/http"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
	organizev1 "github.com/kith-crm/kith/proto/gen/kith/organize/v1"
)

// tagContent is the content of the page of one tag.
type tagContent struct {
	*organizev1.Tag

	// To is the input with the new name, Others the tags that it may be merged into.
	To     page.Field
	Others []string
}

func (v *request) showTag() error {
	name := v.R.URL.Query().Get("name")
	if name == "" {
		return v.Redirect(v.To(page.PathGroups))
	}
	return v.renderTag(http.StatusOK, name, nil)
}

// renderTag shows the forms of a tag. Archived people may be the only ones who have it.
func (v *request) renderTag(status int, name string, wrong []page.FieldError) error {
	shown, err := groups.FindTag(v.Ctx, v.Data(), name)
	if err != nil {
		return err
	}
	list, err := v.list()
	if err != nil {
		return err
	}
	m := page.Mistakes{List: wrong}
	content := tagContent{
		Tag: &organizev1.Tag{Name: shown},
		To:  page.Field{Name: "to", Label: "New name", Value: cmp.Or(v.R.PostForm.Get("to"), shown), List: "other-tags", Required: true, Autocomplete: "off", Error: m.Of("to")},
	}
	for _, other := range list.GetTags() {
		if text.Fold(other.GetName()) == text.Fold(shown) {
			content.People = other.People
		} else {
			content.Others = append(content.Others, other.GetName())
		}
	}
	return v.Render(status, "tag", page.Page{Title: shown, Area: page.PathPeople, Errors: wrong, Content: content})
}

// renameTag renames a tag, or merges it into another one.
func (v *request) renameTag() error {
	from := v.R.PostForm.Get("from")
	if _, err := groups.FindTag(v.Ctx, v.Data(), from); err != nil {
		return err
	}
	to := v.Line("to")
	if !text.Visible(to) {
		return v.renderTag(http.StatusUnprocessableEntity, from, []page.FieldError{{Name: "to", Message: "Enter a name."}})
	}
	renamed, wrong, err := page.Write(v.Member, tool, &organizev1.RenameTagRequest{From: from, To: to}, v.Groups.RenameTag)
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return v.renderTag(http.StatusUnprocessableEntity, from, wrong)
	}
	return v.RedirectUndoable(v.To(page.PathGroups), "tag-renamed", renamed.GetChangeId())
}

// removeTag takes a tag off everybody who has it.
func (v *request) removeTag() error {
	tag, err := groups.FindTag(v.Ctx, v.Data(), v.R.PostForm.Get("from"))
	if err != nil {
		return err
	}
	return v.act("tag-removed", func(ctx context.Context, tx *db.Tx) (string, error) {
		removed, err := groups.RemoveTag(ctx, tx, tag)
		if fault.Is(err, fault.Invalid) { // in the meantime
			err = fault.New(fault.NotFound, "there is no such tag")
		}
		return removed.ChangeID, err
	})
}
