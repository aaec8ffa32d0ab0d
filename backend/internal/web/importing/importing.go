// Package importing serves the pages with which a member uploads a file, chooses the meaning of its
// columns, checks the preview and imports it, and the list of imports in the settings.
//
//	/import               upload            (upload.go)
//	/import/{file}        format, columns   (columns.go)
//	…/preview             rows              (preview.go)
//	/import/{number}/…    the import        (progress.go)
//	/settings/imports     all imports       (list.go)
//
// The member's choices are stored with the file (importer.UpdateChoices), so they survive reloading
// and going back. The preview is a dry run (importer.NewPreview).
package importing

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// Templates has the templates of the pages.
//
//go:embed templates
var Templates embed.FS

// The paths of the pages of one file, and of one import.
const (
	pathFile     = page.PathImport + "/{id}"
	pathPreview  = pathFile + "/preview"
	pathProgress = pathFile + "/progress"
	pathPeople   = pathFile + "/people"
	pathCancel   = page.PathImports + "/cancel"
	pathUndo     = page.PathImports + "/undo"
)

// tool is the name under which changes made on the pages are recorded.
const tool = "import"

// keptPreviews is how many previews are cached; one takes a few MiB at most.
const keptPreviews = 8

// request is one request of a member.
type request struct {
	*page.Member
	*handlers.Handlers

	// previews caches the latest previews, so that their further pages are fast.
	previews *lru.Cache[previewKey, *importer.Preview]
}

// Routes returns the routes of the pages, which call the given handlers. They are not part of the demo.
func Routes(h *handlers.Handlers) ([]page.Route, error) {
	previews, err := lru.New[previewKey, *importer.Preview](keptPreviews)
	with := page.With(func(m *page.Member) *request { return &request{m, h, previews} })
	return []page.Route{
		{Pattern: "GET " + page.PathImport, Handle: with((*request).showUpload)},
		{Pattern: "POST " + page.PathImport, Handle: with((*request).upload), Upload: page.ReadUpload(maxUpload, uploadTooLarge, page.FormUnreadable)},
		{Pattern: "GET " + pathFile, Handle: with((*request).showColumns)},
		{Pattern: "POST " + pathFile, Handle: with((*request).saveColumns)},
		{Pattern: "GET " + pathPreview, Handle: with((*request).showPreview)},
		{Pattern: "POST " + pathPreview, Handle: with((*request).savePreview)},
		{Pattern: "GET " + pathProgress, Handle: with((*request).showProgress)},
		{Pattern: "GET " + pathPeople, Handle: with((*request).showPeople)},
		{Pattern: "GET " + page.PathImports, Handle: with((*request).showList)},
		{Pattern: "POST " + pathCancel, Handle: with((*request).cancel)},
		{Pattern: "POST " + pathUndo, Handle: with((*request).undo)},
	}, err
}

func filePath(fileID string) string    { return page.PathImport + "/" + fileID }
func previewPath(fileID string) string { return filePath(fileID) + "/preview" }
func progressPath(number int32) string { return fmt.Sprint(page.PathImport, "/", number, "/progress") }
func peoplePath(number int32) string   { return fmt.Sprint(page.PathImport, "/", number, "/people") }

// number reads the number of an import.
func number(s string) (int32, error) {
	const decimal, bits = 10, 32
	n, err := strconv.ParseInt(s, decimal, bits)
	if err != nil || n < 1 {
		return 0, fault.New(fault.NotFound, "there is no such import")
	}
	return int32(n), nil
}

// withFile calls handle with the file of the address. If the file no longer waits, it redirects to
// the import that reads it, or answers that the file does not exist.
func (v *request) withFile(handle func(f *importer.File) error) error {
	fileID := v.R.PathValue("id")
	f, err := importer.GetUpload(v.Ctx, v.Data(), fileID)
	if !fault.Is(err, fault.NotFound) {
		if err != nil {
			return err
		}
		return handle(f)
	}
	jobs, err := job.ListJobs(v.Ctx, v.Data(), importer.JobKind, listedImports)
	if err != nil {
		return err
	}
	for i := range jobs {
		p, err := paramsOf(&jobs[i])
		if err != nil {
			return err
		}
		if p.FileID == fileID && !p.Options.DryRun {
			return v.Redirect(progressPath(jobs[i].Number))
		}
	}
	return &page.Refusal{
		Status: http.StatusNotFound, Title: "This file no longer exists",
		Text: "Uploaded files are kept for a day, and three at a time. Nothing was imported.", Next: page.Link{Path: page.PathImport, Title: "Upload it again"},
	}
}

func paramsOf(j *job.Job) (p importer.Params, err error) {
	if err := json.Unmarshal([]byte(j.Params), &p); err != nil {
		return p, fmt.Errorf("read the parameters of job %s: %w", j.ID, err)
	}
	return p, nil
}

// render writes a page of the wizard.
func (v *request) render(status int, name, title string, wrong []page.FieldError, content any) error {
	return v.Render(status, name, page.Page{Title: title, Area: page.PathPeople, Errors: wrong, Content: content})
}

// steps are the steps of the wizard, for the list above each of its pages.
type steps []step

type step struct {
	Title   string
	Path    string // empty if the step is not a link
	Current bool
}

// stepsAt returns the steps. current is the index of the current one; the file's earlier steps are
// links.
func stepsAt(current int, fileID string) steps {
	list := steps{{Title: "File", Path: page.PathImport}, {Title: "Columns"}, {Title: "Preview"}, {Title: "Import"}}
	if fileID != "" {
		list[1].Path, list[2].Path = filePath(fileID), previewPath(fileID)
	}
	for i := range list {
		list[i].Current = i == current
		if i >= current {
			list[i].Path = ""
		}
	}
	return list
}
