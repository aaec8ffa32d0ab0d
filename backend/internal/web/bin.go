package web

import (
	"context"
	"net/http"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

const (
	pathBinRestore = "/settings/bin/restore"
	pathBinDelete  = "/settings/bin/delete"
)

// binTool is the name under which changes made on the page are recorded.
const binTool = "settings/bin"

// lastParameter names the latest deletion that was in the bin when the member was asked
// whether to empty it.
const lastParameter = "last"

func binRoutes() []route {
	return []route{
		{"GET " + page.PathBin, page.MembersOnly, (*request).showBin},
		{"POST " + pathBinRestore, page.MembersOnly, (*request).restoreFromBin},
		{"GET " + pathBinDelete, page.MembersOnly, (*request).confirmBinDelete},
		{"POST " + pathBinDelete, page.MembersOnly, (*request).binDelete},
	}
}

// binContent is the content of the page of deleted people.
type binContent struct {
	Deletions []binRow
	// Older is the address of the next page, Latest of the first; empty if there is no
	// such page or if it is this one.
	Older, Latest string
}

// binRow is one deletion.
type binRow struct {
	changeRow

	// Until is when the deletion becomes final, in the member's time zone, and DaysLeft
	// is how many days that is from now, rounded up.
	Until    time.Time
	DaysLeft int
}

// binOrder is the order that the page's cursors belong to.
const binOrder = "bin"

func (v *request) showBin() error {
	list, err := v.changesPage(page.PathBin, binOrder, history.Query{InBin: true})
	if err != nil {
		return err
	}
	rows, err := v.binRows(v.R.Context(), list.changes)
	if err != nil {
		return err
	}
	content := binContent{Deletions: rows, Older: list.older, Latest: list.latest}
	v.Render(http.StatusOK, "bin", page.Page{Title: "Bin", Section: page.PathBin, Content: content})
	return nil
}

func (v *request) binRows(ctx context.Context, changes []history.Change) ([]binRow, error) {
	rows, err := v.changeRows(ctx, changes)
	if err != nil {
		return nil, err
	}
	out := make([]binRow, len(rows))
	for i, row := range rows {
		left := changes[i].FinalAt.Sub(v.Now())
		out[i] = binRow{
			changeRow: row, Until: local(changes[i].FinalAt, row.At.Location()),
			DaysLeft: max(0, int((left+24*time.Hour-1)/(24*time.Hour))),
		}
	}
	return out, nil
}

// deletion returns a deletion of the member. It returns fault.NotFound for a change
// that is not a deletion, and for one of another member.
func (v *request) deletion(changeID string) (*history.Change, error) {
	c, err := v.change(changeID)
	if err == nil && c.FinalAt.IsZero() {
		err = fault.New(fault.NotFound, "there is no such deletion")
	}
	return c, err
}

func (v *request) restoreFromBin() error {
	c, err := v.deletion(v.R.PostForm.Get(changeParameter))
	if err != nil {
		return err
	}
	return v.takeBack(c, binTool, page.PathBin, "restored")
}

// binDeleteContent is the content of the page that asks for confirmation before people
// are permanently deleted.
type binDeleteContent struct {
	// One is the deletion to make final; nil to empty the bin.
	One *binRow
	// Last is the latest deletion in the bin.
	Last, Back string
}

func (v *request) confirmBinDelete() error {
	ctx, content := v.R.Context(), binDeleteContent{Back: page.PathBin}
	asked := v.R.URL.Query()
	if !asked.Has(changeParameter) {
		latest, err := history.ListChanges(ctx, v.data(), history.Query{InBin: true, Limit: 1})
		if err != nil {
			return err
		}
		if len(latest) == 0 {
			v.Redirect(page.PathBin)
			return nil
		}
		content.Last = latest[0].ID
		v.Render(http.StatusOK, "bin-delete", page.Page{Title: "Empty the bin?", Section: page.PathBin, Content: content})
		return nil
	}
	c, err := v.deletion(asked.Get(changeParameter))
	if err != nil {
		return err
	}
	if !c.Undoable() { // restored or permanently deleted in the meantime
		v.Redirect(page.PathBin)
		return nil
	}
	rows, err := v.binRows(ctx, []history.Change{*c})
	if err != nil {
		return err
	}
	content.One = &rows[0]
	v.Render(http.StatusOK, "bin-delete", page.Page{Title: "Delete for good?", Section: page.PathBin, Content: content})
	return nil
}

// binDelete deletes permanently: one person, or all up to the latest one that was in
// the bin when the member was asked. People who were deleted after that stay in the
// bin.
func (v *request) binDelete() error {
	ctx := v.R.Context()
	if last := v.R.PostForm.Get(lastParameter); last != "" {
		if !id.Valid(id.Change, last) {
			return fault.New(fault.NotFound, "there is no such deletion")
		}
		ended, err := history.EmptyBin(ctx, v.data(), binTool, last)
		if err != nil {
			return err
		}
		if ended > 0 {
			v.record(account.DeletedForGood, v.Login.MemberID, "")
		}
		v.RedirectDone(page.PathBin, "bin-emptied")
		return nil
	}
	c, err := v.deletion(v.R.PostForm.Get(changeParameter))
	if err != nil {
		return err
	}
	err = history.EndDeletion(ctx, v.data(), binTool, c.ID)
	if fault.Is(err, fault.NotFound) { // restored or permanently deleted in the meantime
		v.RedirectDone(page.PathBin, "bin-nothing")
		return nil
	}
	if err != nil {
		return err
	}
	v.record(account.DeletedForGood, v.Login.MemberID, c.ID)
	v.RedirectDone(page.PathBin, "bin-deleted")
	return nil
}
