package source

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/people"
)

// Person is a person as a file tells of them, within the bounds of the contract.
type Person struct {
	// Key is the same each time that this person is read from this source: the UID
	// of a card, the id in our own files, the path of a LinkedIn profile. It is empty
	// when the file has nothing of the kind.
	Key string
	// Name is never empty. Where the file has none it is a guess, and a warning of
	// the record says so.
	Name, Nickname, Location, Bio string
	// MetOn is a partial date: YYYY, YYYY-MM, YYYY-MM-DD or empty.
	MetOn, MetHow string
	Starred       bool
	// CadenceDays is the keep-in-touch interval; 0 when there is none.
	CadenceDays int
	// Handles are in the order of the file, but the preferred one of a kind comes
	// first of its kind. No two of them are the same address.
	Handles   []Handle
	Positions []Position
	Dates     []people.DateDraft
	Tags      []string
	Groups    []string
	// Notes are texts that are too long for Bio.
	Notes     []string
	Relations []Relation
	// Archived, Source, SnoozedUntil and UpdatedAt are only in our own files.
	Archived          bool
	Source            string
	SnoozedUntil      time.Time
	LastInteractionAt time.Time
	CreatedAt         time.Time
	UpdatedAt         time.Time
}

// Handle is an address of a person.
type Handle struct {
	// Kind is one of the kinds of handles in package people.
	Kind, Value, Label string
}

// Position is a job, now or in the past. StartedOn and EndedOn are partial dates.
type Position struct {
	Organization, Title, StartedOn, EndedOn string
	Current                                 bool
}

// Relation is another person and what they are to this one. The file knows them
// by Key, by Name or by both.
type Relation struct {
	Key, Name string
	// ID is the id of the relationship; only in our own files, and there mostly empty.
	ID string `json:"-"`
	// Type is one of the relations in package people.
	Type string
}
