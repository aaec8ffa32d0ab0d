package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/cardfile"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/text"
)

// PeopleFilter says whom to write out; filters that are set must all hold.
type PeopleFilter struct {
	IDs          []string
	GroupID, Tag string
	// After is the last id of the page before, Limit how many people to return.
	After string
	Limit int
	// Timeline adds the notes and interactions; then a page ends early where these
	// would grow beyond MaxTimeline characters.
	Timeline bool
	// Archived adds archived people, but not those who were merged into others.
	Archived bool
}

// MaxTimeline bounds the notes and interactions of a page, in characters.
const MaxTimeline = 2_000_000

// ListPeople returns a page of people with all that is on file about them, in the
// order of their ids, and whether there are more. With Timeline, their reminders and
// groups come too, and unless people are chosen by ids, group or tag, the first page
// holds all groups and the reminders about nobody. An id of a person that is not on
// file is fault.NotFound; a group or tag that is not has nobody. The number of
// statements is fixed.
func (t *Tenant) ListPeople(ctx context.Context, f PeopleFilter) (page cardfile.People, more bool, err error) {
	err = t.snapshot(ctx, func(ctx context.Context, q scope) error {
		who, err := q.pageOfPeople(ctx, f)
		if err != nil {
			return err
		}
		if more = len(who) > f.Limit; more {
			who = who[:f.Limit]
		}
		if f.Timeline && len(who) > 0 {
			fit, err := q.fitting(ctx, who)
			if err != nil {
				return err
			}
			more = more || fit < len(who)
			who = who[:fit]
		}
		if page, err = q.wholePeople(ctx, who, f); err != nil || !f.Timeline {
			return err
		}
		return q.fillArrangements(ctx, who, f, &page)
	})
	return page, more, err
}

// ExportPeople hands everybody to each, some at a time, as ListPeople has them: with
// timeline all that there is, archived people too; what belongs to people on several
// pages comes with each. Without it, archived people are left out. Like Export, it
// holds no transaction while each works.
func (t *Tenant) ExportPeople(ctx context.Context, withTimeline bool, each func(page cardfile.People) error) error {
	f := PeopleFilter{Limit: exportPage, Timeline: withTimeline, Archived: withTimeline}
	for {
		page, more, err := t.ListPeople(ctx, f)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if err := each(page); err != nil {
			return err
		}
		if !more {
			return nil
		}
		f.After = page.People[len(page.People)-1].ID
	}
}

// pageOfPeople returns the ids of a page, and one more if there is a further one.
func (q scope) pageOfPeople(ctx context.Context, f PeopleFilter) ([]string, error) {
	query := q.from((*connection.Connection)(nil)).Column("id").Where(liveOr(f.Archived)).Where("id > ?", f.After).Order("id").Limit(int64(f.Limit) + 1)
	if len(f.IDs) > 0 {
		if err := q.allOnFile(ctx, f.IDs); err != nil {
			return nil, err
		}
		query = query.Where("id IN (?)", bun.List(f.IDs))
	}
	if f.GroupID != "" {
		query = query.Where("id IN (SELECT connection_id FROM group_connections WHERE tenant_id = ? AND group_id = ?)", q.id, f.GroupID)
	}
	if f.Tag != "" {
		query = query.Where("id IN (SELECT l.connection_id FROM connection_tags l JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id WHERE l.tenant_id = ? AND t.folded_name = ?)",
			q.id, text.Fold(text.Clean(f.Tag)))
	}
	var who []string
	err := query.Scan(ctx, &who)
	return who, err
}

// allOnFile fails with fault.NotFound unless all of the people are on file.
func (q scope) allOnFile(ctx context.Context, who []string) error {
	var live []string
	err := q.db.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND id IN (?) AND archived_at IS NULL", q.id, bun.List(who)).Scan(ctx, &live)
	if err != nil {
		return err
	}
	on := make(map[string]bool, len(live))
	for _, id := range live {
		on[id] = true
	}
	for _, id := range who {
		if !on[id] {
			return noConnection(id)
		}
	}
	return nil
}

// fitting returns how many of the people, one at least, have notes and
// interactions that fit on one page.
func (q scope) fitting(ctx context.Context, who []string) (int, error) {
	const around = 400 // what an entry takes beside its text
	var rows []struct {
		ConnectionID string
		Size         int
	}
	err := q.db.NewRaw(`SELECT connection_id, sum(size) AS size FROM (
SELECT l.connection_id, length(n.body) + ?2 AS size FROM note_connections l
JOIN notes n ON n.tenant_id = l.tenant_id AND n.id = l.note_id WHERE l.tenant_id = ?0 AND l.connection_id IN (?1)
UNION ALL SELECT l.connection_id, length(i.summary) + ?2 FROM interaction_connections l
JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id WHERE l.tenant_id = ?0 AND l.connection_id IN (?1)
) AS e GROUP BY connection_id`, q.id, bun.List(who), around).Scan(ctx, &rows)
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

// wholePeople reads people with all that is on file about them, in the order of
// their ids.
func (q scope) wholePeople(ctx context.Context, who []string, f PeopleFilter) (cardfile.People, error) {
	out := cardfile.People{Archived: f.Archived}
	var people []connection.Connection
	if len(who) > 0 {
		if err := q.from(&people).Where("id IN (?)", bun.List(who)).Where(liveOr(f.Archived)).Order("id").Scan(ctx); err != nil {
			return out, err
		}
	}
	if len(people) == 0 {
		return out, nil
	}
	if err := q.fillConnections(ctx, people); err != nil {
		return out, err
	}
	at := make(map[string]*cardfile.Person, len(people))
	out.People = make([]cardfile.Person, len(people))
	for i, c := range people {
		out.People[i].Connection = c
		at[c.ID] = &out.People[i]
	}
	if err := q.fillRelations(ctx, who, f.Archived, at); err != nil {
		return out, err
	}
	if !f.Timeline {
		return out, nil
	}
	return out, q.fillTimeline(ctx, who, &out)
}

// liveOr is the condition for connections to be exported.
func liveOr(archived bool) string {
	if archived {
		return "merged_into IS NULL"
	}
	return "archived_at IS NULL"
}

// fillArrangements adds reminders and groups.
func (q scope) fillArrangements(ctx context.Context, who []string, f PeopleFilter, out *cardfile.People) error {
	whole := f.After == "" && len(f.IDs) == 0 && f.GroupID == "" && f.Tag == ""
	about, in := "connection_id IN (?)", "id IN (SELECT group_id FROM group_connections WHERE tenant_id = ? AND connection_id IN (?))"
	if whole {
		about, in = "connection_id IS NULL OR "+about, "tenant_id = ? OR id IN (?)"
	}
	if err := q.from(&out.Reminders).Where(about, bun.List(who)).Order("id").Scan(ctx); err != nil {
		return err
	}
	return q.from(&out.Groups).Where(in, q.id, bun.List(who)).Order("id").Scan(ctx)
}

// fillRelations adds what others are to the people: those who are not archived, or
// with archived all.
func (q scope) fillRelations(ctx context.Context, who []string, archived bool, at map[string]*cardfile.Person) error {
	var rows []struct {
		connection.Relationship

		FromName, ToName string
	}
	err := q.db.NewRaw(`SELECT r.from_id, r.to_id, r.type, f.name AS from_name, t.name AS to_name FROM relationships r
JOIN connections f ON f.tenant_id = r.tenant_id AND f.id = r.from_id AND (? OR f.archived_at IS NULL)
JOIN connections t ON t.tenant_id = r.tenant_id AND t.id = r.to_id AND (? OR t.archived_at IS NULL)
WHERE r.tenant_id = ? AND (r.from_id IN (?) OR r.to_id IN (?)) ORDER BY r.id`, archived, archived, q.id, bun.List(who), bun.List(who)).Scan(ctx, &rows)
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

// fillTimeline adds the notes and interactions that are about any of the people.
func (q scope) fillTimeline(ctx context.Context, who []string, out *cardfile.People) error {
	err := q.from(&out.Notes).Where("id IN (SELECT note_id FROM note_connections WHERE tenant_id = ? AND connection_id IN (?))", q.id, bun.List(who)).
		Order("id").Scan(ctx)
	if err != nil {
		return err
	}
	err = q.from(&out.Interactions).
		Where("id IN (SELECT interaction_id FROM interaction_connections WHERE tenant_id = ? AND connection_id IN (?))", q.id, bun.List(who)).
		Order("id").Scan(ctx)
	if err != nil {
		return err
	}
	if len(out.Notes) > 0 {
		if err := q.fillNotes(ctx, out.Notes); err != nil {
			return err
		}
	}
	if len(out.Interactions) > 0 {
		return q.fillInteractions(ctx, out.Interactions)
	}
	return nil
}
