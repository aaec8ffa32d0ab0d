package importer

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/job"
)

// Request is an import to be started.
type Request struct {
	// File has the content. Without it UploadID names an upload; without that, the
	// oldest upload that waits is imported.
	File     *File
	UploadID string
	Options  Options
	// Price is what starting it costs, Free imports cost nothing for their rows.
	Price int
	Free  bool
}

// checkAtOnce is up to which size a file is looked at before its import is started.
const checkAtOnce = 1 << 20

// Start starts an import. A live one of the same file in the same way is returned
// instead, and so is any live one when the request names no file; another file has
// to wait (fault.Conflict).
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
	if f.Size <= checkAtOnce {
		if _, err := Open(f.Content, f.Name, p.Options); err != nil {
			return nil, false, err
		}
	}
	if p.ImportID, err = w.NewID(id.Import); err != nil {
		return nil, false, err
	}
	if err := p.take(ctx, w, f); err != nil {
		return nil, false, err
	}
	return job.StartJob(ctx, w, job.Draft{Kind: JobKind, Params: p, Charged: r.Price})
}

// params says what to do with which file.
func (r Request) params(ctx context.Context, w *db.Tx) (p Params, f *File, err error) {
	f = r.File
	switch {
	case f != nil:
	case r.UploadID != "":
		f, err = GetFile(ctx, w, r.UploadID)
	default:
		f, err = WaitingFile(ctx, w)
		if err == nil && f == nil {
			err = fault.New(fault.NotFound, "no file waits to be imported: the member uploads one on the settings page, under Imports (/settings/imports). "+
				"The tool import_file also takes a file as an argument")
		}
	}
	if err != nil {
		return p, nil, err
	}
	return Params{
		FileID: f.ID, Filename: f.Name, Sha256: f.Sha256, Options: r.Options.Normal(), Uploaded: r.File == nil, Free: r.Free,
	}, f, nil
}

// checkLive refuses to start an import beside another one.
func (p Params) checkLive(live *job.Job) error {
	var other Params
	if err := json.Unmarshal([]byte(live.Params), &other); err != nil {
		return fmt.Errorf("read the parameters of job %s: %w", live.ID, err)
	}
	if p.SameWork(other) {
		return nil
	}
	return fault.New(fault.Conflict,
		"job %d is importing %s: wait for its end with get_job, or cancel it with cancel_job, and start this import then", live.Number, other.Filename)
}

// take keeps the file for this import. An upload that is only tried stays free for
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
		return TakeFile(ctx, w, f.ID, p.ImportID)
	}
}

// Ended fails with fault.Conflict while an import is at work.
func Ended(ctx context.Context, w *db.Tx, importID string) error {
	live, err := job.LiveJob(ctx, w, JobKind)
	if err != nil || live == nil {
		return err
	}
	var p Params
	if err := json.Unmarshal([]byte(live.Params), &p); err != nil {
		return fmt.Errorf("read the parameters of job %s: %w", live.ID, err)
	}
	if p.ImportID != importID {
		return nil
	}
	return fault.New(fault.Conflict, "job %d is still at this import: wait for its end with get_job, or cancel it with cancel_job", live.Number)
}
