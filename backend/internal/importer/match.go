package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	// unreadDates is how many dates could not be read.
	unreadDates int
	// misfit says why the person cannot have the values of the record.
	misfit error
	// err says why the record cannot be imported; the fields after size are empty then.
	err error
	// size is the approximate number of bytes of text in the record.
	size    int
	related bool // has relationships or is marked as not the same as another person
	// contacted says that the record has the time of the last contact.
	contacted bool
	person    *people.Connection
	// identity identifies the record when the file is imported again. id is the record's key if that
	// is one of Kith's own ids.
	identity

	id string
	// evidence are the names, the birthday and the addresses in the record, without a name that was
	// guessed from an address.
	evidence people.Evidence
	// choice is the member's choice for the record.
	choice RowChoice
	// leader is the first record in the file that is the same person; empty if this is the first.
	leader identity
	// repeats is an earlier record of the file that is the same person by the rules, whatever
	// was chosen.
	repeats Alike
	// picked is the earlier record that was chosen; its By is empty if none was.
	picked Alike
	// namesake is an earlier person of the file with the same address and another name.
	namesake Alike
	groups   []string
	notes    []string
	// picture is the photo in the file, a data: URI; photo is what was read from it. person names
	// it.
	picture string
	photo   *photos.Photo
	// archived says that the person was archived where the file was written.
	archived bool
}

// Alike is a person who matches a record, or may be the same person.
type Alike struct {
	// ID is the id of a stored person; if it is empty, Row is an earlier record of the file.
	ID  string
	Row int
	// Name and About, their job, are as stored or in the file; About may be empty.
	Name, About string
	// By is what they have in common: a kind of MatchKey.
	By string
}

// identity are the hashes by which a record is found again.
type identity struct {
	// key is the hash of the source and its key. Without a key, it is content.
	key string
	// content is the hash of the whole record, and of how often the same record came before.
	content string
	// names are the names in the record.
	names names.Names
	// sameName says that the key of the source counts only with the same name.
	sameName bool
}

// SourceKey returns the hash of a key that a source gives a person. A key is unique within its
// source: another program's key is another hash.
func SourceKey(source, key string) string {
	sum := sha256.Sum256([]byte("key\x00" + source + "\x00" + key))
	return hex.EncodeToString(sum[:16])
}

// sourceOf returns the source of a record's key. Kith's own ids and UUIDs have one source, whatever
// program wrote the file.
func sourceOf(rec *source.Record) string {
	switch {
	case id.Valid(id.Connection, rec.Person.ID):
		return source.Kith
	case isUUID(rec.Person.ID):
		return "uuid"
	}
	return rec.Source
}

// isUUID reports whether a key is a UUID in the usual form.
func isUUID(key string) bool {
	const form = "00000000-0000-0000-0000-000000000000"
	return len(key) == len(form) && strings.Map(func(r rune) rune {
		if r == '-' {
			return r
		}
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F' {
			return '0'
		}
		return -1
	}, key) == form
}

// reader converts records to entries, in the order of the file.
type reader struct {
	dedupe *deduper
	// choices are the member's choices for single records, by their rows.
	choices map[int]RowChoice
	// tags are added to all people; own is set if the file is a lossless export of Kith.
	tags []string
	own  bool
	seen map[[16]byte]int
}

func newReader(format string, o Options) *reader {
	return &reader{dedupe: newDeduper(o.Rows), choices: o.Rows, tags: o.Tags, own: format == source.JSON, seen: map[[16]byte]int{}}
}

// entry parses a record.
func (r *reader) entry(rec *source.Record) *entry {
	p := &rec.Person
	e := &entry{row: rec.Row, choice: r.choices[rec.Row], warnings: rec.Warnings, unreadDates: rec.UnreadDates, err: rec.Err, size: len(p.Bio) + len(p.Photo), picture: p.Photo, related: rec.Related(), contacted: !p.LastInteractionAt.IsZero()}
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
	if e.identity, err = r.identity(rec); err != nil {
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
	e.evidence = people.EvidenceOf(e.names, c.Handles, c.Dates)
	if id.Valid(id.Connection, p.ID) {
		e.id = p.ID
	}
	if e.choice.Do != DoSkip {
		r.dedupe.add(e)
	}
	return nil
}

// identity returns the hashes and the names of a record.
func (r *reader) identity(rec *source.Record) (identity, error) {
	content, err := json.Marshal([]any{rec.Person, rec.Notes})
	if err != nil {
		return identity{}, err
	}
	sum := sha256.Sum256(content)
	n := r.seen[[16]byte(sum[:16])]
	r.seen[[16]byte(sum[:16])]++
	sum = sha256.Sum256(append(sum[:], strconv.Itoa(n)...))
	out := identity{content: hex.EncodeToString(sum[:16]), names: names.Names{Full: text.Line(rec.Person.Name), Nickname: rec.Person.Nickname}}
	if rec.Guessed {
		out.names = names.Names{Full: rec.Person.Nickname}
	}
	out.key = out.content
	if rec.Person.ID != "" {
		from := sourceOf(rec)
		out.key, out.sameName = SourceKey(from, rec.Person.ID), from == rec.Source && rec.UnknownLayout
	}
	return out, nil
}

// maxTags limits how many tags one person has.
const maxTags = 50

// connectionOf returns the row of a person. Only Kith's own files say how a person was added and
// when the record was changed.
func connectionOf(p *export.PersonRecord, own bool, tags []string) people.Connection {
	c := p.Connection()
	c.Source, c.Version, c.SnoozedUntil = people.SourceImport, 1, moment(p.SnoozedUntil)
	c.CreatedAt = moment(p.CreatedAt)
	if own {
		c.UpdatedAt = moment(p.UpdatedAt)
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
	byID      = "id"      // of ours; or the same key, but another name
	byChoice  = "choice"  // of the member
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

// match is the stored person that an entry is.
type match struct {
	// id is the stored person whom the entry is; empty if there is none.
	id string
	// by is why: a kind of MatchKey.
	by string
	// others are people who may be the entry's person, at most maxOthers.
	others []Alike
}

// maxOthers limits the people who may be the person of a record.
const maxOthers = 5

// find returns the stored person that an entry is. fileKeys are the hashed keys of the file's
// people if these are Kith's own ids: a stored person with another one of these keys is not this
// person. A key counts if the names do not contradict it (confirms), an address only with a name
// that is certainly the same person's. The member's choice takes precedence, except over keys.
func (f Found) find(e *entry, fileKeys map[string]bool) match {
	known, doubtful := f.keyed(e)
	if known != "" {
		return match{id: known, by: byKey}
	}
	m := f.search(e, fileKeys)
	if doubtful != "" && m.id != doubtful {
		m.others = slices.DeleteFunc(m.others, func(o Alike) bool { return o.ID == doubtful })
		m.others = append([]Alike{f.alike(doubtful, byID)}, m.others[:min(len(m.others), maxOthers-1)]...)
	}
	if chosen := f.IDs[MatchKey{By: byID, Value: e.choice.Person}]; e.choice.Do == DoSame && len(chosen) > 0 {
		return match{chosen[0], byChoice, m.candidates(f)}
	}
	if e.choice.Do == DoNew || e.choice.Do == DoSame && e.choice.Row > 0 {
		return match{others: m.candidates(f)}
	}
	return m
}

// keyed returns the stored person with one of an entry's keys. If the names contradict the key, it
// returns the person as doubtful.
func (f Found) keyed(e *entry) (known, doubtful string) {
	for _, own := range []identity{e.leader, e.identity} {
		if ids := f.IDs[MatchKey{By: byKey, Value: own.content}]; own.content != "" && len(ids) > 0 {
			return ids[0], ""
		}
	}
	for _, try := range []struct {
		identity
		MatchKey
	}{{e.identity, MatchKey{By: byID, Value: e.id}}, {e.leader, MatchKey{By: byKey, Value: e.leader.key}}, {e.identity, MatchKey{By: byKey, Value: e.key}}} {
		ids := f.IDs[try.MatchKey]
		if try.Value == "" || len(ids) == 0 {
			continue
		}
		if f.confirms(try.identity, try.MatchKey) || f.isRenamed(ids[0], e) {
			return ids[0], ""
		}
		doubtful = cmp.Or(doubtful, ids[0])
	}
	return "", doubtful
}

// confirms reports whether the names of a record fit one of the names of the person with a key: the
// present one, the one that the key came with, or the one before a merge.
func (f Found) confirms(own identity, key MatchKey) bool {
	for _, known := range f.Names[key] {
		if own.sameName && names.Parse(known.Full).Key != names.Parse(own.names.Full).Key || !names.Compatible(known, own.names) {
			continue
		}
		return true
	}
	return false
}

// isRenamed reports whether the stored person with an entry's key is the entry's person in spite of
// the name: they have an address in common and nothing else speaks against it, or an export of
// Kith's own has the time at which the person was added.
func (f Found) isRenamed(id string, e *entry) bool {
	c := f.People[id]
	if c == nil {
		return false
	}
	known := c.Evidence()
	added := e.person.CreatedAt.Truncate(time.Second)
	return known.SharesAddress(&e.evidence) && people.Doubt(&known, &e.evidence) == "" ||
		id == e.id && !added.IsZero() && c.CreatedAt.Truncate(time.Second).Equal(added)
}

// candidates returns the people who may be an entry's person, the matching one first.
func (m match) candidates(f Found) []Alike {
	if m.id == "" {
		return m.others
	}
	return append([]Alike{f.alike(m.id, m.by)}, m.others...)
}

// search finds the stored person that an entry is by its addresses, and by its name with the
// organisation. People who may be relatives of the entry's person, or whose birthday is another one,
// only may be the person.
func (f Found) search(e *entry, fileKeys map[string]bool) (m match) {
	for _, key := range e.matchKeys() {
		ids := slices.DeleteFunc(slices.Clone(f.IDs[key]), func(id string) bool { return e.id != "" && f.isOther(id, e, fileKeys) })
		like, unlike := f.compatible(ids, e)
		if named := f.named(like, e); named != "" {
			return match{id: named, by: key.By}
		}
		if key.shared() {
			unlike = slices.DeleteFunc(unlike, func(id string) bool { return f.named([]string{id}, e) == "" })
			like = nil
		}
		if len(like) == 1 {
			return match{id: like[0], by: key.By}
		}
		for _, id := range slices.Concat(unlike, like) {
			m.add(f.alike(id, key.By))
		}
	}
	for _, id := range f.Named[text.Fold(e.person.Name)] {
		if e.id == "" || !f.isOther(id, e, fileKeys) {
			m.add(f.alike(id, byName))
		}
	}
	return m
}

// add adds a person who may be the entry's person.
func (m *match) add(a Alike) {
	if len(m.others) < maxOthers && !slices.ContainsFunc(m.others, func(o Alike) bool { return o.ID == a.ID && o.Row == a.Row }) {
		m.others = append(m.others, a)
	}
}

// alike returns a stored person as a match of a record.
func (f Found) alike(id, by string) Alike {
	c := f.People[id]
	if c == nil {
		return Alike{ID: id, By: by}
	}
	return Alike{ID: id, Name: c.Name, About: jobOf(c), By: by}
}

// jobOf returns a person's current title and organisation in a few words.
func jobOf(c *people.Connection) string {
	at := c.CurrentPosition()
	return strings.Trim(at.Title+", "+at.Organization, ", ")
}

// compatible returns the people whose names are compatible with the entry's name without doubt, and
// the others.
func (f Found) compatible(ids []string, e *entry) (like, unlike []string) {
	for _, id := range ids {
		c := f.People[id]
		if c == nil {
			continue
		}
		if known := c.Evidence(); names.Compatible(known.Names, e.names) && people.Doubt(&known, &e.evidence) == "" {
			like = append(like, id)
		} else {
			unlike = append(unlike, id)
		}
	}
	return like, unlike
}

// isOther reports whether a stored person is another person of the file.
func (f Found) isOther(id string, e *entry, fileKeys map[string]bool) bool {
	if fileKeys[SourceKey(source.Kith, id)] && id != e.id {
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
