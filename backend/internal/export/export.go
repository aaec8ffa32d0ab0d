package export

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/views"
	"github.com/uptrace/bun"
)

// The formats.
const (
	JSON      = "json"
	CSV       = "csv"
	VCard     = "vcard"  // version 4.0
	VCard3    = "vcard3" // version 3.0
	JSContact = "jscontact"
)

// Person is a connection with all its lists and its relationships.
type Person struct {
	people.Connection

	// UID is the id that vCards have instead of the person's; empty for the person's.
	UID string

	Relations []people.Relation
	// NotSameAs are the ids of people who are not the same as this one, as the member said. Only
	// JSON has them.
	NotSameAs []string
	// Picture is the person's photo in its largest size; without data if there is none. Only
	// JSON and vCards hold it.
	Picture photos.Image
}

// People is the input of a Writer.
type People struct {
	People []Person
	// Notes and Interactions are about these people, Reminders about them or about no
	// connection. Groups may have other people, or none. Only JSON holds these lists.
	Notes        []timeline.Note
	Interactions []timeline.Interaction
	Reminders    []reminders.Reminder
	Groups       []groups.Group
	// Zone is the member's time zone, in which CSV has its days; nil is UTC.
	Zone *time.Location
	// Fields are the member's custom fields, of which CSV has the columns.
	Fields []people.Field
	// Archived says that archived people are included, Photos that photos are.
	Archived, Photos bool
}

// Write returns the people as a document of a format, and its media type. It fails for an
// unknown format.
func Write(format string, p People) (content, mediaType string, err error) {
	var b strings.Builder
	w, err := NewWriter(format, &b)
	if err != nil {
		return "", "", err
	}
	if err := w.Add(p); err != nil {
		return "", "", err
	}
	err = w.Close()
	return b.String(), mediaTypeOf(format), err
}

// Writer writes one document of a format, page by page.
type Writer interface {
	// Add writes a page.
	Add(p People) error
	// Close writes the end of the document.
	Close() error
}

// NewWriter begins a document of a format. It fails for an unknown format.
func NewWriter(format string, out io.Writer) (Writer, error) {
	switch format {
	case JSON:
		return NewDocument(out), nil
	case CSV:
		return newTable(out), nil
	case VCard:
		return vCards{out: out}, nil
	case VCard3:
		return vCards{out: out, v3: true}, nil
	case JSContact:
		return newCardList(out), nil
	}
	return nil, fmt.Errorf("no such format: %q", format)
}

func mediaTypeOf(format string) string {
	return map[string]string{
		JSON: "application/json", CSV: "text/csv; charset=utf-8", VCard: "text/vcard", VCard3: "text/vcard", JSContact: "application/jscontact+json",
	}[format]
}

// How many rows of a table an export reads at a time. It reads fewer changes, since the
// change of an import step holds a few hundred people.
const (
	exportPage        = 500
	exportPageChanges = 20
)

// Export calls each with every object of the tenant: connections (archived ones too),
// organisations, groups, relationships, pairs of people who are not the same, reminders,
// notes, interactions, saved views, custom fields and changes, each kind in the order of its ids. It holds no transaction
// while each runs, so a slow reader blocks no one. Data that is written meanwhile may or may not be
// included, but every object is complete. It stops if each fails. Jobs and the files that wait for
// them are temporary and are left out.
func Export(ctx context.Context, q db.Reader, each func(object any) error) error {
	for _, pages := range []func() error{
		func() error {
			return exportTable(ctx, q, exportPage, func(ctx context.Context, a1 []people.Connection) error { return people.FillConnections(ctx, q, a1) }, connectionID, each)
		},
		func() error { return exportTable(ctx, q, exportPage, nil, organizationID, each) },
		func() error { return exportTable(ctx, q, exportPage, nil, groupID, each) },
		func() error { return exportTable(ctx, q, exportPage, nil, relationshipID, each) },
		func() error { return exportTable(ctx, q, exportPage, nil, distinctPairID, each) },
		func() error {
			return exportTable(ctx, q, exportPage, func(ctx context.Context, a1 []reminders.Reminder) error { return reminders.Fill(ctx, q, a1) }, reminderID, each)
		},
		func() error {
			return exportTable(ctx, q, exportPage, func(ctx context.Context, a1 []timeline.Note) error { return timeline.FillNotes(ctx, q, a1) }, timeline.NoteID, each)
		},
		func() error {
			return exportTable(ctx, q, exportPage, func(ctx context.Context, a1 []timeline.Interaction) error {
				return timeline.FillInteractions(ctx, q, a1)
			}, timeline.InteractionID, each)
		},
		func() error { return exportTable(ctx, q, exportPage, nil, viewID, each) },
		func() error { return exportTable(ctx, q, exportPage, nil, fieldID, each) },
		func() error { return exportChanges(ctx, q, each) },
	} {
		if err := pages(); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	return nil
}

func connectionID(c *people.Connection) string     { return c.ID }
func organizationID(o *people.Organization) string { return o.ID }
func groupID(g *groups.Group) string               { return g.ID }
func relationshipID(r *people.Relationship) string { return r.ID }
func distinctPairID(p *people.DistinctPair) string { return p.ID }
func reminderID(r *reminders.Reminder) string      { return r.ID }
func viewID(v *views.View) string                  { return v.ID }
func fieldID(f *people.Field) string               { return f.ID }

// exportChanges reads the recorded changes page by page, the latest first, and passes them on.
func exportChanges(ctx context.Context, q db.Reader, each func(any) error) error {
	for query := (history.Query{Limit: exportPageChanges}); ; {
		rows, last, err := history.ListPage(ctx, q, query)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := each(&rows[i]); err != nil {
				return err
			}
		}
		if last == 0 {
			return nil
		}
		query.Before = last
	}
}

// exportTable reads one table page by page, fills each page with the lists of its rows,
// and passes the rows on.
func exportTable[T any](
	ctx context.Context, q db.Reader, page int, fill func(context.Context, []T) error, id func(*T) string, each func(any) error,
) error {
	for after := ""; ; {
		var rows []T
		if err := q.From(&rows).Where("id > ?", after).Order("id").Limit(int64(page)).Scan(ctx); err != nil {
			return err
		}
		if fill != nil && len(rows) > 0 {
			if err := fill(ctx, rows); err != nil {
				return err
			}
		}
		for i := range rows {
			after = id(&rows[i])
			if err := each(&rows[i]); err != nil {
				return err
			}
		}
		if len(rows) < page {
			return nil
		}
	}
}

// PeopleFilter says which people to export: all, unless there are ids.
type PeopleFilter struct {
	// IDs are the people to export, archived ones too.
	IDs []string
	// After is the place of the last person of the previous page, Limit how many people to return.
	After Place
	Limit int
	// Timeline adds the notes and interactions. A page then ends early when these would
	// exceed MaxTimeline characters.
	Timeline bool
	// Photos adds the photos, in formats that hold them. A page then ends early as with Timeline.
	Photos bool
	// Archived adds archived people, but not those who were merged into others.
	Archived bool
	// Present leaves out those of IDs who do not exist, instead of failing.
	Present bool
}

// Place is a person's place in the order of an export: people come in the order in which they were
// added, which no change of a person disturbs.
type Place struct {
	CreatedAt time.Time `json:"created_at"`
	ID        string    `json:"id"`
}

// LastPlace returns the place of the last person of a page.
func (p *People) LastPlace() Place {
	last := p.People[len(p.People)-1]
	return Place{last.CreatedAt, last.ID}
}

// MaxTimeline limits the notes, interactions and photos of a page, in characters.
const MaxTimeline = 2_000_000

// ListPeople returns a page of people with all their stored data, in the order in
// which they were added, and whether there are more. With Timeline, their reminders and groups come too.
// Unless people are chosen by ids, the first page has all groups and the reminders about
// no person. It fails with fault.NotFound for the id of a person who does not exist. The
// number of statements is fixed.
func ListPeople(ctx context.Context, t *db.Tenant, f PeopleFilter) (page People, more bool, err error) {
	f.Archived = f.Archived || len(f.IDs) > 0
	err = t.Snapshot(ctx, func(ctx context.Context, q db.Reader) error {
		who, err := pageOfPeople(ctx, q, f)
		if err != nil {
			return err
		}
		if more = len(who) > f.Limit; more {
			who = who[:f.Limit]
		}
		if (f.Timeline || f.Photos) && len(who) > 0 {
			fit, err := fitting(ctx, q, who, f.Photos)
			if err != nil {
				return err
			}
			more = more || fit < len(who)
			who = who[:fit]
		}
		if page, err = wholePeople(ctx, q, who, f); err != nil {
			return err
		}
		if err := fillPhotos(ctx, q, who, f, &page); err != nil || !f.Timeline {
			return err
		}
		return fillArrangements(ctx, q, who, f, &page)
	})
	return page, more, err
}

// ExportPeople calls each with all people, page by page, as ListPeople returns them. With
// timeline it includes everything, archived people too; data about people on several pages
// comes with each of these pages. Without it, archived people are left out. With photos, each
// person's photo comes too. Like Export,
// it holds no transaction while each runs.
func ExportPeople(ctx context.Context, t *db.Tenant, withTimeline, withPhotos bool, each func(page People) error) error {
	f := PeopleFilter{Limit: exportPage, Timeline: withTimeline, Archived: withTimeline, Photos: withPhotos}
	for {
		page, more, err := ListPeople(ctx, t, f)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if err := each(page); err != nil {
			return err
		}
		if !more {
			return nil
		}
		f.After = page.LastPlace()
	}
}

// ReadPeople returns those of the people who are not archived, in the order in which they were added, without a timeline and with
// photos only if asked to.
func ReadPeople(ctx context.Context, q db.Reader, ids []string, withPhotos bool) ([]Person, error) {
	page, err := wholePeople(ctx, q, ids, PeopleFilter{})
	if err != nil {
		return nil, err
	}
	return page.People, fillPhotos(ctx, q, ids, PeopleFilter{Photos: withPhotos}, &page)
}

// pageOfPeople returns the ids of a page, and one more if there is another page.
func pageOfPeople(ctx context.Context, q db.Reader, f PeopleFilter) ([]string, error) {
	query := q.From((*people.Connection)(nil)).Column("id").Where(liveOr(f.Archived)).Where("(created_at, id) > (?, ?)", f.After.CreatedAt, f.After.ID).Order("created_at", "id").Limit(int64(f.Limit) + 1)
	if len(f.IDs) > 0 {
		if !f.Present {
			if err := allExist(ctx, q, f.IDs); err != nil {
				return nil, err
			}
		}
		query = query.Where("id IN (?)", bun.List(f.IDs))
	}
	var who []string
	err := query.Scan(ctx, &who)
	return who, err
}

// allExist fails as people.NoConnection does unless all of the people exist, archived or not.
func allExist(ctx context.Context, q db.Reader, who []string) error {
	var found []string
	err := q.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND id IN (?) AND merged_into IS NULL", q.TenantID(), bun.List(who)).Scan(ctx, &found)
	if err != nil {
		return err
	}
	on := make(map[string]bool, len(found))
	for _, id := range found {
		on[id] = true
	}
	for _, id := range who {
		if !on[id] {
			return people.NoConnection(ctx, q, id)
		}
	}
	return nil
}

// fitting returns how many of the people, at least one, have notes, interactions and with
// photos photos that fit on one page.
func fitting(ctx context.Context, q db.Reader, who []string, withPhotos bool) (int, error) {
	const around = 400 // the size of an entry without its text
	var rows []struct {
		ConnectionID string
		Size         int
	}
	err := q.NewRaw(`SELECT connection_id, sum(size) AS size FROM (
SELECT l.connection_id, length(n.body) + ?2 AS size FROM note_connections l
JOIN notes n ON n.tenant_id = l.tenant_id AND n.id = l.note_id WHERE l.tenant_id = ?0 AND l.connection_id IN (?1)
UNION ALL SELECT l.connection_id, length(i.summary) + ?2 FROM interaction_connections l
JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id WHERE l.tenant_id = ?0 AND l.connection_id IN (?1)
UNION ALL SELECT c.id, length(p.data) * 4 / 3 FROM connections c
JOIN photos p ON p.tenant_id = c.tenant_id AND p.connection_id = c.id AND p.id = c.photo AND p.size = ?3
WHERE ?4 AND c.tenant_id = ?0 AND c.id IN (?1) AND c.photo <> ''
) AS e GROUP BY connection_id`, q.TenantID(), bun.List(who), around, photos.Large, withPhotos).Scan(ctx, &rows)
	sizes := make(map[string]int, len(rows))
	for _, row := range rows {
		sizes[row.ConnectionID] = row.Size
	}
	total := 0
	for i, id := range who {
		if total += sizes[id]; total > MaxTimeline && i > 0 {
			return i, err
		}
	}
	return len(who), err
}

// wholePeople reads people with all their stored data, in the order in which they were added.
func wholePeople(ctx context.Context, q db.Reader, who []string, f PeopleFilter) (People, error) {
	out := People{Archived: f.Archived}
	var persons []people.Connection
	if len(who) > 0 {
		// Sorted here: for an order of the statement, SQLite reads everybody by the index of times.
		if err := q.From(&persons).Where("id IN (?)", bun.List(who)).Where(liveOr(f.Archived)).Scan(ctx); err != nil {
			return out, err
		}
		slices.SortFunc(persons, func(a, b people.Connection) int {
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
		})
	}
	if len(persons) == 0 {
		return out, nil
	}
	settings, err := account.GetSettings(ctx, q)
	if err != nil {
		return out, err
	}
	out.Zone = civil.Zone(settings.Timezone)
	if out.Fields, err = people.ListFields(ctx, q); err != nil {
		return out, err
	}
	if err := people.FillConnections(ctx, q, persons); err != nil {
		return out, err
	}
	at := make(map[string]*Person, len(persons))
	out.People = make([]Person, len(persons))
	for i, c := range persons {
		out.People[i].Connection = c
		at[c.ID] = &out.People[i]
	}
	if err := fillRelations(ctx, q, who, f.Archived, at); err != nil {
		return out, err
	}
	if err := fillNotSame(ctx, q, who, f.Archived, at); err != nil {
		return out, err
	}
	if !f.Timeline {
		return out, nil
	}
	return out, fillTimeline(ctx, q, who, &out)
}

// fillPhotos adds the people's photos, if the filter asks for them.
func fillPhotos(ctx context.Context, q db.Reader, who []string, f PeopleFilter, out *People) error {
	if out.Photos = f.Photos; !f.Photos {
		return nil
	}
	pictures, err := photos.Largest(ctx, q, who)
	for i := range out.People {
		out.People[i].Picture = pictures[out.People[i].ID]
	}
	return err
}

// liveOr returns the condition for connections to be exported.
func liveOr(archived bool) string {
	if archived {
		return "merged_into IS NULL"
	}
	return "archived_at IS NULL"
}

// fillArrangements adds reminders and groups.
func fillArrangements(ctx context.Context, q db.Reader, who []string, f PeopleFilter, out *People) error {
	whole := f.After == Place{} && len(f.IDs) == 0
	about, in := "id IN (SELECT reminder_id FROM reminder_connections WHERE tenant_id = ? AND connection_id IN (?))", "id IN (SELECT group_id FROM group_connections WHERE tenant_id = ? AND connection_id IN (?))"
	if whole {
		about, in = "NOT EXISTS (SELECT 1 FROM reminder_connections l WHERE l.tenant_id = reminder.tenant_id AND l.reminder_id = reminder.id) OR "+about, "tenant_id = ? OR id IN (?)"
	}
	if err := q.From(&out.Reminders).Where(about, q.TenantID(), bun.List(who)).Order("created_at", "id").Scan(ctx); err != nil {
		return err
	}
	if err := reminders.Fill(ctx, q, out.Reminders); err != nil {
		return err
	}
	return q.From(&out.Groups).Where(in, q.TenantID(), bun.List(who)).Order("created_at", "id").Scan(ctx)
}

// fillRelations adds the people's relationships: those with people who are not archived,
// or with archived all.
func fillRelations(ctx context.Context, q db.Reader, who []string, archived bool, at map[string]*Person) error {
	var rows []struct {
		people.Relationship

		FromName, ToName string
	}
	err := q.NewRaw(`SELECT r.from_id, r.to_id, r.type, r.label, r.inverse_label, f.name AS from_name, t.name AS to_name FROM relationships r
JOIN connections f ON f.tenant_id = r.tenant_id AND f.id = r.from_id AND (? OR f.archived_at IS NULL)
JOIN connections t ON t.tenant_id = r.tenant_id AND t.id = r.to_id AND (? OR t.archived_at IS NULL)
WHERE r.tenant_id = ? AND (r.from_id IN (?) OR r.to_id IN (?)) ORDER BY r.created_at, r.id`, archived, archived, q.TenantID(), bun.List(who), bun.List(who)).Scan(ctx, &rows)
	for _, r := range rows {
		for id, name := range map[string]string{r.FromID: r.ToName, r.ToID: r.FromName} {
			if p := at[id]; p != nil {
				relation := r.SeenFrom(id)
				relation.Name = name
				p.Relations = append(p.Relations, relation)
			}
		}
	}
	return err
}

// fillNotSame adds the pairs of people who are not the same: those with people who can be in
// the same export.
func fillNotSame(ctx context.Context, q db.Reader, who []string, archived bool, at map[string]*Person) error {
	var rows []people.DistinctPair
	err := q.NewRaw(`SELECT d.first_id, d.second_id FROM distinct_pairs d
JOIN connections f ON f.tenant_id = d.tenant_id AND f.id = d.first_id AND f.merged_into IS NULL AND (? OR f.archived_at IS NULL)
JOIN connections s ON s.tenant_id = d.tenant_id AND s.id = d.second_id AND s.merged_into IS NULL AND (? OR s.archived_at IS NULL)
WHERE d.tenant_id = ? AND (d.first_id IN (?) OR d.second_id IN (?)) ORDER BY d.first_id, d.second_id`,
		archived, archived, q.TenantID(), bun.List(who), bun.List(who)).Scan(ctx, &rows)
	for _, pair := range rows {
		for id, other := range map[string]string{pair.FirstID: pair.SecondID, pair.SecondID: pair.FirstID} {
			if p := at[id]; p != nil {
				p.NotSameAs = append(p.NotSameAs, other)
			}
		}
	}
	return err
}

// fillTimeline adds the notes and interactions that are about any of the people.
func fillTimeline(ctx context.Context, q db.Reader, who []string, out *People) error {
	err := q.From(&out.Notes).Where("id IN (SELECT note_id FROM note_connections WHERE tenant_id = ? AND connection_id IN (?))", q.TenantID(), bun.List(who)).
		Order("id").Scan(ctx)
	if err != nil {
		return err
	}
	err = q.From(&out.Interactions).
		Where("id IN (SELECT interaction_id FROM interaction_connections WHERE tenant_id = ? AND connection_id IN (?))", q.TenantID(), bun.List(who)).
		Order("id").Scan(ctx)
	if err != nil {
		return err
	}
	if len(out.Notes) > 0 {
		if err := timeline.FillNotes(ctx, q, out.Notes); err != nil {
			return err
		}
	}
	if len(out.Interactions) > 0 {
		return timeline.FillInteractions(ctx, q, out.Interactions)
	}
	return nil
}
