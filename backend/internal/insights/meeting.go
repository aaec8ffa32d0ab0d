package insights

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/cadence"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// Limits on what is read and shown for one person. Notes are read up to NoteText
// characters: the latest NotesRead of each person, and the pinned ones.
const (
	NotesRead  = 200
	NoteText   = 4000
	RecentRead = 6
	JointRead  = 10
	// DueDays is how many days ahead dates are listed.
	DueDays = 30
)

// MeetingRows are the rows of a briefing.
type MeetingRows struct {
	// People are the requested people, in the requested order, with their lists.
	People        []people.Connection
	Strengths     map[string]people.Strength
	Groups        []Membership
	Relationships []people.Relationship
	// Names are the names of all people in the relationships, by id.
	Names     map[string]string
	Reminders []Reminder
	// Next is the next meeting of the calendars with each of the people, by their ids.
	Next     map[string]*sources.Meeting
	Contacts []Contact
	Notes    []Note
	// Joint are interactions of two or more of the people, latest first.
	Joint []Joint
}

// Membership says that a person is in a group.
type Membership struct {
	ConnectionID, GroupID, Name string
	CadenceDays                 int
}

// Reminder is an open reminder.
type Reminder struct{ ID, ConnectionID, Text, DueOn, Recurrence string }

// Contact is an interaction as seen from one of its people.
type Contact struct {
	ID, ConnectionID, Kind, Summary string
	OccurredAt                      time.Time
	OccurredLocal                   string
	DurationMinutes                 int32
}

// Note is a note as seen from one of its people.
type Note struct {
	ID, ConnectionID, Body string
	Pinned                 bool
	NotedAt                time.Time
}

// Joint is an interaction and which of the people took part.
type Joint struct {
	ID, Kind      string
	OccurredAt    time.Time
	OccurredLocal string
	ConnectionIDs []string
}

// Briefing is the information for a meeting.
type Briefing struct {
	People []PersonBriefing
	// Common is what several of the people share.
	Common []Evidence
}

// PersonBriefing is the information about one person.
type PersonBriefing struct {
	Person                         Person
	Background, Recent, Notes, Due []Evidence
}

// Prepare writes the briefing. The member's time zone decides which day is today; topic
// may be empty.
func Prepare(rows MeetingRows, topic string, now time.Time, zone *time.Location) Briefing {
	var out Briefing
	for i := range rows.People {
		c := &rows.People[i]
		current := c.CurrentPosition()
		out.People = append(out.People, PersonBriefing{
			Person: Person{
				ID: c.ID, Name: c.Name, Organization: current.Organization, Title: current.Title,
				LastInteractionAt: c.LastInteractionAt, Strength: rows.Strengths[c.ID],
			},
			Background: rows.background(c),
			Recent:     rows.recent(c.ID, zone),
			Notes:      rows.notes(c.ID, topic, zone),
			Due:        rows.due(c, civil.Of(now, zone), zone),
		})
	}
	if len(rows.People) > 1 {
		out.Common = rows.common(zone)
	}
	return out
}

const (
	maxBackground = 20
	maxBio        = 300
)

// background says who the person is and how the member knows them.
func (r MeetingRows) background(c *people.Connection) []Evidence {
	var out []Evidence
	say := func(sources []string, format string, args ...any) {
		if len(out) < maxBackground {
			out = append(out, line(fmt.Sprintf(format, args...), sources...))
		}
	}
	own := []string{c.ID}
	switch {
	case c.MetOn != "" && c.MetHow != "":
		say(own, "Met %s: %s", c.MetOn, c.MetHow)
	case c.MetOn != "":
		say(own, "Met %s", c.MetOn)
	case c.MetHow != "":
		say(own, "Met: %s", c.MetHow)
	}
	if c.Nickname != "" {
		say(own, "Called %s", c.Nickname)
	}
	if c.Location != "" {
		say(own, "In %s", c.Location)
	}
	for _, p := range c.Positions {
		if h := (Held{Organization: p.Organization, Title: p.Title, StartedOn: p.StartedOn, EndedOn: p.EndedOn, Current: p.Current}); len(out) < 8 {
			say(own, "%s", h.sentence())
		}
	}
	if c.Bio != "" {
		say(own, "About: %s", text.Truncate(text.Line(c.Bio), maxBio))
	}
	if len(c.Tags) > 0 {
		say(own, "Tagged %s", namesOf(c.Tags))
	}
	for _, g := range r.Groups {
		if g.ConnectionID == c.ID {
			say([]string{g.GroupID, c.ID}, "In the group %s", g.Name)
		}
	}
	for _, rel := range r.Relationships {
		if rel.FromID != c.ID && rel.ToID != c.ID {
			continue
		}
		relation := rel.SeenFrom(c.ID)
		if name, live := r.Names[relation.ConnectionID]; live {
			say([]string{rel.ID, relation.ConnectionID}, "%s", tieSentence(name, relation.Type))
		}
	}
	return out
}

// recent returns the last contacts, latest first, in the order of the store.
func (r MeetingRows) recent(id string, zone *time.Location) []Evidence {
	var out []Evidence
	for _, i := range r.Contacts {
		if i.ConnectionID != id || len(out) == RecentRead {
			continue
		}
		said := civil.LocalDay(i.OccurredAt, i.OccurredLocal, zone) + " " + i.Kind
		if i.DurationMinutes > 0 {
			said += fmt.Sprintf(", %d min", i.DurationMinutes)
		}
		if i.Summary != "" {
			said += ": " + text.Truncate(text.Line(i.Summary), maxExcerpt)
		}
		out = append(out, line(said, i.ID))
	}
	return out
}

const maxCommon = 20

// common returns what at least two of the people have in common, relationships first.
func (r MeetingRows) common(zone *time.Location) []Evidence {
	name := map[string]string{}
	for _, c := range r.People {
		name[c.ID] = c.Name
	}
	var out []Evidence
	for _, rel := range r.Relationships {
		from, to := name[rel.FromID], name[rel.ToID]
		if from != "" && to != "" {
			out = append(out, line(between(from, to, rel.Type), rel.ID, rel.FromID, rel.ToID))
		}
	}
	for _, kind := range []string{KindOrganization, KindGroup, KindTag, KindPlace} {
		out = append(out, r.shared(kind)...)
	}
	for _, j := range r.Joint {
		var who []string
		for _, id := range j.ConnectionIDs {
			who = append(who, name[id])
		}
		out = append(out, line(civil.LocalDay(j.OccurredAt, j.OccurredLocal, zone)+" "+j.Kind+" with "+namesOf(who), append([]string{j.ID}, j.ConnectionIDs...)...))
	}
	return out[:min(len(out), maxCommon)]
}

// between says how two people are related.
func between(from, to, kind string) string {
	switch kind {
	case "introduced_by":
		return to + " introduced " + from + " to the member"
	case "colleague", "friend":
		return to + " is a " + kind + " of " + from
	case "other":
		return to + " is related to " + from
	}
	return to + " is the " + kind + " of " + from
}

// shared returns the traits of a kind that two or more of the people have; traits of the
// most people come first.
func (r MeetingRows) shared(kind string) []Evidence {
	type holders struct {
		trait    Trait
		ids, who []string
	}
	byKey := map[string]*holders{}
	for _, c := range r.People {
		for _, t := range traitsOf(&c, ofPerson(r.Groups, c.ID)) {
			if t.Kind != kind {
				continue
			}
			h := byKey[t.Key]
			if h == nil {
				h = &holders{trait: t}
				byKey[t.Key] = h
			}
			who := c.Name
			if kind == KindOrganization && !t.Current {
				who += " (before)"
			}
			h.ids, h.who = append(h.ids, c.ID), append(h.who, who)
		}
	}
	list := make([]*holders, 0, len(byKey))
	for _, h := range byKey {
		if len(h.ids) > 1 {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b *holders) int {
		return cmp.Or(cmp.Compare(len(b.ids), len(a.ids)), cmp.Compare(text.Fold(a.trait.Label), text.Fold(b.trait.Label)), cmp.Compare(a.trait.Key, b.trait.Key))
	})
	var out []Evidence
	for _, h := range list {
		sentence := map[string]string{
			KindOrganization: "At ", KindGroup: "In the group ", KindTag: "Tagged ", KindPlace: "In ",
		}[kind] + h.trait.Label + ": " + namesOf(h.who)
		out = append(out, line(sentence, append([]string{h.trait.source()}, h.ids...)...))
	}
	return out
}

const (
	maxDue       = 20
	maxReminders = 10
)

// due returns what is ahead: the next meeting, open reminders, dates within DueDays, and a
// keep-in-touch interval that has passed.
func (r MeetingRows) due(c *people.Connection, today time.Time, zone *time.Location) []Evidence {
	var out []Evidence
	if m := r.Next[c.ID]; m != nil {
		form := time.DateOnly + " 15:04"
		if m.AllDay {
			form = time.DateOnly
		}
		out = append(out, line("Meets you "+m.StartsAt.In(zone).Format(form)+": "+text.Truncate(m.Title, maxExcerpt), c.ID))
	}
	reminders := slices.Clone(r.Reminders)
	slices.SortFunc(reminders, func(a, b Reminder) int {
		return cmp.Or(cmp.Compare(a.DueOn, b.DueOn), cmp.Compare(a.ID, b.ID))
	})
	for _, rem := range reminders {
		if rem.ConnectionID != c.ID || len(out) == maxReminders {
			continue
		}
		said := "Due " + rem.DueOn
		if rem.DueOn < today.Format(time.DateOnly) {
			said = "Overdue since " + rem.DueOn
		}
		out = append(out, line(said+": "+rem.Text, rem.ID))
	}
	out = append(out, datesWithin(c, today)...)
	out = append(out, r.cadence(c, today, zone)...)
	return out[:min(len(out), maxDue)]
}

// datesWithin returns the dates that recur within DueDays, soonest first.
func datesWithin(c *people.Connection, today time.Time) []Evidence {
	type coming struct {
		on   time.Time
		date people.ImportantDate
	}
	var soon []coming
	for _, d := range c.Dates {
		if on, known := d.Next(today); known && civil.Between(today, on) <= DueDays {
			soon = append(soon, coming{on, d})
		}
	}
	slices.SortStableFunc(soon, func(a, b coming) int { return a.on.Compare(b.on) })
	var out []Evidence
	for _, s := range soon {
		out = append(out, line(dateSentence(s.date, s.on), s.date.ID, c.ID))
	}
	return out
}

// dateSentence describes a date: "Birthday on 2026-12-01, turning 40".
func dateSentence(d people.ImportantDate, on time.Time) string {
	what := map[string]string{people.DateBirthday: "Birthday", people.DateAnniversary: "Anniversary"}[d.Kind]
	said := cmp.Or(what, d.Label, "Date") + " on " + on.Format(time.DateOnly)
	years := on.Year() - d.Year
	switch {
	case d.Year == 0 || years <= 0:
		return said
	case d.Kind == people.DateBirthday:
		return said + fmt.Sprintf(", turning %d", years)
	}
	return said + fmt.Sprintf(", %d years", years)
}

// cadence reports an interval that has passed: due at its end, overdue at one and a half
// intervals, and neither while the person is snoozed.
func (r MeetingRows) cadence(c *people.Connection, today time.Time, zone *time.Location) []Evidence {
	due, counts := c.Cadence().NextDue(zone)
	if !counts || due.After(today) || c.Cadence().Snoozed(today) {
		return nil
	}
	days, from := c.Cadence().Days()
	state := "Due"
	if c.Cadence().Overdue(today, zone) {
		state = "Overdue"
	}
	last := "no contact is recorded"
	if on, any := c.LastContact(zone); any {
		last = "the last was on " + on.Format(time.DateOnly)
	}
	group := ""
	for _, g := range r.Groups {
		if from == cadence.Group && g.ConnectionID == c.ID && g.CadenceDays == days {
			group = g.GroupID
		}
	}
	return []Evidence{line(fmt.Sprintf("%s for a contact since %s: wanted every %d days, %s", state, due.Format(time.DateOnly), days, last), c.ID, group)}
}

// ofPerson returns the memberships of one person.
func ofPerson(groups []Membership, id string) []Membership {
	return slices.DeleteFunc(slices.Clone(groups), func(g Membership) bool { return g.ConnectionID != id })
}

const (
	maxNotes = 10
	// maxExcerpt is how much of a text is quoted, in characters.
	maxExcerpt = 400
	// The limit for each kind of note, so that no kind displaces the others.
	maxPinned, maxTopical, maxLatest = 3, 4, 3
)

// notes quotes the pinned notes, those about the topic, and the latest, each note once. A
// line is "day, kind: the note's own words".
func (r MeetingRows) notes(id, topic string, zone *time.Location) []Evidence {
	var own []Note
	for _, n := range r.Notes {
		if n.ConnectionID == id {
			own = append(own, n)
		}
	}
	slices.SortStableFunc(own, func(a, b Note) int {
		return cmp.Or(b.NotedAt.Compare(a.NotedAt), cmp.Compare(b.ID, a.ID))
	})
	words := topicWords(topic)
	hits := map[string]int{}
	for _, n := range own {
		hits[n.ID] = matches(n.Body, words)
	}
	topical := slices.Clone(own)
	slices.SortStableFunc(topical, func(a, b Note) int { return cmp.Compare(hits[b.ID], hits[a.ID]) })

	var out []Evidence
	quoted := map[string]bool{}
	quote := func(notes []Note, most int, wanted func(Note) bool) {
		for _, n := range notes {
			if most == 0 || len(out) == maxNotes {
				return
			}
			if quoted[n.ID] || !wanted(n) {
				continue
			}
			quoted[n.ID] = true
			most--
			said := n.NotedAt.In(zone).Format(time.DateOnly)
			if n.Pinned {
				said += ", pinned"
			}
			if hits[n.ID] > 0 {
				said += ", on the topic"
			}
			out = append(out, line(said+": "+excerpt(n.Body, words), n.ID))
		}
	}
	quote(own, maxPinned, func(n Note) bool { return n.Pinned })
	quote(topical, maxTopical, func(n Note) bool { return hits[n.ID] > 0 })
	quote(own, maxLatest, func(Note) bool { return true })
	return out
}

// topicWords returns the folded words to look for in a note. The shortest are left out
// when there are others.
func topicWords(topic string) []string {
	all := text.Words(topic)
	telling := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return utf8.RuneCountInString(w) < 3 })
	if len(telling) > 0 {
		all = telling
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// matches counts the words that are a prefix of a word in the text.
func matches(body string, words []string) int {
	if len(words) == 0 {
		return 0
	}
	n := 0
	parts := text.Words(body)
	for _, w := range words {
		if slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, w) }) {
			n++
		}
	}
	return n
}

// excerpt returns the text on one line: its beginning, or the part around the first word
// of the topic when that comes later.
func excerpt(body string, words []string) string {
	fields := strings.Fields(text.Clean(body))
	first := slices.IndexFunc(fields, func(f string) bool { return matches(f, words) > 0 })
	const before = 12 // words of context
	if first > before && utf8.RuneCountInString(strings.Join(fields[:first], " ")) > maxExcerpt/2 {
		return "…" + text.Truncate(strings.Join(fields[first-before:], " "), maxExcerpt)
	}
	return text.Truncate(strings.Join(fields, " "), maxExcerpt)
}

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
		if out.Next, err = sources.NextWith(ctx, q, now, who); err != nil {
			return err
		}
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
	return q.NewRaw(`SELECT r.id, l.connection_id, r.text, r.due_on, r.recurrence FROM reminder_connections l
JOIN reminders r ON r.tenant_id = l.tenant_id AND r.id = l.reminder_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) AND r.state = 'open' ORDER BY r.due_on, r.id LIMIT ?`,
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
	return q.NewRaw(`SELECT id, connection_id, body, pinned, noted_at FROM (
SELECT n.id, l.connection_id, substr(n.body, 1, ?) AS body, n.pinned, n.noted_at,
row_number() OVER (PARTITION BY l.connection_id ORDER BY n.pinned DESC, n.noted_at DESC, n.id DESC) AS place
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
