package history

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// The kinds of objects, as list_changes names them.
const (
	Connection   = "connection"
	Relationship = "relationship"
	Note         = "note"
	Interaction  = "interaction"
	Group        = "group"
	Membership   = "membership"
	Reminder     = "reminder"
	Profile      = "profile"
)

// KeepDeleted is how long a deleted person stays in the bin, where undoing the
// deletion brings them back.
const KeepDeleted = 30 * 24 * time.Hour

// Change is the record of one write, and the row that holds it.
type Change struct {
	ID       string    `bun:",pk"`
	TenantID tenant.ID `bun:",pk"`
	// CredentialID and CredentialName say on whose behalf an agent wrote; empty
	// when the member did so on a page.
	CredentialID   string
	CredentialName string
	// Tool is the name of the tool, or of the page, that wrote.
	Tool string
	// Summary says in one line what was done.
	Summary string
	// Effects are what the write did, in its order.
	Effects []Effect `bun:"type:text"`
	// Final changes cannot be undone: all that they touched was deleted for good.
	Final bool
	// FinalAt is when a deletion, or an undo that removed people, becomes final; zero
	// for all other changes.
	FinalAt time.Time `bun:",nullzero"`
	// ImportID is the import that the change is part of.
	ImportID string `bun:",nullzero"`
	// UndoneBy is the change that undid this one, Undoes the one that this undid, or
	// the import.
	UndoneBy  string `bun:",nullzero"`
	Undoes    string `bun:",nullzero"`
	CreatedAt time.Time
}

// Effect is what a write did to one object.
type Effect struct {
	// Kind and ID say which object it was.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Before and After are the object's states as JSON, null when it did not exist.
	// Forget sets both to null when the object is deleted for good.
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// Draft is what a write reports of itself; the rest of a Change is known to the
// transaction.
type Draft struct {
	// Summary says in one line what was done, such as "Added Ada Lovelace".
	Summary string
	// Effects are in the order in which they happened.
	Effects []Touch
	// FinalAt is when a deletion, or an undo that removed people, becomes final; zero
	// for all other changes.
	FinalAt time.Time
	// Undoes is the change, or the import, that this write undoes.
	Undoes string
	// ImportID is the import that the write is a step of.
	ImportID string
}

// Touch is an effect whose states are not encoded yet.
type Touch struct {
	Kind, ID string
	// Before and After are encoded as JSON; nil when the object was not there.
	Before, After any
}

// One is the draft of a write that touched one object.
func One(summary, kind, id string, before, after any) Draft {
	return Draft{Summary: summary, Effects: []Touch{{Kind: kind, ID: id, Before: before, After: after}}}
}

// Encode returns the draft's effects with their states as JSON.
func (d Draft) Encode() ([]Effect, error) {
	effects := make([]Effect, 0, len(d.Effects))
	for _, t := range d.Effects {
		before, err := json.Marshal(t.Before)
		if err != nil {
			return nil, fmt.Errorf("encode change: %w", err)
		}
		after, err := json.Marshal(t.After)
		if err != nil {
			return nil, fmt.Errorf("encode change: %w", err)
		}
		effects = append(effects, Effect{Kind: t.Kind, ID: t.ID, Before: before, After: after})
	}
	return effects, nil
}

// Query says which changes to list, the latest first.
type Query struct {
	// ObjectID and CredentialID narrow the list unless empty, IDs to these changes.
	ObjectID, CredentialID string
	IDs                    []string `json:",omitempty"`
	// ByAgents leaves out what the member did on a page.
	ByAgents bool `json:",omitempty"`
	// InBin leaves out all but deletions that can still be undone.
	InBin bool `json:",omitempty"`
	// Before is the last change of the page before; empty for the first page.
	Before string
	// Limit is the largest number of changes to return, at least 1.
	Limit int
}
