package importer

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// JobKind is the kind of the job that imports a file.
const JobKind = "file_import"

// What to do with people who already exist.
const (
	OnMatchSkip       = "skip"
	OnMatchFillBlanks = "fill_blanks"
	OnMatchOverwrite  = "overwrite"
)

// Options say how to read a file and what to do with people who already exist.
type Options struct {
	Format        string   `json:"format,omitempty"`
	Charset       string   `json:"charset,omitempty"`
	DefaultRegion string   `json:"default_region,omitempty"`
	DateOrder     string   `json:"date_order,omitempty"`
	OnMatch       string   `json:"on_match,omitempty"`
	DryRun        bool     `json:"dry_run,omitempty"`
	Tags          []string `json:"tags,omitempty"`
	// Locale is the member's locale.
	Locale string `json:"locale,omitempty"`
	// Owner is the member's name.
	Owner string `json:"owner,omitempty"`
	// Fields are the member's custom fields.
	Fields []people.Field `json:"fields,omitempty"`
	// Columns are the meanings of a table's columns, Rows the choices for single records, by
	// their rows. Members set them on the pages; see UpdateChoices.
	Columns []source.Choice   `json:"columns,omitempty"`
	Rows    map[int]RowChoice `json:"rows,omitempty"`
}

// Params are the parameters of a job.
type Params struct {
	ImportID string `json:"import_id"`
	FileID   string `json:"file_id"`
	Filename string `json:"filename"`
	Sha256   string `json:"sha256"`
	Options  Options
	// Uploaded files are kept after a dry run.
	Uploaded bool `json:"uploaded,omitempty"`
	// Free imports do not charge for their rows.
	Free bool `json:"free,omitempty"`
	// People is how many people the file has, to tell whether the import changes many at once; 0 if
	// that was not counted.
	People int `json:"people,omitempty"`
}

// Normal returns the options with their defaults filled in.
func (o Options) Normal() Options {
	const auto = "auto"
	for _, option := range []*string{&o.Format, &o.DateOrder} {
		if *option == auto {
			*option = ""
		}
	}
	if o.OnMatch == "" {
		o.OnMatch = OnMatchFillBlanks
	}
	o.Charset, o.DefaultRegion = strings.ToLower(o.Charset), strings.ToUpper(o.DefaultRegion)
	return o
}

// SameWork reports whether both imports read the same file with the same options.
func (p Params) SameWork(other Params) bool {
	a, b := p.Options.Normal(), other.Options.Normal()
	sameTags := slices.Equal(a.Tags, b.Tags)
	a.Tags, b.Tags, a.Fields, b.Fields = nil, nil, nil, nil
	return sameTags && reflect.DeepEqual(a, b) && p.Sha256 == other.Sha256
}

// Open reads a file as the options say, or fails with fault.Invalid.
func Open(content []byte, filename string, o Options) (*source.File, error) {
	return source.Open(content, o.source(filename))
}

// source returns the options for reading a file.
func (o Options) source(filename string) source.Options {
	return source.Options{
		Filename: filename, Format: o.Format, Charset: o.Charset, DefaultRegion: o.DefaultRegion, DateOrder: o.DateOrder, Locale: o.Locale, Owner: o.Owner, Columns: o.Columns, Fields: o.Fields,
	}
}

// Request is an import to start.
type Request struct {
	// File has the content. Without it UploadID names an upload; without that, the oldest
	// waiting upload is imported.
	File     *File
	UploadID string
	Options  Options
	// Price is the price of starting the import. Free imports do not charge for their
	// rows.
	Price int
	Free  bool
	// Count makes Start count the people of the file, up to one more than this; 0 does not count.
	Count int
}

// checkAtOnce is the size, in bytes, up to which Start checks that a file can be read.
const checkAtOnce = 1 << 20

// Start starts an import. If a live import already reads the same file with the same
// options, Start returns it; if the request names no file, Start returns any live import.
// It fails with fault.Conflict if another file's import is live.
func Start(ctx context.Context, w *db.Tx, r Request) (j *job.Job, started bool, err error) {
	live, err := job.LiveJob(ctx, w, JobKind)
	if err != nil {
		return nil, false, err
	}
	if live != nil && r.File == nil && r.UploadID == "" {
		return live, false, nil
	}
	p, f, err := r.params(ctx, w)
	if err != nil {
		return nil, false, err
	}
	if live != nil {
		return live, false, p.checkLive(live)
	}
	if f.Size <= checkAtOnce || r.Count > 0 {
		file, err := Open(f.Content, f.Name, p.Options)
		if err != nil {
			return nil, false, err
		}
		p.count(file, r.Count)
	}
	p.ImportID = id.New(id.Import)
	if err := p.take(ctx, w, f); err != nil {
		return nil, false, err
	}
	return job.StartJob(ctx, w, job.Draft{Kind: JobKind, Params: p, Charged: r.Price})
}

// count counts the people of a file, up to one more than limit; a limit of 0 does not count. A dry
// run changes none.
func (p *Params) count(file *source.File, limit int) {
	if limit == 0 || p.Options.DryRun {
		return
	}
	for range file.Records() {
		if p.People++; p.People > limit {
			return
		}
	}
}

// params returns the file to import and the parameters of the job.
func (r Request) params(ctx context.Context, w *db.Tx) (p Params, f *File, err error) {
	f = r.File
	switch {
	case f != nil:
	case r.UploadID != "":
		f, err = GetFile(ctx, w, r.UploadID)
	default:
		f, err = WaitingFile(ctx, w)
		if err == nil && f == nil {
			err = fault.New(fault.NotFound, "no file waits to be imported: the member uploads one on the settings page, under Data (/settings/imports). "+
				"The tool import_file also takes a file as an argument")
		}
	}
	if err != nil {
		return p, nil, err
	}
	if r.Options.Fields, err = people.ListFields(ctx, w); err != nil {
		return p, nil, err
	}
	return Params{
		FileID: f.ID, Filename: f.Name, Sha256: f.Sha256, Options: r.Options.Normal(), Uploaded: r.File == nil, Free: r.Free,
	}, f, nil
}

// checkLive refuses to start an import while another one is live.
func (p Params) checkLive(live *job.Job) error {
	other, err := paramsOf[Params](live)
	if err != nil || p.SameWork(other) {
		return err
	}
	return fault.New(fault.Conflict,
		"job %d is importing %s: wait for its end with get_job, or cancel it with cancel_job, and start this import then", live.Number, text.Quote(other.Filename))
}

// paramsOf returns the parameters of a job.
func paramsOf[T any](j *job.Job) (params T, err error) {
	if err = json.Unmarshal([]byte(j.Params), &params); err != nil {
		err = fmt.Errorf("read the parameters of job %s: %w", j.ID, err)
	}
	return params, err
}

// take stores or claims the file for this import. An upload of a dry run stays free for
// the real import.
func (p *Params) take(ctx context.Context, w *db.Tx, f *File) error {
	switch {
	case !p.Uploaded:
		f.ImportID = p.ImportID
		err := InsertFile(ctx, w, f)
		p.FileID = f.ID
		return err
	case p.Options.DryRun:
		return nil
	default:
		return ClaimFile(ctx, w, f.ID, p.ImportID)
	}
}

// checkEnded fails with fault.Conflict while the job of an import is live.
func checkEnded(ctx context.Context, w *db.Tx, importID string) error {
	live, err := job.LiveJob(ctx, w, JobKind)
	if err != nil || live == nil {
		return err
	}
	p, err := paramsOf[Params](live)
	if err != nil || p.ImportID != importID {
		return err
	}
	return fault.New(fault.Conflict, "job %d is still working on this import: wait for its end with get_job, or cancel it with cancel_job", live.Number)
}

// SaveUpload stores a file that waits for an import, and sets its id.
func SaveUpload(ctx context.Context, t *db.Tenant, page string, f *File) error {
	return t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) error { return InsertFile(ctx, tx, f) })
}

// StartImport starts an import for the member on a page. It is free.
func StartImport(ctx context.Context, t *db.Tenant, page string, r Request) (j *job.Job, err error) {
	r.Free = true
	err = t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) (err error) {
		j, _, err = Start(ctx, tx, r)
		return err
	})
	return j, err
}

// CancelJob cancels a job for the member on a page.
func CancelJob(ctx context.Context, t *db.Tenant, page string, number int32) error {
	return t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) error {
		_, err := job.CancelJob(ctx, tx, number)
		return err
	})
}

// UndoImport starts to undo an import for the member on a page.
func UndoImport(ctx context.Context, t *db.Tenant, page, importID string) (j *job.Job, err error) {
	err = t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) (err error) {
		j, _, err = StartUndo(ctx, tx, importID)
		return err
	})
	return j, err
}

// MaxFile is the largest size of a file, in bytes.
const MaxFile = source.MaxBytes

// File is a file that a member uploaded or passed to the tool, and its row.
type File struct {
	TenantID  tenant.ID `bun:",pk"`
	ID        string    `bun:",pk"`
	Name      string
	Sha256    string
	Size      int
	Content   []byte
	ImportID  string // the import that reads it; empty for an upload that waits
	Choices   string // what the member chose so far, as JSON; empty if nothing yet
	CreatedAt time.Time
}

// NewFile returns a file with a name and a content.
func NewFile(name string, content []byte) *File {
	sum := sha256.Sum256(content)
	return &File{Name: name, Sha256: hex.EncodeToString(sum[:]), Size: len(content), Content: content}
}

// MaxUploads limits how many uploads of a member wait for an import.
const MaxUploads = 3

// InsertFile stores a file and sets its id. It deletes the oldest uploads beyond MaxUploads. It fails
// with fault.Full if the member has no room for it.
func InsertFile(ctx context.Context, tx *db.Tx, f *File) (err error) {
	if err := tx.Reserve(f.Size); err != nil {
		return err
	}
	f.ID, f.TenantID, f.CreatedAt = id.New(id.File), tx.TenantID(), tx.Now()
	if _, err := tx.NewInsert().Model(f).Exec(ctx); err != nil || f.ImportID != "" {
		return err
	}
	return tx.Delete(ctx, (*File)(nil), `import_id = '' AND id NOT IN (
SELECT f.id FROM files f WHERE f.tenant_id = ? AND f.import_id = '' ORDER BY f.created_at DESC, f.id LIMIT ?)`, tx.TenantID(), MaxUploads)
}

// GetFile returns a file of the tenant, or fails with fault.NotFound.
func GetFile(ctx context.Context, q db.Reader, fileID string) (*File, error) {
	f := &File{}
	err := q.From(f).Where("id = ?", fileID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "there is no file %s; uploads are kept for a day, until they are imported", fileID)
	}
	return f, err
}

// WaitingFile returns the oldest uploaded file that has not been imported, or nil.
func WaitingFile(ctx context.Context, tx *db.Tx) (*File, error) {
	f := &File{}
	err := tx.From(f).Where("import_id = ''").Order("created_at", "id").Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return f, err
}

// ListUploads returns the uploads that wait for an import, the latest first,
// without their contents.
func ListUploads(ctx context.Context, q db.Reader) ([]File, error) {
	var files []File
	err := q.From(&files).ExcludeColumn("content").Where("import_id = ''").Order("created_at DESC", "id").Scan(ctx)
	return files, err
}

// ClaimFile sets the import that reads a file: the file is no longer a waiting upload.
func ClaimFile(ctx context.Context, tx *db.Tx, fileID, importID string) error {
	_, err := tx.NewRaw("UPDATE files SET import_id = ? WHERE tenant_id = ? AND id = ?", importID, tx.TenantID(), fileID).Exec(ctx)
	return err
}

// DeleteFile deletes a file if it exists.
func DeleteFile(ctx context.Context, tx *db.Tx, fileID string) error {
	return tx.Delete(ctx, (*File)(nil), "id = ?", fileID)
}

// SweepFiles deletes old files, except those of members with a live import, or with one that
// waits for their decision.
const SweepFiles = `DELETE FROM files WHERE created_at <= ? AND NOT EXISTS (SELECT 1 FROM jobs j
WHERE j.tenant_id = files.tenant_id AND j.state IN ('queued', 'running')
AND (j.kind = 'file_import' OR j.kind = 'decision' AND j.tool = 'import_file'))`

// KeepFiles is how long an upload waits for its import.
const KeepFiles = 24 * time.Hour
