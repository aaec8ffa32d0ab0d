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
	"io/fs"
	"net/http"
	"strconv"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

//go:embed templates
var templates embed.FS

// Templates returns the templates of the pages, for page.New.
func Templates() (fs.FS, error) { return fs.Sub(templates, "templates") }

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

// Pages serves the pages of imports. It is safe for concurrent use.
type Pages struct {
	*handlers.Handlers

	// previews caches the latest previews, so that their further pages are fast.
	previews *lru.Cache[previewKey, *importer.Preview]
}

// keptPreviews is how many previews are cached; one takes a few MiB at most.
const keptPreviews = 8

// New returns the pages, which call the given handlers.
func New(h *handlers.Handlers) (*Pages, error) {
	previews, err := lru.New[previewKey, *importer.Preview](keptPreviews)
	return &Pages{h, previews}, err
}

// Routes returns the routes of the pages. They are not part of the demo.
func (p *Pages) Routes() []page.Route {
	return []page.Route{
		{Pattern: "GET " + page.PathImport, Enter: page.MembersOnly, Handle: p.with((*request).showUpload)},
		{Pattern: "POST " + page.PathImport, Enter: page.MembersOnly, Handle: p.with((*request).upload), Upload: readUpload},
		{Pattern: "GET " + pathFile, Enter: page.MembersOnly, Handle: p.with((*request).showColumns)},
		{Pattern: "POST " + pathFile, Enter: page.MembersOnly, Handle: p.with((*request).saveColumns)},
		{Pattern: "GET " + pathPreview, Enter: page.MembersOnly, Handle: p.with((*request).showPreview)},
		{Pattern: "POST " + pathPreview, Enter: page.MembersOnly, Handle: p.with((*request).savePreview)},
		{Pattern: "GET " + pathProgress, Enter: page.MembersOnly, Handle: p.with((*request).showProgress)},
		{Pattern: "GET " + pathPeople, Enter: page.MembersOnly, Handle: p.with((*request).showPeople)},
		{Pattern: "GET " + page.PathImports, Enter: page.MembersOnly, Handle: p.with((*request).showList)},
		{Pattern: "POST " + pathCancel, Enter: page.MembersOnly, Handle: p.with((*request).cancel)},
		{Pattern: "POST " + pathUndo, Enter: page.MembersOnly, Handle: p.with((*request).undo)},
	}
}

// request is one request of a member.
type request struct {
	*page.Member
	*Pages
}

func (p *Pages) with(handle func(*request) error) page.Handler {
	return page.ForMember(func(m *page.Member) error { return handle(&request{m, p}) })
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
			v.Redirect(progressPath(jobs[i].Number))
			return nil
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
func (v *request) render(status int, name, title string, wrong []page.FieldError, content any) {
	v.Render(status, name, page.Page{Title: title, Area: page.PathPeople, Errors: wrong, Content: content})
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

// selection is a select element with its options.
type selection struct {
	Name, Label, Error string
	// Hidden is a part of the label for screen readers only.
	Hidden  string
	Options []option
}

type option struct {
	Value, Label string
	Selected     bool
}

func (s *selection) choose(value string) {
	for i := range s.Options {
		s.Options[i].Selected = s.Options[i].Value == value
	}
}

// has reports whether a value is one of the options.
func (s *selection) has(value string) bool {
	for _, o := range s.Options {
		if o.Value == value {
			return true
		}
	}
	return false
}
