package dav

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// cardRow is the name and the UID that a device chose for the card of a person or a group, whose id is ConnectionID.
type cardRow struct {
	bun.BaseModel `bun:"table:cards,alias:card"`

	TenantID     tenant.ID `bun:",pk"`
	Name         string    `bun:",pk"`
	ConnectionID string
	UID          string
}

// entry is a card of the address book, or one that was there.
type entry struct {
	ID string
	// Name is the last part of its address, UID the card's id.
	Name, UID string
	// DataVersion is the data version at which it last changed or was removed.
	DataVersion int64
	// Gone is set if it is no longer in the address book.
	Gone bool
}

const ending = ".vcf"

// The UIDs that are derived from the ids of people and of groups begin so.
const (
	personUID = "6b697468-0000-8000-8"
	groupUID  = "6b697468-0001-8000-8"
)

// uidOf returns the UID that is derived from the id of a person or a group: a UUID of version 8 with the bytes of "kith" and the characters
// that follow the prefix of the id.
func uidOf(objectID string) string {
	head := personUID
	if isGroup(objectID) {
		head = groupUID
	}
	_, characters, _ := strings.Cut(objectID, "_")
	n, _ := strconv.ParseUint("1"+characters, 36, 64) // the 1 keeps zeros at the beginning
	return fmt.Sprintf("%s%03x-%012x", head, n>>48, n&(1<<48-1))
}

// objectOf returns the id of the person or the group that a UID is derived from; empty for other UIDs.
func objectOf(uid string) string {
	uid = strings.ToLower(uid)
	prefix := id.Connection
	digits, ok := strings.CutPrefix(uid, personUID)
	if !ok {
		prefix = id.Group
		if digits, ok = strings.CutPrefix(uid, groupUID); !ok {
			return ""
		}
	}
	n, err := strconv.ParseUint(strings.Replace(digits, "-", "", 1), 16, 64)
	text := strconv.FormatUint(n, 36)
	if objectID := prefix + "_" + text[1:]; err == nil && id.Valid(prefix, objectID) && uidOf(objectID) == uid {
		return objectID
	}
	return ""
}

// personOf is objectOf for people only.
func personOf(uid string) string {
	if objectID := objectOf(uid); !isGroup(objectID) {
		return objectID
	}
	return ""
}

// named returns the entry with the name and the UID that are derived from its id, where no device chose them.
func (e entry) named() entry {
	e.UID = cmp.Or(e.UID, uidOf(e.ID))
	e.Name = cmp.Or(e.Name, uidOf(e.ID)+ending)
	return e
}

// named is entry.named for several.
func named(entries []entry) []entry {
	for i, e := range entries {
		entries[i] = e.named()
	}
	return entries
}

// allEntries is the data version after which all cards changed.
const allEntries = -1

// entries returns the cards of people that changed after a data version: all that there are for allEntries, otherwise with those that are gone, and
// with groups that are gone. They are in the order of their changes.
func entries(ctx context.Context, q db.Reader, since int64) (list []entry, err error) {
	err = q.NewRaw(`SELECT c.id, coalesce(k.name, '') AS name, coalesce(k.uid, '') AS uid, c.data_version, c.archived_at IS NOT NULL AS gone
FROM connections c LEFT JOIN cards k ON k.tenant_id = c.tenant_id AND k.connection_id = c.id
WHERE c.tenant_id = ?0 AND c.data_version > ?1 AND (?1 >= 0 OR c.archived_at IS NULL)
UNION ALL SELECT r.connection_id, coalesce(k.name, ''), coalesce(k.uid, ''), r.data_version, TRUE
FROM removed_connections r LEFT JOIN cards k ON k.tenant_id = r.tenant_id AND k.connection_id = r.connection_id
WHERE r.tenant_id = ?0 AND r.data_version > ?1 AND ?1 >= 0
AND NOT EXISTS (SELECT 1 FROM connections c WHERE c.tenant_id = r.tenant_id AND c.id = r.connection_id)
AND NOT EXISTS (SELECT 1 FROM groups g WHERE g.tenant_id = r.tenant_id AND g.id = r.connection_id)
ORDER BY 4, 1`, q.TenantID(), since).Scan(ctx, &list)
	return named(list), err
}

// find returns the cards with names that are in the address book, by their names.
func find(ctx context.Context, q db.Reader, names ...string) (map[string]entry, error) {
	var ids []string
	for _, name := range names {
		if uid, ok := strings.CutSuffix(name, ending); ok && objectOf(uid) != "" {
			ids = append(ids, objectOf(uid))
		}
	}
	var list []entry
	err := q.NewRaw(`SELECT c.id, k.name, k.uid, c.data_version FROM cards k
JOIN connections c ON c.tenant_id = k.tenant_id AND c.id = k.connection_id AND c.archived_at IS NULL WHERE k.tenant_id = ?0 AND k.name IN (?1)
UNION ALL SELECT c.id, '', '', c.data_version FROM connections c WHERE c.tenant_id = ?0 AND c.id IN (?2) AND c.archived_at IS NULL
AND NOT EXISTS (SELECT 1 FROM cards k WHERE k.tenant_id = c.tenant_id AND k.connection_id = c.id)
UNION ALL SELECT g.id, coalesce(k.name, ''), coalesce(k.uid, ''), 0 FROM groups g LEFT JOIN cards k ON k.tenant_id = g.tenant_id AND k.connection_id = g.id
WHERE g.tenant_id = ?0 AND (k.name IN (?1) OR k.name IS NULL AND g.id IN (?2))`, q.TenantID(), bun.List(names), bun.List(ids)).Scan(ctx, &list)
	out := make(map[string]entry, len(list))
	for _, e := range named(list) {
		out[e.Name] = e
	}
	return out, err
}

// withUID returns the name of the card with a UID; empty if there is none.
func withUID(ctx context.Context, q db.Reader, uid string) (string, error) {
	var list []entry
	err := q.NewRaw(`SELECT c.id, k.name, k.uid FROM cards k
JOIN connections c ON c.tenant_id = k.tenant_id AND c.id = k.connection_id AND c.archived_at IS NULL WHERE k.tenant_id = ?0 AND k.uid = ?1 AND k.uid <> ''
UNION ALL SELECT c.id, coalesce(k.name, ''), '' FROM connections c LEFT JOIN cards k ON k.tenant_id = c.tenant_id AND k.connection_id = c.id
WHERE c.tenant_id = ?0 AND c.id = ?2 AND c.archived_at IS NULL AND coalesce(k.uid, '') = ''
UNION ALL SELECT g.id, coalesce(k.name, ''), coalesce(k.uid, '') FROM groups g LEFT JOIN cards k ON k.tenant_id = g.tenant_id AND k.connection_id = g.id
WHERE g.tenant_id = ?0 AND (k.uid = ?1 AND k.uid <> '' OR coalesce(k.uid, '') = '' AND g.id = ?2)`, q.TenantID(), uid, objectOf(uid)).Scan(ctx, &list)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return named(list)[0].Name, nil
}

// state is the state of the address book that a sync token stands for.
type state struct {
	// version is the data version at which people last changed.
	version int64
	// change and changeID are the number and the id of the member's last change; 0 and empty for none. After a restore of the database from a
	// backup, other changes have the numbers of those that were lost, and the ids differ.
	change   int64
	changeID string
	// groups is a hash of the groups; empty if there are none.
	groups string
}

// stateOf returns the present state, and the data version before which deletions are no longer known.
func stateOf(ctx context.Context, q db.Reader) (now state, known int64, err error) {
	var changed, removed int64
	err = q.NewRaw(`SELECT (SELECT coalesce(max(data_version), 0) FROM connections WHERE tenant_id = ?0),
(SELECT coalesce(max(data_version), 0) FROM removed_connections WHERE tenant_id = ?0), s.removed_version, coalesce(c.number, 0), coalesce(c.id, '')
FROM tenant_states s LEFT JOIN changes c ON c.tenant_id = s.tenant_id AND c.number = (SELECT max(number) FROM changes WHERE tenant_id = ?0)
WHERE s.tenant_id = ?0`, q.TenantID()).Scan(ctx, &changed, &removed, &known, &now.change, &now.changeID)
	now.version = max(changed, removed, known)
	return now, known, err
}

// happened reports whether a state was one of the address book: its change is still there.
func happened(ctx context.Context, q db.Reader, s state) (bool, error) {
	if s.change == 0 {
		return true, nil
	}
	var there int
	err := q.NewRaw("SELECT count(*) FROM changes WHERE tenant_id = ? AND number = ? AND id = ?", q.TenantID(), s.change, s.changeID).Scan(ctx, &there)
	return there > 0, err
}

// card is the content of a card: of a group, or otherwise of a person.
type card struct {
	entry

	person export.Person
	group  *group
}

// text returns the card, of version 3.0 or 4.0.
func (c *card) text(v3 bool) string {
	if c.group != nil {
		return c.group.card(c.UID, v3)
	}
	return export.Card(&c.person, v3)
}

// title returns the name of the person or the group.
func (c *card) title() string {
	if c.group != nil {
		return c.group.Title
	}
	return c.person.Name
}

// read calls each with the contents of cards, in their order. Cards that are gone by now are left out. Each part is read on its own: what
// changes meanwhile has a later data version than the list.
func read(ctx context.Context, q db.Reader, list []entry, photos bool, each func(*card) error) error {
	part := 500
	if photos {
		part = 50
	}
	for len(list) > 0 {
		some := list[:min(part, len(list))]
		list = list[len(some):]
		ids := make([]string, len(some))
		for i, e := range some {
			ids[i] = e.ID
		}
		persons, err := export.ReadPeople(ctx, q, ids, photos)
		if err != nil {
			return err
		}
		at := make(map[string]*export.Person, len(persons))
		for i := range persons {
			at[persons[i].ID] = &persons[i]
		}
		grouped, err := groupsAmong(ctx, q, ids)
		if err != nil {
			return err
		}
		for _, e := range some {
			c := grouped[e.ID]
			if p := at[e.ID]; p != nil {
				p.UID = e.UID
				c = &card{entry: e, person: *p}
			}
			if c == nil {
				continue
			}
			if err := each(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// groupsAmong returns the cards of the groups among ids, by these.
func groupsAmong(ctx context.Context, q db.Reader, ids []string) (map[string]*card, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(objectID string) bool { return !isGroup(objectID) })
	if len(ids) == 0 {
		return nil, nil
	}
	out := make(map[string]*card, len(ids))
	list, err := readGroups(ctx, q, ids...)
	for _, c := range list {
		out[c.ID] = c
	}
	return out, err
}

// etag returns the entity tag: a hash of the card and the id of the photo.
func (c *card) etag() string {
	plain := c.person
	plain.Picture.Data = nil
	whole := card{entry: c.entry, person: plain, group: c.group}
	sum := sha256.Sum256([]byte(whole.text(true) + plain.Photo))
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// tokenPrefix begins the sync tokens of a member.
func (v *request) tokenPrefix() string {
	return "urn:kith:sync:" + v.who.Tenant.Placement()[:8] + ":"
}

// ctag returns the ctag of a state, which differs if people or groups do.
func (v *request) ctag(s state) string {
	tag := v.tokenPrefix() + strconv.FormatInt(s.version, 10)
	if s.groups != "" {
		tag += ":" + s.groups
	}
	return tag
}

// token returns the sync token of a state.
func (v *request) token(s state) string {
	return fmt.Sprintf("%s%d:%d:%s:%s", v.tokenPrefix(), s.version, s.change, s.changeID, s.groups)
}

// parseToken returns the state of a sync token; false for a token of another member or that is not valid.
func (v *request) parseToken(token string) (s state, ok bool) {
	rest, ok := strings.CutPrefix(token, v.tokenPrefix())
	parts := strings.Split(rest, ":")
	if !ok || len(parts) != 4 {
		return s, false
	}
	version, err := strconv.ParseInt(parts[0], 10, 64)
	change, err2 := strconv.ParseInt(parts[1], 10, 64)
	return state{version, change, parts[2], parts[3]}, errors.Join(err, err2) == nil && version >= 0 && change >= 0
}
