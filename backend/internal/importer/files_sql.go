package importer

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// MaxUploads is how many uploads of a member wait for an import; further ones push
// the oldest out.
const MaxUploads = 3

// InsertFile keeps a file and sets its id.
func InsertFile(ctx context.Context, tx *db.Tx, f *File) (err error) {
	if f.ID, err = tx.NewID(id.File); err != nil {
		return err
	}
	f.TenantID, f.CreatedAt = tx.TenantID(), tx.Now()
	if _, err := tx.NewInsert().Model(f).Exec(ctx); err != nil || f.ImportID != "" {
		return err
	}
	return tx.Delete(ctx, (*File)(nil), `import_id = '' AND id NOT IN (
SELECT f.id FROM files f WHERE f.tenant_id = ? AND f.import_id = '' ORDER BY f.id DESC LIMIT ?)`, tx.TenantID(), MaxUploads)
}

// GetFile is that of a Tenant, within the transaction.
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
	err := tx.From(f).Where("import_id = ''").Order("id").Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return f, err
}

// ListUploads returns the uploads that wait for an import, the latest first,
// without their contents.
func ListUploads(ctx context.Context, q db.Reader) ([]File, error) {
	var files []File
	err := q.From(&files).ExcludeColumn("content").Where("import_id = ''").Order("id DESC").Scan(ctx)
	return files, err
}

// TakeFile notes which import reads a file, so that no other one takes it for an
// upload that waits.
func TakeFile(ctx context.Context, tx *db.Tx, fileID, importID string) error {
	_, err := tx.NewRaw("UPDATE files SET import_id = ? WHERE tenant_id = ? AND id = ?", importID, tx.TenantID(), fileID).Exec(ctx)
	return err
}

// DeleteFile deletes a file, if it is there.
func DeleteFile(ctx context.Context, tx *db.Tx, fileID string) error {
	return tx.Delete(ctx, (*File)(nil), "id = ?", fileID)
}

// ReadFile returns a member's file, or fails with fault.NotFound.
func ReadFile(ctx context.Context, s *db.DB, owner tenant.ID, fileID string) (*File, error) {
	return GetFile(ctx, s.Tenant(owner, true), fileID)
}

// SweepFiles deletes files that nobody imported, but for those of live jobs.
const SweepFiles = `DELETE FROM files WHERE created_at <= ? AND NOT EXISTS (SELECT 1 FROM jobs j
WHERE j.tenant_id = files.tenant_id AND j.state IN ('queued', 'running') AND j.kind = 'file_import')`

// KeepFiles is how long an upload waits for its import.
const KeepFiles = 24 * time.Hour
