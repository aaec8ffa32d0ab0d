package groups

import (
	"context"
	"fmt"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// MaxGroupsOfPerson is how many groups a person is in at most.
const MaxGroupsOfPerson = 50

// Membership is the groups and tags of a person.
type Membership struct {
	ConnectionID string
	// GroupIDs are sorted.
	GroupIDs []string
	// Tags are ordered by their folded names.
	Tags []string
}

// tags is the part of a connection's state that a change of tags changes.
type tags struct {
	Tags []string `json:"tags"`
}

// MembershipPatch says which groups and tags to add to people or remove. Groups are ids or
// names.
type MembershipPatch struct {
	ConnectionIDs                                []string
	AddGroups, RemoveGroups, AddTags, RemoveTags []string
	// DryRun writes nothing and only reports who would change.
	DryRun bool
}

// UpdateMembership adds people to groups and removes them, and adds and removes tags.
// People who already have the wanted groups and tags stay unchanged.
func UpdateMembership(ctx context.Context, w *db.Tx, p MembershipPatch) (people.Acted, error) {
	groups, err := ListGroups(ctx, w)
	if err != nil {
		return people.Acted{}, err
	}
	step, err := p.resolve(groups)
	if err != nil {
		return people.Acted{}, err
	}
	persons, before, err := ListMemberships(ctx, w, p.ConnectionIDs)
	if err != nil {
		return people.Acted{}, err
	}
	return step.act(ctx, w, persons, before, p.DryRun, p.summary)
}

// act applies the step to persons, whose memberships are before, and records one change. With
// dryRun it only returns who would change.
func (s step) act(ctx context.Context, w *db.Tx, persons []people.Connection, before []Membership, dryRun bool, summary func(people int) string) (people.Acted, error) {
	var out people.Acted
	var after, was []Membership
	var retagged []string
	for i, m := range before {
		moved := s.apply(m)
		if err := moved.check(); err != nil {
			return people.Acted{}, err
		}
		differs := !slices.Equal(m.Tags, moved.Tags)
		if differs {
			retagged = append(retagged, m.ConnectionID)
		}
		if differs || !slices.Equal(m.GroupIDs, moved.GroupIDs) {
			after, was = append(after, moved), append(was, m)
			out.Changed = append(out.Changed, persons[i])
		}
	}
	out.Unchanged = len(before) - len(after)
	if len(after) == 0 || dryRun {
		return out, nil
	}
	if err := ReplaceMemberships(ctx, w, after, retagged); err != nil {
		return people.Acted{}, err
	}
	var err error
	out.ChangeID, err = history.Record(ctx, w, history.Draft{Summary: summary(len(after)), Effects: effectsOf(was, after)})
	return out, err
}

func (m Membership) check() error {
	if len(m.GroupIDs) > MaxGroupsOfPerson {
		return fault.InvalidField("add_groups", "one person is in %d groups at most, %s would be in %d", MaxGroupsOfPerson, m.ConnectionID, len(m.GroupIDs))
	}
	if len(m.Tags) > people.MaxTags {
		return fault.InvalidField("add_tags", "one person holds %d at most, %s would hold %d", people.MaxTags, m.ConnectionID, len(m.Tags))
	}
	return nil
}

// effectsOf returns the effects of a membership change: first those on groups, then those
// on tags, so that an undo can restore many with one statement.
func effectsOf(before, after []Membership) []history.EffectDraft {
	var groups, tagged []history.EffectDraft
	for i, m := range after {
		was := before[i]
		if !slices.Equal(was.GroupIDs, m.GroupIDs) {
			groups = append(groups, history.EffectDraft{Kind: history.Membership, ID: m.ConnectionID, Before: people.Groups{Groups: was.GroupIDs}, After: people.Groups{Groups: m.GroupIDs}})
		}
		if !slices.Equal(was.Tags, m.Tags) {
			tagged = append(tagged, history.EffectDraft{Kind: history.Connection, ID: m.ConnectionID, Before: tags{was.Tags}, After: tags{m.Tags}})
		}
	}
	return append(groups, tagged...)
}

// summary describes the change in one line, such as "Added 3 people to Book club".
func (p MembershipPatch) summary(people int) string {
	who := fmt.Sprintf("%d people", people)
	if people == 1 {
		who = "1 person"
	}
	if len(p.AddGroups)+len(p.RemoveGroups) == 0 {
		return "Changed the tags of " + who
	}
	if len(p.AddTags)+len(p.RemoveTags) == 0 {
		return "Changed the groups of " + who
	}
	return "Changed groups and tags of " + who
}

// step is a patch whose groups are ids and whose tags are clean.
type step struct{ addGroups, removeGroups, addTags, removeTags []string }

func (p MembershipPatch) resolve(groups []Group) (step, error) {
	var s step
	var err error
	if s.addGroups, err = resolveGroups(groups, p.AddGroups); err != nil {
		return s, err
	}
	if s.removeGroups, err = resolveGroups(groups, p.RemoveGroups); err != nil {
		return s, err
	}
	for _, g := range s.removeGroups {
		if slices.Contains(s.addGroups, g) {
			return s, fault.InvalidField("remove_groups", "%s is in add_groups too", g)
		}
	}
	if s.addTags, err = cleanTags("add_tags", p.AddTags); err != nil {
		return s, err
	}
	if s.removeTags, err = cleanTags("remove_tags", p.RemoveTags); err != nil {
		return s, err
	}
	for _, tag := range s.removeTags {
		if slices.ContainsFunc(s.addTags, sameTag(tag)) {
			return s, fault.InvalidField("remove_tags", "%q is in add_tags too", tag)
		}
	}
	return s, nil
}

func resolveGroups(groups []Group, idsOrNames []string) ([]string, error) {
	var out []string
	for _, idOrName := range idsOrNames {
		g, err := Find(groups, idOrName)
		if err != nil {
			return nil, err
		}
		out = append(out, g.ID)
	}
	return out, nil
}

func cleanTags(field string, list []string) ([]string, error) {
	var out []string
	for i, tag := range list {
		tag = text.Line(tag)
		if !text.Visible(tag) {
			return nil, fault.InvalidField(fmt.Sprintf("%s[%d]", field, i), "must hold at least one visible character")
		}
		out = append(out, tag)
	}
	return out, nil
}

func sameTag(tag string) func(string) bool {
	folded := text.Fold(tag)
	return func(other string) bool { return text.Fold(other) == folded }
}

// apply returns a person's groups and tags after the step. A tag that stays keeps its
// spelling.
func (s step) apply(m Membership) Membership {
	m.GroupIDs, m.Tags = slices.Clone(m.GroupIDs), slices.Clone(m.Tags)
	m.GroupIDs = slices.DeleteFunc(m.GroupIDs, func(g string) bool { return slices.Contains(s.removeGroups, g) })
	for _, g := range s.addGroups {
		if !slices.Contains(m.GroupIDs, g) {
			m.GroupIDs = append(m.GroupIDs, g)
		}
	}
	slices.Sort(m.GroupIDs)
	for _, tag := range s.removeTags {
		m.Tags = slices.DeleteFunc(m.Tags, sameTag(tag))
	}
	for _, tag := range s.addTags {
		if !slices.ContainsFunc(m.Tags, sameTag(tag)) {
			m.Tags = append(m.Tags, tag)
		}
	}
	return m
}

// ListMemberships returns people without their lists, and their groups and tags, both in
// the order of ids. It fails with fault.NotFound for a person who does not exist.
func ListMemberships(ctx context.Context, tx *db.Tx, ids []string) ([]people.Connection, []Membership, error) {
	persons, err := people.Participants(ctx, tx, ids)
	if err != nil {
		return nil, nil, err
	}
	place := make(map[string]int, len(ids))
	for i, connectionID := range ids {
		place[connectionID] = i
	}
	slices.SortFunc(persons, func(a, b people.Connection) int { return place[a.ID] - place[b.ID] })
	members, err := memberships(ctx, tx, ids)
	return persons, members, err
}

// memberships returns where connections belong, in the order of ids.
func memberships(ctx context.Context, tx *db.Tx, ids []string) ([]Membership, error) {
	out := make([]Membership, len(ids))
	byID := make(map[string]*Membership, len(ids))
	for i, connectionID := range ids {
		out[i] = Membership{ConnectionID: connectionID, GroupIDs: []string{}, Tags: []string{}}
		byID[connectionID] = &out[i]
	}
	var groups []people.GroupConnection
	if err := tx.From(&groups).Where("connection_id IN (?)", bun.List(ids)).Order("group_id").Scan(ctx); err != nil {
		return nil, err
	}
	for _, l := range groups {
		m := byID[l.ConnectionID]
		m.GroupIDs = append(m.GroupIDs, l.GroupID)
	}
	var tags []struct{ ConnectionID, Name string }
	err := tx.NewRaw(`SELECT l.connection_id, t.name FROM connection_tags l JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) ORDER BY t.folded_name`, tx.TenantID(), bun.List(ids)).Scan(ctx, &tags)
	for _, l := range tags {
		m := byID[l.ConnectionID]
		m.Tags = append(m.Tags, l.Name)
	}
	return out, err
}

// ReplaceMemberships replaces the groups and tags of people. It creates tags that do not
// exist, and sets Tags to the stored spelling. The versions of people whose tags change
// grow, since tags are part of a person's record.
func ReplaceMemberships(ctx context.Context, tx *db.Tx, persons []Membership, retagged []string) error {
	ids := make([]string, len(persons))
	var groups []people.GroupConnection
	var names []string
	for i, m := range persons {
		ids[i] = m.ConnectionID
		names = append(names, m.Tags...)
		for _, g := range m.GroupIDs {
			groups = append(groups, people.GroupConnection{TenantID: tx.TenantID(), GroupID: g, ConnectionID: m.ConnectionID})
		}
	}
	for _, model := range []any{(*people.GroupConnection)(nil), (*people.ConnectionTag)(nil)} {
		if err := tx.Delete(ctx, model, "connection_id IN (?)", bun.List(ids)); err != nil {
			return err
		}
	}
	if err := tx.InsertAll(ctx, &groups, len(groups)); err != nil {
		return err
	}
	if err := insertMemberTags(ctx, tx, persons, names); err != nil {
		return err
	}
	tx.MarkDirty(ids...)
	if len(retagged) == 0 {
		return nil
	}
	_, err := tx.NewRaw("UPDATE connections SET version = version + 1, updated_at = ? WHERE tenant_id = ? AND id IN (?)",
		tx.Now(), tx.TenantID(), bun.List(retagged)).Exec(ctx)
	return err
}

// insertMemberTags inserts the tags of people who have none, and sets them to the stored
// spelling.
func insertMemberTags(ctx context.Context, tx *db.Tx, persons []Membership, names []string) error {
	if len(names) == 0 {
		return nil
	}
	rows, err := people.Tags(ctx, tx, people.Distinct(names))
	if err != nil {
		return err
	}
	byName := make(map[string]people.Tag, len(rows))
	for _, row := range rows {
		byName[row.FoldedName] = row
	}
	var links []people.ConnectionTag
	for _, m := range persons {
		for i, name := range m.Tags {
			row := byName[text.Fold(name)]
			m.Tags[i] = row.Name
			links = append(links, people.ConnectionTag{TenantID: tx.TenantID(), ConnectionID: m.ConnectionID, TagID: row.ID})
		}
	}
	return tx.InsertAll(ctx, &links, len(links))
}

// RenameTag replaces a tag by another one for everyone who has it, archived people too. If people
// already have the other one, the two tags are merged; an undo separates them again. With dryRun it
// only returns who would change. It fails with fault.Invalid when no one has the tag, or when the
// two are the same but for case and accents.
func RenameTag(ctx context.Context, tx *db.Tx, from, to string, dryRun bool) (people.Acted, error) {
	cleaned, err := cleanTags("to", []string{to})
	if err != nil {
		return people.Acted{}, err
	}
	to = cleaned[0]
	if text.Fold(from) == text.Fold(to) {
		return people.Acted{}, fault.InvalidField("to", "is the same tag: case and accents do not count")
	}
	rename := step{removeTags: []string{from}, addTags: []string{to}}
	return replaceTag(ctx, tx, rename, dryRun, fmt.Sprintf("Renamed the tag %s to %s", from, to))
}

// replaceTag applies a step to everyone who has the tag that it removes.
func replaceTag(ctx context.Context, tx *db.Tx, replace step, dryRun bool, summary string) (people.Acted, error) {
	from := replace.removeTags[0]
	ids, err := tagged(ctx, tx, from)
	if err != nil {
		return people.Acted{}, err
	}
	if len(ids) == 0 {
		return people.Acted{}, unknownTag(ctx, tx, from)
	}
	err = history.CheckEffects(len(ids), "give the new tag to fewer at a time, with update_membership and the selection of a narrower search")
	if err != nil {
		return people.Acted{}, err
	}
	persons, err := people.ListConnections(ctx, tx, ids)
	if err != nil {
		return people.Acted{}, err
	}
	before, err := memberships(ctx, tx, ids)
	if err != nil {
		return people.Acted{}, err
	}
	return replace.act(ctx, tx, persons, before, dryRun, func(int) string { return summary })
}

// tagged returns the ids of the people who have a tag, in order.
func tagged(ctx context.Context, tx *db.Tx, tag string) ([]string, error) {
	var ids []string
	err := tx.NewRaw(`SELECT l.connection_id FROM connection_tags l JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id
WHERE l.tenant_id = ? AND t.folded_name = ? ORDER BY l.connection_id`, tx.TenantID(), text.Fold(text.Clean(tag))).Scan(ctx, &ids)
	return ids, err
}

// unknownTag says that no one has a tag, and which are nearest.
func unknownTag(ctx context.Context, tx *db.Tx, tag string) error {
	tags, err := ListTags(ctx, tx, MaxTags)
	if err != nil {
		return err
	}
	names := people.IDs(tags, func(t Tag) string { return t.Name })
	return fault.InvalidField("from", "nobody has the tag %q%s", tag, text.Nearest(ctx, names, tag))
}
