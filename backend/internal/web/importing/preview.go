package importing

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// shownRows is how many rows a page of the preview shows.
const shownRows = 50

// startField is the name of the button that starts the import.
const startField = "start"

// previewContent is the content of the page with what would happen to each row.
type previewContent struct {
	Steps      steps
	Name, Save string
	// Kind is the kind of the shown rows; Kinds are the buttons for other kinds.
	Kind  importer.RowKind
	Kinds []kindButton
	Rows  []previewRow
	// Page is the number of the page, Pages the number of pages; Earlier and Later are 0 if there
	// is no such page.
	Page, Pages, Earlier, Later int
	// People is how many rows are imported.
	People int
	// Most is how many rows the preview has; 0 means all.
	Most int
	// UnreadDates is how many dates cannot be read.
	UnreadDates int
	// Columns say what becomes of each column.
	Columns []importer.ColumnReport
	// Others is set if the file has more than people.
	Others bool
	// Linked is set if records have relationships or last contacts.
	Linked bool
	// Error says why the import does not start, Live is the address of the running import.
	Error, Live string
}

type kindButton struct {
	Kind    importer.RowKind
	Label   string
	Rows    int
	Current bool
}

// previewRow is one row and its choices.
type previewRow struct {
	importer.Row

	ID string
	// Label and What say what happens to it.
	Label, What string
	// Known is the person that the row is or may be, Path the page of that person; both may be empty.
	Known, Path string
	Choices     page.Select
}

func (v *request) showPreview() error {
	return v.withFile(func(f *importer.File) error {
		if f.Choices == "" { // the meaning of the columns is not chosen yet
			return v.Redirect(filePath(f.ID))
		}
		q := v.R.URL.Query()
		at, _ := strconv.Atoi(q.Get("page"))
		return v.renderPreview(http.StatusOK, f, importer.RowKind(q.Get("show")), at, &page.Mistakes{})
	})
}

// previewKey identifies a preview by the file, its choices, and the version of the member's data.
type previewKey struct {
	owner       tenant.ID
	fileID      string
	choices     [sha256.Size]byte
	dataVersion int64
}

// preview returns the preview of an import of the file.
func (v *request) preview(f *importer.File, o importer.Options) (*importer.Preview, error) {
	key := previewKey{v.Principal.Tenant, f.ID, sha256.Sum256([]byte(f.Choices)), v.Principal.DataVersion}
	if p, ok := v.previews.Get(key); ok {
		return p, nil
	}
	p, err := importer.NewPreview(v.Ctx, v.Data(), f, o)
	if err == nil {
		v.previews.Add(key, p)
	}
	return p, err
}

func (v *request) renderPreview(status int, f *importer.File, kind importer.RowKind, at int, m *page.Mistakes) error {
	o, err := f.Chosen()
	if err != nil {
		return err
	}
	if words(kind) == "" {
		kind = ""
	}
	const most = importer.MaxPreviewed / shownRows
	at = min(max(at, 1), most)
	p, err := v.preview(f, o)
	if fault.Is(err, fault.Invalid) { // the columns page says what is wrong
		return v.Redirect(filePath(f.ID))
	}
	if err != nil {
		return err
	}
	content := previewContent{
		Steps: stepsAt(2, f.ID), Name: f.Name, Save: previewPath(f.ID), Kind: kind, Page: at, Error: m.Of(startField),
		People: p.Counts[importer.RowNew] + p.Counts[importer.RowKnown] + p.Counts[importer.RowDoubtful], Others: p.Others, Linked: p.Linked, UnreadDates: p.UnreadDates, Columns: p.Columns,
	}
	if p.Partly {
		content.Most = importer.MaxPreviewed
	}
	content.count(p)
	for _, r := range p.Of(kind, (at-1)*shownRows, shownRows) {
		content.Rows = append(content.Rows, rowOf(r, m))
	}
	if content.Error != "" {
		if content.Live, err = v.live(); err != nil {
			return err
		}
	}
	return v.render(status, "import-preview", "Preview of the import", m.List, content)
}

// count adds the buttons of the kinds, and the pages.
func (c *previewContent) count(p *importer.Preview) {
	c.Kinds = []kindButton{{Kind: "", Label: "All", Rows: p.Total, Current: c.Kind == ""}}
	for _, kind := range []importer.RowKind{importer.RowDoubtful, importer.RowNew, importer.RowKnown, importer.RowLeftOut, importer.RowFailed} {
		if p.Counts[kind] > 0 || kind == c.Kind {
			c.Kinds = append(c.Kinds, kindButton{kind, words(kind), p.Counts[kind], kind == c.Kind})
		}
	}
	rows := p.Total
	if c.Kind != "" {
		rows = p.Counts[c.Kind]
	}
	c.Pages = max(1, (rows+shownRows-1)/shownRows)
	if c.Page > 1 {
		c.Earlier = min(c.Page, c.Pages+1) - 1
	}
	if c.Page < c.Pages {
		c.Later = c.Page + 1
	}
}

// words returns the label of a kind; empty if there is no such kind.
func words(kind importer.RowKind) string {
	return map[importer.RowKind]string{
		importer.RowNew: "New", importer.RowKnown: "Known", importer.RowDoubtful: "Please check", importer.RowLeftOut: "Left out", importer.RowFailed: "Can’t be imported",
	}[kind]
}

func rowName(number int) string { return fmt.Sprint("row-", number) }

func rowOf(r importer.Row, m *page.Mistakes) previewRow {
	row := previewRow{Row: r, ID: rowName(r.Number), Label: words(r.Kind)}
	switch {
	case r.Kind == importer.RowKnown && r.Changes:
		row.What = "What is new in the file is added."
	case r.Kind == importer.RowKnown:
		row.What = "Nothing changes."
	}
	switch r.Kind {
	case importer.RowKnown:
		if a, ok := r.Known(); ok {
			row.show(a, "")
		}
	case importer.RowDoubtful:
		row.show(r.Candidates[0], "May be ")
	}
	if r.Problem != "" {
		row.Problem = page.Sentence(r.Problem)
	}
	row.Warnings = nil
	for _, w := range r.Warnings {
		row.Warnings = append(row.Warnings, page.Sentence(w))
	}
	row.addChoices(m)
	return row
}

// show adds a person that the row is, or may be.
func (r *previewRow) show(a importer.Candidate, how string) {
	r.Known = fmt.Sprintf("%s%s (%s)", how, nameOf(a), a.Why())
	if a.ID != "" {
		r.Path = page.PathPeople + "/" + a.ID
	}
}

// nameOf returns the name of a person that a row may be.
func nameOf(a importer.Candidate) string {
	name := strings.Trim(a.Name+", "+a.About, ", ")
	if a.Row > 0 {
		return fmt.Sprintf("%s in row %d", name, a.Row)
	}
	return name
}

// addChoices adds the choices for a row.
func (r *previewRow) addChoices(m *page.Mistakes) {
	if r.Kind == importer.RowFailed {
		return
	}
	r.Choices = page.Select{Name: r.ID, Label: "What to do", Hidden: fmt.Sprintf(" with %s, row %d", r.Name, r.Number), Error: m.Of(r.ID)}
	add := func(value, label string) {
		r.Choices.Options = append(r.Choices.Options, page.Option{Value: value, Label: label})
	}
	if !r.Matched {
		add("", "Add as a new person")
	}
	for i, a := range r.Candidates {
		value := a.For().String()
		if r.Matched && i == 0 {
			value = ""
		}
		add(value, fmt.Sprintf("It is %s: %s", nameOf(a), a.Why()))
	}
	if r.Matched && !r.Exact {
		add(importer.DoNew, "Add as a new person")
	}
	add(importer.DoSkip, "Leave out")
	chosen := r.Choice.String()
	if r.Matched && len(r.Candidates) > 0 && r.Candidates[0].For() == r.Choice || !page.HasOption(r.Choices.Options, chosen) {
		chosen = ""
	}
	page.Choose(chosen, r.Choices.Options...)
}

// savePreview stores the choices for the rows of a page. Then it shows other rows, or starts the
// import.
func (v *request) savePreview() error {
	return v.withFile(func(f *importer.File) error {
		m := &page.Mistakes{}
		chosen := v.rows(m)
		kind, at := importer.RowKind(v.Line("kind")), 1
		if shown := v.Line("page"); shown != "" {
			at, _ = strconv.Atoi(shown)
		}
		o, err := f.Chosen()
		if err != nil {
			return err
		}
		if len(m.List) == 0 && store(&o, chosen) {
			err := importer.UpdateChoices(v.Ctx, v.Data(), tool, f.ID, func(stored *importer.Options) { store(stored, chosen); o = *stored })
			if err := m.Take(startField, err); err != nil {
				return err
			}
		}
		if len(m.List) > 0 {
			return v.renderPreview(http.StatusUnprocessableEntity, f, kind, at, m)
		}
		if v.Line("act") == startField {
			return v.start(f, o, kind, at)
		}
		if show, ok := v.R.PostForm["show"]; ok {
			kind, at = importer.RowKind(show[0]), 1
		}
		if to := v.Line("to"); to != "" {
			at, _ = strconv.Atoi(to)
		}
		return v.Redirect(previewPath(f.ID) + "?" + url.Values{"show": {string(kind)}, "page": {strconv.Itoa(max(at, 1))}}.Encode())
	})
}

// rows returns the choices in the form, by the numbers of the rows.
func (v *request) rows(m *page.Mistakes) map[int]importer.RowChoice {
	chosen := map[int]importer.RowChoice{}
	for name, values := range v.R.PostForm {
		given, ok := strings.CutPrefix(name, "row-")
		if !ok {
			continue
		}
		row, err := strconv.Atoi(given)
		choice, valid := importer.ParseRowChoice(values[0])
		switch {
		case err != nil || row < 1:
			m.Add(startField, "The form names a row that is not there. Reload the page and try again.")
		case !valid:
			m.Add(rowName(row), "Choose what to do with the row.")
		default:
			chosen[row] = choice
		}
	}
	return chosen
}

// store adds choices for rows to options, and reports whether that changed them. The zero choice
// removes a choice.
func store(o *importer.Options, chosen map[int]importer.RowChoice) (changed bool) {
	if o.Rows == nil {
		o.Rows = map[int]importer.RowChoice{}
	}
	for row, choice := range chosen {
		changed = changed || o.Rows[row] != choice
		if choice == (importer.RowChoice{}) {
			delete(o.Rows, row)
		} else {
			o.Rows[row] = choice
		}
	}
	return changed
}

// start starts the import.
func (v *request) start(f *importer.File, o importer.Options, kind importer.RowKind, at int) error {
	j, err := importer.StartImport(v.Ctx, v.Data(), tool, importer.Request{UploadID: f.ID, Options: o})
	m, status := &page.Mistakes{}, http.StatusUnprocessableEntity
	switch {
	case fault.Is(err, fault.NotFound): // it was already started in another window
		return v.Redirect(previewPath(f.ID))
	case fault.Is(err, fault.Conflict):
		m.Add(startField, "Another import is running. Your choices are kept: start this import when the other one has ended.")
		status = http.StatusConflict
	default:
		if err := m.Take(startField, err); err != nil {
			return err
		}
	}
	if len(m.List) == 0 {
		v.Imports.Jobs.Wake()
		return v.Redirect(progressPath(j.Number))
	}
	f, err = importer.GetUpload(v.Ctx, v.Data(), f.ID) // with the choices just stored
	if err != nil {
		return err
	}
	return v.renderPreview(status, f, kind, at, m)
}

// live returns the address of the running import; empty if there is none.
func (v *request) live() (string, error) {
	jobs, err := job.ListJobs(v.Ctx, v.Data(), importer.JobKind, 1)
	if err != nil || len(jobs) == 0 || jobs[0].Terminal() {
		return "", err
	}
	return progressPath(jobs[0].Number), nil
}
