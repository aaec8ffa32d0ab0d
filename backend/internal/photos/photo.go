package photos

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// KeepUnused is how long an unused photo is kept, so that an undo can restore it.
const KeepUnused = history.KeepDeleted

// row is one size of a photo of a person, and its database row.
type row struct {
	bun.BaseModel `bun:"table:photos,alias:photo"`

	TenantID     tenant.ID `bun:",pk"`
	ConnectionID string    `bun:",pk"`
	ID           string    `bun:",pk"`
	Size         int       `bun:",pk"`
	Media        string
	UnusedAt     time.Time `bun:",nullzero"`
	Data         []byte
}

// state is the part of a person's state that a change of the photo records.
type state struct {
	Photo string `json:"photo"`
}

// Set sets the photo of a person who is not archived, and returns the id of the recorded change;
// the id is empty if they already have this photo. It fails as people.NoConnection does.
func Set(ctx context.Context, tx *db.Tx, connectionID string, p *Photo) (changeID string, err error) {
	return change(ctx, tx, connectionID, p.ID, "Set the photo of ", func() error {
		return Insert(ctx, tx, map[string]*Photo{connectionID: p})
	})
}

// Remove removes the photo of a person who is not archived, and returns the id of the recorded
// change; the id is empty if they have no photo. It fails as people.NoConnection does.
func Remove(ctx context.Context, tx *db.Tx, connectionID string) (changeID string, err error) {
	return change(ctx, tx, connectionID, "", "Removed the photo of ", func() error { return dropOld(ctx, tx, []string{connectionID}) })
}

func change(ctx context.Context, tx *db.Tx, connectionID, photoID, summary string, insert func() error) (string, error) {
	var before struct{ Name, Photo string }
	err := tx.NewRaw("SELECT name, photo FROM connections WHERE tenant_id = ? AND id = ? AND archived_at IS NULL", tx.TenantID(), connectionID).Scan(ctx, &before)
	if errors.Is(err, sql.ErrNoRows) {
		return "", people.NoConnection(ctx, tx, connectionID)
	}
	if err != nil || before.Photo == photoID {
		return "", err
	}
	if err := insert(); err != nil {
		return "", err
	}
	_, err = tx.NewRaw("UPDATE connections SET photo = ?, version = version + 1, updated_at = ? WHERE tenant_id = ? AND id = ?",
		photoID, tx.Now(), tx.TenantID(), connectionID).Exec(ctx)
	if err != nil {
		return "", fmt.Errorf("change a photo: %w", err)
	}
	tx.MarkDirty(connectionID)
	return history.Record(ctx, tx, history.One(summary+before.Name, history.Connection, connectionID, state{before.Photo}, state{photoID}))
}

// Insert stores photos, by the ids of their people, before the rows of the people name them: see
// people.Connection.Photo. Of the photos that a person had before, the one that their row names
// stays, so that the change can be undone; older ones are deleted. It fails with fault.Full if the
// member has no room for them.
func Insert(ctx context.Context, tx *db.Tx, photos map[string]*Photo) error {
	if len(photos) == 0 {
		return nil
	}
	if err := dropOld(ctx, tx, slices.Sorted(maps.Keys(photos))); err != nil {
		return err
	}
	var rows []row
	bytes := 0
	for connectionID, p := range photos {
		bytes += p.Bytes()
		for _, i := range p.images {
			rows = append(rows, row{TenantID: tx.TenantID(), ConnectionID: connectionID, ID: p.ID, Size: i.Size, Media: i.Media, Data: i.Data})
		}
	}
	if err := tx.Reserve(bytes); err != nil {
		return err
	}
	const rowsOfStatement = 60
	for some := range slices.Chunk(rows, rowsOfStatement) {
		_, err := tx.NewInsert().Model(&some).On("CONFLICT (tenant_id, connection_id, id, size) DO UPDATE").Set("unused_at = NULL").Exec(ctx)
		if err != nil {
			return fmt.Errorf("store photos: %w", err)
		}
	}
	return nil
}

// dropOld deletes the photos of people who have a photo, except that one: it becomes the old one that
// is kept. People without a photo keep their old one.
func dropOld(ctx context.Context, tx *db.Tx, connectionIDs []string) error {
	_, err := tx.NewRaw(`DELETE FROM photos WHERE tenant_id = ? AND connection_id IN (?) AND id <> (
SELECT c.photo FROM connections c WHERE c.tenant_id = photos.tenant_id AND c.id = photos.connection_id AND c.photo <> '')`,
		tx.TenantID(), bun.List(connectionIDs)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete old photos: %w", err)
	}
	return nil
}

// Get returns one size of the photo of a person, archived or not. It fails with fault.NotFound if
// there is no such person, photo or size.
func Get(ctx context.Context, q db.Reader, connectionID string, size int) (*Image, error) {
	images, err := read(ctx, q, []string{connectionID}, size)
	if err != nil {
		return nil, err
	}
	if i, ok := images[connectionID]; ok {
		return &i, nil
	}
	return nil, fault.New(fault.NotFound, "there is no such photo")
}

// Largest returns the largest size of the photos of people, by the ids of those who have one.
func Largest(ctx context.Context, q db.Reader, connectionIDs []string) (map[string]Image, error) {
	return read(ctx, q, connectionIDs, Large)
}

func read(ctx context.Context, q db.Reader, connectionIDs []string, size int) (map[string]Image, error) {
	if len(connectionIDs) == 0 {
		return nil, nil
	}
	var rows []row
	err := q.NewRaw(`SELECT p.connection_id, p.id, p.size, p.media, p.data FROM connections c
JOIN photos p ON p.tenant_id = c.tenant_id AND p.connection_id = c.id AND p.id = c.photo
WHERE c.tenant_id = ? AND c.id IN (?) AND c.photo <> '' AND p.size = ?`, q.TenantID(), bun.List(connectionIDs), size).Scan(ctx, &rows)
	out := make(map[string]Image, len(rows))
	for _, r := range rows {
		out[r.ConnectionID] = Image{ID: r.ID, Size: r.Size, Media: r.Media, Data: r.Data}
	}
	return out, err
}

// Versions returns the ids of the photos of people, by the ids of those who have one.
func Versions(ctx context.Context, q db.Reader, connectionIDs []string) (map[string]string, error) {
	out := map[string]string{}
	if len(connectionIDs) == 0 {
		return out, nil
	}
	var rows []struct{ ID, Photo string }
	err := q.NewRaw("SELECT id, photo FROM connections WHERE tenant_id = ? AND id IN (?) AND photo <> ''", q.TenantID(), bun.List(connectionIDs)).Scan(ctx, &rows)
	for _, r := range rows {
		out[r.ID] = r.Photo
	}
	return out, err
}

// Sweep marks photos that are no longer used, and deletes those that were unused for KeepUnused.
// It returns how many rows it deleted. Read-only accounts are skipped.
func Sweep(ctx context.Context, s *db.DB, now time.Time) (int64, error) {
	const used = `EXISTS (SELECT 1 FROM connections c WHERE c.tenant_id = photos.tenant_id AND c.id = photos.connection_id AND c.photo = photos.id)`
	_, err := s.NewWrite(`UPDATE photos SET unused_at = ? WHERE unused_at IS NULL AND NOT `+used+`
AND NOT EXISTS (SELECT 1 FROM tenant_states s WHERE s.tenant_id = photos.tenant_id AND s.read_only)`, now).Exec(ctx)
	if err != nil {
		return 0, err
	}
	result, err := s.NewWrite("DELETE FROM photos WHERE unused_at <= ? AND NOT "+used, now.Add(-KeepUnused)).Exec(ctx)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// URI returns the picture as a data: URI (RFC 2397), as vCards and our own exports hold it.
func (i Image) URI() string {
	return "data:" + i.Media + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// URI returns the largest size as a data: URI.
func (p *Photo) URI() string { return p.images[0].URI() }

// Inline reports whether a URI is a data: URI in base64.
func Inline(uri string) bool {
	const longest = 200
	head, _, found := strings.Cut(uri[:min(len(uri), longest)], ",")
	head = strings.ToLower(head)
	return found && strings.HasPrefix(head, "data:") && strings.HasSuffix(head, ";base64")
}

// ReadURI reads a photo from a data: URI in base64. It fails with fault.Invalid as Read does, and
// for any other URI: nothing is fetched.
func ReadURI(ctx context.Context, uri string) (*Photo, error) {
	_, encoded, _ := strings.Cut(uri, ",")
	if !Inline(uri) {
		return nil, fault.New(fault.Invalid, "the picture is not in the file, and Kith fetches no pictures from other sites")
	}
	if base64.RawStdEncoding.DecodedLen(len(encoded)) > 2*MaxBytes {
		return nil, fault.New(fault.Invalid, "the picture is larger than %d MB", MaxBytes>>20)
	}
	encoded = strings.TrimRight(strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "").Replace(encoded), "=")
	data, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the picture is damaged or incomplete")
	}
	return Read(ctx, data)
}
