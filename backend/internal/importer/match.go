package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/text"
)

// entry is a record of a person, ready to be matched.
type entry struct {
	row      int
	warnings []string
	// err says why the record cannot be imported; the fields after size are empty then.
	err error
	// size is how many bytes of text the record has, about.
	size    int
	related bool // has relationships, or is not the same as somebody
	person  *people.Connection
	// key is the hash that identifies the record when the file is imported again. id is
	// the record's key itself if that is an id of ours.
	key, id string
	// names are the names in the record, without a name that was guessed from an address.
	names names.Names
	// leader is the key of the first record in the file that is the same person; empty
	// if this is the first.
	leader string
	// namesake is an earlier person of the file with the same address and another name.
	namesake namesake
	groups   []string
	notes    []string
	// picture is the photo in the file, a data: URI; photo is what was read from it. person names
	// it.
	picture string
	photo   *photos.Photo
	// archived says that the person was archived where the file was written.
	archived bool
}

// namesake is a person with the same address as another one, and an incompatible name.
type namesake struct{ name, by string }

// SourceKey returns the hash of a key that a source gives a person.
func SourceKey(key string) string {
	sum := sha256.Sum256([]byte("key\x00" + key))
	return hex.EncodeToString(sum[:16])
}

// reader converts records to entries, in the order of the file.
type reader struct {
	dedupe *deduper
	// tags are added to all people; own says that the file is a lossless export of ours.
	tags []string
	own  bool
	seen map[[16]byte]int
}

func newReader(format string, tags []string) *reader {
	return &reader{dedupe: newDeduper(), tags: tags, own: format == source.JSON, seen: map[[16]byte]int{}}
}

// entry parses a record.
func (r *reader) entry(rec *source.Record) *entry {
	p := &rec.Person
	e := &entry{row: rec.Row, warnings: rec.Warnings, err: rec.Err, size: len(p.Bio) + len(p.Photo), picture: p.Photo, related: rec.Related()}
	for _, n := range rec.Notes {
		e.size += len(n)
	}
	if e.err == nil {
		e.err = r.fill(e, rec)
	}
	return e
}

func (r *reader) fill(e *entry, rec *source.Record) (err error) {
	p := &rec.Person
	if e.key, err = r.key(rec); err != nil {
		return err
	}
	dates := make([]people.DateDraft, len(p.ImportantDates))
	for i, d := range p.ImportantDates {
		dates[i] = people.DateDraft{Kind: d.Kind, Label: d.Label, Date: d.Date}
	}
	c, err := people.Complete(connectionOf(p, r.own, r.tags), dates)
	if err != nil {
		return err
	}
	e.person, e.groups, e.notes, e.archived = c, p.Groups, rec.Notes, !p.ArchivedAt.IsZero()
	e.names = names.Names{Full: c.Name, Nickname: c.Nickname}
	if rec.Guessed {
		e.names.Full, e.names.Nickname = c.Nickname, ""
	}
	if id.Valid(id.Connection, p.ID) {
		e.id = p.ID
	}
	e.leader, e.namesake = r.dedupe.add(e)
	return nil
}

// key returns the hash of the source's key. Without a key, it is the hash of the whole
// record and of how often the same record came before.
func (r *reader) key(rec *source.Record) (string, error) {
	if rec.Person.ID != "" {
		return SourceKey(rec.Person.ID), nil
	}
	content, err := json.Marshal([]any{rec.Person, rec.Notes})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	n := r.seen[[16]byte(sum[:16])]
	r.seen[[16]byte(sum[:16])]++
	sum = sha256.Sum256(append(sum[:], strconv.Itoa(n)...))
	return hex.EncodeToString(sum[:16]), nil
}

// maxTags limits how many tags one person has.
const maxTags = 50

// connectionOf returns the row of a person. Only our own files say where and when a person
// was added.
func connectionOf(p *export.PersonRecord, own bool, tags []string) people.Connection {
	c := p.Connection()
	c.Source, c.Version, c.SnoozedUntil = people.SourceImport, 1, moment(p.SnoozedUntil)
	if own {
		c.CreatedAt, c.UpdatedAt = moment(p.CreatedAt), moment(p.UpdatedAt)
		switch p.Source {
		case people.SourceManual, people.SourceAgent, people.SourceDirectory:
			c.Source = p.Source
		}
	}
	c.Tags = slices.Concat(tags, p.Tags)
	c.Tags = c.Tags[:min(len(c.Tags), maxTags)]
	return c
}

// moment returns a time with the precision of the databases.
func moment(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// The kinds of match keys.
const (
	byEmail   = "email"
	byPhone   = "phone"
	byAddress = "address" // web and social addresses
	byName    = "name"    // with an organisation
	byKey     = "key"     // of the source, hashed
	byID      = "id"      // of ours
)

// MatchKey is a value that may identify a person.
type MatchKey struct {
	// By is email, phone, address, name, key or id.
	By string
	// Value is a normal value, a folded name, a hash or an id.
	Value string
	// Organization is the normal name of an organisation, with a name.
	Organization string
}

// matchKeys returns the values that may identify the person, the strongest first.
func (e *entry) matchKeys() []MatchKey {
	out := make([]MatchKey, 0, len(e.person.Handles)+1)
	for _, by := range []string{byEmail, byPhone, byAddress} {
		for _, h := range e.person.Handles {
			kind := h.Kind
			if kind != people.KindEmail && kind != people.KindPhone {
				kind = byAddress
			}
			if kind == by {
				out = append(out, MatchKey{By: by, Value: h.NormalValue})
			}
		}
	}
	organization := people.NormalOrganization(e.person.CurrentPosition().Organization)
	if organization != "" {
		out = append(out, MatchKey{By: byName, Value: text.Fold(e.person.Name), Organization: organization})
	}
	return out
}

// find returns the id of the stored person that an entry is; empty if there is none.
// fileKeys are the hashed keys of the file's people with ids of ours: a stored person with
// another one of these keys is not this person. An address matches only with a compatible
// name; other is a person with the address and an incompatible name.
func (f Found) find(e *entry, fileKeys map[string]bool) (id string, other namesake) {
	for _, key := range []MatchKey{{By: byID, Value: e.id}, {By: byKey, Value: e.leader}, {By: byKey, Value: e.key}} {
		if ids := f.IDs[key]; key.Value != "" && len(ids) > 0 {
			return ids[0], namesake{}
		}
	}
	for _, key := range e.matchKeys() {
		ids := slices.DeleteFunc(slices.Clone(f.IDs[key]), func(id string) bool { return e.id != "" && f.isOther(id, e, fileKeys) })
		if named := f.named(ids, e); named != "" {
			return named, namesake{}
		}
		if key.shared() {
			continue
		}
		like, unlike := f.compatible(ids, e)
		if len(like) == 1 {
			return like[0], namesake{}
		}
		if unlike != "" && other == (namesake{}) {
			other = namesake{unlike, key.By}
		}
	}
	return "", other
}

// compatible returns the people whose names are compatible with the entry's name, and the
// name of the first of the others.
func (f Found) compatible(ids []string, e *entry) (like []string, unlike string) {
	for _, id := range ids {
		c := f.People[id]
		switch {
		case c == nil:
		case names.Compatible(names.Names{Full: c.Name, Nickname: c.Nickname}, e.names):
			like = append(like, id)
		case unlike == "":
			unlike = c.Name
		}
	}
	return like, unlike
}

// isOther reports whether a stored person is another person of the file.
func (f Found) isOther(id string, e *entry, fileKeys map[string]bool) bool {
	if fileKeys[SourceKey(id)] && id != e.id {
		return true
	}
	return slices.ContainsFunc(f.Keys[id], func(key string) bool { return fileKeys[key] && key != e.key })
}

// named returns the first of the people with the entry's name.
func (f Found) named(ids []string, e *entry) string {
	folded := text.Fold(e.person.Name)
	for _, id := range ids {
		if c := f.People[id]; c != nil && text.Fold(c.Name) == folded {
			return id
		}
	}
	return ""
}

// deduper finds records of one file that are the same person. It remembers hashes of
// match keys rather than the keys: a file may have a hundred thousand people.
type deduper struct {
	seed    maphash.Seed
	leaders []string           // keys of the first records of people
	names   []names.Names      // theirs
	first   map[uint64]int32   // the index of the first leader with a match key
	more    map[uint64][]int32 // further leaders with it, maxSharing at most
}

// maxSharing limits the leaders with one match key whose names are compared.
const maxSharing = 50

func newDeduper() *deduper {
	return &deduper{seed: maphash.MakeSeed(), first: map[uint64]int32{}, more: map[uint64][]int32{}}
}

// add remembers a record. It returns the key of the first record that is the same person,
// or else a person with the same address. For people with ids of ours, only the id decides
// whether they are the same.
func (d *deduper) add(e *entry) (leader string, other namesake) {
	hashes := []uint64{d.hash("key", e.key)}
	at, known := d.first[hashes[0]]
	if e.id == "" {
		for _, key := range e.matchKeys() {
			hash := d.hash(key.By, key.Value, key.Organization)
			if !known {
				var unlike int32
				if at, unlike, known = d.find(hash, key, e); unlike >= 0 && other == (namesake{}) {
					other = namesake{d.names[unlike].Full, key.By}
				}
			}
			hashes = append(hashes, hash)
		}
	}
	if known {
		leader, other = d.leaders[at], namesake{}
		if len(d.names[at].Full) < len(e.names.Full) { // the fuller name is incompatible with more names
			d.names[at].Full = e.names.Full
		}
	} else {
		at = int32(len(d.leaders))
		d.leaders, d.names = append(d.leaders, e.key), append(d.names, e.names)
	}
	for _, hash := range hashes {
		first, taken := d.first[hash]
		switch {
		case !taken:
			d.first[hash] = at
		case first != at && !slices.Contains(d.more[hash], at) && len(d.more[hash]) < maxSharing:
			d.more[hash] = append(d.more[hash], at)
		}
	}
	return leader, other
}

// find returns the leader with a match key who is the person of an entry: the one with
// the same name, or else the only one with a compatible name. If there is none, unlike
// is a leader with the match key and another name, or -1.
func (d *deduper) find(hash uint64, key MatchKey, e *entry) (at, unlike int32, ok bool) {
	first, taken := d.first[hash]
	if !taken {
		return 0, -1, false
	}
	folded := text.Fold(e.person.Name)
	like := 0
	unlike = -1
	for _, candidate := range append([]int32{first}, d.more[hash]...) {
		switch named := d.names[candidate]; {
		case text.Fold(named.Full) == folded:
			return candidate, -1, true
		case key.shared():
		case names.Compatible(named, e.names):
			at, like = candidate, like+1
		case unlike < 0:
			unlike = candidate
		}
	}
	if like == 1 {
		return at, -1, true
	}
	return 0, unlike, false
}

func (d *deduper) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(d.seed)
	for _, part := range parts {
		_, _ = h.WriteString(part) // it never fails
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// shared reports whether a match key may belong to several people: a mailbox like
// info@, the front page of a site, or a number that is too short for a phone number.
func (k MatchKey) shared() bool {
	const digits = 7
	switch k.By {
	case byEmail:
		local, _ := people.SplitEmail(k.Value)
		return people.IsSharedMailbox(local)
	case byPhone:
		return len(k.Value) < digits
	case byAddress:
		return !strings.ContainsAny(k.Value, "/?")
	}
	return false
}
