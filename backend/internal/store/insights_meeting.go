package store

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/insight"
)

// maxReminders bounds the open reminders of a briefing.
const maxReminders = 100

// LoadMeeting reads what a briefing about people rests on, as of now, with a fixed
// number of statements. Somebody who is not on file is fault.NotFound.
func (t *Tenant) LoadMeeting(ctx context.Context, who []string, now time.Time) (insight.MeetingRows, error) {
	var out insight.MeetingRows
	err := t.snapshot(ctx, func(ctx context.Context, q scope) error {
		for _, part := range []func(context.Context, *insight.MeetingRows, []string) error{
			q.meetingPeople, q.meetingTies, q.meetingReminders, q.meetingContacts, q.meetingNotes, q.meetingJoint,
		} {
			if err := part(ctx, &out, who); err != nil {
				return err
			}
		}
		var err error
		out.Strengths, err = q.strengths(ctx, who, now)
		return err
	})
	return out, err
}

// meetingPeople reads the people in the order asked, with their lists and groups.
func (q scope) meetingPeople(ctx context.Context, out *insight.MeetingRows, who []string) error {
	people, err := q.portrayed(ctx, who)
	if err != nil {
		return err
	}
	for _, wanted := range who {
		at := slices.IndexFunc(people, func(c connection.Connection) bool { return c.ID == wanted })
		if at < 0 {
			return noConnection(wanted)
		}
		out.People = append(out.People, people[at])
	}
	if out.Groups, err = q.groupsOf(ctx, who); err != nil {
		return err
	}
	return q.fillCadences(ctx, out.People)
}

// portrayed reads the live ones of the people with their lists, in the order of
// their ids.
func (q scope) portrayed(ctx context.Context, who []string) ([]connection.Connection, error) {
	var people []connection.Connection
	if len(who) == 0 {
		return nil, nil
	}
	if err := q.from(&people).Where("id IN (?)", bun.List(who)).Where("archived_at IS NULL").Order("id").Scan(ctx); err != nil {
		return nil, err
	}
	if len(people) == 0 {
		return nil, nil
	}
	return people, q.fillConnections(ctx, people)
}

func (q scope) groupsOf(ctx context.Context, who []string) ([]insight.Membership, error) {
	var rows []insight.Membership
	err := q.db.NewRaw(`SELECT l.connection_id, l.group_id, g.name, g.cadence_days FROM group_connections l
JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) ORDER BY g.folded_name, g.id, l.connection_id`, q.id, bun.List(who)).Scan(ctx, &rows)
	return rows, err
}

// fillCadences puts the shortest intervals of their groups in place.
func (q scope) fillCadences(ctx context.Context, people []connection.Connection) error {
	cadences, err := q.GroupCadences(ctx, ids(people, func(c connection.Connection) string { return c.ID }))
	for i := range people {
		people[i].GroupCadence = cadences[people[i].ID]
	}
	return err
}

// meetingTies reads the relationships of the people and whom they name.
func (q scope) meetingTies(ctx context.Context, out *insight.MeetingRows, who []string) error {
	err := q.from(&out.Relationships).Where("from_id IN (?) OR to_id IN (?)", bun.List(who), bun.List(who)).Order("id").Limit(500).Scan(ctx)
	if err != nil {
		return err
	}
	named := slices.Clone(who)
	for _, r := range out.Relationships {
		named = append(named, r.FromID, r.ToID)
	}
	var rows []struct{ ID, Name string }
	err = q.db.NewRaw("SELECT id, name FROM connections WHERE tenant_id = ? AND id IN (?) AND archived_at IS NULL", q.id, bun.List(named)).Scan(ctx, &rows)
	out.Names = make(map[string]string, len(rows))
	for _, row := range rows {
		out.Names[row.ID] = row.Name
	}
	return err
}

func (q scope) meetingReminders(ctx context.Context, out *insight.MeetingRows, who []string) error {
	return q.db.NewRaw(`SELECT id, connection_id, text, due_on, recurrence FROM reminders
WHERE tenant_id = ? AND connection_id IN (?) AND state = 'open' ORDER BY due_on, id LIMIT ?`,
		q.id, bun.List(who), maxReminders).Scan(ctx, &out.Reminders)
}

// meetingContacts reads the latest interactions of each of the people.
func (q scope) meetingContacts(ctx context.Context, out *insight.MeetingRows, who []string) error {
	return q.db.NewRaw(`SELECT id, connection_id, kind, summary, occurred_at, duration_minutes FROM (
SELECT i.id, l.connection_id, i.kind, i.summary, i.occurred_at, i.duration_minutes,
row_number() OVER (PARTITION BY l.connection_id ORDER BY i.occurred_at DESC, i.id DESC) AS place
FROM interaction_connections l JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id
WHERE l.tenant_id = ? AND l.connection_id IN (?)) AS r WHERE place <= ? ORDER BY connection_id, place`,
		q.id, bun.List(who), insight.RecentRead).Scan(ctx, &out.Contacts)
}

// meetingNotes reads the beginning of the latest notes of each of the people, and
// of those pinned.
func (q scope) meetingNotes(ctx context.Context, out *insight.MeetingRows, who []string) error {
	return q.db.NewRaw(`SELECT id, connection_id, body, pinned, created_at FROM (
SELECT n.id, l.connection_id, substr(n.body, 1, ?) AS body, n.pinned, n.created_at,
row_number() OVER (PARTITION BY l.connection_id ORDER BY n.pinned DESC, n.created_at DESC, n.id DESC) AS place
FROM note_connections l JOIN notes n ON n.tenant_id = l.tenant_id AND n.id = l.note_id
WHERE l.tenant_id = ? AND l.connection_id IN (?)) AS r WHERE place <= ? ORDER BY connection_id, place`,
		insight.NoteText, q.id, bun.List(who), insight.NotesRead).Scan(ctx, &out.Notes)
}

// meetingJoint reads the latest interactions of two or more of the people.
func (q scope) meetingJoint(ctx context.Context, out *insight.MeetingRows, who []string) error {
	if len(who) < 2 {
		return nil
	}
	var rows []struct {
		ID, Kind, ConnectionID string
		OccurredAt             time.Time
	}
	err := q.db.NewRaw(`SELECT i.id, i.kind, i.occurred_at, l.connection_id FROM (
SELECT i.id, i.kind, i.occurred_at FROM interactions i
JOIN (SELECT interaction_id FROM interaction_connections WHERE tenant_id = ? AND connection_id IN (?)
GROUP BY interaction_id HAVING count(*) > 1) AS j ON j.interaction_id = i.id
WHERE i.tenant_id = ? ORDER BY i.occurred_at DESC, i.id DESC LIMIT ?) AS i
JOIN interaction_connections l ON l.tenant_id = ? AND l.interaction_id = i.id AND l.connection_id IN (?)
ORDER BY i.occurred_at DESC, i.id DESC, l.connection_id`,
		q.id, bun.List(who), q.id, insight.JointRead, q.id, bun.List(who)).Scan(ctx, &rows)
	for _, row := range rows {
		if n := len(out.Joint); n == 0 || out.Joint[n-1].ID != row.ID {
			out.Joint = append(out.Joint, insight.Joint{ID: row.ID, Kind: row.Kind, OccurredAt: row.OccurredAt})
		}
		last := &out.Joint[len(out.Joint)-1]
		last.ConnectionIDs = append(last.ConnectionIDs, row.ConnectionID)
	}
	return err
}
