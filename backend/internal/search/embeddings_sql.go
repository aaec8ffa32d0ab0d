package search

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// embedded is the row of a vector.
type embedded struct {
	bun.BaseModel `bun:"table:embeddings"`

	TenantID     tenant.ID
	ConnectionID string
	Model        string
	Dimensions   int
	ContentHash  string
	Vector       []byte
	TextVersion  int64
	DataVersion  int64
	UpdatedAt    time.Time
}

// PutEmbeddings stores the vectors of texts that were read at a data version. For the people in
// same, whose texts had not changed, it records that version. It leaves out people who are
// deleted or archived by now.
func PutEmbeddings(ctx context.Context, tx *db.Tx, textVersion int64, fresh []vector.Row, same []string) error {
	if len(fresh) > 0 {
		if err := insertEmbeddings(ctx, tx, textVersion, fresh); err != nil {
			return err
		}
	}
	if len(same) > 0 {
		_, err := tx.NewRaw("UPDATE embeddings SET text_version = ?, data_version = ? WHERE tenant_id = ? AND connection_id IN (?)",
			textVersion, tx.Version(), tx.TenantID(), bun.List(same)).Exec(ctx)
		if err != nil {
			return err
		}
	}
	_, err := tx.NewRaw("UPDATE tenant_states SET embedded_version = ? WHERE tenant_id = ?", tx.Version(), tx.TenantID()).Exec(ctx)
	return err
}

func insertEmbeddings(ctx context.Context, tx *db.Tx, textVersion int64, fresh []vector.Row) error {
	ids := make([]string, len(fresh))
	for i := range fresh {
		ids[i] = fresh[i].ConnectionID
	}
	var there []string
	err := tx.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND archived_at IS NULL AND id IN (?)", tx.TenantID(), bun.List(ids)).Scan(ctx, &there)
	if err != nil {
		return err
	}
	live := make(map[string]bool, len(there))
	for _, id := range there {
		live[id] = true
	}
	rows := make([]embedded, 0, len(there))
	for _, r := range fresh {
		if live[r.ConnectionID] {
			rows = append(rows, embedded{
				TenantID: tx.TenantID(), ConnectionID: r.ConnectionID, Model: r.Model, Dimensions: r.Dimensions, ContentHash: r.ContentHash,
				Vector: r.Vector.Bytes(), TextVersion: textVersion, DataVersion: tx.Version(), UpdatedAt: tx.Now(),
			})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err = tx.NewInsert().Model(&rows).On("CONFLICT (tenant_id, connection_id) DO UPDATE").
		Set("model = EXCLUDED.model").Set("dimensions = EXCLUDED.dimensions").Set("content_hash = EXCLUDED.content_hash").
		Set("vector = EXCLUDED.vector").Set("text_version = EXCLUDED.text_version").Set("data_version = EXCLUDED.data_version").
		Set("updated_at = EXCLUDED.updated_at").Exec(ctx)
	return err
}

// ListCandidates returns at most limit people with ids after after, in the order of their ids. It
// adds the stored data of those who changed since they got a vector of the model or, if all is
// set, of everyone. The number of statements is fixed.
func ListCandidates(ctx context.Context, t *db.Tenant, model, after string, limit int, all bool) (vector.Candidates, error) {
	var out vector.Candidates
	err := t.Snapshot(ctx, func(ctx context.Context, q db.Reader) error {
		if err := q.NewRaw("SELECT data_version FROM tenant_states WHERE tenant_id = ?", q.TenantID()).Scan(ctx, &out.Version); err != nil {
			return err
		}
		var rows []struct {
			ID, ContentHash string
			Dimensions      int
			Changed         bool
		}
		err := q.NewRaw(`SELECT c.id, coalesce(e.content_hash, '') AS content_hash, coalesce(e.dimensions, 0) AS dimensions,
e.text_version IS NULL OR c.data_version > e.text_version AS changed
FROM connections c LEFT JOIN embeddings e ON e.tenant_id = c.tenant_id AND e.connection_id = c.id AND e.model = ?
WHERE c.tenant_id = ? AND c.archived_at IS NULL AND c.id > ? ORDER BY c.id LIMIT ?`, model, q.TenantID(), after, limit).Scan(ctx, &rows)
		if err != nil {
			return err
		}
		var look []string
		out.People = make([]vector.Candidate, len(rows))
		for i, row := range rows {
			out.People[i] = vector.Candidate{ID: row.ID, Hash: row.ContentHash, Dimensions: row.Dimensions}
			if row.Changed || all {
				look = append(look, row.ID)
			}
		}
		people, err := embeddable(ctx, q, look)
		for i := range out.People {
			out.People[i].Person = people[out.People[i].ID]
		}
		return err
	})
	return out, err
}

// embeddable reads the data from which vectors of people are made, by id, with four
// statements.
func embeddable(ctx context.Context, q db.Reader, ids []string) (map[string]*vector.Person, error) {
	out := make(map[string]*vector.Person, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var people []struct{ ID, Name, Nickname, Location, Bio string }
	err := q.NewRaw("SELECT id, name, nickname, location, bio FROM connections WHERE tenant_id = ? AND id IN (?)", q.TenantID(), bun.List(ids)).Scan(ctx, &people)
	if err != nil {
		return nil, err
	}
	for _, p := range people {
		out[p.ID] = &vector.Person{Name: p.Name, Nickname: p.Nickname, Location: p.Location, Bio: p.Bio}
	}
	var positions []struct {
		ConnectionID string
		vector.Position
	}
	err = q.NewRaw(`SELECT p.connection_id, p.title, coalesce(o.name, '') AS organization, p.current FROM positions p
LEFT JOIN organizations o ON o.tenant_id = p.tenant_id AND o.id = p.organization_id
WHERE p.tenant_id = ? AND p.connection_id IN (?) ORDER BY p.connection_id, p.current DESC, p.ordinal`, q.TenantID(), bun.List(ids)).Scan(ctx, &positions)
	if err != nil {
		return nil, err
	}
	for _, p := range positions {
		out[p.ConnectionID].Positions = append(out[p.ConnectionID].Positions, p.Position)
	}
	return out, addWords(ctx, q, ids, out)
}

// addWords adds tags and the latest notes.
func addWords(ctx context.Context, q db.Reader, ids []string, people map[string]*vector.Person) error {
	var tags, notes []struct{ ConnectionID, Value string }
	err := q.NewRaw(`SELECT l.connection_id, t.name AS value FROM connection_tags l JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) ORDER BY l.connection_id, t.folded_name`, q.TenantID(), bun.List(ids)).Scan(ctx, &tags)
	if err != nil {
		return err
	}
	for _, row := range tags {
		people[row.ConnectionID].Tags = append(people[row.ConnectionID].Tags, row.Value)
	}
	err = q.NewRaw(`SELECT connection_id, value FROM (
SELECT l.connection_id, substr(n.body, 1, ?) AS value, row_number() OVER (PARTITION BY l.connection_id ORDER BY n.id DESC) AS place
FROM note_connections l JOIN notes n ON n.tenant_id = l.tenant_id AND n.id = l.note_id
WHERE l.tenant_id = ? AND l.connection_id IN (?)) AS latest WHERE place <= ? ORDER BY connection_id, place`,
		vector.MaxNote, q.TenantID(), bun.List(ids), vector.MaxNotes).Scan(ctx, &notes)
	for _, row := range notes {
		people[row.ConnectionID].Notes = append(people[row.ConnectionID].Notes, row.Value)
	}
	return err
}

// doubts is how many people are checked at a time.
const doubts = 500

// LoadVectors reads the vectors of a model. It reads all when since is below 0 or older than
// the recorded deletions, otherwise those that changed, or whose people changed or were
// deleted, after that data version. Everything is read from one snapshot.
func LoadVectors(ctx context.Context, t *db.Tenant, model string, since int64) (vector.Vectors, error) {
	var out vector.Vectors
	err := t.Snapshot(ctx, func(ctx context.Context, q db.Reader) error {
		out = vector.Vectors{}
		var removed int64
		err := q.NewRaw("SELECT data_version, removed_version FROM tenant_states WHERE tenant_id = ?", q.TenantID()).Scan(ctx, &out.Version, &removed)
		if err != nil {
			return err
		}
		out.Whole = since < max(0, removed)
		doubtful, err := vectors(ctx, q, model, since, &out)
		if err == nil && !out.Whole {
			var gone []string
			gone, err = db.RemovedSince(ctx, q, since)
			out.Gone = append(out.Gone, gone...)
		}
		for len(doubtful) > 0 && err == nil {
			n := min(doubts, len(doubtful))
			err = resolveDoubts(ctx, q, doubtful[:n], &out)
			doubtful = doubtful[n:]
		}
		return err
	})
	return out, err
}

// doubt is a vector whose person changed since its text was read.
type doubt struct {
	place    int
	id, hash string
}

// resolveDoubts checks whether the texts are still those from which the vectors were made.
func resolveDoubts(ctx context.Context, q db.Reader, some []doubt, out *vector.Vectors) error {
	ids := make([]string, len(some))
	for i, d := range some {
		ids[i] = d.id
	}
	people, err := embeddable(ctx, q, ids)
	for _, d := range some {
		if p := people[d.id]; p != nil {
			out.Current[d.place] = vector.Hash(p.Text()) == d.hash
		}
	}
	return err
}

// vectors reads rows one by one: a network's vectors take much memory, and are kept only
// once.
func vectors(ctx context.Context, q db.Reader, model string, since int64, out *vector.Vectors) (doubtful []doubt, err error) {
	var latest struct{ Dimensions, Count int }
	err = q.NewRaw("SELECT dimensions, (SELECT count(*) FROM embeddings WHERE tenant_id = ?0) AS count FROM embeddings WHERE tenant_id = ?0 AND model = ?1 ORDER BY data_version DESC LIMIT 1",
		q.TenantID(), model).Scan(ctx, &latest)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	out.Dimensions = latest.Dimensions
	query := `SELECT c.id, e.vector, e.content_hash, c.data_version > e.text_version
FROM embeddings e JOIN connections c ON c.tenant_id = e.tenant_id AND c.id = e.connection_id
WHERE e.tenant_id = ?0 AND e.model = ?1 AND e.dimensions = ?2 AND c.archived_at IS NULL`
	if !out.Whole {
		latest.Count = 0
		query = `SELECT c.id, e.vector, e.content_hash, c.data_version > e.text_version
FROM connections c LEFT JOIN embeddings e ON e.tenant_id = c.tenant_id AND e.connection_id = c.id AND e.model = ?1 AND e.dimensions = ?2 AND c.archived_at IS NULL
WHERE c.tenant_id = ?0 AND c.id IN (SELECT id FROM connections WHERE tenant_id = ?0 AND data_version > ?3
UNION SELECT connection_id FROM embeddings WHERE tenant_id = ?0 AND data_version > ?3)`
	}
	out.IDs, out.Current = make([]string, 0, latest.Count), make([]bool, 0, latest.Count)
	out.Values = vector.NewColumns(latest.Dimensions, latest.Count)
	rows, err := q.QueryContext(ctx, query, q.TenantID(), model, latest.Dimensions, since)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var (
			id      string
			vector  sql.RawBytes
			hash    sql.NullString
			changed sql.NullBool
		)
		if err := rows.Scan(&id, &vector, &hash, &changed); err != nil {
			return nil, err
		}
		if len(vector) == 0 || len(vector) != 4*latest.Dimensions {
			out.Gone = append(out.Gone, id)
			continue
		}
		if changed.Bool {
			doubtful = append(doubtful, doubt{place: len(out.IDs), id: id, hash: hash.String})
		}
		out.IDs, out.Current = append(out.IDs, id), append(out.Current, !changed.Bool)
		out.Values.AppendKept(vector)
	}
	return doubtful, rows.Err()
}
