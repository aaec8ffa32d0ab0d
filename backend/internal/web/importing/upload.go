package importing

import (
	"net/http"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// fileField is the input with the file.
const fileField = "file"

// maxUpload limits the form with a file, in bytes.
const maxUpload = importer.MaxFile + 64<<10

// uploadContent is the content of the page that takes a file.
type uploadContent struct {
	Steps     steps
	FileError string
	Waiting   []waitingFile
	// Live is the address of the running import; empty if there is none.
	Live string
}

// waitingFile is a file that was uploaded and not imported.
type waitingFile struct {
	Name, Path string
	At         time.Time
}

// uploadTooLarge refuses a file of more than importer.MaxFile.
var uploadTooLarge = page.Refuse(http.StatusRequestEntityTooLarge, "That file is too large", "A file may hold 10 MiB. Go back and split it into several files. From Monica, export the account as SQL, which has no pictures.")

func (v *request) showUpload() error { return v.renderUpload(http.StatusOK, &page.Mistakes{}) }

func (v *request) renderUpload(status int, m *page.Mistakes) error {
	content := uploadContent{Steps: stepsAt(0, ""), FileError: m.Of(fileField)}
	files, err := importer.ListUploads(v.Ctx, v.Data())
	if err != nil {
		return err
	}
	for _, f := range files {
		content.Waiting = append(content.Waiting, waitingFile{Name: f.Name, Path: filePath(f.ID), At: f.CreatedAt.In(v.Zone)})
	}
	if content.Live, err = v.live(); err != nil {
		return err
	}
	return v.Render(status, "import", page.Page{Title: "Import contacts", Area: page.PathPeople, Errors: m.List, Script: page.ScriptImports, Content: content})
}

// upload stores a file, unless the same file is already waiting. It redirects to the preview if Kith knows what
// everything in the file means, or else to the columns. Phone numbers without a country have that of the member's
// time zone until the member chooses another.
func (v *request) upload() error {
	f, err := v.uploaded()
	if err != nil {
		return err
	}
	m := &page.Mistakes{}
	next := filePath
	if f == nil {
		m.Add(fileField, "Choose a file that is not empty.")
	} else if next, err = v.recognise(f); m.Take(fileField, err) != nil {
		return err
	}
	if len(m.List) > 0 {
		return v.renderUpload(http.StatusUnprocessableEntity, m)
	}
	waiting, err := importer.ListUploads(v.Ctx, v.Data())
	if err != nil {
		return err
	}
	for _, w := range waiting {
		if w.Sha256 == f.Sha256 && w.Name == f.Name {
			return v.Redirect(next(w.ID))
		}
	}
	if err := importer.SaveUpload(v.Ctx, v.Data(), tool, f); err != nil {
		return err
	}
	return v.Redirect(next(f.ID))
}

// recognise guesses the format of a file and the meaning of its columns, stores them as its choices, and returns the path of the next page.
func (v *request) recognise(f *importer.File) (next func(fileID string) string, err error) {
	o := importer.Options{DefaultRegion: civil.Country(v.Zone.String())}
	if err := f.Choose(o); err != nil {
		return nil, err
	}
	o.Locale, o.Owner = v.Principal.Locale, v.Principal.DisplayName
	if o.Fields, err = people.ListFields(v.Ctx, v.Data()); err != nil {
		return nil, err
	}
	opened, err := importer.OpenDraft(f, o)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(opened.Columns(), unknownColumn) {
		return filePath, nil
	}
	return previewPath, nil
}

// uploaded returns the file of the form; nil if there is none, or it is empty.
func (v *request) uploaded() (*importer.File, error) {
	filename, content, err := v.File(fileField)
	if err != nil || len(content) == 0 {
		return nil, err
	}
	const longest = 199
	name := text.Truncate(text.Line(filename), longest)
	if name == "" {
		name = "a file"
	}
	return importer.NewFile(name, content), nil
}
