package people

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/wordindex"
	"github.com/uptrace/bun"
)

// Complete turns what a file says about a person into a record. Addresses get their normal
// values, and duplicates and empty entries are removed. Values that no record may hold
// fail with fault.Invalid.
func Complete(c Connection, dates []DateDraft) (*Connection, error) {
	c.cleanTexts()
	handles, positions, tags := c.Handles, c.Positions, c.Tags
	c.Handles, c.Positions, c.Tags, c.Dates = nil, nil, nil, nil
	for _, h := range handles {
		h.Value, h.Label = text.Line(h.Value), text.Line(h.Label)
		h.NormalValue = NormalValue(h.Kind, h.Value)
		if h.NormalValue != "" && !slices.ContainsFunc(c.Handles, h.same) {
			c.Handles = append(c.Handles, h)
		}
	}
	for _, p := range positions {
		p.Organization, p.Title = text.Line(p.Organization), text.Line(p.Title)
		if p.Organization != "" || p.Title != "" {
			c.Positions = append(c.Positions, p)
		}
	}
	c.addTags(tags)
	addresses, accounts, fields, related := c.Addresses, c.Accounts, c.Fields, c.Related
	c.Addresses, c.Accounts, c.Fields, c.Related = nil, nil, nil, nil
	for _, v := range fields {
		c.putField(v)
	}
	for _, r := range related {
		c.absorbRelated(r)
	}
	for _, a := range accounts {
		c.absorbAccount(a.Clean())
	}
	for _, a := range addresses {
		c.absorbAddress(a.clean())
	}
	c.Location = cmp.Or(c.Location, c.derivedPlace())
	if err := c.addDates("important_dates", dates); err != nil {
		return nil, err
	}
	if c.Name == "" {
		c.Name = GuessName(c.Handles)
	}
	return &c, c.check()
}

// Unused is a value of a file that a record does not get, because it has another one.
type Unused struct {
	// Field is what the value says, in words, such as "birthday".
	Field string
	// Stored is the value that stays, and Said the file's.
	Stored, Said string
}

// MergeFrom adds what a file says about a person to the record. It reports whether anything
// changed, and which of the file's values were not used. Existing values stay, and missing ones are
// added; with overwrite, the file's values replace existing ones. Values that the file does not have
// never change. Versions and times are left to the caller.
func (c *Connection) MergeFrom(from *Connection, overwrite bool) (after *Connection, changed bool, unused []Unused, err error) {
	b := blend{Connection: c.clone(), overwrite: overwrite}
	typed := b.HasTypedLocation()
	b.addresses(from.Addresses)
	b.accounts(from.Accounts)
	b.kept(from.Kept)
	b.related(from.Related)
	b.fields(from)
	b.nameParts(from.NameParts)
	b.customFields(from.Fields)
	b.location(from, typed)
	b.handles(from.Handles)
	b.positions(from.Positions)
	for _, d := range from.Dates {
		b.date(d)
	}
	b.tags(from.Tags)
	if !b.changed {
		return c, false, b.unused, nil
	}
	return b.Connection, true, b.unused, b.check()
}

// blend is a record to which values are being added.
type blend struct {
	*Connection

	overwrite, changed bool
	unused             []Unused
}

// set replaces a value with another one if it is empty or may be overwritten.
func set[T comparable](b *blend, name string, field *T, value T) {
	var empty T
	switch {
	case value == empty || value == *field:
	case *field != empty && !b.overwrite:
		b.leave(name, fmt.Sprint(*field), fmt.Sprint(value))
	default:
		*field = value
		b.changed = true
	}
}

// leave notes a value that is not used, unless the stored one only has other capital letters, accents or spaces.
func (b *blend) leave(name, stored, said string) {
	if text.Fold(text.Line(stored)) != text.Fold(text.Line(said)) {
		b.unused = append(b.unused, Unused{name, stored, said})
	}
}

func (b *blend) fields(from *Connection) {
	words := map[string]string{
		"name": "name", "nickname": "nickname", "bio": "text about the person", "met_on": "day when you met", "deceased_on": "day of death", "met_how": "story of how you met",
	}
	theirs := from.texts()
	for i, mine := range b.texts() {
		// A guess overwrites no name.
		if mine.name != "location" && (mine.name != "name" || from.Name != GuessName(from.Handles)) {
			set(b, words[mine.name], mine.value, *theirs[i].value)
		}
	}
	set(b, "star", &b.Starred, from.Starred)
	if from.Photo != "" && b.Photo != "" && from.Photo != b.Photo && !b.overwrite {
		b.leave("photo", "the stored one", "another one")
	} else {
		set(b, "photo", &b.Photo, from.Photo)
	}
	set(b, "number of days for keeping in touch", &b.CadenceDays, from.CadenceDays)
	switch {
	case from.SnoozedUntil.Equal(b.SnoozedUntil):
	case !from.SnoozedUntil.IsZero() && !b.SnoozedUntil.IsZero() && !b.overwrite:
		b.leave("end of the pause of keeping in touch", b.SnoozedUntil.UTC().Format(time.DateOnly), from.SnoozedUntil.UTC().Format(time.DateOnly))
	default:
		set(b, "", &b.SnoozedUntil, from.SnoozedUntil)
	}
}

func (b *blend) handles(from []Handle) {
	for _, h := range from {
		at := slices.IndexFunc(b.Handles, h.same)
		if at < 0 {
			h.ID = ""
			b.Handles = append(b.Handles, h)
			b.changed = true
			continue
		}
		set(b, "label of "+b.Handles[at].Value, &b.Handles[at].Label, h.Label)
		if b.overwrite { // it is the same address in another spelling
			set(b, "", &b.Handles[at].Value, h.Value)
		}
	}
}

// location sets the place. A stored one that was not typed follows the addresses, unless the file has a typed one.
func (b *blend) location(from *Connection, typed bool) {
	switch place := b.derivedPlace(); {
	case typed && from.HasTypedLocation():
		set(b, "place", &b.Location, from.Location)
	case from.HasTypedLocation():
		b.changed = b.changed || b.Location != from.Location
		b.Location = from.Location
	case !typed && place != "":
		b.Location = place
	}
}

// addresses adds addresses, or what the file knows beyond the stored ones.
func (b *blend) addresses(from []Address) {
	for _, a := range from {
		at := slices.IndexFunc(b.Addresses, a.same)
		switch {
		case at >= 0:
			both := b.Addresses[at].with(a)
			if b.overwrite {
				both = a.with(b.Addresses[at])
			}
			b.changed = b.changed || both != b.Addresses[at]
			b.Addresses[at] = both
		case len(b.Addresses) < MaxAddresses:
			b.Addresses = append(b.Addresses, a)
			b.changed = true
		default:
			b.unused = append(b.unused, Unused{"number of addresses", strconv.Itoa(MaxAddresses), strings.ReplaceAll(a.String(), "\n", ", ")})
		}
	}
}

// positions adds jobs. When a current position exists, another current job is ignored,
// unless it may overwrite: then it becomes the primary position.
func (b *blend) positions(from []Position) {
	held := b.CurrentPosition() != (Position{})
	for _, p := range from {
		p.ID, p.OrganizationID = "", ""
		at := slices.IndexFunc(b.Positions, p.sameJob)
		switch {
		case at >= 0:
			mine := &b.Positions[at]
			set(b, "title at "+mine.Organization, &mine.Title, p.Title)
			set(b, "beginning of the job", &mine.StartedOn, p.StartedOn)
			set(b, "end of the job", &mine.EndedOn, p.EndedOn)
		case !p.Current || !held:
			b.Positions = append(b.Positions, p)
			b.changed = true
		case b.overwrite:
			b.setPosition(p.Organization, p.Title)
			set(b, "", &b.Positions[0].StartedOn, p.StartedOn)
			held, b.changed = false, true // further current ones are added beside it
		default:
			b.leave("job", b.CurrentPosition().line(), p.line())
		}
	}
}

func (b *blend) date(d ImportantDate) {
	d.ID = ""
	known := slices.Clone(b.Dates)
	at := slices.IndexFunc(b.Dates, func(other ImportantDate) bool { return other.Kind == DateBirthday })
	if b.overwrite && d.Kind == DateBirthday && at >= 0 {
		if fuller, ok := d.with(b.Dates[at]); ok {
			d = fuller
		}
		b.Dates[at].Year, b.Dates[at].Month, b.Dates[at].Day, b.Dates[at].About = d.Year, d.Month, d.Day, d.About
	} else {
		if stored, said := b.absorbDate(d, false); said != "" {
			b.unused = append(b.unused, Unused{cmp.Or(d.Label, d.Kind), stored, said})
		}
	}
	b.changed = b.changed || !slices.Equal(known, b.Dates)
}

// line is the job in one line.
func (p Position) line() string {
	if p.Title == "" || p.Organization == "" {
		return p.Title + p.Organization
	}
	return p.Title + " at " + p.Organization
}

// tags adds tags while there is room for them.
func (b *blend) tags(from []string) {
	for _, tag := range from {
		switch {
		case slices.ContainsFunc(b.Tags, sameTag(tag)):
		case len(b.Tags) < MaxTags:
			b.addTags([]string{tag})
			b.changed = true
		default:
			b.unused = append(b.unused, Unused{"number of tags", strconv.Itoa(MaxTags), tag})
		}
	}
}

// SourceKeyRow is the row of a key by which an import source identifies a connection.
type SourceKeyRow struct {
	bun.BaseModel `bun:"table:source_keys,alias:source_key"`

	TenantID     tenant.ID `bun:",pk"`
	Key          string    `bun:",pk"`
	ConnectionID string
	ImportID     string
	// Name is the person's name in the file.
	Name string
}

// InsertPeople inserts new people, who already have ids, with their lists.
func InsertPeople(ctx context.Context, tx *db.Tx, people []*Connection) error {
	if len(people) == 0 {
		return nil
	}
	for _, c := range people {
		c.TenantID, c.DataVersion, c.FoldedName = tx.TenantID(), tx.Version(), FoldedName(c)
	}
	if _, err := tx.NewInsert().Model(&people).Exec(ctx); err != nil {
		return err
	}
	if err := insertListsOf(ctx, tx, people); err != nil {
		return err
	}
	return insertDuplicateKeys(ctx, tx, people)
}

// ReplacePeople replaces the stored versions of people. It fails with fault.Conflict when
// one of them no longer exists, so a deleted person is not recreated.
func ReplacePeople(ctx context.Context, tx *db.Tx, people []*Connection) error {
	if len(people) == 0 {
		return nil
	}
	who := make([]string, len(people))
	names := make(map[string]string, len(people))
	for i, c := range people {
		c.TenantID, c.DataVersion, c.FoldedName = tx.TenantID(), tx.Version(), FoldedName(c)
		who[i], names[c.ID] = c.ID, c.Name
	}
	if missing, err := missingConnection(ctx, tx, who); err != nil {
		return err
	} else if missing != "" {
		return fault.New(fault.Conflict, "%s no longer exists", missing)
	}
	if err := wordindex.MarkRenamed(ctx, tx, names); err != nil {
		return err
	}
	if _, err := tx.NewInsert().Model(&people).On("CONFLICT (tenant_id, id) DO UPDATE").Exec(ctx); err != nil {
		return err
	}
	for _, model := range []any{
		(*Handle)(nil), (*Position)(nil), (*ConnectionTag)(nil), (*ImportantDate)(nil),
	} {
		if err := tx.Delete(ctx, model, "connection_id IN (?)", bun.List(who)); err != nil {
			return err
		}
	}
	if err := insertListsOf(ctx, tx, people); err != nil {
		return err
	}
	return replaceDuplicateKeys(ctx, tx, people)
}

// insertListsOf is insertLists for many people, with one statement for each list.
func insertListsOf(ctx context.Context, tx *db.Tx, people []*Connection) error {
	var handles []*Handle
	var dates []*ImportantDate
	for _, c := range people {
		for i := range c.Handles {
			h := &c.Handles[i]
			h.TenantID, h.ConnectionID, h.Ordinal = tx.TenantID(), c.ID, i
			id.Fill(&h.ID, id.Handle)
			handles = append(handles, h)
		}
		for i := range c.Dates {
			d := &c.Dates[i]
			d.TenantID, d.ConnectionID, d.Ordinal = tx.TenantID(), c.ID, i
			id.Fill(&d.ID, id.Date)
			dates = append(dates, d)
		}
	}
	if err := tx.InsertAll(ctx, &handles, len(handles)); err != nil {
		return err
	}
	if err := tx.InsertAll(ctx, &dates, len(dates)); err != nil {
		return err
	}
	if err := insertPositionsOf(ctx, tx, people); err != nil {
		return err
	}
	return insertTagsOf(ctx, tx, people)
}

func insertPositionsOf(ctx context.Context, tx *db.Tx, people []*Connection) error {
	var all []Position
	for _, c := range people {
		all = append(all, c.Positions...)
	}
	if len(all) == 0 {
		return nil
	}
	organizations, err := organizations(ctx, tx, all)
	if err != nil {
		return err
	}
	var rows []*Position
	for _, c := range people {
		// In the order in which they are read: current positions first.
		slices.SortStableFunc(c.Positions, func(a, b Position) int { return cmp.Compare(past(a), past(b)) })
		for i := range c.Positions {
			p := &c.Positions[i]
			p.TenantID, p.ConnectionID, p.Ordinal, p.OrganizationID = tx.TenantID(), c.ID, i, ""
			if o, ok := organizations[NormalOrganization(p.Organization)]; ok {
				p.OrganizationID, p.Organization = o.ID, o.Name
			}
			id.Fill(&p.ID, id.Position)
			rows = append(rows, p)
		}
	}
	return tx.InsertAll(ctx, &rows, len(rows))
}

func past(p Position) int {
	if p.Current {
		return 0
	}
	return 1
}

func insertTagsOf(ctx context.Context, tx *db.Tx, people []*Connection) error {
	var names []string
	for _, c := range people {
		names = append(names, c.Tags...)
	}
	if len(names) == 0 {
		return nil
	}
	rows, err := Tags(ctx, tx, Distinct(names))
	if err != nil {
		return err
	}
	byName := make(map[string]Tag, len(rows))
	for _, row := range rows {
		byName[row.FoldedName] = row
	}
	var links []ConnectionTag
	for _, c := range people {
		held := make([]Tag, len(c.Tags))
		for i, name := range c.Tags {
			held[i] = byName[text.Fold(name)]
			links = append(links, ConnectionTag{TenantID: tx.TenantID(), ConnectionID: c.ID, TagID: held[i].ID})
		}
		slices.SortFunc(held, func(a, b Tag) int { return cmp.Compare(a.FoldedName, b.FoldedName) })
		for i := range held {
			c.Tags[i] = held[i].Name
		}
	}
	return tx.InsertAll(ctx, &links, len(links))
}
