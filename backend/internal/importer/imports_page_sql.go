package importer

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/job"
)

// KeepUpload keeps a file that waits for an import, and sets its id.
func KeepUpload(ctx context.Context, t *db.Tenant, page string, f *File) error {
	return t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) error { return InsertFile(ctx, tx, f) })
}

// StartImport starts an import as the member themselves, on a page: for nothing.
func StartImport(ctx context.Context, t *db.Tenant, page string, r Request) (j *job.Job, err error) {
	r.Free = true
	err = t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) (err error) {
		j, _, err = Start(ctx, tx, r)
		return err
	})
	return j, err
}

// CancelJob cancels a job as the member themselves, on a page.
func CancelJob(ctx context.Context, t *db.Tenant, page string, number int32) error {
	return t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) error {
		_, err := job.CancelJob(ctx, tx, number)
		return err
	})
}

// UndoImport starts to take an import back as the member themselves, on a page.
func UndoImport(ctx context.Context, t *db.Tenant, page, importID string) (j *job.Job, err error) {
	err = t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) (err error) {
		j, _, err = StartUndo(ctx, tx, importID)
		return err
	})
	return j, err
}
