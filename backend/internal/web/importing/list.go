package importing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// listContent is the content of the list of imports.
type listContent struct {
	Imports []importRow
	// Live is set while an import, or the undo of one, is running.
	Live bool
}

// importRow is an import.
type importRow struct {
	Number      int32
	Path        string
	Filename    string
	State       string
	StartedAt   time.Time
	Done, Total int
	Report      *importer.Report
	Detail      string // why it failed
	DryRun      bool
	Undoable    bool
	Cancellable bool
	Undo        *undoRow // the latest
	// Back is where the forms lead back to; empty for the list.
	Back     string
	importID string
}

// undoRow is the progress of an undo.
type undoRow struct {
	Live        bool
	Done, Total int
	Conflicts   []string
	Count       int    // of conflicts
	Detail      string // why it failed
	report      importer.UndoReport
}

// listedImports is how many imports are shown.
const listedImports = 20

func (v *request) showList() error {
	jobs, err := job.ListJobs(v.Ctx, v.Data(), importer.JobKind, listedImports)
	if err != nil {
		return err
	}
	var content listContent
	if content.Imports, err = v.importRows(jobs); err != nil {
		return err
	}
	content.Live = slices.ContainsFunc(content.Imports, importRow.live)
	return v.Render(http.StatusOK, "imports", page.Page{Title: "Data", Section: page.PathImports, Script: page.ScriptImports, Content: content})
}

// live reports whether the import, or its undo, is running.
func (r importRow) live() bool { return r.Cancellable || r.Undo != nil && r.Undo.Live }

// importRows returns what the pages show of imports.
func (v *request) importRows(jobs []job.Job) ([]importRow, error) {
	var rows []importRow
	var importIDs []string
	for i := range jobs {
		row, err := v.rowOfJob(&jobs[i])
		if err != nil {
			return nil, err
		}
		rows, importIDs = append(rows, row), append(importIDs, row.importID)
	}
	// In this order: an undo that ends between the two queries is shown as live, and
	// the page loads again.
	undos, err := v.undoRows()
	if err != nil {
		return nil, err
	}
	inForce, err := importer.ListImportsInForce(v.Ctx, v.Data(), importIDs)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].Undo = undos[rows[i].importID]
		rows[i].Undoable = inForce[rows[i].importID] && !rows[i].live()
	}
	return rows, nil
}

func (v *request) rowOfJob(j *job.Job) (importRow, error) {
	p, err := paramsOf(j)
	row := importRow{
		Number: j.Number, Path: progressPath(j.Number), Filename: p.Filename, State: stateWords(j.State), StartedAt: j.CreatedAt.In(v.Zone),
		Done: j.Done, Total: j.Total, Detail: forPeople(j.ErrorDetail), DryRun: p.Options.DryRun, Cancellable: !j.Terminal(), importID: p.ImportID,
	}
	if err != nil || j.Result == "" {
		return row, err
	}
	row.Report = &importer.Report{}
	if err := json.Unmarshal([]byte(j.Result), row.Report); err != nil {
		return row, fmt.Errorf("read the report of job %s: %w", j.ID, err)
	}
	for i, w := range row.Report.Warnings {
		row.Report.Warnings[i] = forPeople(w)
	}
	return row, nil
}

func stateWords(state string) string {
	return cmp.Or(map[string]string{job.Queued: "waiting", job.Running: "running", job.Succeeded: "done", job.Cancelled: "cancelled", job.Failed: "failed"}[state], state)
}

// forPeople returns a message of an import without the parts for agents.
func forPeople(message string) string {
	for _, call := range []string{"; find_duplicates has the pair", "; undo_change with the import_id", "; pass or upload it again"} {
		if told, _, found := strings.Cut(message, call); found {
			return told + "."
		}
	}
	return message
}

// undoRows returns the latest undo of each import.
func (v *request) undoRows() (map[string]*undoRow, error) {
	jobs, err := job.ListJobs(v.Ctx, v.Data(), importer.UndoKind, listedImports)
	if err != nil {
		return nil, err
	}
	rows := map[string]*undoRow{}
	var persons []string
	for _, j := range slices.Backward(jobs) {
		row := &undoRow{Live: !j.Terminal(), Done: j.Done, Total: j.Total, Detail: j.ErrorDetail}
		for _, told := range []string{j.Params, j.Result} {
			if told == "" {
				continue
			}
			if err := json.Unmarshal([]byte(told), &row.report); err != nil {
				return nil, fmt.Errorf("read the report of job %s: %w", j.ID, err)
			}
		}
		row.Count = row.report.ConflictCount
		rows[row.report.ImportID] = row
		for _, c := range row.report.Conflicts {
			if c.Kind == history.Connection {
				persons = append(persons, c.ID)
			}
		}
	}
	names, err := people.ListNames(v.Ctx, v.Data(), people.DistinctIDs(persons))
	for _, row := range rows {
		for _, c := range row.report.Conflicts {
			row.Conflicts = append(row.Conflicts, cmp.Or(names[c.ID], strings.ReplaceAll(c.Kind, "_", " "))+": "+c.Reason)
		}
	}
	return rows, err
}

// back returns the address to which a form of the list or of one import redirects.
func (v *request) back(number int32) string {
	if v.Line("back") == "import" {
		return progressPath(number)
	}
	return page.PathImports
}

func (v *request) cancel() error {
	n, err := number(v.Line("number"))
	if err != nil {
		return err
	}
	if _, err := v.importJob(n); err != nil {
		return err
	}
	if err := importer.CancelJob(db.WithExtraQuota(v.Ctx), v.Data(), tool, n); err != nil {
		return err
	}
	v.Imports.Jobs.Wake()
	return v.RedirectDone(v.back(n), "import-cancelled")
}

func (v *request) undo() error {
	n, err := number(v.Line("number"))
	if err != nil {
		return err
	}
	imported, err := v.importJob(n)
	if err != nil {
		return err
	}
	p, err := paramsOf(imported)
	if err != nil {
		return err
	}
	j, err := importer.UndoImport(db.WithExtraQuota(v.Ctx), v.Data(), tool, p.ImportID)
	switch {
	case fault.Is(err, fault.Conflict):
		return page.Refuse(http.StatusConflict, "Another import is running", "This import, or the undo of another one, is still running. Cancel it, or wait until it has ended.")
	case err != nil:
		return err
	case j == nil:
		return v.RedirectDone(v.back(n), "undone-already")
	}
	v.Imports.Jobs.Wake()
	return v.RedirectDone(v.back(n), "import-undone")
}

// importJob returns the job of an import by its number, or fails with fault.NotFound.
func (v *request) importJob(n int32) (*job.Job, error) {
	j, err := job.GetJob(v.Ctx, v.Data(), n)
	if err == nil && j.Kind != importer.JobKind {
		return nil, fault.New(fault.NotFound, "there is no such import")
	}
	return j, err
}
