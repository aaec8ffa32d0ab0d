package people

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// Sources: where a record came from.
const (
	SourceManual    = "manual"
	SourceAgent     = "agent"
	SourceImport    = "import"
	SourceDirectory = "directory"
)

// Connection is a person in a member's network, and its database row. Its lists are rows
// of their own.
type Connection struct {
	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk" json:"id"`
	Name     string    `json:"name"`
	Nickname string    `json:"nickname"`
	Location string    `json:"location"`
	Bio      string    `json:"bio"`
	Starred  bool      `json:"starred"`
	// MetOn is a partial date: YYYY, YYYY-MM, YYYY-MM-DD or empty.
	MetOn  string `json:"met_on"`
	MetHow string `json:"met_how"`
	Source string `json:"source"`
	// CadenceDays is the person's own keep-in-touch interval in days. It is 0 if they have none, and cadence.Never if the member
	// does not want to be reminded of them.
	CadenceDays       int       `json:"cadence_days"`
	SnoozedUntil      time.Time `bun:",nullzero" json:"snoozed_until"`
	LastInteractionAt time.Time `bun:",nullzero" json:"last_interaction_at"`
	ArchivedAt        time.Time `bun:",nullzero" json:"archived_at"`
	// MergedInto is the connection that this one was merged into.
	MergedInto string `bun:",nullzero" json:"merged_into"`
	// DeceasedOn is the day of death, a partial date like MetOn; empty if the person lives. Lists of what is due leave out the
	// birthday and the interval of a deceased person.
	DeceasedOn string `json:"deceased_on"`
	// Photo is the id of the photo, which package photos keeps; empty for none.
	Photo string `json:"photo"`
	// Version grows by one with each change (optimistic locking).
	Version int32 `json:"version"`
	// DataVersion is the tenant's data version at the last write to anything that a search
	// for this person reads.
	DataVersion int64 `json:"-"`
	// FoldedName is Name, folded for comparison; the store sets it.
	FoldedName string    `json:"-"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`

	// NameParts are the known parts of the name, in a column with JSON.
	NameParts NameParts `bun:",nullzero" json:"name_parts"`
	// Addresses are the postal addresses, the preferred one first, in a column with JSON.
	Addresses []Address `bun:",nullzero" json:"addresses"`

	// Accounts are those with messengers and networks, in the order in which they are shown, in a column with JSON.
	Accounts []Account `bun:",nullzero" json:"accounts"`

	// Fields are the values of custom fields, by the folded names of the fields, in a column with JSON.
	Fields []FieldValue `bun:",nullzero" json:"fields"`

	// Kept are the properties of cards that Kith does not understand, in a column with JSON.
	Kept []Kept `bun:",nullzero" json:"kept"`

	// Related are people who are not on file, in a column with JSON.
	Related []Relation `bun:",nullzero" json:"related"`

	Handles   []Handle        `bun:"-" json:"handles"`
	Positions []Position      `bun:"-" json:"positions"`
	Tags      []string        `bun:"-" json:"tags"`
	Dates     []ImportantDate `bun:"-" json:"dates"`
	// SourceKeys are the keys by which imported files identify the person. They are read
	// and written only where a change records or restores the person.
	SourceKeys []SourceKey `bun:"-" json:"source_keys,omitempty"`
	// Groups are the names of the person's groups. GroupCadence is the shortest interval
	// of those groups, 0 for none. Both belong to the groups: replacing a connection does
	// not change them.
	Groups       []string `bun:"-" json:"-"`
	GroupCadence int      `bun:"-" json:"-"`
}

// SourceKey is a key by which imported files identify a person, the import that added the person by
// that key, which is empty when the person existed before, and the person's name in the file.
type SourceKey struct {
	Key      string `json:"key"`
	ImportID string `json:"import_id"`
	Name     string `json:"name"`
}

// The kinds of handle.
const (
	KindEmail  = "email"
	KindPhone  = "phone"
	KindURL    = "url"
	KindSocial = "social"
)

// Handle is an address of a connection. Its normal value is unique within the
// connection, not across connections: people share mailboxes.
type Handle struct {
	TenantID     tenant.ID `bun:",pk" json:"-"`
	ID           string    `bun:",pk" json:"id"`
	ConnectionID string    `json:"-"`
	Kind         string    `json:"kind"`
	Value        string    `json:"value"`
	NormalValue  string    `json:"normal_value"`
	Label        string    `json:"label"`
	// Ordinal orders the handles of a connection; the first of a kind is the preferred one.
	Ordinal int `json:"ordinal"`
}

// in reports whether h belongs to the list of a kind. To callers, social addresses are web
// addresses.
func (h Handle) in(kind string) bool {
	return h.Kind == kind || kind == KindURL && h.Kind == KindSocial
}

// Position is a job of a connection, now or in the past.
type Position struct {
	TenantID     tenant.ID `bun:",pk" json:"-"`
	ID           string    `bun:",pk" json:"id"`
	ConnectionID string    `json:"-"`
	// OrganizationID is empty for a title without a known organisation.
	OrganizationID string `bun:",nullzero" json:"-"`
	// Organization is the organisation's name, kept with the organisation.
	Organization string `bun:",scanonly" json:"organization"`
	Title        string `json:"title"`
	// StartedOn and EndedOn are partial dates; empty when unknown.
	StartedOn string `json:"started_on"`
	EndedOn   string `json:"ended_on"`
	Current   bool   `json:"current"`
	Ordinal   int    `json:"ordinal"`
}

// Values returns the handles of a kind, the preferred one first.
func (c *Connection) Values(kind string) []string {
	values := make([]string, 0, len(c.Handles))
	for _, h := range c.Handles {
		if h.in(kind) {
			values = append(values, h.Value)
		}
	}
	return values
}

// CurrentPosition returns the first position that is still held, or an empty one.
func (c *Connection) CurrentPosition() Position {
	for _, p := range c.Positions {
		if p.Current {
			return p
		}
	}
	return Position{}
}

// Headline returns title and organisation in one line, as far as they are known.
func (p Position) Headline() string {
	switch {
	case p.Title != "" && p.Organization != "":
		return p.Title + " at " + p.Organization
	case p.Title != "":
		return p.Title
	default:
		return p.Organization
	}
}

// clone returns a copy that shares no list with c.
func (c *Connection) clone() *Connection {
	out := *c
	out.Handles, out.Positions, out.Tags = slices.Clone(c.Handles), slices.Clone(c.Positions), slices.Clone(c.Tags)
	out.Dates, out.Addresses, out.Accounts, out.Kept = slices.Clone(c.Dates), slices.Clone(c.Addresses), slices.Clone(c.Accounts), slices.Clone(c.Kept)
	out.Fields = slices.Clone(c.Fields)
	out.Related = slices.Clone(c.Related)
	return &out
}

// SplitEmail returns the part before the @ and the domain.
func SplitEmail(email string) (local, domain string) {
	at := strings.LastIndexByte(email, '@')
	if at < 0 {
		return email, ""
	}
	return email[:at], email[at+1:]
}

// Draft is a person to be added.
type Draft struct {
	Name, Nickname, Organization, Title, Location, Bio, MetOn, MetHow, DeceasedOn string
	Emails, Phones, URLs, Tags                                                    []string
	Starred                                                                       bool
	Dates                                                                         []DateDraft
	Jobs                                                                          []JobDraft
	Addresses                                                                     []Address
	Accounts                                                                      []Account
	// Labels are those of e-mail addresses, phone numbers and links, by value.
	Labels map[string]string
	// Fields are the values of custom fields, by the names of the fields.
	Fields map[string]string
	Source string
	// OnDuplicate is one of the OnDuplicate constants; empty means OnDuplicateReturn.
	OnDuplicate string
}

// Patch says what to change of a connection. Nil fields leave their value unchanged.
type Patch struct {
	ID string
	// ExpectedVersion makes the patch fail when the connection has another version.
	ExpectedVersion                                                               *int32
	Name, Nickname, Organization, Title, Location, Bio, MetOn, MetHow, DeceasedOn *string
	Starred                                                                       *bool
	// Emails, Phones, URLs and Tags replace the stored list unless empty.
	Emails, Phones, URLs, Tags Edit
	Dates                      DateEdit
	Jobs                       JobEdit
	Addresses                  AddressEdit
	// Accounts are set by their services: see editAccounts.
	Accounts []Account
	// NameParts replaces the parts of the name; nil leaves them.
	NameParts *NameParts
	// Labels are new ones of e-mail addresses, phone numbers and links, by value; an empty one removes it.
	Labels map[string]string
	// Fields are new values of custom fields, by the names of the fields; an empty one removes it.
	Fields map[string]string
}

// textField is a text field of a person: its name in the contract, where it is stored, and
// how it is cleaned.
type textField struct {
	name  string
	value *string
	clean func(string) string
}

// texts lists the texts of a person, always in the same order.
func (c *Connection) texts() []textField {
	return []textField{
		{"name", &c.Name, text.Line},
		{"nickname", &c.Nickname, text.Line},
		{"location", &c.Location, text.Line},
		{"bio", &c.Bio, text.Clean},
		{"met_on", &c.MetOn, text.Line},
		{"met_how", &c.MetHow, text.Line},
		{"deceased_on", &c.DeceasedOn, text.Line},
	}
}

func (c *Connection) cleanTexts() {
	c.NameParts.clean()
	for _, t := range c.texts() {
		*t.value = t.clean(*t.value)
	}
}

// fields returns a connection with the draft's fields, without its lists.
func (d Draft) fields() *Connection {
	c := &Connection{
		Name: d.Name, Nickname: d.Nickname, Location: d.Location, Bio: d.Bio, MetOn: d.MetOn, MetHow: d.MetHow, DeceasedOn: d.DeceasedOn,
		Starred: d.Starred, Source: d.Source,
	}
	c.cleanTexts()
	c.reorder()
	return c
}

// applyFields sets the fields that the patch has, without its lists.
func (p Patch) applyFields(c *Connection) {
	set := func(field, value *string, clean func(string) string) {
		if value != nil {
			*field = clean(*value)
		}
	}
	set(&c.Name, p.Name, text.Line)
	set(&c.Nickname, p.Nickname, text.Line)
	set(&c.Location, p.Location, text.Line)
	set(&c.Bio, p.Bio, text.Clean)
	set(&c.MetOn, p.MetOn, text.Line)
	set(&c.MetHow, p.MetHow, text.Line)
	set(&c.DeceasedOn, p.DeceasedOn, text.Line)
	if p.Starred != nil {
		c.Starred = *p.Starred
	}
	if p.NameParts != nil {
		c.NameParts = *p.NameParts
		c.NameParts.clean()
	}
}

// check enforces the rules that concern a record as a whole.
func (c *Connection) check() error {
	if !text.Visible(c.Name) {
		return fault.InvalidField("name", "must hold at least one visible character")
	}
	if err := CheckPartialDate("met_on", c.MetOn); err != nil {
		return err
	}
	if err := CheckPartialDate("deceased_on", c.DeceasedOn); err != nil {
		return err
	}
	for _, part := range c.NameParts.All() {
		if err := CheckNamePart(part); err != nil {
			return err
		}
	}
	return c.checkLimits()
}

func (c *Connection) addTags(tags []string) {
	for _, tag := range tags {
		tag = text.Line(tag)
		if tag != "" && !slices.ContainsFunc(c.Tags, sameTag(tag)) {
			c.Tags = append(c.Tags, tag)
		}
	}
}

func sameTag(tag string) func(string) bool {
	folded := text.Fold(tag)
	return func(other string) bool { return text.Fold(other) == folded }
}

// Limits of one connection.
const (
	// MaxHandlesOfKind is how many handles of each kind a person has at most.
	MaxHandlesOfKind = 20
	// MaxTags is how many tags a person has at most.
	MaxTags = 50
)

func (c *Connection) checkLimits() error {
	for _, kind := range []string{KindEmail, KindPhone, KindURL} {
		if len(c.Values(kind)) > MaxHandlesOfKind {
			return fault.InvalidField(kind+"s", "one person holds %d at most", MaxHandlesOfKind)
		}
	}
	if len(c.Tags) > MaxTags {
		return fault.InvalidField("tags", "one person holds %d at most", MaxTags)
	}
	if len(c.Positions) > MaxPositions {
		return fault.InvalidField("positions", "one person holds %d at most", MaxPositions)
	}
	if len(c.Addresses) > MaxAddresses {
		return fault.InvalidField("addresses", "one person holds %d at most", MaxAddresses)
	}
	if len(c.Accounts) > MaxAccounts {
		return fault.InvalidField("accounts", "one person holds %d at most", MaxAccounts)
	}
	if len(c.Fields) > MaxFields {
		return fault.InvalidField("fields", "one person holds %d at most", MaxFields)
	}
	if len(c.Dates) > MaxDates {
		return fault.InvalidField("important_dates", "one person holds %d at most", MaxDates)
	}
	return nil
}

// GetConnection returns a connection with its lists, archived or not, or
// fault.NotFound.
func GetConnection(ctx context.Context, q db.Reader, id string) (*Connection, error) {
	one := make([]Connection, 1)
	err := q.From(&one[0]).Where("id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, NoConnection(ctx, q, id)
	}
	if err != nil {
		return nil, err
	}
	return &one[0], FillConnections(ctx, q, one)
}

// NoConnection says why a connection cannot be used, and what to do: fault.Conflict when
// it was merged into another one or archived, fault.NotFound when it was deleted or does
// not exist.
func NoConnection(ctx context.Context, q db.Reader, id string) error {
	c := &Connection{}
	err := q.From(c).Column("id", "merged_into", "archived_at").Where("id = ?", id).Scan(ctx)
	if err == nil {
		if err := c.checkLive(ctx, q); err != nil {
			return err
		}
	} else if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	deletions, err := history.FindDeletions(ctx, q, []string{id})
	if err != nil {
		return err
	}
	if changeID := deletions[id]; changeID != "" {
		return fault.New(fault.NotFound, "%s was deleted; undo_change with %s brings them back", id, changeID)
	}
	return fault.New(fault.NotFound, "there is no connection %s; search_connections finds people and returns their ids", id)
}

// survivor returns the connection that a merged one ended up in: it may have been merged
// several times in a row. It takes one statement.
func survivor(ctx context.Context, q db.Reader, id string) (string, error) {
	const most = 20 // merges in a row
	stayed := id
	err := q.NewRaw(`WITH RECURSIVE merged (id, depth) AS (
SELECT c.id, 0 FROM connections c WHERE c.tenant_id = ? AND c.id = ?
UNION ALL SELECT c.merged_into, m.depth + 1 FROM merged m CROSS JOIN connections c
WHERE c.tenant_id = ? AND c.id = m.id AND c.merged_into IS NOT NULL AND m.depth < ?)
SELECT id FROM merged ORDER BY depth DESC LIMIT 1`, q.TenantID(), id, q.TenantID(), most).Scan(ctx, &stayed)
	if errors.Is(err, sql.ErrNoRows) {
		return id, nil
	}
	return stayed, err
}

// Positions selects positions with the names of their organisations, current
// ones first.
func Positions(q db.Reader, rows *[]Position) *bun.SelectQuery {
	return q.From(rows).ColumnExpr("?TableColumns").ColumnExpr("coalesce(o.name, '') AS organization").
		Join("LEFT JOIN organizations AS o ON o.tenant_id = ?TableAlias.tenant_id AND o.id = ?TableAlias.organization_id").
		OrderExpr("?TableAlias.current DESC, ?TableAlias.ordinal")
}

// ListSharing returns live connections other than c that share one of its addresses:
// e-mail before phone before web, and within each kind the oldest first.
func ListSharing(ctx context.Context, tx *db.Tx, c *Connection) (out []Sharing, err error) {
	for _, kinds := range [][]string{{KindEmail}, {KindPhone}, {KindURL, KindSocial}} {
		var values []string
		for _, h := range c.Handles {
			if slices.Contains(kinds, h.Kind) {
				values = append(values, h.NormalValue)
			}
		}
		if len(values) == 0 {
			continue
		}
		var some []Sharing
		// CROSS JOIN makes SQLite start with the address, which few people have.
		err := tx.NewRaw(`SELECT DISTINCT c.id, c.name, c.nickname, ? AS kind FROM handles h CROSS JOIN connections c
WHERE h.tenant_id = ? AND h.kind IN (?) AND h.normal_value IN (?) AND c.tenant_id = h.tenant_id AND c.id = h.connection_id
AND c.archived_at IS NULL AND c.id <> ? ORDER BY c.id LIMIT ?`,
			kinds[0], tx.TenantID(), bun.List(kinds), bun.List(values), c.ID, maxListed).Scan(ctx, &some)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// maxListed limits how many people with the same address are compared by name.
const maxListed = 100

// FindNamesakes returns the ids of live connections other than c with its folded name: those with
// its current organisation, at most maxSharing, and others, of whom a few may be among the first.
func FindNamesakes(ctx context.Context, tx *db.Tx, c *Connection) (colleagues, others []string, err error) {
	var rows []struct {
		ID        string
		Colleague bool
	}
	// Nobody has the key without an organisation.
	key := NamesakeKey(c.Name, NormalOrganization(c.CurrentPosition().Organization))
	err = tx.NewRaw(`SELECT id, TRUE AS colleague FROM (SELECT c.id FROM duplicate_keys k CROSS JOIN connections c
WHERE k.tenant_id = ?0 AND k.key = ?1 AND c.tenant_id = k.tenant_id AND c.id = k.connection_id
AND c.folded_name = ?2 AND c.archived_at IS NULL AND c.id <> ?3 ORDER BY k.connection_id LIMIT ?4) AS k
UNION ALL SELECT id, FALSE FROM (SELECT id FROM connections
WHERE tenant_id = ?0 AND folded_name = ?2 AND archived_at IS NULL AND id <> ?3 ORDER BY folded_name, id LIMIT ?5) AS n`,
		tx.TenantID(), key, FoldedName(c), c.ID, maxSharing, 2*maxSharing).Scan(ctx, &rows)
	for _, row := range rows {
		if row.Colleague {
			colleagues = append(colleagues, row.ID)
		} else {
			others = append(others, row.ID)
		}
	}
	return colleagues, others, err
}

// ListNames returns the names of the connections that exist, archived or not, by id.
func ListNames(ctx context.Context, q db.Reader, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	var rows []struct{ ID, Name string }
	err := q.NewRaw("SELECT id, name FROM connections WHERE tenant_id = ? AND id IN (?)", q.TenantID(), bun.List(ids)).Scan(ctx, &rows)
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names, err
}

// GetConnections returns the connections that exist, archived or not, with their lists, by
// id. The number of statements is fixed.
func GetConnections(ctx context.Context, q db.Reader, ids []string) (map[string]*Connection, error) {
	var rows []Connection
	if err := q.From(&rows).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
		return nil, err
	}
	out := make(map[string]*Connection, len(rows))
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	if len(rows) == 0 {
		return out, nil
	}
	return out, FillConnections(ctx, q, rows)
}

// FillConnections adds the handles, positions, tags, dates and groups, with one statement.
func FillConnections(ctx context.Context, q db.Reader, people []Connection) error {
	byID := make(map[string]*Connection, len(people))
	for i := range people {
		byID[people[i].ID] = &people[i]
	}
	in := bun.List(IDs(people, func(c Connection) string { return c.ID }))
	var args []any
	for range strings.Count(listsOfPeople, "IN (?)") {
		args = append(args, q.TenantID(), in)
	}
	rows, err := q.QueryContext(ctx, listsOfPeople, args...)
	if err != nil {
		return fmt.Errorf("read the lists of people: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var items []listItem
	for rows.Next() {
		var i listItem
		err := rows.Scan(&i.connectionID, &i.list, &i.place, &i.id, &i.texts[0], &i.texts[1], &i.texts[2], &i.texts[3], &i.texts[4],
			&i.numbers[0], &i.numbers[1], &i.numbers[2])
		if err != nil {
			return fmt.Errorf("read a list of a person: %w", err)
		}
		items = append(items, i)
	}
	slices.SortFunc(items, func(a, b listItem) int {
		return cmp.Or(cmp.Compare(a.place, b.place), strings.Compare(a.texts[0], b.texts[0]), strings.Compare(a.id, b.id))
	})
	for _, i := range items {
		byID[i.connectionID].add(q.TenantID(), i)
	}
	return db.Coded(rows.Err())
}

// listItem is an entry of a list of a person. Each list has its own texts and numbers; see
// listsOfPeople. Items are in the order of their place, and then of their first text.
type listItem struct {
	connectionID, list string
	place              int
	id                 string
	texts              [5]string
	numbers            [3]int
}

// listsOfPeople selects the lists of people: of handles, of positions, current ones first, of
// tags and groups by their folded names, and of dates.
const listsOfPeople = `SELECT connection_id, 'handle', ordinal, id, kind, value, normal_value, label, '', 0, 0, 0
FROM handles WHERE tenant_id = ? AND connection_id IN (?)
UNION ALL SELECT p.connection_id, 'position', p.ordinal + CASE WHEN p.current THEN 0 ELSE 1000 END, p.id, coalesce(o.name, ''), p.title, p.started_on, p.ended_on,
coalesce(p.organization_id, ''), CASE WHEN p.current THEN 1 ELSE 0 END, p.ordinal, 0
FROM positions p LEFT JOIN organizations o ON o.tenant_id = p.tenant_id AND o.id = p.organization_id WHERE p.tenant_id = ? AND p.connection_id IN (?)
UNION ALL SELECT l.connection_id, 'tag', 0, t.id, t.folded_name, t.name, '', '', '', 0, 0, 0
FROM connection_tags l JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id WHERE l.tenant_id = ? AND l.connection_id IN (?)
UNION ALL SELECT connection_id, 'date', ordinal, id, kind, label, CASE WHEN about THEN 'about' ELSE '' END, '', '', year, month, day
FROM important_dates WHERE tenant_id = ? AND connection_id IN (?)
UNION ALL SELECT l.connection_id, 'group', 0, g.id, g.folded_name, g.name, '', '', '', g.cadence_days, 0, 0
FROM group_connections l JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id WHERE l.tenant_id = ? AND l.connection_id IN (?)`

// add adds an item to its list.
func (c *Connection) add(owner tenant.ID, i listItem) {
	switch i.list {
	case "handle":
		c.Handles = append(c.Handles, Handle{
			TenantID: owner, ID: i.id, ConnectionID: c.ID, Kind: i.texts[0], Value: i.texts[1], NormalValue: i.texts[2], Label: i.texts[3], Ordinal: i.place,
		})
	case "position":
		c.Positions = append(c.Positions, Position{
			TenantID: owner, ID: i.id, ConnectionID: c.ID, Organization: i.texts[0], Title: i.texts[1], StartedOn: i.texts[2], EndedOn: i.texts[3],
			OrganizationID: i.texts[4], Current: i.numbers[0] == 1, Ordinal: i.numbers[1],
		})
	case "tag":
		c.Tags = append(c.Tags, i.texts[1])
	case "date":
		c.Dates = append(c.Dates, ImportantDate{
			TenantID: owner, ID: i.id, ConnectionID: c.ID, Kind: i.texts[0], Label: i.texts[1], Year: i.numbers[0], Month: i.numbers[1], Day: i.numbers[2], About: i.texts[2] != "", Ordinal: i.place,
		})
	case "group":
		c.Groups = append(c.Groups, i.texts[1])
		if days := i.numbers[0]; days > 0 && (c.GroupCadence == 0 || days < c.GroupCadence) {
			c.GroupCadence = days
		}
	}
}
