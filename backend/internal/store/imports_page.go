package store

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
)

// KeepUpload keeps a file that waits for an import, and sets its id.
func (t *Tenant) KeepUpload(ctx context.Context, page string, f *importer.File) error {
	return t.Write(ctx, Actor{Tool: page}, func(ctx context.Context, u *Unit) error { return u.InsertFile(ctx, f) })
}

// StartImport starts an import as the member themselves, on a page: for nothing.
func (t *Tenant) StartImport(ctx context.Context, page string, r importer.Request) (j *job.Job, err error) {
	r.Free = true
	err = t.Write(ctx, Actor{Tool: page}, func(ctx context.Context, u *Unit) (err error) {
		j, _, err = importer.Start(ctx, u, r)
		return err
	})
	return j, err
}

// CancelJob cancels a job as the member themselves, on a page.
func (t *Tenant) CancelJob(ctx context.Context, page string, number int32) error {
	return t.Write(ctx, Actor{Tool: page}, func(ctx context.Context, u *Unit) error {
		_, err := u.CancelJob(ctx, number)
		return err
	})
}

// UndoImport starts to take an import back as the member themselves, on a page.
func (t *Tenant) UndoImport(ctx context.Context, page, importID string) (j *job.Job, err error) {
	err = t.Write(ctx, Actor{Tool: page}, func(ctx context.Context, u *Unit) (err error) {
		j, _, err = importer.StartUndo(ctx, u, importID)
		return err
	})
	return j, err
}
