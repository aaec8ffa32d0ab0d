package insights

import (
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
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
	Contacts  []Contact
	Notes     []Note
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
	CreatedAt              time.Time
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
