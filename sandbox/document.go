package sandbox

import "time"

// Format is the name of the format of a Document.
const Format = "kith-connections/1"

// Document is a network in the format of Kith's lossless JSON export (contacts.json), so that the
// backend imports the demo account as it imports any such file. Fields that an import computes are
// left out. Beyond what an export holds, groups and relationships have ids, which the demo account
// keeps. Partial dates are "YYYY", "YYYY-MM", "YYYY-MM-DD" or "--MM-DD". Times are UTC; a zero time
// is left out.
type Document struct {
	Format       string        `json:"format"`
	Connections  []Connection  `json:"people"`
	Notes        []Note        `json:"notes"`
	Interactions []Interaction `json:"interactions"` // oldest first
	Reminders    []Reminder    `json:"reminders"`
	Groups       []Group       `json:"groups"`
}

// Connection is a person in the network of the demo account.
type Connection struct {
	ID                string          `json:"id"` // con_…
	Name              string          `json:"name"`
	Nickname          string          `json:"nickname,omitempty"`
	Location          string          `json:"location,omitempty"`
	Bio               string          `json:"bio,omitempty"`
	Starred           bool            `json:"starred,omitempty"`
	MetOn             string          `json:"met_on"` // partial date
	MetHow            string          `json:"met_how,omitempty"`
	Source            string          `json:"source"`                       // "manual", "agent", "import" or "directory"
	CadenceDays       int             `json:"cadence_days,omitempty"`       // its own cadence
	SnoozedUntil      time.Time       `json:"snoozed_until,omitzero"`       // midnight, ahead of the day
	LastInteractionAt time.Time       `json:"last_interaction_at,omitzero"` // the latest OccurredAt of its interactions
	Handles           []Handle        `json:"handles,omitempty"`            // the first of a kind is the preferred one
	Positions         []Position      `json:"positions,omitempty"`          // the current one first
	ImportantDates    []ImportantDate `json:"important_dates,omitempty"`
	Tags              []string        `json:"tags,omitempty"`
	Groups            []string        `json:"groups,omitempty"` // names of groups
	Relationships     []Relationship  `json:"relationships,omitempty"`
	CreatedAt         time.Time       `json:"created_at"`
	UpdatedAt         time.Time       `json:"updated_at"`
}

// Handle is a way to reach a connection. Two connections may share one.
type Handle struct {
	Kind  string `json:"kind"`  // "email", "phone", "url" or "social"
	Value string `json:"value"` // as typed, not normalised
	Label string `json:"label"`
}

// Position is a connection's job at an organization. EndedOn is empty while it is current.
type Position struct {
	Organization string `json:"organization"`
	Title        string `json:"title"`
	StartedOn    string `json:"started_on"`         // partial date
	EndedOn      string `json:"ended_on,omitempty"` // partial date
	Current      bool   `json:"current,omitempty"`
}

// ImportantDate is a day of the year that matters to a connection, as a partial date.
type ImportantDate struct {
	Kind string `json:"kind"` // "birthday" or "anniversary"
	Date string `json:"date"`
}

// Relationship says what another connection is to this one: its manager, its sibling. In
// "introduced_by", the other person introduced the connection to the member.
type Relationship struct {
	ID           string `json:"id"` // rel_…
	ConnectionID string `json:"connection_id"`
	Type         string `json:"type"`
}

// Note is Markdown about one or more connections.
type Note struct {
	ID            string    `json:"id"` // not_…
	ConnectionIDs []string  `json:"connection_ids"`
	Body          string    `json:"body"`
	Pinned        bool      `json:"pinned,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
}

// Interaction is one contact with one or more connections.
type Interaction struct {
	ID              string    `json:"id"` // int_…
	ConnectionIDs   []string  `json:"connection_ids"`
	Kind            string    `json:"kind"` // "meeting", "call", "email", "message", "event", "intro" or "other"
	OccurredAt      time.Time `json:"occurred_at"`
	DurationMinutes int       `json:"duration_minutes,omitempty"`
	Summary         string    `json:"summary"`
	CreatedAt       time.Time `json:"created_at"` // the same as OccurredAt
}

// Reminder is something to do by a date.
type Reminder struct {
	ID           string `json:"id"`                      // rem_…
	ConnectionID string `json:"connection_id,omitempty"` // empty for a reminder without a connection
	Text         string `json:"text"`
	DueOn        string `json:"due_on"`     // YYYY-MM-DD
	Recurrence   string `json:"recurrence"` // "none", "weekly", "monthly", "quarterly" or "yearly"
	State        string `json:"state"`      // "open", "done" or "dismissed"
}

// Group is a circle of connections. Its cadence applies to connections without their own; with
// several groups the shortest applies.
type Group struct {
	ID          string `json:"id"` // grp_…
	Name        string `json:"name"`
	CadenceDays int    `json:"cadence_days,omitempty"`
}
