package people

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// MaxRelated is how many people who are not on file a person is related to at most.
const MaxRelated = 50

// Relation is what another person is to a person: a relationship from the point of view of one of the two people or, without a
// ConnectionID, an entry of Related. Bounds are the contract's, in characters.
type Relation struct {
	ConnectionID string `json:"-"`
	// Name is the other person's; up to 200.
	Name string `json:"name"`
	// Type is one of the Relation constants.
	Type string `json:"type"`
	// Label is a word that says more than Type, such as godmother; up to 80, empty for none.
	Label string `json:"label"`
	// InverseLabel is such a word for this person, of a relationship.
	InverseLabel string `json:"-"`
}

// Word is what the other person is, as somebody says it: the label, or else the type.
func (r Relation) Word() string {
	if r.Label != "" {
		return r.Label
	}
	return r.Type
}

// ParseRelation returns the relation that a word of a file or a caller stands for, and the word itself as a label if it says more
// than the relation. Words that end in "of" say what the first person is to the second; an unknown word is RelationOther.
func ParseRelation(word string) (kind, label string) {
	word = text.Line(word)
	plain := strings.Join(strings.FieldsFunc(strings.ToLower(word), func(r rune) bool { return r == ' ' || r == '_' || r == '-' }), " ")
	kind = relationOf(plain)
	switch plain {
	case strings.ReplaceAll(kind, "_", " "), "", "contact", "co worker", "coworker", "child of", "parent of", "manager of", "reports to":
		return kind, ""
	}
	return kind, word
}

func relationOf(word string) string {
	if inverse, ok := strings.CutSuffix(word, " of"); ok {
		return Inverse(relationOf(inverse))
	}
	switch word {
	case "spouse", "partner", "domestic partner", "husband", "wife", "sweetheart", "date":
		return RelationSpouse
	case "parent", "mother", "father":
		return RelationParent
	case "child", "son", "daughter":
		return RelationChild
	case "sibling", "brother", "sister":
		return RelationSibling
	case "manager", "boss", "reports to":
		return RelationManager
	case "report", "direct report":
		return RelationReport
	case "introduced":
		return RelationIntroduced
	case "friend", "best friend":
		return RelationFriend
	case "colleague", "co worker", "coworker":
		return RelationColleague
	case "introduced by", "introducer", "referred by", "referredby":
		return RelationIntroducedBy
	}
	return RelationOther
}

// says reports whether r says all that other says of a person with that name.
func (r Relation) says(other Relation) bool {
	return r.Type == other.Type && (other.Label == "" || text.Fold(r.Label) == text.Fold(other.Label)) && text.Fold(r.Name) == text.Fold(other.Name)
}

// absorbRelated adds a person who is not on file, unless an entry says the same or more. It returns false if there is no room.
func (c *Connection) absorbRelated(r Relation) bool {
	r = Relation{Name: text.Line(r.Name), Type: r.Type, Label: text.Line(r.Label)}
	if !text.Visible(r.Name) || slices.ContainsFunc(c.Related, func(held Relation) bool { return held.says(r) }) {
		return true
	}
	if at := slices.IndexFunc(c.Related, r.says); at >= 0 {
		c.Related[at].Label = r.Label
		return true
	}
	if len(c.Related) >= MaxRelated {
		return false
	}
	c.Related = append(c.Related, r)
	return true
}

// dropRelated removes the first entry that says no more than r, or all that r says, and returns it; nil if there is none.
func (c *Connection) dropRelated(r Relation) *Relation {
	at := slices.IndexFunc(c.Related, func(held Relation) bool { return held.says(r) || r.says(held) })
	if at < 0 {
		return nil
	}
	gone := c.Related[at]
	if c.Related = slices.Delete(c.Related, at, at+1); len(c.Related) == 0 {
		c.Related = nil
	}
	return &gone
}

// related adds people who are not on file.
func (b *blend) related(from []Relation) {
	before := slices.Clone(b.Related)
	for _, r := range from {
		if !b.absorbRelated(r) {
			b.unused = append(b.unused, Unused{"number of relations", strconv.Itoa(MaxRelated), r.Word() + " " + r.Name})
		}
	}
	b.changed = b.changed || !slices.Equal(before, b.Related)
}

// Relate adds people who are not on file, and drops the entries whose place people on file take. It returns what MergeFrom does.
func (c *Connection) Relate(named, linked []Relation) (after *Connection, changed bool, unused []Unused) {
	b := blend{Connection: c.clone()}
	b.related(named)
	for _, r := range linked {
		b.dropRelated(r)
	}
	return b.Connection, !slices.Equal(c.Related, b.Related), b.unused
}

// LinkNamed stores that somebody who is not on file is something to a person, or removes it. It returns the person's entries with
// that name, and the id of the change as Link does. It fails with fault.Invalid if there are too many.
func LinkNamed(ctx context.Context, w *db.Tx, fromID, name, word string, remove bool) ([]Relation, string, error) {
	before, err := live(ctx, w, fromID)
	if err != nil {
		return nil, "", err
	}
	told := Relation{Name: text.Line(name)}
	told.Type, told.Label = ParseRelation(word)
	if !text.Visible(told.Name) {
		return nil, "", fault.InvalidField("name", "must hold at least one visible character")
	}
	after, summary := before.clone(), "Linked "+before.Name+" and "+told.Name
	if remove {
		after.dropRelated(told)
		summary = "Unlinked " + before.Name + " and " + told.Name
	} else if !after.absorbRelated(told) {
		return nil, "", fault.InvalidField("name", "one person is related to %d people who are not on file at most", MaxRelated)
	}
	others := slices.DeleteFunc(slices.Clone(after.Related), func(r Relation) bool { return text.Fold(r.Name) != text.Fold(told.Name) })
	if slices.Equal(before.Related, after.Related) {
		return others, "", nil
	}
	effect, err := revise(ctx, w, before, after)
	if err != nil {
		return nil, "", err
	}
	changeID, err := history.Record(ctx, w, history.Draft{Summary: summary, Effects: []history.EffectDraft{effect}})
	return others, changeID, err
}

// revise stores the next version of a person, and returns the effect.
func revise(ctx context.Context, tx *db.Tx, before, after *Connection) (history.EffectDraft, error) {
	after.Version++
	after.UpdatedAt = tx.Now()
	return history.EffectDraft{Kind: history.Connection, ID: after.ID, Before: before, After: after}, ReplaceConnection(ctx, tx, after)
}

// ListNamed looks up people by their whole names, without regard to case, leaving out archived people. It returns their ids by
// folded name, and nothing for a name that several people have. It makes one statement.
func ListNamed(ctx context.Context, q db.Reader, names []string) (map[string]string, error) {
	found := map[string]string{}
	if len(names) == 0 {
		return found, nil
	}
	var rows []struct{ ID, FoldedName string }
	err := q.NewRaw("SELECT min(id) AS id, folded_name FROM connections WHERE tenant_id = ? AND folded_name IN (?) AND archived_at IS NULL GROUP BY folded_name HAVING count(*) = 1",
		q.TenantID(), bun.List(IDs(names, text.Fold))).Scan(ctx, &rows)
	for _, row := range rows {
		found[row.FoldedName] = row.ID
	}
	return found, err
}
