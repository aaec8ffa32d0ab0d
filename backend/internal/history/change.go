package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// The kinds of objects, with the names that list_changes uses.
const (
	Connection   = "connection"
	Relationship = "relationship"
	DistinctPair = "distinct_pair"
	Note         = "note"
	Interaction  = "interaction"
	Group        = "group"
	Membership   = "membership"
	Reminder     = "reminder"
	Profile      = "profile"
	Settings     = "settings"
)

// KeepDeleted is how long a deleted person stays in the bin. Until then, undoing the
// deletion restores them.
const KeepDeleted = 30 * 24 * time.Hour

// Change is the record of one write, and its database row.
type Change struct {
	ID       string    `bun:",pk"`
	TenantID tenant.ID `bun:",pk"`
	// CredentialID and CredentialName are the credential that an agent wrote with; empty
	// when the member wrote on a page. The operator has only a name.
	CredentialID   string
	CredentialName string
	// Tool is the name of the tool, or of the page, that wrote.
	Tool string
	// Summary says in one line what was done.
	Summary string
	// Effects are what the write did, in order.
	Effects []Effect `bun:"type:text"`
	// Final changes cannot be undone: everything that they touched was permanently deleted.
	Final bool
	// FinalAt is when a deletion, or an undo that removed people, becomes final; zero
	// for all other changes.
	FinalAt time.Time `bun:",nullzero"`
	// ImportID is the import that the change is part of.
	ImportID string `bun:",nullzero"`
	// UndoneBy is the change that undid this one. Undoes is the change, or the import,
	// that this one undid.
	UndoneBy  string `bun:",nullzero"`
	Undoes    string `bun:",nullzero"`
	CreatedAt time.Time
}

// Effect is what a write did to one object.
type Effect struct {
	// Kind and ID identify the object.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Version is the version of the form of both states: see StateVersion.
	Version int `json:"version"`
	// Before and After are the object's states as JSON, null when it did not exist.
	// Forget sets both to null when the object is permanently deleted.
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// Draft is what a write reports about itself; the transaction fills in the rest of the
// Change.
type Draft struct {
	// Summary says in one line what was done, such as "Added Ada Lovelace".
	Summary string
	// Effects are in the order in which they happened.
	Effects []EffectDraft
	// FinalAt is when a deletion, or an undo that removed people, becomes final; zero
	// for all other changes.
	FinalAt time.Time
	// Undoes is the change, or the import, that this write undoes.
	Undoes string
	// ImportID is the import that the write is a step of.
	ImportID string
}

// EffectDraft is an effect with states that are not encoded yet.
type EffectDraft struct {
	Kind, ID string
	// Before and After will be encoded as JSON; nil when the object did not exist.
	Before, After any
}

// One is the draft of a write that touched one object.
func One(summary, kind, id string, before, after any) Draft {
	return Draft{Summary: summary, Effects: []EffectDraft{{Kind: kind, ID: id, Before: before, After: after}}}
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
		effects = append(effects, Effect{Kind: t.Kind, ID: t.ID, Version: StateVersion, Before: before, After: after})
	}
	return effects, nil
}

// MaxEffects is how many objects one write may change. Larger writes would keep others waiting for
// longer than a few seconds.
const MaxEffects = 10_000

// CheckEffects fails with fault.Invalid if a write would change too many objects. inParts says how to
// do it in parts.
func CheckEffects(n int, inParts string) error {
	if n <= MaxEffects {
		return nil
	}
	return fault.New(fault.Invalid, "this would change %d objects at once, of at most %d: %s", n, MaxEffects, inParts)
}

// maxSummary bounds a change's summary, in characters.
const maxSummary = 300

// Record stores what was changed and by whom, and returns the change's id. It fails with
// fault.Invalid for more than MaxEffects objects.
func Record(ctx context.Context, tx *db.Tx, draft Draft) (string, error) {
	if err := CheckEffects(len(draft.Effects), "do it in parts"); err != nil {
		return "", err
	}
	effects, err := draft.Encode()
	if err != nil {
		return "", err
	}
	changeID, err := tx.NewID(id.Change)
	if err != nil {
		return "", err
	}
	finalAt, err := finalAt(ctx, tx, draft, effects)
	if err != nil {
		return "", err
	}
	row := Change{
		ID: changeID, TenantID: tx.TenantID(), CredentialID: tx.Actor().CredentialID, CredentialName: tx.Actor().CredentialName,
		Tool: tx.Actor().Tool, Summary: text.Truncate(text.Line(draft.Summary), maxSummary), Effects: effects, FinalAt: finalAt,
		Undoes: draft.Undoes, ImportID: draft.ImportID, CreatedAt: tx.Now(),
	}
	if _, err = tx.NewInsert().Model(&row).Exec(ctx); err != nil {
		return "", fmt.Errorf("record change: %w", err)
	}
	return changeID, recordObjects(ctx, tx, changeID, effects)
}

// changeObject is the row that says that a change is about an object.
type changeObject struct {
	TenantID tenant.ID `bun:",pk"`
	ObjectID string    `bun:",pk"`
	ChangeID string    `bun:",pk"`
	// Kind is the object's kind, or kindAbout for a person whom the state of another object names.
	Kind string `bun:",pk"`
}

const kindAbout = "about"

// recordObjects records which objects a change is about.
func recordObjects(ctx context.Context, tx *db.Tx, changeID string, effects []Effect) error {
	var rows []changeObject
	seen := map[changeObject]bool{}
	add := func(objectID, kind string) {
		row := changeObject{TenantID: tx.TenantID(), ObjectID: objectID, ChangeID: changeID, Kind: kind}
		if !seen[row] {
			seen[row] = true
			rows = append(rows, row)
		}
	}
	for _, e := range effects {
		add(e.ID, e.Kind)
		if e.Kind == Connection || e.Kind == Membership {
			continue // their states name no other person who is not in the change too
		}
		before, after, err := e.states()
		if err != nil {
			return err
		}
		for _, person := range append(before.people(), after.people()...) {
			add(person, kindAbout)
		}
	}
	const rowsOfStatement = 1_000
	for some := range slices.Chunk(rows, rowsOfStatement) {
		if err := tx.InsertAll(ctx, &some, len(some)); err != nil {
			return fmt.Errorf("record objects of change: %w", err)
		}
	}
	return nil
}

// finalAt returns when a new change becomes final. An undo that removes people is a
// deletion too, unless it puts a deletion that is in the bin in force again.
func finalAt(ctx context.Context, tx *db.Tx, draft Draft, effects []Effect) (time.Time, error) {
	removed := (&Change{Effects: effects}).Deleted(Connection)
	if !draft.FinalAt.IsZero() || draft.Undoes == "" || len(removed) == 0 {
		return draft.FinalAt, nil
	}
	for id := draft.Undoes; id != ""; {
		c, err := GetChange(ctx, tx, id)
		if fault.Is(err, fault.NotFound) { // its record is so old that it was deleted
			break
		}
		if err != nil || !c.FinalAt.IsZero() {
			return time.Time{}, err
		}
		id = c.Undoes
	}
	return tx.Now().Add(KeepDeleted), nil
}

// Deleted returns the ids of the objects of a kind that the change removed.
func (c *Change) Deleted(kind string) []string {
	var ids []string
	for _, e := range c.Effects {
		if e.Kind == kind && missing(e.After) && !missing(e.Before) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// missing reports whether a state says that the object did not exist.
func missing(state json.RawMessage) bool { return len(state) == 0 || string(state) == "null" }

// Query selects the changes to list, the latest first.
type Query struct {
	// CredentialID, Tool and IDs narrow the list unless they are empty.
	CredentialID, Tool string
	IDs                []string `json:",omitempty"`
	// ObjectIDs leaves out changes of other objects.
	ObjectIDs []string `json:",omitempty"`
	// ConnectionID leaves out changes that are not about a person, or about something of
	// theirs, such as a note.
	ConnectionID string
	// Agent is the name or the id of the credential that wrote. With ByMember, changes that
	// the member made on a page are listed as well.
	Agent    string
	ByMember bool `json:",omitempty"`
	// Since (inclusive) and Until (exclusive) are zero for no limit.
	Since, Until time.Time
	// ByAgents leaves out changes that the member made on a page.
	ByAgents bool `json:",omitempty"`
	// Lines reads changes without their effects, which may be large. They cannot be undone by
	// what was read.
	Lines bool `json:",omitempty"`
	// InForce leaves out changes that were undone, and those that can no longer be.
	InForce bool `json:",omitempty"`
	// InBin leaves out all but deletions that can still be undone.
	InBin bool `json:",omitempty"`
	// Before is the last change of the previous page; empty for the first page. Last is the
	// last change that may be listed; empty for no end.
	Before, Last string
	// Limit is the largest number of changes to return, at least 1.
	Limit int
}
