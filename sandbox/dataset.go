package sandbox

import "time"

// Dataset is the whole demo account on one day. Every id that a row mentions belongs to a
// row of the same Dataset. Partial dates are text: "YYYY", "YYYY-MM" or "YYYY-MM-DD".
// Times are UTC; a zero time means "not set".
type Dataset struct {
	Day     time.Time // midnight UTC of the day it was built for
	Members []Member  // the demo account first, then the other public members

	// What the demo account's network consists of.
	Connections    []Connection
	Organizations  []Organization
	Positions      []Position
	Handles        []Handle
	Notes          []Note
	Interactions   []Interaction // oldest first
	Tags           []Tag
	ConnectionTags []ConnectionTag
	Groups         []Group
	GroupMembers   []GroupMember
	Reminders      []Reminder
	ImportantDates []ImportantDate
	Relationships  []Relationship

	// What was planted for tests and for visitors to find.
	Duplicates     []DuplicatePair
	InjectedNoteID string // the one note whose text tries to instruct the model
}

// Member is a person with an account. All but the first exist for the public directory
// only: they have no network.
type Member struct {
	ID        string // mem_…
	Username  string
	Email     string
	Timezone  string // IANA name
	Plan      string // "free" or "pro"
	Profile   Profile
	UpdatedAt time.Time
}

// Profile is what a member tells about themselves.
type Profile struct {
	Name         string
	Headline     string
	Bio          string
	LocationText string
	Country      string // ISO 3166-1 alpha-2
	Organization string
	Title        string
	Skills       []string
	Languages    []string // in English: "Portuguese"
	Links        []Link
	OpenTo       []string
	AvatarURL    string   // empty when there is none
	PublicFields []string // a subset of ProfileFields: what anyone may read
	Listed       bool     // shown in the member directory
	Public       bool     // has a public profile page
}

// Link is one link of a profile; the URL is https.
type Link struct{ Label, URL string }

// Connection is a person in the network of the demo account.
type Connection struct {
	ID                string // con_…
	Name              string
	GivenName         string
	FamilyName        string
	Nickname          string
	Bio               string
	Location          string
	Starred           bool
	MetOn             string // partial date
	MetHow            string
	Source            string    // "manual", "agent", "import" or "directory"
	CadenceDays       int       // own cadence; 0 when there is none
	SnoozedUntil      time.Time // midnight, ahead of the day
	LastInteractionAt time.Time // the latest OccurredAt of its interactions
	CreatedAt         time.Time
	UpdatedAt         time.Time
}

// Organization is where people work or worked.
type Organization struct{ ID, Name, Domain string } // org_…

// Position is a connection's place in an organization.
type Position struct {
	ID             string // pos_…
	ConnectionID   string
	OrganizationID string
	Title          string
	StartedOn      string // partial date
	EndedOn        string // partial date; empty while Current
	Current        bool
}

// Handle is a way to reach a connection. Two connections may share one.
type Handle struct {
	ID           string // hnd_…
	ConnectionID string
	Kind         string // "email", "phone", "url" or "social"
	Value        string // as typed, not normalised
	Label        string
	Primary      bool // at most one per connection and kind
}

// Note is Markdown about one or more connections.
type Note struct {
	ID            string // not_…
	ConnectionIDs []string
	Body          string
	Pinned        bool
	CreatedAt     time.Time
}

// Interaction is one contact with one or more connections.
type Interaction struct {
	ID              string // int_…
	Kind            string // "meeting", "call", "email", "message", "event", "intro" or "other"
	OccurredAt      time.Time
	DurationMinutes int // 0 where it has no meaning
	Summary         string
	ConnectionIDs   []string
}

// Tag is a label of the demo account.
type Tag struct{ ID, Name string } // tag_…

// ConnectionTag puts a tag on a connection.
type ConnectionTag struct{ ConnectionID, TagID string }

// Group is a circle of connections. Its cadence holds for those who have none of their
// own; with several groups the shortest counts.
type Group struct {
	ID          string // grp_…
	Name        string
	CadenceDays int // 0 when there is none
}

// GroupMember puts a connection into a group.
type GroupMember struct{ GroupID, ConnectionID string }

// Reminder is something to do by a date.
type Reminder struct {
	ID           string // rem_…
	Text         string
	DueOn        string // YYYY-MM-DD
	ConnectionID string // empty when it concerns nobody in particular
	Recurrence   string // "none", "weekly", "monthly", "quarterly" or "yearly"
	State        string // "open", "done" or "dismissed"
}

// ImportantDate is a day of the year that matters to a connection. 0 means unknown.
type ImportantDate struct {
	ID           string // dat_…
	ConnectionID string
	Kind         string // "birthday", "anniversary" or "other"
	Year         int
	Month        int
	Day          int
}

// Relationship says what To is to From: From's manager, From's sibling. In
// "introduced_by", To is the one through whom the member met From.
type Relationship struct {
	ID     string // rel_…
	FromID string
	ToID   string
	Type   string
}

// DuplicatePair is a planted pair that looks like one person kept twice.
type DuplicatePair struct {
	FirstID    string
	SecondID   string
	Reason     string // what the two share
	SamePerson bool   // false for the pair of namesakes
}
