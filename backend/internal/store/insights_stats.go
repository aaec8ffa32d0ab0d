package store

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/day"
	"github.com/kith-crm/kith/backend/internal/insight"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/strength"
)

// GetStats reads the network in figures, as of now; the zone decides what today
// is. The number of statements is fixed.
func (t *Tenant) GetStats(ctx context.Context, now time.Time, zone *time.Location) (*insight.Stats, error) {
	out := &insight.Stats{}
	err := t.snapshot(ctx, func(ctx context.Context, q scope) error {
		if err := q.totals(ctx, out, now); err != nil {
			return err
		}
		keeping, err := q.peopleDue(ctx, reminder.DueQuery{Today: day.Of(now, zone)})
		if err != nil {
			return err
		}
		out.Overdue = insight.CountOverdue(keeping, now, zone)
		if err := q.counts(ctx, out); err != nil {
			return err
		}
		return q.extremes(ctx, out, now)
	})
	return out, err
}

func (q scope) totals(ctx context.Context, out *insight.Stats, now time.Time) error {
	const day = 24 * time.Hour
	return q.db.NewRaw(`SELECT coalesce(sum(CASE WHEN archived_at IS NULL THEN 1 ELSE 0 END), 0) AS people,
coalesce(sum(CASE WHEN archived_at IS NULL THEN 0 ELSE 1 END), 0) AS archived,
coalesce(sum(CASE WHEN archived_at IS NULL AND last_interaction_at >= ?1 THEN 1 ELSE 0 END), 0) AS contacted30,
coalesce(sum(CASE WHEN archived_at IS NULL AND last_interaction_at >= ?2 THEN 1 ELSE 0 END), 0) AS contacted365,
coalesce(sum(CASE WHEN archived_at IS NULL AND last_interaction_at IS NULL THEN 1 ELSE 0 END), 0) AS never_contacted,
coalesce(sum(CASE WHEN archived_at IS NULL AND created_at >= ?1 THEN 1 ELSE 0 END), 0) AS added_last30,
(SELECT count(*) FROM notes WHERE tenant_id = ?0) AS notes, (SELECT count(*) FROM interactions WHERE tenant_id = ?0) AS interactions
FROM connections WHERE tenant_id = ?0`, q.id, now.Add(-30*day), now.Add(-365*day)).
		Scan(ctx, &out.People, &out.Archived, &out.Contacted30, &out.Contacted365, &out.NeverContacted, &out.AddedLast30, &out.Notes, &out.Interactions)
}

// counts reads the largest organisations, places, groups and tags.
func (q scope) counts(ctx context.Context, out *insight.Stats) error {
	const live = "JOIN connections c ON c.tenant_id = ?0 AND c.id = l.connection_id AND c.archived_at IS NULL "
	for _, of := range []struct {
		rows  *[]insight.Count
		query string
	}{
		{&out.Organizations, "SELECT o.name, o.id, count(DISTINCT c.id) AS people FROM positions l " + live +
			"JOIN organizations o ON o.tenant_id = l.tenant_id AND o.id = l.organization_id WHERE l.tenant_id = ?0 AND l.current GROUP BY o.name, o.id"},
		{&out.Places, "SELECT location AS name, location AS id, count(*) AS people FROM connections WHERE tenant_id = ?0 AND archived_at IS NULL AND location <> '' GROUP BY location"},
		{&out.Groups, "SELECT g.name, g.id, count(*) AS people FROM group_connections l " + live +
			"JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id WHERE l.tenant_id = ?0 GROUP BY g.name, g.id"},
		{&out.Tags, "SELECT t.name, t.id, count(*) AS people FROM connection_tags l " + live +
			"JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id WHERE l.tenant_id = ?0 GROUP BY t.name, t.id"},
	} {
		err := q.db.NewRaw("SELECT name, people FROM ("+of.query+") AS n ORDER BY people DESC, ?2, id LIMIT ?1",
			q.id, insight.Top, q.bytewise("name")).Scan(ctx, of.rows)
		if err != nil {
			return err
		}
	}
	return nil
}

// extremes reads whom the member is closest to, and whom they are losing. The
// closeness of the latter is that of the day of the last contact.
func (q scope) extremes(ctx context.Context, out *insight.Stats, now time.Time) error {
	ranked := func(where, by string, args ...any) ([]insight.Person, error) {
		var who []string
		err := q.db.NewRaw(`SELECT connection_id FROM (SELECT s.*, s.total / ? AS peak FROM (SELECT ? FROM interaction_connections l
JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id
JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id AND c.archived_at IS NULL
WHERE l.tenant_id = ? GROUP BY l.connection_id) AS s) AS r WHERE `+where+" ORDER BY "+by+" DESC, connection_id LIMIT ?",
			append([]any{q.decay("s.last_interaction_at", now), q.closeness(now), q.id}, append(args, insight.Top)...)...).Scan(ctx, &who)
		if err != nil {
			return nil, err
		}
		people, err := q.persons(ctx, who, now)
		list := make([]insight.Person, 0, len(who))
		for _, id := range who {
			list = append(list, people[id])
		}
		return list, err
	}
	var err error
	if out.Closest, err = ranked("total > 0", "total"); err != nil {
		return err
	}
	out.Fading, err = ranked("peak >= ? AND last_interaction_at < ?", "peak",
		strength.Sum(insight.FadingScore), now.Add(-insight.FadingAfter))
	return err
}
