package review

import (
	"cmp"
	"net/http"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// binTool is the name under which changes made on the page are recorded.
const binTool = "people/bin"

// lastParameter names the latest deletion that was in the bin when the member was asked
// whether to empty it.
const lastParameter = "last"

// binContent is the content of the page of deleted people.
type binContent struct {
	Deletions []binRow
	// Older is the address of the next page, Latest of the first; empty if there is no
	// such page or if it is this one.
	Older, Latest string
}

// binRow is one deletion.
type binRow struct {
	Row

	// Until is when the deletion becomes final, in the member's time zone, and DaysLeft
	// is how many days that is from now, rounded up.
	Until    time.Time
	DaysLeft int
}

func (v *request) showBin() error {
	list, err := v.changesPage(page.PathBin, history.Query{InBin: true}, nil)
	if err != nil {
		return err
	}
	rows, err := v.binRows(list.changes)
	if err != nil {
		return err
	}
	return v.Render(http.StatusOK, "bin", page.Page{Title: "Bin", Area: page.PathPeople, Content: binContent{rows, list.older, list.latest}})
}

func (v *request) binRows(changes []history.Change) ([]binRow, error) {
	rows, err := v.Rows(v.Ctx, v.Data(), v.Zone, v.Format(), changes)
	if err != nil {
		return nil, err
	}
	out := make([]binRow, len(rows))
	for i, row := range rows {
		left := changes[i].FinalAt.Sub(v.At)
		out[i] = binRow{
			Row: row, Until: local(changes[i].FinalAt, row.At.Location()),
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
	back := page.LocalPath(v.R.PostForm.Get(page.ReturnParameter))
	return v.takeBack(c, binTool, cmp.Or(back, v.To(page.PathBin)), "restored")
}

// binDeleteContent is the content of the page that asks for confirmation before people
// are permanently deleted.
type binDeleteContent struct {
	// One is the deletion to make final; nil to empty the bin.
	One *binRow
	// Last is the latest deletion in the bin.
	Last string
}

func (v *request) confirmBinDelete() error {
	var content binDeleteContent
	asked := v.R.URL.Query()
	if !asked.Has(changeParameter) {
		latest, err := history.ListChanges(v.Ctx, v.Data(), history.Query{InBin: true, Limit: 1})
		if err != nil {
			return err
		}
		if len(latest) == 0 {
			return v.Redirect(v.To(page.PathBin))
		}
		content.Last = latest[0].ID
		return v.Render(http.StatusOK, "bin-delete", page.Page{Title: "Empty the bin?", Area: page.PathPeople, Content: content})
	}
	c, err := v.deletion(asked.Get(changeParameter))
	if err != nil {
		return err
	}
	if !c.Undoable() { // restored or permanently deleted in the meantime
		return v.Redirect(v.To(page.PathBin))
	}
	rows, err := v.binRows([]history.Change{*c})
	if err != nil {
		return err
	}
	content.One = &rows[0]
	return v.Render(http.StatusOK, "bin-delete", page.Page{Title: "Delete for good?", Area: page.PathPeople, Content: content})
}

// binDelete deletes permanently: one person, or all up to the latest one that was in
// the bin when the member was asked. People who were deleted after that stay in the
// bin.
func (v *request) binDelete() error {
	if last := v.R.PostForm.Get(lastParameter); last != "" {
		if !id.Valid(id.Change, last) {
			return fault.New(fault.NotFound, "there is no such deletion")
		}
		ended, err := history.EmptyBin(db.WithoutQuota(v.Ctx), v.Data(), binTool, last)
		if err != nil {
			return err
		}
		if ended > 0 {
			v.Record(v.Request, account.DeletedForGood, "")
		}
		return v.RedirectDone(v.To(page.PathBin), "bin-emptied")
	}
	c, err := v.deletion(v.R.PostForm.Get(changeParameter))
	if err != nil {
		return err
	}
	err = history.EndDeletion(db.WithoutQuota(v.Ctx), v.Data(), binTool, c.ID)
	if fault.Is(err, fault.NotFound) { // restored or permanently deleted in the meantime
		return v.RedirectDone(v.To(page.PathBin), "bin-nothing")
	}
	if err != nil {
		return err
	}
	v.Record(v.Request, account.DeletedForGood, c.ID)
	return v.RedirectDone(v.To(page.PathBin), "bin-deleted")
}
