package search

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// EmbedKind is the public name of the job.
const EmbedKind = "embed_objects"

// Params say what to do.
type EmbedParams struct {
	// All makes new vectors even for people who have a current one.
	All bool `json:"all"`
}

// EmbedResult is the result of the job.
type EmbedResult struct {
	// Embedded people got a vector; Unchanged people have one of their stored data.
	Embedded  int `json:"embedded"`
	Unchanged int `json:"unchanged"`
	// Model and Dimensions describe the vectors. Dimensions is 0 when no vector was made
	// and none existed.
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"`
	// Provider is the host that made them, or local.
	Provider string `json:"provider"`
}

// localProvider is the value of Result.Provider for the built-in provider.
const localProvider = "local"

const (
	// batch is how many people a step embeds: one request to a remote provider.
	batch = 96
	// embedAttempts is how many attempts in a row may end without a step before the job fails.
	embedAttempts = 4
	// perCredit is how many vectors one credit pays for.
	perCredit = 100
	// The codes of failures.
	codeNotAllowed = "provider_not_allowed"
	codeProvider   = "provider_failed"
)

// checkpoint is how far the job got.
type checkpoint struct {
	// Priced reports whether the people were counted and paid for.
	Priced bool `json:"priced"`
	// Total is how many people there were when they were counted.
	Total int `json:"total"`
	// After is the id after which to continue.
	After      string `json:"after"`
	Embedded   int    `json:"embedded"`
	Unchanged  int    `json:"unchanged"`
	Dimensions int    `json:"dimensions"`
}

// EmbedJob returns the kind of job.
func EmbedJob(data *db.DB, ledger *billing.Ledger, provider vector.Provider) job.Kind {
	begin := func(run *job.Run) (*work, error) {
		w := &work{store: data, ledger: ledger, data: data.Tenant(run.Job.TenantID, false), provider: provider, run: run}
		return w, errors.Join(run.Params(&w.params), run.Checkpoint(&w.at))
	}
	return job.Kind{
		Name: EmbedKind,
		Run: func(ctx context.Context, run *job.Run) (any, error) {
			w, err := begin(run)
			if err != nil {
				return nil, err
			}
			return w.do(ctx)
		},
		SoFar: func(run *job.Run) (any, error) {
			w, err := begin(run)
			return w.result(), err
		},
	}
}

// StartEmbedding queues the job, or returns the live one. Price is the price of the call.
// It fails with fault.Invalid when the member does not allow the provider.
func StartEmbedding(ctx context.Context, u *db.Tx, provider vector.Provider, host string, p EmbedParams, price int) (j *job.Job, started bool, err error) {
	if !Allowed(provider, host) {
		return nil, false, fault.New(fault.Invalid, "%s", notAllowed(provider))
	}
	return job.StartJob(ctx, u, job.Draft{Kind: EmbedKind, Params: p, Charged: price})
}

// work is one attempt at the job.
type work struct {
	store    *db.DB
	ledger   *billing.Ledger
	data     *db.Tenant
	provider vector.Provider
	run      *job.Run
	params   EmbedParams
	at       checkpoint
}

func (w *work) do(ctx context.Context) (any, error) {
	if !w.at.Priced {
		if err := w.price(ctx); err != nil {
			return nil, err
		}
	}
	for {
		more, err := w.step(ctx)
		if err == nil && more {
			err = w.run.Yield(ctx)
		}
		if err != nil || !more {
			return w.result(), err
		}
	}
}

func (w *work) result() EmbedResult {
	host := w.provider.Host()
	if host == "" {
		host = localProvider
	}
	return EmbedResult{Embedded: w.at.Embedded, Unchanged: w.at.Unchanged, Model: w.provider.Model(), Dimensions: w.at.Dimensions, Provider: host}
}

// allowed ends the job when the member does not allow the provider.
func (w *work) allowed(ctx context.Context) error {
	m, err := account.GetMemberByID(ctx, w.store, w.run.Job.TenantID)
	if err == nil && !Allowed(w.provider, m.EmbeddingsHost) {
		err = job.Fail(codeNotAllowed, "%s", notAllowed(w.provider))
	}
	return err
}

// price counts the people who need a vector and charges for them.
func (w *work) price(ctx context.Context) error {
	if err := w.allowed(ctx); err != nil {
		return err
	}
	stale, total := 0, 0
	for after := ""; ; {
		page, err := w.candidates(ctx, after)
		if err != nil {
			return err
		}
		stale, total = stale+len(page.stale), total+page.count
		if page.count < batch {
			break
		}
		after = page.last
	}
	w.at = checkpoint{Priced: true, Total: total}
	return job.WriteStep(db.WithoutQuota(ctx), w.data, w.run.Lease(), w.actor(), func(ctx context.Context, u *db.Tx) (job.Step, error) {
		return job.Step{Checkpoint: w.at, Total: total}, job.Charge(ctx, w.ledger, u, &w.run.Job, stale/perCredit)
	})
}

// page is a batch of people, sorted.
type page struct {
	version int64
	count   int
	last    string
	stale   []vector.Row // people who need a vector
	texts   []string     // of stale
	same    []string     // people who changed, but whose text did not
	current int          // people with a vector of their stored data, same included
	// dimensions are those of the current vectors.
	dimensions int
}

func (w *work) candidates(ctx context.Context, after string) (page, error) {
	found, err := ListCandidates(ctx, w.data, w.provider.Model(), after, batch, w.params.All)
	out := page{version: found.Version, count: len(found.People)}
	for _, c := range found.People {
		out.last = c.ID
		if c.Person == nil {
			out.current, out.dimensions = out.current+1, c.Dimensions
			continue
		}
		text := c.Person.Text()
		hash := vector.Hash(text)
		if hash == c.Hash && !w.params.All {
			out.current, out.dimensions = out.current+1, c.Dimensions
			out.same = append(out.same, c.ID)
			continue
		}
		out.stale = append(out.stale, vector.Row{ConnectionID: c.ID, Model: w.provider.Model(), ContentHash: hash})
		out.texts = append(out.texts, text)
	}
	return out, err
}

// step makes the vectors of one batch, and reports whether there is another.
func (w *work) step(ctx context.Context) (more bool, err error) {
	if err := w.allowed(ctx); err != nil {
		return false, err
	}
	p, err := w.candidates(ctx, w.at.After)
	if err != nil || p.count == 0 {
		return false, err
	}
	if err := w.embed(ctx, &p); err != nil {
		return false, err
	}
	next := w.at
	next.After, next.Embedded, next.Unchanged = p.last, w.at.Embedded+len(p.stale), w.at.Unchanged+p.current
	if p.dimensions > 0 {
		next.Dimensions = p.dimensions
	}
	done := next.Embedded + next.Unchanged
	next.Total = max(next.Total, done)
	err = job.WriteStep(db.WithoutQuota(ctx), w.data, w.run.Lease(), w.actor(), func(ctx context.Context, u *db.Tx) (job.Step, error) {
		step := job.Step{Checkpoint: next, Done: done, Total: next.Total}
		if len(p.stale) == 0 && len(p.same) == 0 {
			return step, nil
		}
		return step, PutEmbeddings(ctx, u, p.version, p.stale, p.same)
	})
	if err != nil {
		return false, err
	}
	w.at = next
	return p.count == batch, nil
}

// embed adds the vectors. It ends the job when the provider refuses the texts permanently,
// or stays unavailable.
func (w *work) embed(ctx context.Context, p *page) error {
	if len(p.texts) == 0 {
		return nil
	}
	vectors, err := w.provider.Embed(ctx, p.texts)
	if known := (*vector.ProviderError)(nil); errors.As(err, &known) && (known.Final || w.run.Job.Attempts >= embedAttempts) {
		return job.Fail(codeProvider, "Vectors could not be made: %s.", known.Message)
	}
	if err != nil {
		return err
	}
	for i := range p.stale {
		p.stale[i].Vector, p.stale[i].Dimensions = vectors[i], len(vectors[i])
		p.dimensions = len(vectors[i])
	}
	return nil
}

func (w *work) actor() db.Actor {
	j := &w.run.Job
	return db.Actor{CredentialID: j.CredentialID, CredentialName: j.CredentialName, Tool: j.Tool}
}

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
SELECT l.connection_id, substr(n.body, 1, ?) AS value, row_number() OVER (PARTITION BY l.connection_id ORDER BY n.created_at DESC, n.id) AS place
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
