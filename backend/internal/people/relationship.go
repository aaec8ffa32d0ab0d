package people

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// Relationship says what one person is to another, and is its database row: ToID is
// FromID's Type. The inverse is implied and has no row.
type Relationship struct {
	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk" json:"id"`
	FromID   string    `json:"from_id"`
	ToID     string    `json:"to_id"`
	Type     string    `json:"type"`
	// Label is a word that says more of ToID than Type does, such as godmother, and InverseLabel one for FromID. Both have up to
	// 80 characters; empty for none.
	Label        string    `json:"label"`
	InverseLabel string    `json:"inverse_label"`
	CreatedAt    time.Time `json:"created_at"`
}

// What one person can be to another. Report and introduced are the inverses of manager and
// introduced_by, as child is of parent.
const (
	RelationSpouse       = "spouse"
	RelationParent       = "parent"
	RelationChild        = "child"
	RelationSibling      = "sibling"
	RelationColleague    = "colleague"
	RelationManager      = "manager"
	RelationReport       = "report"
	RelationIntroducedBy = "introduced_by"
	RelationIntroduced   = "introduced"
	RelationFriend       = "friend"
	RelationOther        = "other"
)

// Inverse returns the relation in the other direction: manager for report.
func Inverse(relation string) string {
	switch relation {
	case RelationParent:
		return RelationChild
	case RelationChild:
		return RelationParent
	case RelationManager:
		return RelationReport
	case RelationReport:
		return RelationManager
	case RelationIntroducedBy:
		return RelationIntroduced
	case RelationIntroduced:
		return RelationIntroducedBy
	default:
		return relation
	}
}

// Normal returns the form in which a relationship is stored, whichever direction the caller used.
// If the relationship is the same in both directions, such as friend, FromID is the lower of the two
// ids. Otherwise FromID is the person who has the parent, manager or introducer, and ToID is that
// parent, manager or introducer.
func (r Relationship) Normal() Relationship {
	inverse := Inverse(r.Type)
	swap := inverse == r.Type && r.FromID > r.ToID
	switch r.Type {
	case RelationChild, RelationReport, RelationIntroduced:
		swap = true
	}
	if swap {
		r.FromID, r.ToID, r.Type = r.ToID, r.FromID, inverse
		r.Label, r.InverseLabel = r.InverseLabel, r.Label
	}
	return r
}

// SeenFrom returns the relationship from the point of view of the person with the id.
func (r Relationship) SeenFrom(id string) Relation {
	if r.FromID == id {
		return Relation{ConnectionID: r.ToID, Type: r.Type, Label: r.Label, InverseLabel: r.InverseLabel}
	}
	return Relation{ConnectionID: r.FromID, Type: Inverse(r.Type), Label: r.InverseLabel, InverseLabel: r.Label}
}

// With returns the relationship with the labels of another one: those that it lacks and, with overwrite, all that the other has.
func (r Relationship) With(other Relationship, overwrite bool) Relationship {
	if r.Label == "" || overwrite && other.Label != "" {
		r.Label = other.Label
	}
	if r.InverseLabel == "" || overwrite && other.InverseLabel != "" {
		r.InverseLabel = other.InverseLabel
	}
	return r
}

// Link stores that a person is something to another one, in a word that ParseRelation reads, or removes it. The person takes the
// place of a name in Related that says the same. Link returns all relationships of the two from the point of view of fromID, and
// the id of the change, which is empty if nothing changed.
func Link(ctx context.Context, w *db.Tx, fromID, toID, word string, remove bool) ([]Relation, string, error) {
	if fromID == toID {
		return nil, "", fault.InvalidField("to_id", "must be another person than from_id")
	}
	from, err := live(ctx, w, fromID)
	if err != nil {
		return nil, "", err
	}
	to, err := live(ctx, w, toID)
	if err != nil {
		return nil, "", err
	}
	held, err := ListRelationshipsBetween(ctx, w, fromID, toID)
	if err != nil {
		return nil, "", err
	}
	told := Relation{Name: to.Name}
	told.Type, told.Label = ParseRelation(word)
	after := from.clone()
	if entry := after.dropRelated(told); entry != nil && !remove {
		told.Label = cmp.Or(told.Label, entry.Label)
	}
	wanted := Relationship{FromID: fromID, ToID: toID, Type: told.Type, Label: told.Label, CreatedAt: w.Now()}.Normal()
	at := slices.IndexFunc(held, func(r Relationship) bool { return r.FromID == wanted.FromID && r.Type == wanted.Type })
	draft := history.Draft{Summary: "Linked " + from.Name + " and " + to.Name}
	switch {
	case remove && at >= 0:
		gone := held[at]
		held = slices.Delete(held, at, at+1)
		err = DeleteRelationship(ctx, w, gone.ID)
		draft = history.One("Unlinked "+from.Name+" and "+to.Name, history.Relationship, gone.ID, gone, nil)
	case !remove && at < 0:
		err = InsertRelationship(ctx, w, &wanted)
		held = append(held, wanted)
		draft.Effects = []history.EffectDraft{{Kind: history.Relationship, ID: wanted.ID, After: wanted}}
	case !remove:
		if labelled := held[at].With(wanted, true); labelled != held[at] {
			err = ReplaceRelationship(ctx, w, labelled)
			draft.Effects = []history.EffectDraft{{Kind: history.Relationship, ID: labelled.ID, Before: held[at], After: labelled}}
			held[at] = labelled
		}
	}
	if err == nil && !remove && len(after.Related) < len(from.Related) {
		var effect history.EffectDraft
		effect, err = revise(ctx, w, from, after)
		draft.Effects = append(draft.Effects, effect)
	}
	if err != nil || len(draft.Effects) == 0 {
		return relationsOf(held, from, to), "", err
	}
	changeID, err := history.Record(ctx, w, draft)
	return relationsOf(held, from, to), changeID, err
}

func relationsOf(held []Relationship, from, to *Connection) []Relation {
	out := make([]Relation, len(held))
	for i, r := range held {
		out[i] = r.SeenFrom(from.ID)
		out[i].Name = to.Name
	}
	return out
}

// live returns a connection that is not archived. An archived one fails with
// fault.Conflict.
func live(ctx context.Context, r db.Reader, id string) (*Connection, error) {
	c, err := GetConnection(ctx, r, id)
	if err != nil {
		return nil, err
	}
	return c, c.checkLive(ctx, r)
}

// checkLive fails with fault.Conflict when a connection is archived or was merged into
// another one. The error names the one that stayed in the end.
func (c *Connection) checkLive(ctx context.Context, r db.Reader) error {
	switch {
	case c.MergedInto != "":
		stayed, err := survivor(ctx, r, c.MergedInto)
		if err != nil {
			return err
		}
		return fault.New(fault.Conflict, "%s was merged into %s: use that one", c.ID, stayed)
	case !c.ArchivedAt.IsZero():
		return fault.New(fault.Conflict, "%s is archived: bring them back first, with archive_connections and archived false", c.ID)
	}
	return nil
}

// ListRelations returns the relationships of connections by their ids, each as seen from
// that connection, up to limit for each. It takes one statement.
func ListRelations(ctx context.Context, q db.Reader, ids []string, limit int) (map[string][]Relation, error) {
	out := make(map[string][]Relation, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var rows []struct {
		Relationship

		SeenBy, Name string
	}
	// An OR in place of the union makes SQLite read all relationships when it has no
	// statistics.
	err := q.NewRaw(`SELECT from_id, to_id, type, label, inverse_label, seen_by, name FROM (
SELECT r.from_id, r.to_id, r.type, r.label, r.inverse_label, r.seen_by, c.name,
row_number() OVER (PARTITION BY r.seen_by ORDER BY c.folded_name, c.id, r.type) AS place FROM (
SELECT from_id, to_id, type, label, inverse_label, from_id AS seen_by, to_id AS other FROM relationships WHERE tenant_id = ? AND from_id IN (?)
UNION ALL SELECT from_id, to_id, type, label, inverse_label, to_id, from_id FROM relationships WHERE tenant_id = ? AND to_id IN (?)) AS r
CROSS JOIN connections c WHERE c.tenant_id = ? AND c.id = r.other AND c.archived_at IS NULL) AS ranked
WHERE place <= ? ORDER BY seen_by, place`,
		q.TenantID(), bun.List(ids), q.TenantID(), bun.List(ids), q.TenantID(), limit).Scan(ctx, &rows)
	for _, row := range rows {
		relation := row.SeenFrom(row.SeenBy)
		relation.Name = row.Name
		out[row.SeenBy] = append(out[row.SeenBy], relation)
	}
	return out, err
}

// ListIntroduced returns the ids of the people whom one of the connections introduced to the member.
func ListIntroduced(ctx context.Context, q db.Reader, introducers []string) (ids []string, err error) {
	if len(introducers) == 0 {
		return nil, nil
	}
	err = q.NewRaw("SELECT from_id FROM relationships WHERE tenant_id = ? AND to_id IN (?) AND type = ?", q.TenantID(), bun.List(introducers), RelationIntroducedBy).Scan(ctx, &ids)
	return ids, err
}

// ListRelationshipsBetween returns what two people are to each other.
func ListRelationshipsBetween(ctx context.Context, tx *db.Tx, one, other string) ([]Relationship, error) {
	var rows []Relationship
	err := tx.From(&rows).Where("(from_id = ? AND to_id = ?) OR (from_id = ? AND to_id = ?)", one, other, other, one).
		Order("id").Scan(ctx)
	return rows, err
}

// InsertRelationship inserts a relationship in its normal form and sets its id unless it
// has one.
func InsertRelationship(ctx context.Context, tx *db.Tx, r *Relationship) error {
	*r = r.Normal()
	r.TenantID = tx.TenantID()
	id.Fill(&r.ID, id.Relationship)
	if _, err := tx.NewInsert().Model(r).Exec(ctx); err != nil {
		return fmt.Errorf("insert relationship: %w", err)
	}
	return nil
}

// DeleteRelationship removes a relationship.
func DeleteRelationship(ctx context.Context, tx *db.Tx, relationshipID string) error {
	return tx.Delete(ctx, (*Relationship)(nil), "id = ?", relationshipID)
}

// ReplaceRelationship replaces the stored version of a relationship.
func ReplaceRelationship(ctx context.Context, tx *db.Tx, r Relationship) error {
	if err := DeleteRelationship(ctx, tx, r.ID); err != nil {
		return err
	}
	return InsertRelationship(ctx, tx, &r)
}

// putRelationship sets a relationship to a state; nil removes it.
func putRelationship(ctx context.Context, tx *db.Tx, id string, row *Relationship) error {
	if row == nil {
		return DeleteRelationship(ctx, tx, id)
	}
	if err := NeedConnections(ctx, tx, row.FromID, row.ToID); err != nil {
		return err
	}
	same, err := tx.FirstID(ctx, "SELECT id FROM relationships WHERE tenant_id = ? AND from_id = ? AND to_id = ? AND type = ? AND id <> ?",
		tx.TenantID(), row.FromID, row.ToID, row.Type, id)
	if err != nil {
		return err
	}
	if same != "" {
		return fault.New(fault.Conflict, "%s says the same now", same)
	}
	row.ID = id
	return ReplaceRelationship(ctx, tx, *row)
}

// RestoreRelationship returns the restorer of relationships.
func RestoreRelationship(tx *db.Tx) history.Restorer { return history.Row(tx, putRelationship) }
