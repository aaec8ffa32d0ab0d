package insights

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
)

// GetStats reads the statistics of the network, as of now; the time zone decides which day
// is today. The number of statements is fixed.
func GetStats(ctx context.Context, t *db.Tenant, now time.Time, zone *time.Location) (*Stats, error) {
	out := &Stats{}
	err := t.Snapshot(ctx, func(ctx context.Context, q db.Reader) error {
		if err := totals(ctx, q, out, now); err != nil {
			return err
		}
		keeping, err := reminders.PeopleDue(ctx, q, reminders.DueQuery{Today: civil.Of(now, zone)})
		if err != nil {
			return err
		}
		out.Overdue = countOverdue(keeping, now, zone)
		if err := counts(ctx, q, out); err != nil {
			return err
		}
		return extremes(ctx, q, out, now)
	})
	return out, err
}

func totals(ctx context.Context, q db.Reader, out *Stats, now time.Time) error {
	const day = 24 * time.Hour
	return q.NewRaw(`SELECT coalesce(sum(CASE WHEN archived_at IS NULL THEN 1 ELSE 0 END), 0) AS people,
coalesce(sum(CASE WHEN archived_at IS NULL THEN 0 ELSE 1 END), 0) AS archived,
coalesce(sum(CASE WHEN archived_at IS NULL AND last_interaction_at >= ?1 THEN 1 ELSE 0 END), 0) AS contacted30,
coalesce(sum(CASE WHEN archived_at IS NULL AND last_interaction_at >= ?2 THEN 1 ELSE 0 END), 0) AS contacted365,
coalesce(sum(CASE WHEN archived_at IS NULL AND last_interaction_at IS NULL THEN 1 ELSE 0 END), 0) AS never_contacted,
coalesce(sum(CASE WHEN archived_at IS NULL AND created_at >= ?1 THEN 1 ELSE 0 END), 0) AS added_last30,
(SELECT count(*) FROM notes WHERE tenant_id = ?0) AS notes, (SELECT count(*) FROM interactions WHERE tenant_id = ?0) AS interactions
FROM connections WHERE tenant_id = ?0`, q.TenantID(), now.Add(-30*day), now.Add(-365*day)).
		Scan(ctx, &out.People, &out.Archived, &out.Contacted30, &out.Contacted365, &out.NeverContacted, &out.AddedLast30, &out.Notes, &out.Interactions)
}

// unarchived excludes the few archived people, instead of looking up each person who is
// not archived.
const unarchived = " AND l.connection_id NOT IN (SELECT id FROM connections WHERE tenant_id = ?0 AND archived_at IS NOT NULL)"

// counts reads the largest organisations, places, groups and tags. It counts by id and
// adds the names afterwards.
func counts(ctx context.Context, q db.Reader, out *Stats) error {
	const of = "SELECT o.name, n.id, n.people FROM (SELECT l.%s AS id, count(%s) AS people FROM %s l WHERE l.tenant_id = ?0%s" + unarchived +
		" GROUP BY 1) AS n JOIN %s o ON o.tenant_id = ?0 AND o.id = n.id"
	for _, of := range []struct {
		rows  *[]Count
		query string
	}{
		{&out.Organizations, fmt.Sprintf(of, "organization_id", "DISTINCT l.connection_id", "positions", " AND l.current", "organizations")},
		{&out.Places, "SELECT location AS name, location AS id, count(*) AS people FROM connections WHERE tenant_id = ?0 AND archived_at IS NULL AND location <> '' GROUP BY location"},
		{&out.Groups, fmt.Sprintf(of, "group_id", "*", "group_connections", "", "groups")},
		{&out.Tags, fmt.Sprintf(of, "tag_id", "*", "connection_tags", "", "tags")},
	} {
		err := q.NewRaw("SELECT name, people FROM ("+of.query+") AS n ORDER BY people DESC, ?2, id LIMIT ?1",
			q.TenantID(), Top, db.Bytewise(q, "name")).Scan(ctx, of.rows)
		if err != nil {
			return err
		}
	}
	return nil
}

// extremes reads the people the member is closest to, and those with a fading tie. For the
// latter, the strength is that of the day of the last contact. Interactions are summed
// once for both: both databases materialise a named query that is used twice.
func extremes(ctx context.Context, q db.Reader, out *Stats, now time.Time) error {
	var rows []struct {
		ConnectionID string
		Fading       bool
		Score        float64
	}
	err := q.NewRaw(`WITH r AS (SELECT s.*, s.total / ?1 AS peak FROM (SELECT ?2 FROM interaction_connections l
JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id WHERE l.tenant_id = ?0`+unarchived+` GROUP BY l.connection_id) AS s)
SELECT * FROM (SELECT connection_id, FALSE AS fading, total AS score FROM r WHERE total > 0 ORDER BY total DESC, connection_id LIMIT ?3) AS closest
UNION ALL
SELECT * FROM (SELECT connection_id, TRUE, peak FROM r WHERE peak >= ?4 AND last_interaction_at < ?5 ORDER BY peak DESC, connection_id LIMIT ?3) AS fading
ORDER BY fading, score DESC, connection_id`,
		q.TenantID(), db.Halving(q, "s.last_interaction_at", now, people.HalfLife), people.Closeness(q, now), Top,
		people.Sum(FadingScore), now.Add(-FadingAfter)).Scan(ctx, &rows)
	if err != nil {
		return err
	}
	who := make([]string, len(rows))
	for i, row := range rows {
		who[i] = row.ConnectionID
	}
	people, err := persons(ctx, q, people.DistinctIDs(slices.Clone(who)), now)
	for _, row := range rows {
		list := &out.Closest
		if row.Fading {
			list = &out.Fading
		}
		*list = append(*list, people[row.ConnectionID])
	}
	return err
}
