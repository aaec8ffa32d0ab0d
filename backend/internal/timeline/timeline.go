package timeline

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// KindNote is the kind of a timeline entry that is a note; the other kinds are those of
// interactions.
const KindNote = "note"

// Note is a remembered fact about one or more connections, and its database row.
type Note struct {
	TenantID  tenant.ID `bun:",pk" json:"-"`
	ID        string    `bun:",pk" json:"id"`
	Body      string    `json:"body"`
	Pinned    bool      `json:"pinned"`
	Version   int32     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	ConnectionIDs []string `bun:"-" json:"connection_ids"`
}

// Interaction is a contact that took place, and its database row.
type Interaction struct {
	TenantID   tenant.ID `bun:",pk" json:"-"`
	ID         string    `bun:",pk" json:"id"`
	Kind       string    `json:"kind"`
	OccurredAt time.Time `json:"occurred_at"`
	// OccurredLocal is OccurredAt as the caller gave it: a day (then OccurredAt is its noon), or a time with
	// its offset. It is empty for a time in UTC, which is shown in the member's zone. See civil.Local.
	OccurredLocal   string `json:"occurred_local"`
	DurationMinutes int32  `json:"duration_minutes"`
	Summary         string `json:"summary"`
	// ExternalKey is the caller's own key, unique within the tenant unless empty.
	ExternalKey string    `bun:",nullzero" json:"external_key"`
	CreatedAt   time.Time `json:"created_at"`

	ConnectionIDs []string `bun:"-" json:"connection_ids"`
}

// Entry is a note or an interaction on the timeline.
type Entry struct {
	ID string
	// Kind is KindNote or an interaction's kind.
	Kind            string
	OccurredAt      time.Time
	OccurredLocal   string // as of Interaction; empty for notes
	Text            string
	DurationMinutes int32
	Pinned          bool
	Participants    []Participant `bun:"-"`
}

// Participant is a connection that an entry is about.
type Participant struct{ ID, Name string }

// Cursor is the position of an entry in the order of the timeline.
type Cursor struct {
	OccurredAt time.Time
	ID         string
}

// Query says which part of the timeline to read.
type Query struct {
	// ConnectionID is empty for the whole network.
	ConnectionID string
	// Among are the people one of whom the entries must be about; nil for anyone.
	Among []string
	// Kinds is empty for all.
	Kinds []string
	// Since (inclusive) and Until (exclusive) are zero for no limit.
	Since, Until time.Time
	// After is the last entry of the page before; nil for the first page.
	After *Cursor
	// Limit is the largest number of entries to return, at least 1.
	Limit int
}
