package people

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/wordindex"
	"github.com/uptrace/bun"
)

// Sharing is another person who has the same address.
type Sharing struct {
	ID, Name, Nickname string
	// Kind is the kind of the address.
	Kind string
}

// What to do about a person who already exists.
const (
	OnDuplicateReturn = "return_existing"
	OnDuplicateCreate = "create"
	OnDuplicateError  = "error"
)

// Written is the result of a write.
type Written struct {
	Connection *Connection
	// DuplicateOf is the person that already existed; empty when there was none.
	DuplicateOf string
	// Sharing are people who share an address with this person, but whose names or birthdays show
	// that they are or may be other people; at most maxSharing.
	Sharing []Sharing
	// SameName are further people with the same name, without their lists; at most maxSharing.
	SameName []Candidate
	// ChangeID is empty when nothing was written.
	ChangeID string
	// RemovedDates are the stored dates that the write removed.
	RemovedDates []ImportantDate
}

// Create adds a person. If the person already exists, it does what the draft's OnDuplicate
// says.
func Create(ctx context.Context, w *db.Tx, d Draft) (Written, error) {
	c, err := d.connection(w.Now())
	if err != nil {
		return Written{}, err
	}
	if err := c.editFields(ctx, w, "fields", d.Fields); err != nil {
		return Written{}, err
	}
	out, err := d.findExisting(ctx, w, c)
	if err != nil {
		return Written{}, err
	}
	if duplicate := out.DuplicateOf; duplicate != "" && d.OnDuplicate != OnDuplicateCreate {
		if d.OnDuplicate == OnDuplicateError {
			return Written{}, fault.New(fault.AlreadyExists, "%s is already stored as %s", text.Quote(c.Name), duplicate)
		}
		existing, err := GetConnection(ctx, w, duplicate)
		return Written{Connection: existing, DuplicateOf: duplicate}, err
	}
	if err := InsertConnection(ctx, w, c); err != nil {
		return Written{}, err
	}
	out.Connection = c
	out.ChangeID, err = history.Record(ctx, w, history.One("Added "+c.Name, history.Connection, c.ID, nil, c))
	return out, err
}

// maxSharing limits how many people with the same address, and with the same name, a result names.
const maxSharing = 5

// findExisting returns the id of the existing person that c duplicates, if any, or else the other
// people who have an address or the name of c. People who share an address but have different
// names, or may be relatives (Doubt), are not duplicates, nor are people who share only the name.
func (d Draft) findExisting(ctx context.Context, w *db.Tx, c *Connection) (out Written, err error) {
	sharing, err := ListSharing(ctx, w, c)
	if err != nil {
		return out, err
	}
	full := c.Name
	if text.Line(d.Name) == "" { // a guessed name is no evidence
		full = ""
	}
	said := EvidenceOf(names.Names{Full: full, Nickname: c.Nickname}, c.Handles, c.Dates)
	colleagues, namesakes, err := FindNamesakes(ctx, w, c)
	if err != nil {
		return out, err
	}
	alike := DistinctIDs(slices.Concat(colleagues, namesakes, IDs(sharing, func(s Sharing) string { return s.ID })))
	if len(alike) == 0 {
		return out, nil
	}
	others, err := GetConnections(ctx, w, alike)
	if err != nil {
		return out, err
	}
	named := func(id string) bool {
		return slices.ContainsFunc(out.Sharing, func(s Sharing) bool { return s.ID == id }) || slices.ContainsFunc(out.SameName, func(p Candidate) bool { return p.ID == id })
	}
	for _, other := range sharing {
		known := others[other.ID].Evidence()
		if names.Compatible(said.Names, known.Names) && Doubt(&said, &known) == "" {
			return Written{DuplicateOf: other.ID}, nil
		}
		if len(out.Sharing) < maxSharing && !named(other.ID) {
			out.Sharing = append(out.Sharing, other)
		}
	}
	for _, id := range colleagues {
		if known := others[id].Evidence(); Doubt(&said, &known) == "" {
			out.DuplicateOf = id
			return out, nil
		}
	}
	for _, id := range slices.Concat(colleagues, namesakes) {
		if full != "" && len(out.SameName) < maxSharing && !named(id) {
			out.SameName = append(out.SameName, Candidate{ID: id, Name: others[id].Name, Headline: others[id].CurrentPosition().Headline()})
		}
	}
	return out, nil
}

func (d Draft) connection(now time.Time) (*Connection, error) {
	c := d.fields()
	c.Version, c.CreatedAt, c.UpdatedAt = 1, now, now
	c.addHandles(KindEmail, d.Emails)
	c.addHandles(KindPhone, d.Phones)
	c.addHandles(KindURL, d.URLs)
	c.addTags(d.Tags)
	if err := c.addDates("important_dates", d.Dates); err != nil {
		return nil, err
	}
	if err := c.editAddresses(AddressEdit{Replace: d.Addresses}); err != nil {
		return nil, err
	}
	if err := c.editAccounts(d.Accounts); err != nil {
		return nil, err
	}
	if err := c.setLabels(d.Labels); err != nil {
		return nil, err
	}
	c.setPosition(text.Line(d.Organization), text.Line(d.Title))
	if err := c.addJobs("positions", d.Jobs); err != nil {
		return nil, err
	}
	if c.Name == "" {
		c.Name = GuessName(c.Handles)
	}
	return c, c.check()
}

func (c *Connection) addHandles(kind string, values []string) {
	for _, value := range values {
		value = text.Line(value)
		normal := NormalValue(kind, value)
		same := func(h Handle) bool { return h.in(kind) && h.NormalValue == normal }
		if normal == "" || slices.ContainsFunc(c.Handles, same) {
			continue
		}
		c.Handles = append(c.Handles, Handle{Kind: kind, Value: value, NormalValue: normal})
	}
}

func (c *Connection) removeHandles(kind string, values []string) {
	for _, value := range values {
		normal := NormalValue(kind, text.Line(value))
		c.Handles = slices.DeleteFunc(c.Handles, func(h Handle) bool {
			return h.in(kind) && h.NormalValue == normal
		})
	}
}

func (c *Connection) removeTags(tags []string) {
	for _, tag := range tags {
		c.Tags = slices.DeleteFunc(c.Tags, sameTag(tag))
	}
}

// setPosition makes organisation and title the primary position and ends the former one.
// Other current positions continue. With both empty, no new position is added.
func (c *Connection) setPosition(organization, title string) {
	if at := slices.IndexFunc(c.Positions, func(p Position) bool { return p.Current }); at >= 0 {
		c.Positions[at].Current = false
	}
	if organization == "" && title == "" {
		return
	}
	p := Position{Organization: organization, Title: title, Current: true}
	if at := slices.IndexFunc(c.Positions, p.continues); at >= 0 {
		p = c.Positions[at]
		c.Positions = slices.Delete(c.Positions, at, at+1)
		if title != "" {
			p.Title = title
		}
	}
	c.Positions = append([]Position{p}, c.Positions...)
}

// continues reports whether other is a current position at the same organisation.
func (p Position) continues(other Position) bool {
	normal := NormalOrganization(p.Organization)
	return other.Current && normal != "" && NormalOrganization(other.Organization) == normal
}

// Edit says what to change of a list: Replace first, then Remove, then Add.
type Edit struct{ Replace, Add, Remove []string }

// DateEdit says what to change of the important dates: Replace (unless empty) first, then
// Remove, then Add.
type DateEdit struct{ Replace, Add, Remove []DateDraft }

// JobEdit says what to change of the positions: Replace (unless nil) first, then Remove,
// then Add.
type JobEdit struct{ Replace, Add, Remove []JobDraft }

// Update changes a connection that is not archived. A patch that changes nothing
// writes nothing.
func Update(ctx context.Context, w *db.Tx, p Patch) (Written, error) {
	before, err := live(ctx, w, p.ID)
	if err != nil {
		return Written{}, err
	}
	if p.ExpectedVersion != nil && *p.ExpectedVersion != before.Version {
		return Written{}, fault.New(fault.Conflict,
			"%s has version %d, not %d: read it again before you change it", p.ID, before.Version, *p.ExpectedVersion)
	}
	after := before.clone()
	if err := p.apply(after); err != nil {
		return Written{}, err
	}
	if err := after.editFields(ctx, w, "set_fields", p.Fields); err != nil {
		return Written{}, err
	}
	if err := after.check(); err != nil {
		return Written{}, err
	}
	if reflect.DeepEqual(before, after) {
		return Written{Connection: before}, nil
	}
	return replace(ctx, w, before, after, nil)
}

// EndReminders dismisses the open reminders about people who died and about no one who lives, and
// returns the effects.
func EndReminders(ctx context.Context, tx *db.Tx, connectionIDs ...string) ([]history.EffectDraft, error) {
	if len(connectionIDs) == 0 {
		return nil, nil
	}
	var ended []string
	err := tx.NewRaw(`UPDATE reminders SET state = 'dismissed', version = version + 1, updated_at = ? WHERE tenant_id = ? AND state = 'open'
AND id IN (SELECT reminder_id FROM reminder_connections WHERE tenant_id = ? AND connection_id IN (?))
AND NOT EXISTS (SELECT 1 FROM reminder_connections l JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id
WHERE l.tenant_id = reminders.tenant_id AND l.reminder_id = reminders.id AND c.deceased_on = '' AND c.id NOT IN (?)) RETURNING id`,
		tx.Now(), tx.TenantID(), tx.TenantID(), bun.List(connectionIDs), bun.List(connectionIDs)).Scan(ctx, &ended)
	slices.Sort(ended)
	effects := make([]history.EffectDraft, len(ended))
	for i, id := range ended {
		effects[i] = history.EffectDraft{Kind: history.Reminder, ID: id, Before: reminderState{"open"}, After: reminderState{"dismissed"}}
	}
	return effects, err
}

// reminderState is the part of a reminder's state that EndReminders changes.
type reminderState struct {
	State string `json:"state"`
}

func (p Patch) apply(c *Connection) error {
	p.applyFields(c)
	p.applyPosition(c)
	if p.Jobs.Replace != nil {
		if err := c.replaceJobs(p.Jobs.Replace); err != nil {
			return err
		}
	}
	c.removeJobs(p.Jobs.Remove)
	if err := c.addJobs("add_positions", p.Jobs.Add); err != nil {
		return err
	}
	c.editHandles(KindEmail, p.Emails)
	c.editHandles(KindPhone, p.Phones)
	c.editHandles(KindURL, p.URLs)
	c.editTags(p.Tags)
	if err := c.editAddresses(p.Addresses); err != nil {
		return err
	}
	if err := c.editAccounts(p.Accounts); err != nil {
		return err
	}
	if err := c.setLabels(p.Labels); err != nil {
		return err
	}
	return c.editDates(p.Dates)
}

func (p Patch) applyPosition(c *Connection) {
	if p.Organization == nil && p.Title == nil {
		return
	}
	current := c.CurrentPosition()
	organization, title := current.Organization, current.Title
	if p.Organization != nil {
		organization = text.Line(*p.Organization)
		if NormalOrganization(organization) != NormalOrganization(current.Organization) && p.Title == nil {
			title = ""
		}
	}
	if p.Title != nil {
		title = text.Line(*p.Title)
	}
	if NormalOrganization(organization) == NormalOrganization(current.Organization) && current.Current && (organization != "" || title != "") {
		c.retitle(title)
		return
	}
	c.setPosition(organization, title)
}

// retitle changes the title of the current position, which continues.
func (c *Connection) retitle(title string) {
	for i := range c.Positions {
		if c.Positions[i].Current {
			c.Positions[i].Title = title
			return
		}
	}
}

// editHandles changes the list of a kind. A handle that stays keeps its id and label, and
// handles of other kinds keep their places.
func (c *Connection) editHandles(kind string, e Edit) {
	var held []Handle
	for _, h := range c.Handles {
		if h.in(kind) {
			held = append(held, h)
		}
	}
	list := Connection{Handles: slices.Clone(held)}
	if len(e.Replace) > 0 {
		list.Handles = nil
		list.addHandles(kind, e.Replace)
	}
	list.removeHandles(kind, e.Remove)
	list.addHandles(kind, e.Add)
	kept := c.Handles[:0:0]
	for _, h := range c.Handles {
		if !h.in(kind) {
			kept = append(kept, h)
		} else if len(list.Handles) > 0 {
			kept = append(kept, list.Handles[0].closest(held))
			list.Handles = list.Handles[1:]
		}
	}
	for _, h := range list.Handles {
		kept = append(kept, h.closest(held))
	}
	c.Handles = kept
}

// setLabels sets the labels of handles, by value.
func (c *Connection) setLabels(labels map[string]string) error {
	for value, label := range labels {
		found := false
		for i := range c.Handles {
			if h := &c.Handles[i]; h.NormalValue == NormalValue(h.Kind, text.Line(value)) {
				h.Label, found = text.Line(label), true
			}
		}
		if !found {
			return fault.InvalidField("labels", "%s is none of the person's e-mail addresses, phone numbers and links", text.Quote(value))
		}
	}
	return nil
}

// closest returns the stored handle with the same address, in its current spelling, or h
// itself when there is none.
func (h Handle) closest(held []Handle) Handle {
	for _, other := range held {
		if other.NormalValue == h.NormalValue {
			other.Value = h.Value
			return other
		}
	}
	return h
}

// editTags changes the tags. Their order does not matter, and a tag that stays keeps its
// spelling.
func (c *Connection) editTags(e Edit) {
	list := Connection{Tags: slices.Clone(c.Tags)}
	if len(e.Replace) > 0 {
		list.Tags = nil
		list.addTags(e.Replace)
	}
	list.removeTags(e.Remove)
	list.addTags(e.Add)
	c.Tags = slices.DeleteFunc(c.Tags, func(tag string) bool { return !slices.ContainsFunc(list.Tags, sameTag(tag)) })
	c.addTags(list.Tags)
}

// FoldedName returns the folded name of a connection, for comparison.
func FoldedName(c *Connection) string { return text.Fold(c.Name) }

// InsertConnection inserts a new connection with its lists and sets its id. It creates
// organisations and tags that do not exist yet.
func InsertConnection(ctx context.Context, tx *db.Tx, c *Connection) error {
	c.ID = id.New(id.Connection)
	return insertConnection(ctx, tx, c)
}

// insertConnection inserts a connection that already has an id, with its lists.
func insertConnection(ctx context.Context, tx *db.Tx, c *Connection) error {
	c.TenantID, c.DataVersion, c.FoldedName = tx.TenantID(), tx.Version(), FoldedName(c)
	if _, err := tx.NewInsert().Model(c).Exec(ctx); err != nil {
		return fmt.Errorf("insert connection: %w", err)
	}
	if err := insertLists(ctx, tx, c); err != nil {
		return err
	}
	return insertDuplicateKeys(ctx, tx, []*Connection{c})
}

// ReplaceConnection stores c in place of the version before it. It fails with
// fault.Conflict when that version is no longer the stored one.
func ReplaceConnection(ctx context.Context, tx *db.Tx, c *Connection) error {
	c.TenantID, c.DataVersion, c.FoldedName = tx.TenantID(), tx.Version(), FoldedName(c)
	if err := wordindex.MarkRenamed(ctx, tx, map[string]string{c.ID: c.Name}); err != nil {
		return err
	}
	if err := tx.Replace(ctx, c, c.ID, c.Version); err != nil {
		return err
	}
	for _, model := range []any{
		(*Handle)(nil), (*Position)(nil), (*ConnectionTag)(nil), (*ImportantDate)(nil),
	} {
		if err := tx.Delete(ctx, model, "connection_id = ?", c.ID); err != nil {
			return fmt.Errorf("replace lists: %w", err)
		}
	}
	if err := insertLists(ctx, tx, c); err != nil {
		return err
	}
	return replaceDuplicateKeys(ctx, tx, []*Connection{c})
}

// insertLists inserts the handles, positions, tags and dates of a connection that has
// none.
func insertLists(ctx context.Context, tx *db.Tx, c *Connection) error {
	for i := range c.Handles {
		h := &c.Handles[i]
		h.TenantID, h.ConnectionID, h.Ordinal = tx.TenantID(), c.ID, i
		id.Fill(&h.ID, id.Handle)
	}
	if err := tx.InsertAll(ctx, &c.Handles, len(c.Handles)); err != nil {
		return fmt.Errorf("insert handles: %w", err)
	}
	if err := insertPositions(ctx, tx, c); err != nil {
		return fmt.Errorf("insert positions: %w", err)
	}
	if err := insertTags(ctx, tx, c); err != nil {
		return fmt.Errorf("insert tags: %w", err)
	}
	for i := range c.Dates {
		d := &c.Dates[i]
		d.TenantID, d.ConnectionID, d.Ordinal = tx.TenantID(), c.ID, i
		id.Fill(&d.ID, id.Date)
	}
	if err := tx.InsertAll(ctx, &c.Dates, len(c.Dates)); err != nil {
		return fmt.Errorf("insert dates: %w", err)
	}
	return nil
}

func insertPositions(ctx context.Context, tx *db.Tx, c *Connection) error {
	organizations, err := organizations(ctx, tx, c.Positions)
	if err != nil {
		return err
	}
	// In the order in which they are read: current positions first.
	slices.SortStableFunc(c.Positions, func(a, b Position) int {
		switch {
		case a.Current == b.Current:
			return 0
		case a.Current:
			return -1
		default:
			return 1
		}
	})
	for i := range c.Positions {
		p := &c.Positions[i]
		p.TenantID, p.ConnectionID, p.Ordinal = tx.TenantID(), c.ID, i
		p.OrganizationID = ""
		if o, ok := organizations[NormalOrganization(p.Organization)]; ok {
			p.OrganizationID, p.Organization = o.ID, o.Name
		}
		id.Fill(&p.ID, id.Position)
	}
	return tx.InsertAll(ctx, &c.Positions, len(c.Positions))
}

// organizations returns the organisations that positions name, by normal name. It creates
// those that do not exist.
func organizations(ctx context.Context, tx *db.Tx, positions []Position) (map[string]Organization, error) {
	wanted := map[string]Organization{}
	for _, p := range positions {
		normal := NormalOrganization(p.Organization)
		if _, seen := wanted[normal]; normal == "" || seen {
			continue
		}
		o := Organization{TenantID: tx.TenantID(), Name: p.Organization, NormalName: normal, CreatedAt: tx.Now(), UpdatedAt: tx.Now()}
		id.Fill(&o.ID, id.Organization)
		wanted[normal] = o
	}
	if len(wanted) == 0 {
		return wanted, nil
	}
	rows := make([]Organization, 0, len(wanted))
	names := make([]string, 0, len(wanted))
	for normal, o := range wanted {
		rows, names = append(rows, o), append(names, normal)
	}
	if _, err := tx.NewInsert().Model(&rows).On("CONFLICT (tenant_id, normal_name) DO NOTHING").Exec(ctx); err != nil {
		return nil, err
	}
	rows = rows[:0]
	if err := tx.From(&rows).Where("normal_name IN (?)", bun.List(names)).Scan(ctx); err != nil {
		return nil, err
	}
	for _, o := range rows {
		wanted[o.NormalName] = o
	}
	return wanted, nil
}

// tag and connectionTag are the rows behind a connection's tags.
type (
	Tag struct {
		TenantID   tenant.ID `bun:",pk"`
		ID         string    `bun:",pk"`
		Name       string
		FoldedName string
	}
	ConnectionTag struct {
		TenantID     tenant.ID `bun:",pk"`
		ConnectionID string    `bun:",pk"`
		TagID        string    `bun:",pk"`
	}
)

func insertTags(ctx context.Context, tx *db.Tx, c *Connection) error {
	if len(c.Tags) == 0 {
		return nil
	}
	rows, err := Tags(ctx, tx, c.Tags)
	if err != nil {
		return err
	}
	links := make([]ConnectionTag, 0, len(rows))
	c.Tags = c.Tags[:0]
	for _, row := range rows {
		links = append(links, ConnectionTag{TenantID: tx.TenantID(), ConnectionID: c.ID, TagID: row.ID})
		c.Tags = append(c.Tags, row.Name)
	}
	return tx.InsertAll(ctx, &links, len(links))
}

// Tags returns the tags with the names, by name, and creates those that do not exist.
// There must be at least one name.
func Tags(ctx context.Context, tx *db.Tx, wanted []string) ([]Tag, error) {
	rows := make([]Tag, 0, len(wanted))
	names := make([]string, 0, len(wanted))
	for _, name := range wanted {
		row := Tag{TenantID: tx.TenantID(), Name: name, FoldedName: text.Fold(name)}
		id.Fill(&row.ID, id.Tag)
		rows, names = append(rows, row), append(names, row.FoldedName)
	}
	if _, err := tx.NewInsert().Model(&rows).On("CONFLICT (tenant_id, folded_name) DO NOTHING").Exec(ctx); err != nil {
		return nil, err
	}
	rows = rows[:0]
	err := tx.From(&rows).Where("folded_name IN (?)", bun.List(names)).Order("folded_name").Scan(ctx)
	return rows, err
}
