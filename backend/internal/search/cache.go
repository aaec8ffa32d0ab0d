package search

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// loadTimeout limits the duration of one load.
const loadTimeout = 2 * time.Minute

// Sized returns about how much memory the value holds.
type Sized interface{ Bytes() int64 }

// Load applies to a value what changed after a data version, or everything when since is
// below 0. It returns the version that the value reflects afterwards. Only one call runs
// at a time for each value, while others may use it.
type Load[T Sized] func(ctx context.Context, t tenant.ID, since int64, value T) (version int64, err error)

// Cache keeps one value for each tenant, computed from the tenant's data. It is safe for
// concurrent use.
//
// A value is made at its first use and brought up to date when the tenant's data version,
// which comes with each authenticated call, is ahead of it. So a call sees every write
// that was committed before it, in whichever process, and reads nothing from the database
// when nothing changed. The least recently used values are evicted when the cache is full.
type Cache[T Sized] struct {
	fresh    func() T
	load     Load[T]
	maxBytes int64

	mu      sync.Mutex
	entries *simplelru.LRU[tenant.ID, *entry[T]]
	bytes   int64
}

type entry[T Sized] struct {
	tenant tenant.ID
	value  T
	bytes  int64 // as counted in Cache.bytes, guarded by Cache.mu

	version atomic.Int64  // the data version that the value reflects
	refresh chan struct{} // holds one token; its owner may refresh
}

// NewCache returns a Cache that holds about maxBytes of values, and always at least one.
// fresh makes an empty value.
func NewCache[T Sized](fresh func() T, load Load[T], maxBytes int64) *Cache[T] {
	c := &Cache[T]{fresh: fresh, load: load, maxBytes: maxBytes}
	// The limit is in bytes. Values that are empty, or could not be loaded, take bytes too: so
	// the number of entries is limited as well. New fails only for a size below 1.
	most := max(minEntries, int(min(maxBytes/entryBytes, math.MaxInt32)))
	c.entries, _ = simplelru.NewLRU(most, func(_ tenant.ID, out *entry[T]) { c.bytes -= out.bytes })
	return c
}

// entryBytes is the memory of a small value for which the cache has room, minEntries how many
// values it may hold however little memory it has.
const (
	entryBytes = 4 << 10
	minEntries = 64
)

// Get returns the tenant's value as of data version atLeast or later. Calls that
// wait for the same data share one load.
func (c *Cache[T]) Get(ctx context.Context, t tenant.ID, atLeast int64) (T, error) {
	e := c.entry(t)
	if e.version.Load() < atLeast {
		if err := c.refresh(ctx, e, atLeast); err != nil {
			var none T
			return none, err
		}
	}
	return e.value, nil
}

// Prepare starts to load a value that a later Get will need, and does not wait. That Get
// returns the error, if any.
func (c *Cache[T]) Prepare(ctx context.Context, t tenant.ID, atLeast int64) {
	e := c.entry(t)
	if e.version.Load() >= atLeast {
		return
	}
	select {
	case e.refresh <- struct{}{}:
		c.start(ctx, e, atLeast)
	default: // another call is refreshing it
	}
}

// entry returns the tenant's entry, creating it if necessary, and marks it as the most
// recently used.
func (c *Cache[T]) entry(t tenant.ID) *entry[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries.Get(t); ok {
		return e
	}
	e := &entry[T]{tenant: t, value: c.fresh(), refresh: make(chan struct{}, 1)}
	e.version.Store(-1)
	c.entries.Add(t, e)
	return e
}

// refresh loads what changed. It continues when its caller gives up; otherwise a load that
// takes longer than callers wait would never finish.
func (c *Cache[T]) refresh(ctx context.Context, e *entry[T], atLeast int64) error {
	select {
	case e.refresh <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-c.start(ctx, e, atLeast):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start loads for the owner of the token, and returns the token.
func (c *Cache[T]) start(ctx context.Context, e *entry[T], atLeast int64) <-chan error {
	done := make(chan error, 1)
	go func() {
		defer func() { <-e.refresh }()
		done <- c.loadInto(context.WithoutCancel(ctx), e, atLeast)
	}()
	return done
}

// loadInto updates the entry, unless another call has done so. It recovers a panic,
// because the load runs outside its callers' goroutines.
func (c *Cache[T]) loadInto(ctx context.Context, e *entry[T], atLeast int64) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("update a cached value: panic: %v\n%s", cause, debug.Stack())
		}
	}()
	since := e.version.Load()
	if since >= atLeast {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	version, err := c.load(ctx, e.tenant, since, e.value)
	if err != nil {
		return err
	}
	e.version.Store(version)
	c.account(e)
	return nil
}

// account counts the entry's memory and evicts the least recently used values.
func (c *Cache[T]) account(e *entry[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held, ok := c.entries.Peek(e.tenant); !ok || held != e {
		return
	}
	size := e.value.Bytes()
	c.bytes += size - e.bytes
	e.bytes = size
	for c.bytes > c.maxBytes && c.entries.Len() > 1 {
		c.entries.RemoveOldest()
	}
}

// Held returns how many values are held and how many bytes they take.
func (c *Cache[T]) Held() (values int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Len(), c.bytes
}

// Documents are the searchable words of connections, as of a data version.
type Documents struct {
	// Version is the tenant's data version that the documents reflect.
	Version int64
	// Changed are the connections whose words changed; archived ones are marked.
	Changed []index.Document
	// Whole reports that Changed has every connection: others no longer exist.
	Whole bool
}

// Source reads the documents of a tenant that changed after a data version.
type Source func(ctx context.Context, t tenant.ID, since int64) (Documents, error)

// IndexCache keeps the search index of each tenant. It is safe for concurrent use.
type IndexCache struct {
	indexes *Cache[*index.Index]
	onBuild func(ctx context.Context, whole bool, d time.Duration)
}

// NewIndexCache returns an IndexCache that holds about maxBytes of indexes, and always at
// least one.
func NewIndexCache(source Source, maxBytes int64) *IndexCache {
	c := &IndexCache{onBuild: func(context.Context, bool, time.Duration) {}}
	load := func(ctx context.Context, t tenant.ID, since int64, index *index.Index) (int64, error) {
		start := time.Now()
		docs, err := source(ctx, t, since)
		if err != nil {
			return 0, err
		}
		if docs.Whole {
			index.Reset(docs.Changed...)
		} else {
			index.Put(docs.Changed...)
		}
		c.onBuild(ctx, docs.Whole, time.Since(start))
		return docs.Version, nil
	}
	c.indexes = NewCache(index.New, load, maxBytes)
	return c
}

// OnBuild sets a function that is called after each index is built (whole) or updated,
// with the duration including the read. Set it before the first search.
func (c *IndexCache) OnBuild(fn func(ctx context.Context, whole bool, d time.Duration)) {
	c.onBuild = fn
}

// OfCaller returns the index of the caller's tenant as of the caller's data version or later.
func (c *IndexCache) OfCaller(ctx context.Context) (*index.Index, error) {
	p := tenant.PrincipalFrom(ctx)
	return c.Index(ctx, p.Tenant, p.DataVersion)
}

// Index returns the tenant's index as of data version atLeast or later.
func (c *IndexCache) Index(ctx context.Context, t tenant.ID, atLeast int64) (*index.Index, error) {
	return c.indexes.Get(ctx, t, atLeast)
}

// Search looks in the tenant's network as of data version atLeast or later.
func (c *IndexCache) Search(ctx context.Context, t tenant.ID, atLeast int64, q index.Query) (index.Result, error) {
	ix, err := c.Index(ctx, t, atLeast)
	if err != nil {
		return index.Result{}, err
	}
	return ix.Search(q), nil
}

// Held returns how many indexes are held and how many bytes they take.
func (c *IndexCache) Held() (indexes int, bytes int64) { return c.indexes.Held() }

// LoadDocuments reads the data for the search index. It reads all connections when since
// is below 0 or older than the recorded deletions, otherwise those that changed or were
// deleted after that data version. Everything is read from one snapshot.
func LoadDocuments(ctx context.Context, t *db.Tenant, since int64) (Documents, error) {
	var out Documents
	err := t.Snapshot(ctx, func(ctx context.Context, q db.Reader) error {
		out = Documents{}
		var removed int64
		err := q.NewRaw("SELECT data_version, removed_version FROM tenant_states WHERE tenant_id = ?", q.TenantID()).Scan(ctx, &out.Version, &removed)
		if err != nil {
			return err
		}
		if since < removed {
			since = -1
		}
		out.Whole = since < 0
		if out.Changed, err = documents(ctx, q, since); err != nil || out.Whole {
			return err
		}
		gone, err := db.RemovedSince(ctx, q, since)
		for _, id := range gone {
			out.Changed = append(out.Changed, index.Document{ID: id, Gone: true})
		}
		return err
	})
	return out, err
}

// documents reads connections and their searchable data. The statements are plain and
// narrow, and sorting is done in Go: for a whole network, whose first search waits for
// this, that is several times faster.
func documents(ctx context.Context, q db.Reader, since int64) ([]index.Document, error) {
	query, args := "SELECT id, name, nickname, location, bio, met_how, met_on, starred, last_interaction_at, created_at, archived_at IS NOT NULL, merged_into IS NOT NULL, cadence_days, snoozed_until, addresses, accounts, deceased_on <> '', name_parts, fields, related FROM connections WHERE tenant_id = ?", []any{q.TenantID()}
	if since >= 0 { // without it, the database would scan an index without benefit
		query, args = query+" AND data_version > ?", append(args, since)
	}
	docs, err := roomFor(ctx, q, since)
	if err != nil {
		return nil, err
	}
	err = each(ctx, q, query, args, func(scan scanner) error {
		var d index.Document
		var last, created, snoozed sql.NullTime
		var addresses, accounts, nameParts, fields, related []byte
		if err := scan(&d.ID, &d.Name, &d.Nickname, &d.Location, &d.Bio, &d.MetHow, &d.MetOn, &d.Starred, &last, &created, &d.Archived, &d.Gone, &d.CadenceDays, &snoozed, &addresses, &accounts, &d.Deceased, &nameParts, &fields, &related); err != nil {
			return err
		}
		if len(addresses) > 0 {
			c := people.Connection{Location: d.Location}
			if err := json.Unmarshal(addresses, &c.Addresses); err != nil {
				return fmt.Errorf("read the addresses of %s: %w", d.ID, err)
			}
			d.Places, d.HasAddress = c.Places(), len(c.Addresses) > 0
		}
		if len(nameParts) > 0 {
			c := people.Connection{Name: d.Name}
			if err := json.Unmarshal(nameParts, &c.NameParts); err != nil {
				return fmt.Errorf("read the name of %s: %w", d.ID, err)
			}
			d.FamilyName, d.OtherNames = c.NameParts.Family, c.OtherNames()
		}
		if len(accounts) > 0 {
			var all []people.Account
			if err := json.Unmarshal(accounts, &all); err != nil {
				return fmt.Errorf("read the accounts of %s: %w", d.ID, err)
			}
			d.Accounts = people.IDs(all, func(a people.Account) string { return a.Handle })
		}
		if len(fields) > 0 {
			var all []people.FieldValue
			if err := json.Unmarshal(fields, &all); err != nil {
				return fmt.Errorf("read the custom fields of %s: %w", d.ID, err)
			}
			for _, v := range all {
				d.Fields = append(d.Fields, index.FieldValue{Key: text.Fold(v.Name), Name: v.Name, Type: v.Type, Value: v.Value})
			}
		}
		if len(related) > 0 {
			var all []people.Relation
			if err := json.Unmarshal(related, &all); err != nil {
				return fmt.Errorf("read the relations of %s: %w", d.ID, err)
			}
			for _, r := range all {
				if r.Type == people.RelationIntroducedBy {
					d.IntroducedBy = append(d.IntroducedBy, r.Name)
				}
			}
		}
		d.LastInteractionAt, d.CreatedAt, d.SnoozedUntil = utc(last), utc(created), utc(snoozed)
		docs = append(docs, d)
		return nil
	})
	if err != nil || len(docs) == 0 {
		return docs, err
	}
	byID := make(map[string]*index.Document, len(docs))
	for i := range docs {
		byID[docs[i].ID] = &docs[i]
	}
	return docs, fillDocuments(ctx, q, since, byID)
}

// roomFor returns a list with capacity for everyone if the list will hold everyone.
func roomFor(ctx context.Context, q db.Reader, since int64) ([]index.Document, error) {
	if since >= 0 {
		return nil, nil
	}
	var people int
	err := q.NewRaw("SELECT count(*) FROM connections WHERE tenant_id = ?", q.TenantID()).Scan(ctx, &people)
	return make([]index.Document, 0, people), err
}

// utc returns the zero time for NULL.
func utc(t sql.NullTime) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}

// scanner scans the columns of a row.
type scanner func(into ...any) error

// each passes the rows of a query to read, one by one.
func each(ctx context.Context, q db.Reader, query string, args []any, read func(scanner) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := read(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// item is one value of a connection's list.
type item struct {
	doc         *index.Document
	kind, value string // kind of an address, or the id of a group
	place       int    // in the list
}

// fillDocuments adds the lists, each with one statement over all people changed.
// The condition is a list of ids, so that the index on (tenant_id, connection_id) is used: with
// a join, the planner, which has no statistics, could choose a bad plan.
func fillDocuments(ctx context.Context, q db.Reader, since int64, byID map[string]*index.Document) error {
	changed := " WHERE l.tenant_id = ?"
	args := []any{q.TenantID()}
	if since >= 0 {
		changed += " AND l.connection_id IN (SELECT id FROM connections WHERE tenant_id = ? AND data_version > ?)"
		args = append(args, q.TenantID(), since)
	}
	lists := []struct {
		query string
		add   func(l item)
	}{
		{"SELECT l.connection_id, l.kind, l.value, l.ordinal FROM handles l" + changed, addHandle},
		{"SELECT l.connection_id, '', t.name, 0 FROM connection_tags l JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id" + changed, func(l item) { l.doc.Tags = append(l.doc.Tags, l.value) }},
		{"SELECT l.connection_id, l.group_id, g.name, 0 FROM group_connections l JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id" + changed, func(l item) {
			l.doc.Groups, l.doc.GroupIDs = append(l.doc.Groups, l.value), append(l.doc.GroupIDs, l.kind)
		}},
		{"SELECT l.connection_id, '', n.body, 0 FROM note_connections l JOIN notes n ON n.tenant_id = l.tenant_id AND n.id = l.note_id" + changed + " ORDER BY l.connection_id, n.noted_at DESC, n.id", func(l item) { l.doc.Notes = append(l.doc.Notes, l.value) }},
	}
	var rows []item
	for _, list := range lists {
		var err error
		if rows, err = fill(ctx, q, list.query, args, byID, rows[:0], list.add); err != nil {
			return err
		}
	}
	for _, fill := range []func(context.Context, db.Reader, string, []any, map[string]*index.Document) error{fillInteractions, fillCadences, fillDates} {
		if err := fill(ctx, q, changed, args, byID); err != nil {
			return err
		}
	}
	return fillPositions(ctx, q, since, changed, args, byID)
}

// fillInteractions adds summaries, the latest first, and the strength that they give.
func fillInteractions(ctx context.Context, q db.Reader, changed string, args []any, byID map[string]*index.Document) error {
	query := "SELECT l.connection_id, i.kind, i.summary, i.occurred_at FROM interaction_connections l JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id"
	return each(ctx, q, query+changed+" ORDER BY l.connection_id, i.occurred_at DESC, i.id", args, func(scan scanner) error {
		var id, kind sql.RawBytes
		var summary string
		var at time.Time
		if err := scan(&id, &kind, &summary, &at); err != nil {
			return err
		}
		d := byID[string(id)]
		d.Interactions = append(d.Interactions, summary)
		d.Kinds |= index.KindsOf(string(kind))
		d.Ties += people.Tie(string(kind), at)
		switch string(kind) {
		case "meeting":
			d.Meetings++
		case "call":
			d.Calls++
		case "email", "message":
			d.Messages++
		}
		d.Peak += people.PeakTie(string(kind), at, d.LastInteractionAt)
		return nil
	})
}

// fillCadences adds the shortest keep-in-touch interval of a person's groups.
func fillCadences(ctx context.Context, q db.Reader, changed string, args []any, byID map[string]*index.Document) error {
	query := "SELECT l.connection_id, min(g.cadence_days) FROM group_connections l JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id"
	return each(ctx, q, query+changed+" AND g.cadence_days > 0 GROUP BY l.connection_id", args, func(scan scanner) error {
		var id sql.RawBytes
		var days int
		if err := scan(&id, &days); err != nil {
			return err
		}
		byID[string(id)].GroupCadence = days
		return nil
	})
}

// fillDates adds dates. Of several birthdays, Birthday is the first.
func fillDates(ctx context.Context, q db.Reader, changed string, args []any, byID map[string]*index.Document) error {
	query := "SELECT l.connection_id, l.kind, l.year, l.month, l.day FROM important_dates l"
	return each(ctx, q, query+changed+" ORDER BY l.ordinal DESC", args, func(scan scanner) error {
		var id, kind sql.RawBytes
		var on index.Date
		if err := scan(&id, &kind, &on.Year, &on.Month, &on.Day); err != nil {
			return err
		}
		d := byID[string(id)]
		d.Dates = append(d.Dates, on)
		if string(kind) == people.DateBirthday {
			d.Birthday = on
		}
		return nil
	})
}

// fill adds the values of one query, in their order. It reuses the capacity of rows.
func fill(ctx context.Context, q db.Reader, query string, args []any, byID map[string]*index.Document, rows []item, add func(item)) ([]item, error) {
	err := each(ctx, q, query, args, func(scan scanner) error {
		var id sql.RawBytes
		var l item
		if err := scan(&id, &l.kind, &l.value, &l.place); err != nil {
			return err
		}
		l.doc = byID[string(id)]
		rows = append(rows, l)
		return nil
	})
	slices.SortStableFunc(rows, func(a, b item) int { return a.place - b.place })
	for _, l := range rows {
		add(l)
	}
	return rows, err
}

// fillPositions adds positions, the current ones first. For a whole network, the names of
// organisations are read separately: a join would look up one for each position, and store
// the name as often.
func fillPositions(ctx context.Context, q db.Reader, since int64, changed string, args []any, byID map[string]*index.Document) error {
	named := func(name []byte) string { return string(name) }
	query := "SELECT l.connection_id, l.title, o.name, l.current, l.ordinal, l.started_on, l.ended_on FROM positions l LEFT JOIN organizations o ON o.tenant_id = l.tenant_id AND o.id = l.organization_id" + changed
	if since < 0 {
		names, err := organizationNames(ctx, q)
		if err != nil {
			return err
		}
		named = func(id []byte) string { return names[string(id)] }
		query = "SELECT l.connection_id, l.title, l.organization_id, l.current, l.ordinal, l.started_on, l.ended_on FROM positions l" + changed
	}
	type held struct {
		doc                 *index.Document
		title, organization string
		current             bool
		place               int
	}
	rows := make([]held, 0, len(byID))
	err := each(ctx, q, query, args, func(scan scanner) error {
		var id, organization, started, ended sql.RawBytes
		var h held
		if err := scan(&id, &h.title, &organization, &h.current, &h.place, &started, &ended); err != nil {
			return err
		}
		h.doc, h.organization = byID[string(id)], named(organization)
		if on, known := partialDate(string(started)); known {
			h.doc.JobStarts = append(h.doc.JobStarts, on)
		}
		if on, known := partialDate(string(ended)); known {
			h.doc.JobEnds = append(h.doc.JobEnds, on)
		}
		rows = append(rows, h)
		return nil
	})
	slices.SortStableFunc(rows, func(a, b held) int {
		if a.current != b.current {
			return map[bool]int{true: -1, false: 1}[a.current]
		}
		return a.place - b.place
	})
	for _, h := range rows {
		addPosition(h.doc, people.Position{Title: h.title, Organization: h.organization, Current: h.current})
	}
	return err
}

// partialDate returns a date of the form YYYY, YYYY-MM or YYYY-MM-DD; false for another text.
func partialDate(s string) (index.Date, bool) {
	if len(s) > len(time.DateOnly) {
		return index.Date{}, false
	}
	on, err := time.Parse(time.DateOnly[:len(s)], s)
	if err != nil || s == "" {
		return index.Date{}, false
	}
	d := index.Date{Year: int16(on.Year())} //nolint:gosec // four digits
	if len(s) >= len("2006-01") {
		d.Month = uint8(on.Month()) //nolint:gosec // 1 to 12
	}
	if len(s) == len(time.DateOnly) {
		d.Day = uint8(on.Day()) //nolint:gosec // 1 to 31
	}
	return d, true
}

// organizationNames returns the names of all organisations by id.
func organizationNames(ctx context.Context, q db.Reader) (map[string]string, error) {
	names := map[string]string{}
	err := each(ctx, q, "SELECT id, name FROM organizations WHERE tenant_id = ?", []any{q.TenantID()}, func(scan scanner) error {
		var id, name string
		if err := scan(&id, &name); err != nil {
			return err
		}
		names[id] = name
		return nil
	})
	return names, err
}

func addHandle(l item) {
	switch l.kind {
	case people.KindEmail:
		l.doc.Emails = append(l.doc.Emails, l.value)
	case people.KindPhone:
		l.doc.Phones = append(l.doc.Phones, l.value)
	default:
		l.doc.URLs = append(l.doc.URLs, l.value)
	}
}

// addPosition adds a position. Current positions come first, and the very first becomes
// the headline.
func addPosition(d *index.Document, p people.Position) {
	switch {
	case p.Current && d.Headline == "":
		d.Headline, d.Organization, d.Title = p.Headline(), p.Organization, p.Title
	case p.Current && p.Title != "":
		d.OtherTitles = append(d.OtherTitles, p.Title)
	}
	if p.Organization == "" {
		return
	}
	d.Organizations = append(d.Organizations, p.Organization)
	if p.Current {
		d.CurrentJobs++
	}
}
