package insights

import (
	"context"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/uptrace/bun"
)

// remindersRead limits the open reminders of a briefing.
const remindersRead = 100

// LoadMeeting reads the data for a briefing about people, as of now, with a fixed number
// of statements. It fails with fault.NotFound for a person who does not exist.
func LoadMeeting(ctx context.Context, t *db.Tenant, who []string, now time.Time) (MeetingRows, error) {
	var out MeetingRows
	err := t.Snapshot(ctx, func(ctx context.Context, q db.Reader) error {
		for _, part := range []func(context.Context, *MeetingRows, []string) error{
			func(ctx context.Context, a1 *MeetingRows, a2 []string) error { return meetingPeople(ctx, q, a1, a2) }, func(ctx context.Context, a1 *MeetingRows, a2 []string) error { return meetingTies(ctx, q, a1, a2) }, func(ctx context.Context, a1 *MeetingRows, a2 []string) error { return meetingReminders(ctx, q, a1, a2) }, func(ctx context.Context, a1 *MeetingRows, a2 []string) error { return meetingContacts(ctx, q, a1, a2) }, func(ctx context.Context, a1 *MeetingRows, a2 []string) error { return meetingNotes(ctx, q, a1, a2) }, func(ctx context.Context, a1 *MeetingRows, a2 []string) error { return meetingJoint(ctx, q, a1, a2) },
		} {
			if err := part(ctx, &out, who); err != nil {
				return err
			}
		}
		var err error
		out.Strengths, err = people.Strengths(ctx, q, who, now)
		return err
	})
	return out, err
}

// meetingPeople reads the people in the requested order, with their lists and groups.
func meetingPeople(ctx context.Context, q db.Reader, out *MeetingRows, who []string) error {
	persons, err := Portrayed(ctx, q, who)
	if err != nil {
		return err
	}
	for _, wanted := range who {
		at := slices.IndexFunc(persons, func(c people.Connection) bool { return c.ID == wanted })
		if at < 0 {
			return people.NoConnection(ctx, q, wanted)
		}
		out.People = append(out.People, persons[at])
	}
	if out.Groups, err = groupsOf(ctx, q, who); err != nil {
		return err
	}
	for i := range out.People {
		for _, g := range ofPerson(out.Groups, out.People[i].ID) {
			if shortest := &out.People[i].GroupCadence; g.CadenceDays > 0 && (*shortest == 0 || g.CadenceDays < *shortest) {
				*shortest = g.CadenceDays
			}
		}
	}
	return nil
}

// Portrayed reads the people who are not archived, with their lists, in the order of their
// ids.
func Portrayed(ctx context.Context, q db.Reader, who []string) ([]people.Connection, error) {
	var persons []people.Connection
	if len(who) == 0 {
		return nil, nil
	}
	if err := q.From(&persons).Where("id IN (?)", bun.List(who)).Where("archived_at IS NULL").Order("id").Scan(ctx); err != nil {
		return nil, err
	}
	if len(persons) == 0 {
		return nil, nil
	}
	return persons, people.FillConnections(ctx, q, persons)
}

func groupsOf(ctx context.Context, q db.Reader, who []string) ([]Membership, error) {
	var rows []Membership
	err := q.NewRaw(`SELECT l.connection_id, l.group_id, g.name, g.cadence_days FROM group_connections l
JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) ORDER BY g.folded_name, g.id, l.connection_id`, q.TenantID(), bun.List(who)).Scan(ctx, &rows)
	return rows, err
}

// meetingTies reads the relationships of the people, and the names of the other people in
// them.
func meetingTies(ctx context.Context, q db.Reader, out *MeetingRows, who []string) error {
	err := q.From(&out.Relationships).Where("from_id IN (?) OR to_id IN (?)", bun.List(who), bun.List(who)).Order("id").Limit(500).Scan(ctx)
	if err != nil || len(out.Relationships) == 0 {
		return err
	}
	named := slices.Clone(who)
	for _, r := range out.Relationships {
		named = append(named, r.FromID, r.ToID)
	}
	var rows []struct{ ID, Name string }
	err = q.NewRaw("SELECT id, name FROM connections WHERE tenant_id = ? AND id IN (?) AND archived_at IS NULL", q.TenantID(), bun.List(named)).Scan(ctx, &rows)
	out.Names = make(map[string]string, len(rows))
	for _, row := range rows {
		out.Names[row.ID] = row.Name
	}
	return err
}

func meetingReminders(ctx context.Context, q db.Reader, out *MeetingRows, who []string) error {
	return q.NewRaw(`SELECT id, connection_id, text, due_on, recurrence FROM reminders
WHERE tenant_id = ? AND connection_id IN (?) AND state = 'open' ORDER BY due_on, id LIMIT ?`,
		q.TenantID(), bun.List(who), remindersRead).Scan(ctx, &out.Reminders)
}

// meetingContacts reads the latest interactions of each of the people.
func meetingContacts(ctx context.Context, q db.Reader, out *MeetingRows, who []string) error {
	return q.NewRaw(`SELECT id, connection_id, kind, summary, occurred_at, occurred_local, duration_minutes FROM (
SELECT i.id, l.connection_id, i.kind, i.summary, i.occurred_at, i.occurred_local, i.duration_minutes,
row_number() OVER (PARTITION BY l.connection_id ORDER BY i.occurred_at DESC, i.id DESC) AS place
FROM interaction_connections l JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id
WHERE l.tenant_id = ? AND l.connection_id IN (?)) AS r WHERE place <= ? ORDER BY connection_id, place`,
		q.TenantID(), bun.List(who), RecentRead).Scan(ctx, &out.Contacts)
}

// meetingNotes reads the beginning of the latest notes, and of the pinned notes, of each
// of the people.
func meetingNotes(ctx context.Context, q db.Reader, out *MeetingRows, who []string) error {
	return q.NewRaw(`SELECT id, connection_id, body, pinned, created_at FROM (
SELECT n.id, l.connection_id, substr(n.body, 1, ?) AS body, n.pinned, n.created_at,
row_number() OVER (PARTITION BY l.connection_id ORDER BY n.pinned DESC, n.created_at DESC, n.id DESC) AS place
FROM note_connections l JOIN notes n ON n.tenant_id = l.tenant_id AND n.id = l.note_id
WHERE l.tenant_id = ? AND l.connection_id IN (?)) AS r WHERE place <= ? ORDER BY connection_id, place`,
		NoteText, q.TenantID(), bun.List(who), NotesRead).Scan(ctx, &out.Notes)
}

// meetingJoint reads the latest interactions of two or more of the people.
func meetingJoint(ctx context.Context, q db.Reader, out *MeetingRows, who []string) error {
	if len(who) < 2 {
		return nil
	}
	var rows []struct {
		ID, Kind, ConnectionID string
		OccurredAt             time.Time
		OccurredLocal          string
	}
	err := q.NewRaw(`SELECT i.id, i.kind, i.occurred_at, i.occurred_local, l.connection_id FROM (
SELECT i.id, i.kind, i.occurred_at, i.occurred_local FROM interactions i
JOIN (SELECT interaction_id FROM interaction_connections WHERE tenant_id = ? AND connection_id IN (?)
GROUP BY interaction_id HAVING count(*) > 1) AS j ON j.interaction_id = i.id
WHERE i.tenant_id = ? ORDER BY i.occurred_at DESC, i.id DESC LIMIT ?) AS i
JOIN interaction_connections l ON l.tenant_id = ? AND l.interaction_id = i.id AND l.connection_id IN (?)
ORDER BY i.occurred_at DESC, i.id DESC, l.connection_id`,
		q.TenantID(), bun.List(who), q.TenantID(), JointRead, q.TenantID(), bun.List(who)).Scan(ctx, &rows)
	for _, row := range rows {
		if n := len(out.Joint); n == 0 || out.Joint[n-1].ID != row.ID {
			out.Joint = append(out.Joint, Joint{ID: row.ID, Kind: row.Kind, OccurredAt: row.OccurredAt, OccurredLocal: row.OccurredLocal})
		}
		last := &out.Joint[len(out.Joint)-1]
		last.ConnectionIDs = append(last.ConnectionIDs, row.ConnectionID)
	}
	return err
}
