package importing

import (
	"net/http"
	"strconv"

	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// progressContent is the content of the page of one import.
type progressContent struct {
	Steps steps
	Row   importRow
	// Live is set while the import, or its undo, is running.
	Live bool
	// Added is how many people the import added that still exist, People the address of the page
	// with them.
	Added  int
	People string
}

// peopleContent is the content of the page of the people whom an import added.
type peopleContent struct {
	Total          int
	People         []personRow
	Back           string
	Earlier, Later string
}

type personRow struct{ Name, Path string }

// shownPeople is how many people a page shows.
const shownPeople = 100

// ofAddress returns the import that the address names, or fails with fault.NotFound.
func (v *request) ofAddress() (*job.Job, error) {
	n, err := number(v.R.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return v.importJob(n)
}

func (v *request) showProgress() error {
	j, err := v.ofAddress()
	if err != nil {
		return err
	}
	rows, err := v.importRows([]job.Job{*j})
	if err != nil {
		return err
	}
	content := progressContent{
		Steps: stepsAt(3, ""), Row: rows[0], Live: rows[0].live(), People: peoplePath(j.Number),
	}
	content.Row.Back = "import"
	if !content.Live {
		if _, content.Added, err = importer.ListAdded(v.Ctx, v.Data(), rows[0].importID, 0, 0); err != nil {
			return err
		}
	}
	return v.Render(http.StatusOK, "import-progress", page.Page{Title: "Import of " + rows[0].Filename, Area: page.PathPeople, Script: page.ScriptImports, Content: content})
}

func (v *request) showPeople() error {
	j, err := v.ofAddress()
	if err != nil {
		return err
	}
	p, err := paramsOf(j)
	if err != nil {
		return err
	}
	const most = 10_000
	at, _ := strconv.Atoi(v.R.URL.Query().Get("page"))
	at = min(max(at, 1), most)
	ids, total, err := importer.ListAdded(v.Ctx, v.Data(), p.ImportID, (at-1)*shownPeople, shownPeople)
	if err != nil {
		return err
	}
	names, err := people.ListNames(v.Ctx, v.Data(), ids)
	if err != nil {
		return err
	}
	content := peopleContent{Total: total, Back: progressPath(j.Number)}
	for _, id := range ids {
		content.People = append(content.People, personRow{names[id], page.PathPeople + "/" + id})
	}
	if at > 1 {
		content.Earlier = peoplePath(j.Number) + "?page=" + strconv.Itoa(at-1)
	}
	if at*shownPeople < total {
		content.Later = peoplePath(j.Number) + "?page=" + strconv.Itoa(at+1)
	}
	return v.render(http.StatusOK, "import-people", "People of the import", nil, content)
}
