package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// importsPage is the name under which changes made on the page are recorded.
const importsPage = "settings/imports"

// maxUpload limits the form with a file, in bytes.
const maxUpload = importer.MaxFile + 64<<10

func importRoutes() []route {
	return []route{
		{"GET " + page.PathImports, page.MembersOnly, (*request).showImports},
		{"POST " + page.PathImports, page.MembersOnly, (*request).upload},
		{"POST " + page.PathImports + "/start", page.MembersOnly, (*request).importUpload},
		{"POST " + page.PathImports + "/cancel", page.MembersOnly, (*request).cancelImport},
		{"POST " + page.PathImports + "/undo", page.MembersOnly, (*request).undoImport},
	}
}

// importsContent is the content of the page.
type importsContent struct {
	Form    importForm
	Uploads []importer.File
	Imports []importRow
	// Live is set while an import, or the undo of one, is running.
	Live bool
}

// importForm is the form that uploads a file.
type importForm struct {
	FileError                string
	Format, OnMatch, Actions choices
	Region, Tags             page.Field
}

// importRow is an import in the list.
type importRow struct {
	Number      int32
	Filename    string
	State       string
	StartedAt   time.Time
	Done, Total int
	Report      *importer.Report
	Detail      string // why it failed
	DryRun      bool
	ImportID    string
	Undoable    bool
	Cancellable bool
	Undo        *undoRow // the latest
}

// undoRow is the progress of an undo.
type undoRow struct {
	Live        bool
	Done, Total int
	Report      importer.UndoReport
	Detail      string // why it failed
}

// The actions for an uploaded file.
const (
	actionImport = "import"
	actionTry    = "try"
	actionKeep   = "keep"
)

// listedImports is how many imports are shown.
const listedImports = 20

// readUpload reads a form with a file, if the sender is signed in.
func (v *request) readUpload() error {
	login, err := v.Current(v.R)
	if err != nil || login == nil {
		return err
	}
	v.R.Body = http.MaxBytesReader(v.W, v.R.Body, maxUpload)
	err = v.R.ParseMultipartForm(maxUpload)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return page.Refuse(http.StatusRequestEntityTooLarge, "That file is too large", "A file may hold 10 MiB. Go back and split it into several files.")
	}
	if err != nil {
		return page.Refuse(http.StatusBadRequest, "The form cannot be read", "Go back and try again.")
	}
	return nil
}

func (v *request) showImports() error { return v.renderImports(http.StatusOK, &page.Mistakes{}) }

func (v *request) imports() (*db.Tenant, error) {
	if v.Imports == nil {
		return nil, fault.New(fault.NotFound, "there are no imports here")
	}
	return v.Imports(v.Login.MemberID), nil
}

func (v *request) renderImports(status int, m *page.Mistakes) error {
	data, err := v.imports()
	if err != nil {
		return err
	}
	ctx := v.R.Context()
	content := importsContent{Form: v.importForm(m)}
	if content.Uploads, err = importer.ListUploads(ctx, data); err != nil {
		return err
	}
	jobs, err := job.ListJobs(ctx, data, importer.JobKind, listedImports)
	if err != nil {
		return err
	}
	var importIDs []string
	for i := range jobs {
		row, err := importRowOf(&jobs[i])
		if err != nil {
			return err
		}
		content.Live = content.Live || row.Cancellable
		content.Imports, importIDs = append(content.Imports, row), append(importIDs, row.ImportID)
	}
	// In this order: an undo that ends between the two queries is shown as live, and
	// the page loads again.
	undos, err := undoRows(ctx, data)
	if err != nil {
		return err
	}
	inForce, err := importer.ListImportsInForce(ctx, data, importIDs)
	if err != nil {
		return err
	}
	for i := range content.Imports {
		row := &content.Imports[i]
		row.Undo = undos[row.ImportID]
		undoing := row.Undo != nil && row.Undo.Live
		content.Live = content.Live || undoing
		row.Undoable = inForce[row.ImportID] && !row.Cancellable && !undoing
	}
	v.Render(status, "imports", page.Page{Title: "Imports", Section: page.PathImports, Errors: m.List, Script: page.ScriptImports, Content: content})
	return nil
}

func importRowOf(j *job.Job) (importRow, error) {
	var p importer.Params
	row := importRow{Number: j.Number, State: j.State, StartedAt: j.CreatedAt, Done: j.Done, Total: j.Total, Detail: j.ErrorDetail, Cancellable: !j.Terminal()}
	if err := json.Unmarshal([]byte(j.Params), &p); err != nil {
		return row, err
	}
	row.Filename, row.ImportID, row.DryRun = p.Filename, p.ImportID, p.Options.DryRun
	if j.Result != "" {
		row.Report = &importer.Report{}
		if err := json.Unmarshal([]byte(j.Result), row.Report); err != nil {
			return row, err
		}
	}
	return row, nil
}

// undoRows returns the latest undo of each import.
func undoRows(ctx context.Context, data *db.Tenant) (map[string]*undoRow, error) {
	jobs, err := job.ListJobs(ctx, data, importer.UndoKind, listedImports)
	if err != nil {
		return nil, err
	}
	rows := map[string]*undoRow{}
	for _, j := range slices.Backward(jobs) {
		row := &undoRow{Live: !j.Terminal(), Done: j.Done, Total: j.Total, Detail: j.ErrorDetail}
		if err := json.Unmarshal([]byte(j.Params), &row.Report); err != nil {
			return nil, err
		}
		rows[row.Report.ImportID] = row
		if j.Result == "" {
			continue
		}
		if err := json.Unmarshal([]byte(j.Result), &row.Report); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// importForm returns the form as it was sent.
func (v *request) importForm(m *page.Mistakes) importForm {
	choose := func(name, label string, options ...choice) choices {
		sent := v.R.PostForm.Get(name)
		for i := range options {
			options[i].Selected = options[i].Value == sent
		}
		return choices{Name: name, Label: label, Options: options}
	}
	return importForm{
		FileError: m.Of("file"),
		Format: choose("format", "What it is", choice{"auto", "Find it out", false}, choice{"linkedin_csv", "LinkedIn", false},
			choice{"google_csv", "Google", false}, choice{"outlook_csv", "Outlook", false}, choice{"csv", "Another table (CSV)", false},
			choice{"vcard", "vCard", false}, choice{"jscontact", "JSContact", false}, choice{"json", "An export of Kith", false}),
		OnMatch: choose("on_match", "People who are here already", choice{importer.OnMatchFillBlanks, "Add what is missing", false},
			choice{importer.OnMatchSkip, "Leave them as they are", false}, choice{importer.OnMatchOverwrite, "Change them to what the file says", false}),
		Actions: choose("action", "What to do", choice{actionImport, "Import it", false}, choice{actionTry, "Only tell what would happen", false},
			choice{actionKeep, "Keep it for my agent, for a day", false}),
		Region: page.Field{
			Name: "default_region", Label: "Country of phone numbers without one", Value: v.Line("default_region"), Autocomplete: "off", Plain: true,
			Hint: "Two letters, such as DE.", Error: m.Of("default_region"),
		},
		Tags: page.Field{Name: "tags", Label: "Tags for everybody in it", Value: v.Line("tags"), Autocomplete: "off", Hint: "With commas between them.", Error: m.Of("tags")},
	}
}

// importOptions returns the options in the form.
func (v *request) importOptions(m *page.Mistakes) importer.Options {
	o := importer.Options{
		Format: v.Line("format"), OnMatch: v.Line("on_match"), DefaultRegion: strings.ToUpper(v.Line("default_region")), DryRun: v.Line("action") == actionTry,
	}
	switch o.OnMatch {
	case "", importer.OnMatchSkip, importer.OnMatchFillBlanks, importer.OnMatchOverwrite:
	default:
		m.Add("on_match", "Choose what to do with people who are here already.")
	}
	const most, longest = 20, 60
	for tag := range strings.SplitSeq(v.Line("tags"), ",") {
		tag = text.Line(tag)
		if len([]rune(tag)) > longest || len(o.Tags) >= most {
			m.Add("tags", "Give at most 20 tags of 60 characters.")
			break
		}
		if text.Visible(tag) {
			o.Tags = append(o.Tags, tag)
		}
	}
	return o
}

// upload stores a file and performs the action of the form.
func (v *request) upload() error {
	data, err := v.imports()
	if err != nil {
		return err
	}
	m := &page.Mistakes{}
	o := v.importOptions(m)
	f, err := v.uploaded()
	if err != nil {
		return err
	}
	if f == nil {
		m.Add("file", "Choose a file.")
	} else if _, err := importer.Open(f.Content, f.Name, o); m.Take("file", err) != nil {
		return err
	}
	if len(m.List) > 0 {
		return v.renderImports(http.StatusUnprocessableEntity, m)
	}
	if err := importer.KeepUpload(v.R.Context(), data, importsPage, f); err != nil {
		return err
	}
	if v.Line("action") == actionKeep {
		v.RedirectDone(page.PathImports, "import-kept")
		return nil
	}
	return v.startImport(data, f.ID, o)
}

func (v *request) uploaded() (*importer.File, error) {
	if v.R.MultipartForm == nil {
		return nil, nil
	}
	defer func() { _ = v.R.MultipartForm.RemoveAll() }()
	file, header, err := v.R.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) || err == nil && header.Size == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	const longest = 199
	name := text.Truncate(text.Line(header.Filename), longest)
	if name == "" {
		name = "a file"
	}
	return importer.NewFile(name, content), nil
}

func (v *request) startImport(data *db.Tenant, uploadID string, o importer.Options) error {
	_, err := importer.StartImport(v.R.Context(), data, importsPage, importer.Request{UploadID: uploadID, Options: o})
	if fault.Is(err, fault.Conflict) {
		return page.Refuse(http.StatusConflict, "Another import is at work", "The file is kept. Wait for the end of the other import, and start this one then.")
	}
	m := &page.Mistakes{}
	if err := m.Take("file", err); err != nil {
		return err
	}
	if len(m.List) > 0 {
		return v.renderImports(http.StatusUnprocessableEntity, m)
	}
	v.Wake()
	v.RedirectDone(page.PathImports, "import-started")
	return nil
}

// importUpload starts the import of a stored file.
func (v *request) importUpload() error {
	data, err := v.imports()
	if err != nil {
		return err
	}
	return v.startImport(data, v.Line("id"), importer.Options{})
}

func (v *request) cancelImport() error {
	data, err := v.imports()
	if err != nil {
		return err
	}
	const decimal, bits = 10, 32
	number, err := strconv.ParseInt(v.Line("number"), decimal, bits)
	if err != nil {
		return fault.New(fault.NotFound, "there is no such import")
	}
	if err := importer.CancelJob(v.R.Context(), data, importsPage, int32(number)); err != nil {
		return err
	}
	v.Wake()
	v.RedirectDone(page.PathImports, "import-cancelled")
	return nil
}

func (v *request) undoImport() error {
	data, err := v.imports()
	if err != nil {
		return err
	}
	j, err := importer.UndoImport(v.R.Context(), data, importsPage, v.Line("id"))
	switch {
	case fault.Is(err, fault.Conflict):
		return page.Refuse(http.StatusConflict, "Other work comes first", "The import, or the undo of another one, is still at work. Cancel it, or wait for its end.")
	case err != nil:
		return err
	case j == nil:
		v.RedirectDone(page.PathImports, "undone-already")
	default:
		v.Wake()
		v.RedirectDone(page.PathImports, "import-undone")
	}
	return nil
}
