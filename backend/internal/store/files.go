package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// MaxUploads is how many uploads of a member wait for an import; further ones push
// the oldest out.
const MaxUploads = 3

// InsertFile keeps a file and sets its id.
func (u *Unit) InsertFile(ctx context.Context, f *importer.File) (err error) {
	if f.ID, err = u.ids.New(id.File); err != nil {
		return err
	}
	f.TenantID, f.CreatedAt = u.id, u.now
	if _, err := u.db.NewInsert().Model(f).Exec(ctx); err != nil || f.ImportID != "" {
		return err
	}
	return u.delete(ctx, (*importer.File)(nil), `import_id = '' AND id NOT IN (
SELECT f.id FROM files f WHERE f.tenant_id = ? AND f.import_id = '' ORDER BY f.id DESC LIMIT ?)`, u.id, MaxUploads)
}

// GetFile returns a file with its content, or fails with fault.NotFound.
func (t *Tenant) GetFile(ctx context.Context, fileID string) (*importer.File, error) {
	ctx, q := t.read(ctx)
	f, err := q.GetFile(ctx, fileID)
	return f, translate(err)
}

// GetFile is that of a Tenant, within the transaction.
func (q scope) GetFile(ctx context.Context, fileID string) (*importer.File, error) {
	f := &importer.File{}
	err := q.from(f).Where("id = ?", fileID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "there is no file %s; uploads are kept for a day, until they are imported", fileID)
	}
	return f, err
}

// WaitingFile returns the oldest uploaded file that has not been imported, or nil.
func (u *Unit) WaitingFile(ctx context.Context) (*importer.File, error) {
	f := &importer.File{}
	err := u.from(f).Where("import_id = ''").Order("id").Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return f, err
}

// ListUploads returns the uploads that wait for an import, the latest first,
// without their contents.
func (t *Tenant) ListUploads(ctx context.Context) ([]importer.File, error) {
	ctx, q := t.read(ctx)
	var files []importer.File
	err := q.from(&files).ExcludeColumn("content").Where("import_id = ''").Order("id DESC").Scan(ctx)
	return files, translate(err)
}

// TakeFile notes which import reads a file, so that no other one takes it for an
// upload that waits.
func (u *Unit) TakeFile(ctx context.Context, fileID, importID string) error {
	_, err := u.db.NewRaw("UPDATE files SET import_id = ? WHERE tenant_id = ? AND id = ?", importID, u.id, fileID).Exec(ctx)
	return err
}

// DeleteFile implements importer.Writer.
func (u *Unit) DeleteFile(ctx context.Context, fileID string) error {
	return u.delete(ctx, (*importer.File)(nil), "id = ?", fileID)
}

// ReadFile implements importer.Store.
func (s *Store) ReadFile(ctx context.Context, owner tenant.ID, fileID string) (*importer.File, error) {
	return s.Tenant(owner, true).GetFile(ctx, fileID)
}

// sweepFiles deletes files that nobody imported, but for those of live jobs.
const sweepFiles = `DELETE FROM files WHERE created_at <= ? AND NOT EXISTS (SELECT 1 FROM jobs j
WHERE j.tenant_id = files.tenant_id AND j.state IN ('queued', 'running') AND j.kind = 'file_import')`

// keepFiles is how long an upload waits for its import.
const keepFiles = 24 * time.Hour
