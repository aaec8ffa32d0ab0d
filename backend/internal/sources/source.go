package sources

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/secretkey"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// The states of a source. A new one is a preview, and writes nothing until the member starts it.
const (
	Preview = "preview"
	On      = "on"
	Paused  = "paused"
)

const (
	// MaxSources is how many sources a member has.
	MaxSources = 20
	// maxName is the length of a name, in characters.
	maxName = 100
	// maxListed is how many words or addresses a list of Options has.
	maxListed = 50
)

// Purpose is what the addresses of sources are sealed for; see secretkey.File.
const Purpose = "source"

// Options say which meetings of a calendar count. The lists are in lower case.
type Options struct {
	// Own are further addresses of the member.
	Own []string `json:"own"`
	// Words leave out the meetings that have one of them in their title.
	Words []string `json:"words"`
	// Domains are those of colleagues, who are not offered as new people.
	Domains []string `json:"domains"`
	// MaxPeople leaves out meetings with more people; 0 means no limit.
	MaxPeople int `json:"max_people"`
	// Book is the key of the chosen address book; empty for the first one.
	Book string `json:"book,omitempty"`
}

// The kinds of sources.
const (
	Calendar = "calendar"
	Book     = "book"
)

// Access is where a source is, and what signs in there.
type Access struct {
	Address string `json:"address"`
	// Username and Password sign in at the server of an address book, Book is the address of the one that is read.
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	Book     string `json:"book,omitempty"`
}

// Source is a calendar or an address book that is read again and again.
type Source struct {
	TenantID tenant.ID `bun:",pk"`
	ID       string    `bun:",pk"`
	Kind     string
	Name     string
	// Host is the host of the address, which is shown. Address is its Access, sealed.
	Host, Address string
	State         string
	// Since is the time from which on meetings are read.
	Since   time.Time
	Options Options
	// ImportID is the import that the changes of all runs are part of.
	ImportID string
	// NextAt is when it is read next.
	NextAt time.Time
	// TriedAt and SucceededAt are when it was read last, FailedSince the first of the tries that have failed since, and Problem why the last
	// one did.
	TriedAt, SucceededAt, FailedSince time.Time `bun:",nullzero"`
	Problem                           string
	// Report is that of the last run that succeeded.
	Report    Report
	CreatedAt time.Time
}

// Report says what a run found and did.
type Report struct {
	// Preview is set if it says what a first run would do.
	Preview bool `json:"preview,omitempty"`
	// Events is how many events the calendar has, Skipped how many of them could not be read, Warnings why.
	Events   int      `json:"events"`
	Skipped  int      `json:"skipped"`
	Warnings []string `json:"warnings"`
	// Meetings is how many meetings with people on file are over, Ahead how many are not.
	Meetings int `json:"meetings"`
	Ahead    int `json:"ahead"`
	// Logged, Changed and Removed are what the run did on the timeline.
	Logged  int `json:"logged"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
	// Filtered is how many meetings the options left out, Shared how many addresses several people have, so that none of them was taken.
	Filtered int `json:"filtered"`
	Shared   int `json:"shared"`
	// Cards is how many cards an address book has, and Looked how many of them a preview has looked at; Lists are those of groups, which are
	// left out.
	Cards  int `json:"cards,omitempty"`
	Looked int `json:"looked,omitempty"`
	Lists  int `json:"lists,omitempty"`
	// Added are new people, Known those who were on file already and got a card, Waiting the cards of which something waits for the member.
	Added   int `json:"added,omitempty"`
	Known   int `json:"known,omitempty"`
	Waiting int `json:"waiting,omitempty"`
	// Gone is how many people are no longer in the address book, Left how many cards were not taken because the member deleted the person.
	Gone int `json:"gone,omitempty"`
	Left int `json:"left,omitempty"`
	// Books are the address books of the account, of a preview.
	Books []BookName `json:"books,omitempty"`
	// Sample are some of the meetings of a preview, the latest first.
	Sample []Sample `json:"sample,omitempty"`
}

// BookName is an address book that can be chosen.
type BookName struct {
	// Key is a hash of the address.
	Key    string `json:"key"`
	Name   string `json:"name"`
	Chosen bool   `json:"chosen"`
}

// Sample is a meeting of a preview.
type Sample struct {
	Start  time.Time `json:"start"`
	Title  string    `json:"title"`
	People []string  `json:"people"` // ids
}

// Meeting is a meeting of a source with people on file.
type Meeting struct {
	bun.BaseModel `bun:"table:source_meetings"`

	TenantID tenant.ID `bun:",pk"`
	SourceID string    `bun:",pk"`
	// Key is the calendar's key as hashes.
	Key              string `bun:",pk"`
	StartsAt, EndsAt time.Time
	AllDay           bool
	Title            string
	// ConnectionIDs are who takes part.
	ConnectionIDs []string `bun:"connection_ids"`
	// InteractionID is what was logged for it; empty while it is ahead.
	InteractionID string
}

// Stranger is an attendee of meetings who is not on file.
type Stranger struct {
	bun.BaseModel `bun:"table:source_people"`

	TenantID tenant.ID `bun:",pk"`
	SourceID string    `bun:",pk"`
	Email    string    `bun:",pk"`
	Name     string
	// Meetings is how many meetings were over, LastAt the start of the last of them.
	Meetings int
	LastAt   time.Time
	// Dismissed is set if the member does not want to add them.
	Dismissed bool
}

// Sources reads sources. It is safe for concurrent use.
type Sources struct {
	Store   *db.DB
	Secrets *secretkey.File
	Fetcher *Fetcher
	// Books reads address books.
	Books Books
	// Observe is called after each reading with how it ended, as metrics.NewSourceRuns counts it; it may be nil.
	Observe func(outcome string)
}

// page is the actor of what members do on the pages.
const page = "sources"

func actor() db.Actor { return db.Actor{Tool: page} }

// Reading is what was read of a source, and compared with what is stored.
type Reading interface {
	// Name is the source's own.
	Name() string
	// Report says what was found, and after Write what was done.
	Report() Report
	// Write writes what differs, each step in one transaction.
	Write(ctx context.Context, step Step) error
	// Finish writes what ends a run.
	Finish(ctx context.Context, tx *db.Tx) error
}

// Step writes a step of a run.
type Step func(ctx context.Context, fn func(ctx context.Context, tx *db.Tx) error) error

// Books reads address books. Package books implements it.
type Books interface {
	// Read reads the address book of a source. It sets Access.Book, to one that is not among taken, if the book is not chosen yet, and
	// fails with fault.Invalid if there is none or it can't be read.
	Read(ctx context.Context, src *Source, a *Access, taken []string) (Reading, error)
}

// Add reads a calendar, and stores it as a source with a report of what it would log. It fails with fault.Invalid, on the field name or address,
// if the calendar can't be read.
func (s *Sources) Add(ctx context.Context, data *db.Tenant, name, address string, since time.Time, o Options) (*Source, error) {
	return s.add(ctx, data, &Source{Kind: Calendar, Name: name, Since: since.UTC(), Options: o.clean()}, &Access{Address: address})
}

// AddBook does the same with an address book, of which the address of its server is enough.
func (s *Sources) AddBook(ctx context.Context, data *db.Tenant, name string, a Access) (*Source, error) {
	if a.Address = strings.TrimSpace(a.Address); a.Address != "" && !strings.Contains(a.Address, "://") {
		a.Address = "https://" + a.Address
	}
	return s.add(ctx, data, &Source{Kind: Book, Name: name, Since: s.Store.Now(), Options: Options{}.clean()}, &a)
}

func (s *Sources) add(ctx context.Context, data *db.Tenant, src *Source, a *Access) (*Source, error) {
	u, err := s.Fetcher.Parse(a.Address)
	if err != nil {
		return nil, fault.InvalidField("address", "%s", err.Error())
	}
	known, err := List(ctx, data)
	if err != nil {
		return nil, err
	}
	if len(known) >= MaxSources {
		return nil, fault.New(fault.Full, "there are %d sources, the most that a member can have", MaxSources)
	}
	a.Address = u.String()
	for i := range known {
		if other, err := s.access(&known[i]); err == nil && src.Kind == Calendar && other.Address == a.Address {
			return nil, fault.InvalidField("address", "this calendar is a source already: %s", known[i].Name)
		}
	}
	src.TenantID, src.ID, src.Host, src.State, src.ImportID = data.TenantID(), id.New(id.Source), u.Hostname(), Preview, id.New(id.Import)
	src.NextAt, src.CreatedAt = s.Store.Now(), s.Store.Now()
	p, err := s.read(ctx, src, a, known)
	if fault.Is(err, fault.Invalid) {
		return nil, fault.InvalidField("address", "%s", err.Error())
	}
	if err != nil {
		return nil, err
	}
	src.Name = cmp.Or(text.Truncate(text.Line(src.Name), maxName), text.Truncate(p.Name(), maxName), src.Host)
	src.TriedAt, src.SucceededAt, src.Report = s.Store.Now(), s.Store.Now(), p.Report()
	src.Report.Preview = true
	if err := s.seal(src, a); err != nil {
		return nil, err
	}
	err = data.Write(ctx, actor(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.NewInsert().Model(src).Exec(ctx)
		return err
	})
	return src, err
}

// Change changes from when on meetings of a source are read, and which of them count. A preview is read again, and fails with fault.Invalid if
// the calendar can't be read; another source is due at once. It fails with fault.NotFound if there is no such source.
func (s *Sources) Change(ctx context.Context, data *db.Tenant, sourceID string, since time.Time, o Options) error {
	src, err := Get(ctx, data, sourceID)
	if err != nil {
		return err
	}
	src.Since, src.Options, src.NextAt = since.UTC(), o.clean(), s.Store.Now()
	columns := []string{"since", "options", "next_at"}
	if src.State == Preview {
		if err := s.readAgain(ctx, data, src); err != nil {
			return err
		}
		columns = append(columns, "address", "tried_at", "succeeded_at", "report")
	}
	return data.Write(ctx, actor(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := Get(ctx, tx, sourceID); err != nil {
			return err
		}
		if _, err := tx.NewUpdate().Model(src).Column(columns...).WherePK().Exec(ctx); err != nil || src.State != On {
			return err
		}
		return StartJob(ctx, tx)
	})
}

// readAgain reads a preview again. The address book may be another one of the account.
func (s *Sources) readAgain(ctx context.Context, data *db.Tenant, src *Source) error {
	a, err := s.access(src)
	if err != nil {
		return err
	}
	known, err := List(ctx, data)
	if err != nil {
		return err
	}
	a.Book = ""
	p, err := s.read(ctx, src, a, slices.DeleteFunc(known, func(other Source) bool { return other.ID == src.ID }))
	if err != nil {
		return err
	}
	src.TriedAt, src.SucceededAt, src.Report = s.Store.Now(), s.Store.Now(), p.Report()
	src.Report.Preview = true
	return s.seal(src, a)
}

// Actor is in whose name the runs of a source change something.
func (src *Source) Actor() db.Actor {
	kind := map[string]string{Calendar: "Calendar ", Book: "Address book "}[src.Kind]
	return db.Actor{CredentialID: src.ID, CredentialName: kind + src.Name, ImportID: src.ImportID}
}

// Owner is what the sealed address is bound to.
func (src *Source) Owner() string { return string(src.TenantID) + " " + src.ID }

// access returns the access of a source. It fails with fault.Invalid if its key was lost.
func (s *Sources) access(src *Source) (*Access, error) {
	if src.Address == "" {
		return nil, fault.New(fault.Invalid, "the key that its address was encrypted with is lost; remove it, and add it again")
	}
	a := &Access{}
	sealed, err := s.Secrets.Open(src.Address, Purpose, src.Owner())
	if err == nil {
		err = json.Unmarshal([]byte(sealed), a)
	}
	return a, err
}

func (s *Sources) seal(src *Source, a *Access) error {
	whole, err := json.Marshal(a)
	if err == nil {
		src.Address, err = s.Secrets.Seal(string(whole), Purpose, src.Owner())
	}
	return err
}

// ListAddresses returns the sources of all members, with only what Reseal needs.
func ListAddresses(ctx context.Context, s *db.DB) ([]Source, error) {
	var all []Source
	err := s.NewSelect().Model(&all).Column("tenant_id", "id", "address").Order("tenant_id", "id").Scan(ctx)
	return all, err
}

// Reseal replaces the encrypted address of a source, unless it has changed since it was read.
func Reseal(ctx context.Context, s *db.DB, src *Source, address string) error {
	_, err := s.NewWrite("UPDATE sources SET address = ? WHERE tenant_id = ? AND id = ? AND address = ?", address, src.TenantID, src.ID, src.Address).Exec(ctx)
	return err
}

// Overdue returns how long the source of all members that is due the longest has been due, not above 0 if none is, and how many could not be
// read at the last try. Those of suspended members wait.
func Overdue(ctx context.Context, s *db.DB) (overdue time.Duration, failing int, err error) {
	var next bun.NullTime
	err = s.NewRaw(`SELECT min(next_at), count(failed_since) FROM sources WHERE state = 'on'
AND NOT EXISTS (SELECT 1 FROM members m WHERE m.id = sources.tenant_id AND m.suspended_at IS NOT NULL)`).Scan(ctx, &next, &failing)
	if next.IsZero() {
		return 0, failing, err
	}
	return s.Now().Sub(next.Time), failing, err
}

// clean returns the options in their stored form.
func (o Options) clean() Options {
	lines := func(list []string) []string {
		out := []string{}
		for _, line := range list {
			if line = strings.ToLower(text.Truncate(text.Line(line), maxName)); line != "" && len(out) < maxListed && !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
		return out
	}
	o.Own, o.Words, o.Domains = lines(o.Own), lines(o.Words), lines(o.Domains)
	for i := range o.Domains {
		o.Domains[i] = strings.TrimPrefix(o.Domains[i], "@")
	}
	o.MaxPeople = max(o.MaxPeople, 0)
	return o
}

// List returns the sources of a member by name.
func List(ctx context.Context, data db.Reader) ([]Source, error) {
	var all []Source
	err := data.From(&all).Order("name", "id").Scan(ctx)
	return all, err
}

// Get returns a source, or fails with fault.NotFound.
func Get(ctx context.Context, data db.Reader, sourceID string) (*Source, error) {
	src := &Source{}
	return db.Found(src, data.From(src).Where("id = ?", sourceID).Scan(ctx), "there is no source "+text.Quote(sourceID))
}

// Start starts a source that is a preview or paused. The next run reads it. It fails with fault.NotFound if there is none.
func Start(ctx context.Context, tx *db.Tx, sourceID string) error {
	return setState(ctx, tx, sourceID, On)
}

// Pause ends the runs of a source until Start.
func Pause(ctx context.Context, tx *db.Tx, sourceID string) error {
	return setState(ctx, tx, sourceID, Paused)
}

func setState(ctx context.Context, tx *db.Tx, sourceID, state string) error {
	if _, err := Get(ctx, tx, sourceID); err != nil {
		return err
	}
	_, err := tx.NewRaw("UPDATE sources SET state = ?, next_at = ? WHERE tenant_id = ? AND id = ? AND NOT (state = ? AND ? = ?)",
		state, tx.Now(), tx.TenantID(), sourceID, Preview, state, Paused).Exec(ctx)
	return err
}

// Remove deletes a source with its meetings, not what it has logged; importer.StartUndo undoes that.
func Remove(ctx context.Context, tx *db.Tx, sourceID string) error {
	return tx.Delete(ctx, (*Source)(nil), "id = ?", sourceID)
}

// Strangers returns the people whom a source met and who are not on file, those of the most meetings first.
func Strangers(ctx context.Context, data db.Reader, sourceID string, limit int) ([]Stranger, error) {
	var all []Stranger
	err := data.From(&all).Where("source_id = ? AND NOT dismissed", sourceID).Order("meetings DESC", "last_at DESC", "email").Limit(int64(limit)).Scan(ctx)
	return all, err
}

// Dismiss no longer offers strangers.
func Dismiss(ctx context.Context, tx *db.Tx, sourceID string, emails []string) error {
	_, err := tx.NewRaw("UPDATE source_people SET dismissed = ? WHERE tenant_id = ? AND source_id = ? AND email IN (?)", true, tx.TenantID(), sourceID, bun.List(emails)).Exec(ctx)
	return err
}

// AddPeople adds strangers as people, by the names that the calendar has for them, and makes the source due, so that their meetings are
// logged. An address that is not among the strangers is left out.
func AddPeople(ctx context.Context, tx *db.Tx, sourceID string, emails []string) error {
	var chosen []Stranger
	if err := tx.From(&chosen).Where("source_id = ? AND email IN (?)", sourceID, bun.List(emails)).Order("email").Scan(ctx); err != nil {
		return err
	}
	for _, one := range chosen {
		name := cmp.Or(one.Name, one.Email)
		if _, err := people.Create(ctx, tx, people.Draft{Name: name, Emails: []string{one.Email}, Source: "calendar", OnDuplicate: people.OnDuplicateReturn}); err != nil {
			return err
		}
		if err := tx.Delete(ctx, (*Stranger)(nil), "source_id = ? AND email = ?", sourceID, one.Email); err != nil {
			return err
		}
	}
	src, err := Get(ctx, tx, sourceID)
	if err != nil || src.State != On {
		return err
	}
	return SyncNow(ctx, tx, sourceID)
}

// isAhead is the condition of meetings that have not begun at a time, or last the whole day that it is, and have not been logged.
const isAhead = "(starts_at >= ? OR all_day AND starts_at > ? AND ends_at > ?) AND interaction_id = ''"

// aheadOf returns the arguments of isAhead.
func aheadOf(now time.Time) []any {
	const day = 25 * time.Hour // the longest
	begun := now.UTC()
	if !now.IsZero() { // before the zero value is the year 0, which PostgreSQL does not know
		begun = begun.Add(-day)
	}
	return []any{now.UTC(), begun, now.UTC()}
}

// Ahead returns the meetings before a time that are ahead at another one, by their start. A meeting of two calendars is returned once.
func Ahead(ctx context.Context, data db.Reader, now, until time.Time) ([]Meeting, error) {
	return ListAhead(ctx, data, AheadQuery{Now: now, Until: until})
}

// AheadQuery says which meetings that are ahead to read.
type AheadQuery struct {
	Now, Until time.Time
	// From is the zero value, or the earliest start. After leaves out the meetings at From with this key or an earlier one.
	From  time.Time
	After string
	// ConnectionID is empty for all people, Limit 0 for all meetings.
	ConnectionID string
	Limit        int
}

// ListAhead returns the meetings that are ahead, by their start and key. A meeting of two calendars is returned once.
func ListAhead(ctx context.Context, data db.Reader, q AheadQuery) ([]Meeting, error) {
	var all []Meeting
	rows := data.From(&all).Where(isAhead, aheadOf(q.Now)...).Where("starts_at < ?", q.Until.UTC()).Order("starts_at", "key", "source_id")
	if from := q.From.UTC(); !q.From.IsZero() {
		rows = rows.Where("starts_at >= ? AND (starts_at > ? OR key > ?)", from, from, q.After)
	}
	if q.ConnectionID != "" {
		rows = rows.Where("connection_ids LIKE ?", `%"`+q.ConnectionID+`"%`)
	}
	if q.Limit > 0 {
		rows = rows.Limit(int64(q.Limit) * MaxSources)
	}
	err := rows.Scan(ctx)
	all = slices.CompactFunc(all, func(a, b Meeting) bool { return a.Key == b.Key && a.StartsAt.Equal(b.StartsAt) })
	if q.Limit > 0 {
		all = all[:min(len(all), q.Limit)]
	}
	return all, err
}

// CountAhead returns how many meetings before a time are ahead at another one. A meeting of two calendars counts once.
func CountAhead(ctx context.Context, data db.Reader, now, until time.Time) (n int, err error) {
	err = data.NewRaw("SELECT count(*) FROM (SELECT DISTINCT starts_at, key FROM source_meetings WHERE tenant_id = ? AND starts_at < ? AND "+isAhead+") AS ahead",
		append([]any{data.TenantID(), until.UTC()}, aheadOf(now)...)...).Scan(ctx, &n)
	return n, err
}

// NextWith returns the next meeting that is ahead with each of some people, by their ids.
func NextWith(ctx context.Context, data db.Reader, now time.Time, who []string) (map[string]*Meeting, error) {
	var all []Meeting
	next := map[string]*Meeting{}
	with := func(q *bun.SelectQuery) *bun.SelectQuery {
		for _, id := range who {
			q = q.WhereOr("connection_ids LIKE ?", `%"`+id+`"%`)
		}
		return q
	}
	err := data.From(&all).Where(isAhead, aheadOf(now)...).WhereGroup(" AND ", with).Order("starts_at", "key", "source_id").Scan(ctx)
	for i := range all {
		for _, id := range all[i].ConnectionIDs {
			if next[id] == nil {
				next[id] = &all[i]
			}
		}
	}
	return next, err
}

// keyOf returns the stored form of a calendar's key, which may be long: a hash of the event's UID, and one of all.
func keyOf(key string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:12])
	}
	uid, _, _ := strings.Cut(key, "\n")
	return hash(uid) + "-" + hash(key)
}

// event returns the part of the key that all occurrences of an event have.
func (m *Meeting) event() string {
	event, _, _ := strings.Cut(m.Key, "-")
	return event
}

// own returns the addresses and the time zone of the member.
func (s *Sources) own(ctx context.Context, src *Source) ([]string, *time.Location, error) {
	m, err := account.GetMemberByID(ctx, s.Store, src.TenantID)
	if err != nil {
		return nil, nil, err
	}
	return append([]string{strings.ToLower(m.Email)}, src.Options.Own...), civil.Zone(m.Timezone), nil
}
