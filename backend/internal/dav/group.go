package dav

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/content"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// group is what the card of a group says: a name, a note, and the UIDs of the cards of its people. Apple's programs write such cards,
// with properties of their own in version 3.0; version 4.0 has KIND and MEMBER (RFC 6350).
type group struct {
	Title, Description string
	// Members are sorted.
	Members []string
}

// Limits of a group, in characters: those of the contract.
const (
	maxGroupName        = 80
	maxGroupDescription = 500
)

const (
	appleKind   = "X-ADDRESSBOOKSERVER-KIND"
	appleMember = "X-ADDRESSBOOKSERVER-MEMBER"
	uuidURN     = "urn:uuid:"
)

// deviceGroup is the card of a group that a device last got or sent, as deviceCard is that of a person.
type deviceGroup struct {
	bun.BaseModel `bun:"table:device_groups,alias:given"`

	TenantID tenant.ID `bun:",pk"`
	DeviceID string    `bun:",pk"`
	GroupID  string    `bun:",pk"`
	ETag     string    `bun:"etag"`
	Card     []byte
	// Pending are the UIDs, one per line, of people whom the device put into the group before it sent their cards.
	Pending string
}

// isGroup reports whether an id is that of a group.
func isGroup(objectID string) bool { return strings.HasPrefix(objectID, id.Group+"_") }

// isGroupCard reports whether the lines are the card of a group.
func isGroupCard(lines []content.Line) bool {
	return slices.ContainsFunc(lines, func(l content.Line) bool {
		name := strings.ToUpper(l.Name)
		return (name == "KIND" || name == appleKind) && strings.EqualFold(strings.TrimSpace(l.Value), "group")
	})
}

// groupOf reads the card of a group.
func groupOf(lines []content.Line) *group {
	g := &group{}
	var name string
	for _, l := range lines {
		value := content.Unescape(l.Value)
		switch strings.ToUpper(l.Name) {
		case "FN":
			g.Title = text.Line(value)
		case "N":
			name = text.Line(strings.TrimRight(value, ";"))
		case "NOTE":
			g.Description = text.Clean(value)
		case "MEMBER", appleMember:
			if uid := withoutURN(strings.TrimSpace(value)); uid != "" {
				g.Members = append(g.Members, uid)
			}
		}
	}
	if g.Title == "" {
		g.Title = name
	}
	slices.Sort(g.Members)
	g.Members = slices.Compact(g.Members)
	return g
}

// withoutURN returns a UID without "urn:uuid:", with which groups name cards, and some programs write the UID of a card too.
func withoutURN(uid string) string {
	if len(uid) >= len(uuidURN) && strings.EqualFold(uid[:len(uuidURN)], uuidURN) {
		return uid[len(uuidURN):]
	}
	return uid
}

// check fails if the group cannot be stored.
func (g *group) check() error {
	switch {
	case !text.Visible(g.Title):
		return invalidCard(errors.New("the group has no name"))
	case utf8.RuneCountInString(g.Title) > maxGroupName:
		return invalidCard(fmt.Errorf("the name of the group has more than %d characters", maxGroupName))
	case utf8.RuneCountInString(g.Description) > maxGroupDescription:
		return invalidCard(fmt.Errorf("the note of the group has more than %d characters", maxGroupDescription))
	}
	return nil
}

// card returns the card of the group with a UID.
func (g *group) card(uid string, v3 bool) string {
	version, kind, member := "4.0", "KIND", "MEMBER"
	if v3 {
		version, kind, member = "3.0", appleKind, appleMember
	}
	var b strings.Builder
	for _, line := range []string{"BEGIN:VCARD", "VERSION:" + version, "PRODID:-//Kith//Kith//EN", "UID:" + uid, "FN:" + content.Escape(g.Title), "N:" + content.Escape(g.Title) + ";;;;"} {
		content.WriteLine(&b, line)
	}
	if g.Description != "" {
		content.WriteLine(&b, "NOTE:"+content.Escape(g.Description))
	}
	content.WriteLine(&b, kind+":group")
	for _, uid := range g.Members {
		content.WriteLine(&b, member+":"+uuidURN+content.Escape(uid))
	}
	content.WriteLine(&b, "END:VCARD")
	return b.String()
}

// readGroups returns the cards of groups; of all groups without ids.
func readGroups(ctx context.Context, q db.Reader, ids ...string) ([]*card, error) {
	var rows []struct{ ID, Title, Description, Name, UID string }
	err := q.NewRaw(`SELECT g.id, g.name AS title, g.description, coalesce(k.name, '') AS name, coalesce(k.uid, '') AS uid
FROM groups g LEFT JOIN cards k ON k.tenant_id = g.tenant_id AND k.connection_id = g.id
WHERE g.tenant_id = ?0 AND (?1 OR g.id IN (?2)) ORDER BY g.id`, q.TenantID(), len(ids) == 0, bun.List(ids)).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var members []struct{ GroupID, ID, UID string }
	err = q.NewRaw(`SELECT l.group_id, c.id, coalesce(k.uid, '') AS uid FROM group_connections l
JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id AND c.archived_at IS NULL
LEFT JOIN cards k ON k.tenant_id = l.tenant_id AND k.connection_id = l.connection_id
WHERE l.tenant_id = ?0 AND (?1 OR l.group_id IN (?2))`, q.TenantID(), len(ids) == 0, bun.List(ids)).Scan(ctx, &members)
	byGroup := map[string][]string{}
	for _, m := range members {
		byGroup[m.GroupID] = append(byGroup[m.GroupID], withoutURN(entry{ID: m.ID, UID: m.UID}.named().UID))
	}
	list := make([]*card, len(rows))
	for i, r := range rows {
		slices.Sort(byGroup[r.ID])
		e := entry{ID: r.ID, Name: r.Name, UID: r.UID}.named()
		list[i] = &card{entry: e, group: &group{r.Title, r.Description, byGroup[r.ID]}}
	}
	return list, err
}

// groupEntries returns the entries of all groups, and a hash of their cards; empty if there are none.
func groupEntries(ctx context.Context, q db.Reader) (list []entry, hash string, err error) {
	cards, err := readGroups(ctx, q)
	if err != nil || len(cards) == 0 {
		return nil, "", err
	}
	sum := sha256.New()
	for _, c := range cards {
		list = append(list, c.entry)
		_, _ = io.WriteString(sum, c.Name+c.etag())
	}
	return list, hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// peopleOf returns the people of the address book with UIDs, by these.
func peopleOf(ctx context.Context, q db.Reader, uids []string) (map[string]string, error) {
	byID := map[string]string{}
	spellings := slices.Clone(uids)
	for _, uid := range uids {
		spellings = append(spellings, uuidURN+uid)
		if person := personOf(uid); person != "" {
			byID[person] = uid
		}
	}
	var rows []struct{ ID, UID string }
	err := q.NewRaw(`SELECT c.id, k.uid FROM cards k JOIN connections c ON c.tenant_id = k.tenant_id AND c.id = k.connection_id AND c.archived_at IS NULL
WHERE k.tenant_id = ?0 AND k.uid IN (?1) AND k.uid <> ''
UNION ALL SELECT c.id, '' FROM connections c WHERE c.tenant_id = ?0 AND c.archived_at IS NULL AND c.id IN (?2)`,
		q.TenantID(), bun.List(spellings), bun.List(slices.Collect(maps.Keys(byID)))).Scan(ctx, &rows)
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		if r.UID = withoutURN(r.UID); r.UID == "" {
			r.UID = byID[r.ID]
		}
		out[r.UID] = r.ID
	}
	return out, err
}

// putGroup adds a group or changes one. What the device changed since it had the card is changed here: a group whose name or people
// were changed here too keeps both.
func (v *request) putGroup(uid string, sent *group) error {
	if err := sent.check(); err != nil {
		return err
	}
	created := false
	var refused error
	err := v.write(func(ctx context.Context, tx *db.Tx) error {
		c, err := load(ctx, tx, v.to.name, false)
		if err != nil {
			return err
		}
		if c != nil && c.group == nil {
			return invalidCard(errors.New("there is the card of a person at this address"))
		}
		target := c
		if refused = v.checkConditions(c); refused == nil {
			target, refused, err = v.checkUID(ctx, tx, c, uid)
		}
		switch created = c == nil; {
		case err != nil:
			return err
		case target == nil && refused != nil:
			// The group was deleted here. It is made again if the device changed it, which reads it again after the 412.
			given, err := v.formerGroup(ctx, tx)
			if err != nil || given != nil && reflect.DeepEqual(given, sent) {
				return err
			}
			return v.addGroup(ctx, tx, sent, uid)
		case target == nil:
			return v.addGroup(ctx, tx, sent, uid)
		case target.group == nil:
			return nil // the UID is that of a person
		}
		return v.changeGroup(ctx, tx, target, sent, refused == nil)
	})
	switch {
	case fault.Is(err, fault.AlreadyExists): // another group has the name
		return invalidCard(err)
	case err != nil:
		return cardError(err)
	case refused != nil:
		return refused
	}
	v.w.WriteHeader(map[bool]int{true: http.StatusCreated, false: http.StatusNoContent}[created])
	return nil
}

// addGroup adds a group, at the address that the device chose. If there is a group of this name, its people are added to that one, which
// the device gets when it synchronises.
func (v *request) addGroup(ctx context.Context, tx *db.Tx, sent *group, uid string) error {
	saved, err := groups.Save(ctx, tx, groups.Patch{Name: &sent.Title})
	if err != nil {
		return err
	}
	if both := strings.TrimSpace(saved.Group.Description + "\n" + sent.Description); sent.Description != "" && sent.Description != saved.Group.Description {
		if utf8.RuneCountInString(both) > maxGroupDescription {
			return invalidCard(fmt.Errorf("a group of this name has a note, and the two have more than %d characters", maxGroupDescription))
		}
		if _, err := groups.Save(ctx, tx, groups.Patch{ID: saved.Group.ID, Description: &both}); err != nil {
			return err
		}
	}
	if saved.Created {
		if err := v.nameCard(ctx, tx, saved.Group.ID, uid); err != nil {
			return err
		}
	}
	return v.moveMembers(ctx, tx, saved.Group.ID, nil, sent.Members)
}

// changeGroup makes the changes to a group that the device made since it had the card. knows is set if it has the present one.
func (v *request) changeGroup(ctx context.Context, tx *db.Tx, c *card, sent *group, knows bool) error {
	base := &group{Title: c.group.Title, Description: c.group.Description}
	match := v.r.Header.Get("If-Match")
	if knows && match != "" && match != "*" {
		base = c.group
	} else if given, err := v.lastGroup(ctx, tx, c.ID); err != nil {
		return err
	} else if given != nil {
		base = given
	}
	patch := groups.Patch{ID: c.ID}
	if sent.Title != base.Title {
		patch.Name = &sent.Title
	}
	if sent.Description != base.Description {
		patch.Description = &sent.Description
	}
	if patch.Name != nil || patch.Description != nil {
		if _, err := groups.Save(ctx, tx, patch); err != nil {
			return err
		}
	}
	return v.moveMembers(ctx, tx, c.ID, base.Members, sent.Members)
}

// without returns the members of a list that another one, which is sorted, does not have.
func without(list, other []string) (out []string) {
	for _, one := range list {
		if _, found := slices.BinarySearch(other, one); !found {
			out = append(out, one)
		}
	}
	return out
}

// moveMembers adds people to a group and removes others, as the UIDs of their cards were and are sent, and keeps the card that the device
// sent. Whoever is not in the address book yet is added once the device sends their card.
func (v *request) moveMembers(ctx context.Context, tx *db.Tx, groupID string, before, sent []string) error {
	known, err := peopleOf(ctx, tx, slices.Concat(before, sent))
	if err != nil {
		return err
	}
	ids := func(uids []string) (people []string) {
		for _, uid := range uids {
			if person := known[uid]; person != "" {
				people = append(people, person)
			}
		}
		slices.Sort(people)
		return slices.Compact(people)
	}
	pending := slices.DeleteFunc(slices.Clone(sent), func(uid string) bool { return known[uid] != "" })
	in := []string{groupID}
	for _, patch := range []groups.MembershipPatch{
		{ConnectionIDs: ids(without(sent, before)), AddGroups: in}, {ConnectionIDs: ids(without(before, sent)), RemoveGroups: in},
	} {
		if len(patch.ConnectionIDs) == 0 {
			continue
		}
		if _, err := groups.UpdateMembership(ctx, tx, patch); err != nil {
			return err
		}
	}
	row := deviceGroup{
		TenantID: tx.TenantID(), DeviceID: v.who.Credential.ID, GroupID: groupID, Card: compress(string(v.body)), Pending: strings.Join(pending, "\n"),
	}
	_, err = tx.NewInsert().Model(&row).On("CONFLICT (tenant_id, group_id, device_id) DO UPDATE").
		Set("etag = EXCLUDED.etag, card = EXCLUDED.card, pending = EXCLUDED.pending").Exec(ctx)
	return err
}

// joinGroups adds a new person to the groups into which the device put their UID before. A note names those that are too many for one person.
func (v *request) joinGroups(ctx context.Context, tx *db.Tx, uid, personID string) error {
	var waiting []deviceGroup
	err := tx.From(&waiting).Where("device_id = ? AND pending <> ''", v.who.Credential.ID).Order("group_id").Scan(ctx)
	if err != nil {
		return err
	}
	uid = withoutURN(uid)
	for _, w := range waiting {
		pending := strings.Split(w.Pending, "\n")
		if !slices.Contains(pending, uid) {
			continue
		}
		_, err := groups.UpdateMembership(ctx, tx, groups.MembershipPatch{ConnectionIDs: []string{personID}, AddGroups: []string{w.GroupID}})
		if fault.Is(err, fault.Invalid) {
			err = v.noteGroup(ctx, tx, &w, personID)
		}
		if err != nil {
			return err
		}
		w.Pending = strings.Join(without(pending, []string{uid}), "\n")
		if _, err := tx.NewUpdate().Model(&w).Column("pending").WherePK().Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// noteGroup notes about a person that a group is one too many.
func (v *request) noteGroup(ctx context.Context, tx *db.Tx, w *deviceGroup, personID string) error {
	g, err := w.read()
	if err != nil {
		return err
	}
	return addNotes(ctx, tx, personID, []string{fmt.Sprintf("Left out of the group %s: one person is in %d groups at most.", g.Title, groups.MaxGroupsOfPerson)})
}

// formerGroup returns the group that was at the address, as the device last got or sent it; nil if that is unknown.
func (v *request) formerGroup(ctx context.Context, tx *db.Tx) (*group, error) {
	var ids []string
	err := tx.NewRaw("SELECT connection_id FROM cards WHERE tenant_id = ? AND name = ?", tx.TenantID(), v.to.name).Scan(ctx, &ids)
	if err != nil {
		return nil, err
	}
	derived, _ := strings.CutSuffix(v.to.name, ending)
	return v.lastGroup(ctx, tx, strings.Join(append(ids, objectOf(derived))[:1], ""))
}

// lastGroup returns the card of a group that the device last got or sent; nil if none is stored.
func (v *request) lastGroup(ctx context.Context, tx *db.Tx, groupID string) (*group, error) {
	var held []deviceGroup
	err := tx.From(&held).Where("device_id = ? AND group_id = ?", v.who.Credential.ID, groupID).Scan(ctx)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	return held[0].read()
}

// read returns the group that the card says.
func (d *deviceGroup) read() (*group, error) {
	card, err := expand(d.Card)
	if err != nil {
		return nil, err
	}
	lines, err := content.Parse(card)
	return groupOf(lines), err
}

// keepGroups stores the cards of groups that the device got.
func (v *request) keepGroups() error {
	var held []deviceGroup
	err := v.data.From(&held).Column("group_id", "etag").Where("device_id = ?", v.who.Credential.ID).Scan(v.ctx)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(v.givenGroups, func(g deviceGroup) bool {
		return slices.ContainsFunc(held, func(h deviceGroup) bool { return h.GroupID == g.GroupID && h.ETag == g.ETag })
	})
	if len(fresh) == 0 {
		return nil
	}
	return v.write(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.NewInsert().Model(&fresh).On("CONFLICT (tenant_id, group_id, device_id) DO UPDATE").Set("etag = EXCLUDED.etag, card = EXCLUDED.card").Exec(ctx)
		return err
	})
}
