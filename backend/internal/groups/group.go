package groups

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// MaxGroups limits how many groups a member has, and how many tags a list shows.
const (
	MaxGroups = 200
	MaxTags   = 200
)

// Group is a set of people that the member keeps together, and its database row.
type Group struct {
	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk" json:"id"`
	Name     string    `json:"name"`
	// FoldedName is Name, folded for comparison; it is unique within the tenant.
	FoldedName  string `json:"-"`
	Description string `json:"description"`
	// CadenceDays is the keep-in-touch interval; 0 when there is none.
	CadenceDays int `json:"cadence_days"`
	// Version grows by one with each change (optimistic locking).
	Version   int32     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	// People is how many people are in the group, without archived ones.
	People int `bun:",scanonly" json:"-"`
}

// Tag is a word that people are marked with, and how many people have it, without archived
// ones.
type Tag struct {
	Name   string
	People int
}

// Patch says what to change of a group, or what a new group has. Nil fields leave their
// value unchanged.
type Patch struct {
	// ID is the group to change; empty means the group with the name or, if there is none,
	// a new one.
	ID          string
	Name        *string
	Description *string
	CadenceDays *int
	// ExpectedVersion makes the patch fail when the group has another version.
	ExpectedVersion *int32
}

// Saved is the result of Save.
type Saved struct {
	Group   *Group
	Created bool
	// ChangeID is empty when nothing was written.
	ChangeID string
}

// Save creates a group or changes one. A patch that changes nothing writes nothing.
func Save(ctx context.Context, w *db.Tx, p Patch) (Saved, error) {
	groups, err := ListGroups(ctx, w)
	if err != nil {
		return Saved{}, err
	}
	if p.Name != nil {
		p.Name = new(text.Line(*p.Name))
		if !text.Visible(*p.Name) {
			return Saved{}, fault.InvalidField("name", "must hold at least one visible character")
		}
	}
	before, err := p.target(groups)
	if err != nil {
		return Saved{}, err
	}
	if before == nil {
		return p.create(ctx, w, groups)
	}
	counted, err := GetGroup(ctx, w, before.ID)
	if err != nil {
		return Saved{}, err
	}
	return p.update(ctx, w, *counted, groups)
}

// target returns the group that the patch is about; nil for a new one.
func (p Patch) target(groups []Group) (*Group, error) {
	if p.ID != "" {
		return Find(groups, p.ID)
	}
	if g := byName(groups, *p.Name); g != nil {
		return g, nil
	}
	if p.ExpectedVersion != nil {
		return nil, unknown(groups, *p.Name)
	}
	return nil, nil
}

func (p Patch) create(ctx context.Context, w *db.Tx, groups []Group) (Saved, error) {
	if len(groups) >= MaxGroups {
		return Saved{}, fault.InvalidField("name", "there are %d groups already, and no more can be made", MaxGroups)
	}
	if id.Valid(id.Group, *p.Name) {
		return Saved{}, fault.InvalidField("name", "is a group's id; pass it as id")
	}
	g := &Group{Version: 1, CreatedAt: w.Now(), UpdatedAt: w.Now()}
	p.apply(g)
	if err := InsertGroup(ctx, w, g); err != nil {
		return Saved{}, err
	}
	changeID, err := history.Record(ctx, w, history.One("Made the group "+g.Name, history.Group, g.ID, nil, g))
	return Saved{Group: g, Created: true, ChangeID: changeID}, err
}

func (p Patch) update(ctx context.Context, w *db.Tx, before Group, groups []Group) (Saved, error) {
	if p.ExpectedVersion != nil && *p.ExpectedVersion != before.Version {
		return Saved{}, fault.New(fault.Conflict,
			"%s has version %d, not %d: read it again before you change it", before.ID, before.Version, *p.ExpectedVersion)
	}
	after := before
	if p.ID == "" {
		p.Name = nil // the name identified the group, perhaps in another spelling
	} else if p.Name != nil {
		if other := byName(groups, *p.Name); other != nil && other.ID != before.ID {
			return Saved{}, fault.New(fault.AlreadyExists, "another group is called %s: %s", text.Quote(other.Name), other.ID)
		}
	}
	p.apply(&after)
	if after == before {
		return Saved{Group: &before}, nil
	}
	after.Version++
	after.UpdatedAt = w.Now()
	if err := ReplaceGroup(ctx, w, &after); err != nil {
		return Saved{}, err
	}
	changeID, err := history.Record(ctx, w, history.One("Changed the group "+after.Name, history.Group, after.ID, before, after))
	return Saved{Group: &after, ChangeID: changeID}, err
}

func (p Patch) apply(g *Group) {
	if p.Name != nil {
		g.Name, g.FoldedName = *p.Name, text.Fold(*p.Name)
	}
	if p.Description != nil {
		g.Description = text.Clean(*p.Description)
	}
	if p.CadenceDays != nil {
		g.CadenceDays = *p.CadenceDays
	}
}

// Find returns the group with an id or a name. It fails with fault.NotFound, which lists
// the nearest names.
func Find(groups []Group, idOrName string) (*Group, error) {
	for i := range groups {
		if groups[i].ID == idOrName {
			return &groups[i], nil
		}
	}
	if id.Valid(id.Group, idOrName) {
		return nil, noGroup(idOrName)
	}
	if g := byName(groups, idOrName); g != nil {
		return g, nil
	}
	return nil, unknown(groups, idOrName)
}

// noGroup returns the error for an unknown group id.
func noGroup(groupID string) error {
	return fault.New(fault.NotFound, "there is no group %s; list_groups returns ids", groupID)
}

func byName(groups []Group, name string) *Group {
	folded := text.Fold(name)
	for i := range groups {
		if groups[i].FoldedName == folded {
			return &groups[i]
		}
	}
	return nil
}

// unknown returns the error for an unknown group name, with the nearest names.
func unknown(groups []Group, name string) error {
	if len(groups) == 0 {
		return fault.New(fault.NotFound, "there is no group %q, nor any other; save_group makes one", name)
	}
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.Name
	}
	return fault.New(fault.NotFound, "there is no group %q%s", name, text.Nearest(context.Background(), names, name))
}

// ListGroups returns all groups by their folded names, without the number of their people.
func ListGroups(ctx context.Context, q db.Reader) ([]Group, error) {
	var groups []Group
	err := q.From(&groups).Order("folded_name").Scan(ctx)
	return groups, err
}

// ListTags returns the tags that people have, the most used first, limit at most.
func ListTags(ctx context.Context, q db.Reader, limit int) ([]Tag, error) {
	var tags []Tag
	err := q.NewRaw(`SELECT t.name, n.people FROM (SELECT l.tag_id, count(*) AS people FROM connection_tags l
JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id AND c.archived_at IS NULL
WHERE l.tenant_id = ? GROUP BY l.tag_id) AS n
JOIN tags t ON t.tenant_id = ? AND t.id = n.tag_id ORDER BY n.people DESC, t.folded_name LIMIT ?`, q.TenantID(), q.TenantID(), limit).Scan(ctx, &tags)
	return tags, err
}

// FindTag returns the stored spelling of a tag that people have, archived ones included, or
// fault.NotFound.
func FindTag(ctx context.Context, q db.Reader, name string) (string, error) {
	var found string
	err := q.NewRaw(`SELECT t.name FROM tags t WHERE t.tenant_id = ? AND t.folded_name = ?
AND EXISTS (SELECT 1 FROM connection_tags l WHERE l.tenant_id = t.tenant_id AND l.tag_id = t.id)`, q.TenantID(), text.Fold(text.Clean(name))).Scan(ctx, &found)
	if errors.Is(err, sql.ErrNoRows) {
		err = fault.New(fault.NotFound, "there is no tag %q", name)
	}
	return found, err
}

// GetGroup returns a group, or fault.NotFound.
func GetGroup(ctx context.Context, tx *db.Tx, groupID string) (*Group, error) {
	g := &Group{}
	err := tx.From(g).ColumnExpr("?TableColumns").ColumnExpr(`(SELECT count(*) FROM group_connections l
JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id AND c.archived_at IS NULL
WHERE l.tenant_id = ? AND l.group_id = ?TableAlias.id) AS people`, tx.TenantID()).Where("id = ?", groupID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noGroup(groupID)
	}
	return g, err
}

// InsertGroup inserts a new group and sets its id.
func InsertGroup(ctx context.Context, tx *db.Tx, g *Group) error {
	g.TenantID = tx.TenantID()
	id.Fill(&g.ID, id.Group)
	if _, err := tx.NewInsert().Model(g).Exec(ctx); err != nil {
		return fmt.Errorf("insert group: %w", err)
	}
	return nil
}

// ReplaceGroup stores g in place of the version before it. It fails with fault.Conflict
// when that version is no longer the stored one.
func ReplaceGroup(ctx context.Context, tx *db.Tx, g *Group) error {
	g.TenantID = tx.TenantID()
	if err := tx.Replace(ctx, g, g.ID, g.Version); err != nil {
		return err
	}
	var people []string
	err := tx.NewRaw("SELECT connection_id FROM group_connections WHERE tenant_id = ? AND group_id = ?", tx.TenantID(), g.ID).Scan(ctx, &people)
	tx.MarkDirty(people...) // a search finds people by the name of their group
	return err
}

// DeleteGroup deletes a group and its memberships.
func DeleteGroup(ctx context.Context, tx *db.Tx, groupID string) error {
	var people []string
	err := tx.NewRaw("SELECT connection_id FROM group_connections WHERE tenant_id = ? AND group_id = ?", tx.TenantID(), groupID).Scan(ctx, &people)
	if err != nil {
		return err
	}
	tx.MarkDirty(people...)
	tx.MarkRemoved(groupID) // for address books, which have a card of it
	return tx.Delete(ctx, (*Group)(nil), "id = ?", groupID)
}

// FindGroup returns the group with an id or a name. It fails with fault.NotFound, which
// lists the nearest names.
func FindGroup(ctx context.Context, q db.Reader, idOrName string) (*Group, error) {
	groups, err := ListGroups(ctx, q)
	if err != nil {
		return nil, err
	}
	return Find(groups, idOrName)
}

// Delete deletes a group and returns the change. Its people stay; archived ones leave it too.
// An undo brings it back with its people. It fails with fault.NotFound for a group that does
// not exist.
func Delete(ctx context.Context, tx *db.Tx, groupID string) (changeID string, err error) {
	g, err := GetGroup(ctx, tx, groupID)
	if err != nil {
		return "", err
	}
	return dissolve(ctx, tx, g, nil, "Deleted the group "+g.Name)
}

// Merge moves all people of a group to another one, archived people too, deletes the first, and
// returns the change. An undo separates the two again. The second keeps its name and its interval.
// It fails with fault.NotFound for a group that does not exist, and with fault.Invalid when the two
// are the same.
func Merge(ctx context.Context, tx *db.Tx, from, into string) (changeID string, err error) {
	if from == into {
		return "", fault.InvalidField("into", "is the same group")
	}
	g, err := GetGroup(ctx, tx, from)
	if err != nil {
		return "", err
	}
	other, err := GetGroup(ctx, tx, into)
	if err != nil {
		return "", err
	}
	return dissolve(ctx, tx, g, []string{other.ID}, fmt.Sprintf("Merged the group %s into %s", g.Name, other.Name))
}

// dissolve deletes a group whose people move to others.
func dissolve(ctx context.Context, tx *db.Tx, g *Group, others []string, summary string) (string, error) {
	var ids []string
	err := tx.NewRaw("SELECT connection_id FROM group_connections WHERE tenant_id = ? AND group_id = ? ORDER BY connection_id", tx.TenantID(), g.ID).Scan(ctx, &ids)
	if err != nil {
		return "", err
	}
	err = history.CheckEffects(len(ids)+1, "take some people out of the group first, with update_membership and the selection of a narrower search")
	if err != nil {
		return "", err
	}
	var effects []history.EffectDraft
	if len(ids) > 0 {
		before, err := memberships(ctx, tx, ids)
		if err != nil {
			return "", err
		}
		move, after := step{removeGroups: []string{g.ID}, addGroups: others}, make([]Membership, len(before))
		for i, m := range before {
			after[i] = move.apply(m)
		}
		if err := ReplaceMemberships(ctx, tx, after, nil); err != nil {
			return "", err
		}
		effects = effectsOf(before, after)
	}
	if err := DeleteGroup(ctx, tx, g.ID); err != nil {
		return "", err
	}
	// An undo begins with the last effect: people can return to the group once it exists.
	effects = append(effects, history.EffectDraft{Kind: history.Group, ID: g.ID, Before: g})
	return history.Record(ctx, tx, history.Draft{Summary: summary, Effects: effects})
}

// RemoveTag takes a tag off everyone who has it, archived people too. It fails with
// fault.Invalid when no one has it.
func RemoveTag(ctx context.Context, tx *db.Tx, tag string) (people.Acted, error) {
	return replaceTag(ctx, tx, step{removeTags: []string{tag}}, false, "Removed the tag "+tag)
}

// putGroup sets a group, whose people are restored by the restorer of memberships, to a state; nil removes it.
func putGroup(ctx context.Context, tx *db.Tx, id string, g *Group) error {
	if g == nil {
		return removeGroup(ctx, tx, id)
	}
	g.ID, g.FoldedName = id, text.Fold(g.Name)
	namesake, err := tx.FirstID(ctx, "SELECT id FROM groups WHERE tenant_id = ? AND folded_name = ? AND id <> ?", tx.TenantID(), g.FoldedName, id)
	if err != nil {
		return err
	}
	if namesake != "" {
		return fault.New(fault.Conflict, "%s has its name now", namesake)
	}
	present, err := GetGroup(ctx, tx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		g.Version++
		return InsertGroup(ctx, tx, g)
	case err != nil:
		return err
	}
	g.Version = present.Version + 1
	return ReplaceGroup(ctx, tx, g)
}

// removeGroup deletes a group that has no people.
func removeGroup(ctx context.Context, tx *db.Tx, id string) error {
	found, err := tx.FirstID(ctx, "SELECT connection_id FROM group_connections WHERE tenant_id = ? AND group_id = ? LIMIT 1", tx.TenantID(), id)
	if err != nil {
		return err
	}
	if found != "" {
		return fault.New(fault.Conflict, "other data refers to it now: %s is in it", found)
	}
	return DeleteGroup(ctx, tx, id)
}

// RestoreGroup returns the restorer of groups.
func RestoreGroup(tx *db.Tx) history.Restorer { return history.Row(tx, putGroup) }
