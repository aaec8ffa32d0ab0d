package history

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
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
	Organization = "organization"
	Reminder     = "reminder"
	Profile      = "profile"
	Settings     = "settings"
	Field        = "custom_field"
)

// KeepDeleted is how long a deleted person stays in the bin. Until then, undoing the
// deletion restores them.
const KeepDeleted = 30 * 24 * time.Hour

// Change is the record of one write, and its database row.
type Change struct {
	ID       string    `bun:",pk"`
	TenantID tenant.ID `bun:",pk"`
	// Number grows with each change of the member.
	Number int64
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
	finalAt, err := finalAt(ctx, tx, draft, effects)
	if err != nil {
		return "", err
	}
	row := Change{
		ID: id.New(id.Change), TenantID: tx.TenantID(), CredentialID: tx.Actor().CredentialID, CredentialName: tx.Actor().CredentialName,
		Tool: tx.Actor().Tool, Summary: text.Truncate(text.Line(draft.Summary), maxSummary), Effects: effects, FinalAt: finalAt,
		Undoes: draft.Undoes, ImportID: cmp.Or(draft.ImportID, tx.Actor().ImportID), CreatedAt: tx.Now(),
	}
	_, err = tx.NewInsert().Model(&row).Value("number", "(SELECT coalesce(max(number), 0) + 1 FROM changes WHERE tenant_id = ?)", row.TenantID).Exec(ctx)
	if err != nil {
		return "", fmt.Errorf("record change: %w", err)
	}
	if err := recordObjects(ctx, tx, row.ID, effects); err != nil {
		return "", err
	}
	return row.ID, call.Recorded(ctx, row.ID, func() (string, error) { return summaryFor(ctx, tx, &row) })
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
	// Before is the Number of the last change of the previous page; 0 for the first page. Last is
	// that of the last change that may be listed; 0 for no end.
	Before, Last int64
	// Limit is the largest number of changes to return, at least 1.
	Limit int
}

// ListChanges returns changes, the latest first.
func ListChanges(ctx context.Context, q db.Reader, query Query) ([]Change, error) {
	var rows []Change
	wanted := q.From(&rows).Order("number DESC").Limit(int64(query.Limit))
	if len(query.ObjectIDs) > 0 {
		wanted = wanted.Where("id IN (SELECT change_id FROM change_objects WHERE tenant_id = ? AND object_id IN (?) AND kind <> ?)",
			q.TenantID(), bun.List(query.ObjectIDs), kindAbout)
	}
	if query.ConnectionID != "" {
		wanted = wanted.Where("id IN (SELECT change_id FROM change_objects WHERE tenant_id = ? AND object_id = ?)", q.TenantID(), query.ConnectionID)
	}
	if query.CredentialID != "" {
		wanted = wanted.Where("credential_id = ?", query.CredentialID)
	}
	if query.Tool != "" {
		wanted = wanted.Where("tool = ?", query.Tool)
	}
	if query.Agent != "" {
		wanted = wanted.Where("(credential_id = ? OR lower(credential_name) = lower(?) OR ? AND credential_id = '' AND credential_name = '')",
			query.Agent, query.Agent, query.ByMember)
	}
	if len(query.IDs) > 0 {
		wanted = wanted.Where("id IN (?)", bun.List(query.IDs))
	}
	if query.InBin {
		wanted = wanted.Where(inBin)
	}
	if query.InForce {
		wanted = wanted.Where("undone_by IS NULL AND NOT final")
	}
	if query.ByAgents {
		wanted = wanted.Where("(credential_id <> '' OR credential_name <> '')")
	}
	if query.Lines {
		wanted = wanted.ExcludeColumn("effects")
	}
	err := query.within(q, wanted).Scan(ctx)
	return rows, err
}

// CountByCredential returns how many changes each credential made since a time.
func CountByCredential(ctx context.Context, q db.Reader, since time.Time) (map[string]int, error) {
	var rows []struct {
		CredentialID string
		Changes      int
	}
	err := Query{Since: since}.within(q, q.From((*Change)(nil))).Column("credential_id").ColumnExpr("count(*) AS changes").
		Where("credential_id <> ''").Group("credential_id").Scan(ctx, &rows)
	counts := map[string]int{}
	for _, r := range rows {
		counts[r.CredentialID] = r.Changes
	}
	return counts, err
}

// ListPage returns a page of changes, the latest first, and the Query.Before of the next page;
// 0 if there is none. A page of a filtered list may be short, because it examines at most
// maxScanned changes: the next page continues from there.
func ListPage(ctx context.Context, q db.Reader, query Query) (changes []Change, last int64, err error) {
	if query.Last, err = scanEnd(ctx, q, query); err != nil {
		return nil, 0, err
	}
	size := query.Limit
	query.Limit++ // one more shows whether there is a next page
	if changes, err = ListChanges(ctx, q, query); err != nil || len(changes) <= size {
		return changes, query.Last, err
	}
	return changes[:size], changes[size-1].Number, nil
}

// within limits a statement to the numbers and the times of a query.
func (query Query) within(q db.Reader, wanted *bun.SelectQuery) *bun.SelectQuery {
	if query.Before != 0 {
		wanted = wanted.Where("number < ?", query.Before)
	}
	if query.Last != 0 {
		wanted = wanted.Where("number >= ?", query.Last)
	}
	// The first change after a time bounds the numbers, so that an index finds the part of the list
	// that is wanted. The clocks of two processes differ by less than a day.
	const after = "(SELECT number FROM changes WHERE tenant_id = ? AND created_at >= ? ORDER BY created_at, number LIMIT 1)"
	if !query.Since.IsZero() {
		wanted = wanted.Where("number >= "+after, q.TenantID(), query.Since.Add(-skew)).Where("created_at >= ?", query.Since)
	}
	if !query.Until.IsZero() {
		wanted = wanted.Where("created_at < ?", query.Until).
			Where("number < coalesce("+after+", ?)", q.TenantID(), query.Until.Add(skew), int64(math.MaxInt64))
	}
	return wanted
}

const skew = 24 * time.Hour

// maxScanned is how many changes are examined for one page of a filtered list.
const maxScanned = 5_000

// scanEnd returns the number of the last change to examine for a page; 0 if there is no limit,
// because no change is left out or because an index finds those of a person.
func scanEnd(ctx context.Context, q db.Reader, query Query) (int64, error) {
	if query.ConnectionID != "" || query.CredentialID == "" && query.Tool == "" && query.Agent == "" {
		return 0, nil
	}
	var end int64
	err := query.within(q, q.From((*Change)(nil)).Column("number")).Order("number DESC").Limit(1).Offset(maxScanned-1).Scan(ctx, &end)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return end, err
}

// errDryRun rolls back the transaction of a dry run.
var errDryRun = errors.New("dry run")

// UndoChange undoes a change as the member, on a page. With dryRun it returns what the
// undo would do, and writes nothing.
func UndoChange(ctx context.Context, t *db.Tenant, kinds Kinds, page, id string, dryRun bool) (out Undone, err error) {
	if dryRun {
		c, err := GetChange(ctx, t, id)
		if err != nil {
			return out, err
		}
		if c.large() {
			err = t.Preview(ctx, func(ctx context.Context, tx *db.Tx) error {
				out, err = Undo(ctx, tx, kinds, id, true)
				return err
			})
			return out, err
		}
	}
	err = t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) error {
		if out, err = Undo(ctx, tx, kinds, id, dryRun); err == nil && dryRun {
			err = errDryRun
		}
		return err
	})
	if errors.Is(err, errDryRun) {
		err = nil
	}
	return out, err
}

// MaxUndo is how many changes can be undone at once.
const MaxUndo = 100

// UndoneChange is what the undo of one of several changes did, or would do.
type UndoneChange struct {
	Change

	Undone

	// Never is true for a change that can no longer be undone.
	Never bool
}

// FirstUndoable returns as many of the first changes as can be undone at once: at most MaxUndo, which
// touch at most MaxEffects objects together.
func FirstUndoable(changes []Change) []Change {
	objects := 0
	for i, c := range changes[:min(len(changes), MaxUndo)] {
		if objects += len(c.Effects); objects > MaxEffects && i > 0 {
			return changes[:i]
		}
	}
	return changes[:min(len(changes), MaxUndo)]
}

// UndoChanges undoes several changes as the member, on a page. It begins with the latest, because a
// later change may conflict with an earlier one. Each change has its own transaction: it is undone as
// a whole, or has conflicts and stays. An error ends UndoChanges; what was undone before stays undone.
// Ids of no change are skipped. With dryRun, UndoChanges writes nothing and returns what it would do.
// It fails with fault.Invalid for more changes than FirstUndoable returns.
func UndoChanges(ctx context.Context, t *db.Tenant, kinds Kinds, page string, ids []string, dryRun bool) ([]UndoneChange, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if len(ids) > MaxUndo {
		return nil, fault.New(fault.Invalid, "at most %d changes can be undone at once", MaxUndo)
	}
	changes, err := ListChanges(ctx, t, Query{IDs: ids, Limit: MaxUndo})
	if err != nil {
		return nil, err
	}
	if len(FirstUndoable(changes)) < len(changes) {
		return nil, fault.New(fault.Invalid, "these changes touch more than %d objects together: undo fewer at once", MaxEffects)
	}
	out, objects := make([]UndoneChange, len(changes)), 0
	for i, c := range changes {
		objects += len(c.Effects)
		out[i] = UndoneChange{Change: c, Never: c.Final || len(c.Effects) == 0}
	}
	each := func(ctx context.Context, undo func(ctx context.Context, c *UndoneChange) (Undone, error)) error {
		for i := range out {
			if c := &out[i]; !c.Never {
				if c.Undone, err = undo(ctx, c); err != nil {
					return err
				}
			}
		}
		return nil
	}
	switch {
	case !dryRun:
		err = each(ctx, func(ctx context.Context, c *UndoneChange) (Undone, error) {
			return UndoChange(ctx, t, kinds, page, c.ID, false)
		})
	case objects > maxTried:
		err = t.Preview(ctx, func(ctx context.Context, tx *db.Tx) error {
			u := undo{q: tx, restorers: kinds.in(tx), compares: true}
			return each(ctx, func(ctx context.Context, c *UndoneChange) (Undone, error) { return u.whole(ctx, tx, &c.Change, true) })
		})
	default:
		err = t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) error {
			err := each(ctx, func(ctx context.Context, c *UndoneChange) (Undone, error) { return Undo(ctx, tx, kinds, c.ID, false) })
			return cmp.Or(err, errDryRun)
		})
		if errors.Is(err, errDryRun) {
			err = nil
		}
	}
	return out, err
}

// GetChange returns a change, or fault.NotFound.
func GetChange(ctx context.Context, q db.Reader, changeID string) (*Change, error) {
	c := &Change{}
	err := q.From(c).Where("id = ?", changeID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "there is no change %s; list_changes returns ids", changeID)
	}
	return c, err
}

// SetUndoneBy records that a change was undone by another one, or that it is in force
// again when by is empty. A deletion that is in force again stays in the bin as long as a
// new one.
func SetUndoneBy(ctx context.Context, tx *db.Tx, changeID, by string) error {
	_, err := tx.NewRaw(`UPDATE changes SET undone_by = ?, final_at = CASE WHEN final_at IS NULL THEN final_at ELSE ? END
WHERE tenant_id = ? AND id = ?`,
		sql.NullString{String: by, Valid: by != ""}, tx.Now().Add(KeepDeleted), tx.TenantID(), changeID).Exec(ctx)
	return err
}

// Blocking reports whether a later change of an object may block the undo of an older
// change, so that undoing the later one first may help. The later change must be in
// force and undoable, and must have changed one of the fields, or created or deleted the
// object. Without fields, any change of the object counts.
//
// An undo of something newer than the older change does not count: the two cancel each
// other out, and undoing the undo would only put the other change in force again. undone is
// the number of the change that the later one undid, 0 for none.
func (c *Change) Blocking(older, undone int64, object string, fields []string) bool {
	if c.Number <= older || !c.Undoable() || undone > older {
		return false
	}
	return slices.ContainsFunc(c.Objects(), func(o Object) bool {
		return o.ID == object && (len(fields) == 0 || o.Action != ActionUpdated || meet(o.Fields, fields))
	})
}

// meet reports whether two lists of fields overlap.
func meet(changed, others []string) bool {
	return slices.ContainsFunc(changed, func(name string) bool { return slices.Contains(others, name) })
}
