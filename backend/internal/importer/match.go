package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"regexp"
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

// entry is a record of a person, ready to be matched. If the record has an error, the fields after size are
// empty.
type entry struct {
	*source.Record

	// size is the approximate number of bytes of text in the record.
	size int
	// connection is the row of the person, as it would be stored.
	connection *people.Connection
	// identity identifies the record when the file is imported again. id is the record's key if that
	// is one of Kith's own ids. ref is the key by which other records name this one.
	identity

	id, ref string
	// evidence are the names, the birthday and the addresses in the record, without a name that was
	// guessed from an address.
	evidence people.Evidence
	// choice is the member's choice for the record.
	choice RowChoice
	// leader is the first record in the file that is the same person; empty if this is the first.
	leader identity
	// repeats is an earlier record of the file that is the same person by the rules, whatever
	// was chosen.
	repeats Candidate
	// picked is the earlier record that was chosen; its By is empty if none was.
	picked Candidate
	// namesake is an earlier person of the file with the same address and another name.
	namesake Candidate
	// photo is what was read from the photo in the file.
	photo *photos.Photo
	// misfit says why the person cannot have the values of the record.
	misfit error
}

// archived reports whether the person was archived where the file was written.
func (e *entry) archived() bool { return !e.Person.ArchivedAt.IsZero() }

// warn adds a warning to the record and to the report.
func (e *entry) warn(r *Report, format string, args ...any) {
	e.Warnings = append(slices.Clip(e.Warnings), fmt.Sprintf(format, args...))
	r.warn("row %d: %s", e.Row, e.Warnings[len(e.Warnings)-1])
}

// Candidate is a person who matches a record, or may be the same person.
type Candidate struct {
	// ID is the id of a stored person; if it is empty, Row is an earlier record of the file.
	ID  string
	Row int
	// Name and About, their job, are as stored or in the file; About may be empty.
	Name, About string
	// By is what they have in common: a kind of MatchKey, or byNamesake.
	By string
}

// same reports whether two candidates are one person.
func (c Candidate) same(other Candidate) bool { return c.ID == other.ID && c.Row == other.Row }

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
	case uuid.MatchString(rec.Person.ID):
		return "uuid"
	}
	return rec.Source
}

// uuid is a UUID in the usual form.
var uuid = regexp.MustCompile(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

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
	e := &entry{Record: rec, choice: r.choices[rec.Row], size: len(rec.Person.Bio) + len(rec.Person.Photo)}
	for _, n := range rec.Notes {
		e.size += len(n)
	}
	if e.Err == nil {
		e.Err = r.fill(e)
	}
	return e
}

func (r *reader) fill(e *entry) (err error) {
	p := &e.Person
	if e.identity, err = r.identity(e.Record); err != nil {
		return err
	}
	dates := make([]people.DateDraft, len(p.ImportantDates))
	for i, d := range p.ImportantDates {
		dates[i] = people.DateDraft{Kind: d.Kind, Label: d.Label, Date: d.Date}
	}
	if e.connection, err = people.Complete(connectionOf(p, r.own, r.tags), dates); err != nil {
		return err
	}
	e.evidence = people.EvidenceOf(e.names, e.connection.Handles, e.connection.Dates)
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

// connectionOf returns the row of a person. Only Kith's own files say how a person was added and
// when the record was changed.
func connectionOf(p *export.PersonRecord, own bool, tags []string) people.Connection {
	c := p.Connection()
	c.Source, c.Version, c.SnoozedUntil = people.SourceImport, 1, moment(p.SnoozedUntil)
	c.CreatedAt = moment(p.CreatedAt)
	if own {
		for _, r := range p.Relationships {
			if r.ConnectionID == "" { // others are people of the file
				c.Related = append(c.Related, people.Relation{Name: r.Name, Type: r.Type, Label: r.Label})
			}
		}
		c.UpdatedAt = moment(p.UpdatedAt)
		switch p.Source {
		case people.SourceManual, people.SourceAgent, people.SourceDirectory:
			c.Source = p.Source
		}
	}
	c.Tags = slices.Concat(tags, p.Tags)
	c.Tags = c.Tags[:min(len(c.Tags), people.MaxTags)]
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
	out := make([]MatchKey, 0, len(e.connection.Handles)+1)
	for _, by := range []string{byEmail, byPhone, byAddress} {
		for _, h := range e.connection.Handles {
			kind := h.Kind
			if kind != people.KindEmail && kind != people.KindPhone {
				kind = byAddress
			}
			if kind == by {
				out = append(out, MatchKey{By: by, Value: h.NormalValue})
			}
		}
	}
	organization := people.NormalOrganization(e.connection.CurrentPosition().Organization)
	if organization != "" {
		out = append(out, MatchKey{By: byName, Value: text.Fold(e.connection.Name), Organization: organization})
	}
	return out
}

// why returns the kind, or byNamesake for a name with an organisation.
func (k MatchKey) why() string {
	if k.By == byName && k.Organization != "" {
		return byNamesake
	}
	return k.By
}

// match is the stored person that an entry is.
type match struct {
	// id is the stored person whom the entry is; empty if there is none.
	id string
	// by is why: a kind of MatchKey, or byNamesake.
	by string
	// others are people who may be the entry's person, at most maxOthers.
	others []Candidate
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
		m.others = slices.DeleteFunc(m.others, func(o Candidate) bool { return o.ID == doubtful })
		m.others = append([]Candidate{f.candidate(doubtful, byID)}, m.others[:min(len(m.others), maxOthers-1)]...)
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
	added := e.connection.CreatedAt.Truncate(time.Second)
	return known.SharesAddress(&e.evidence) && people.Doubt(&known, &e.evidence) == "" ||
		id == e.id && !added.IsZero() && c.CreatedAt.Truncate(time.Second).Equal(added)
}

// candidates returns the people who may be an entry's person, the matching one first.
func (m match) candidates(f Found) []Candidate {
	if m.id == "" {
		return m.others
	}
	return append([]Candidate{f.candidate(m.id, m.by)}, m.others...)
}

// search finds the stored person that an entry is by its addresses, and by its name with the
// organisation. People who may be relatives of the entry's person, or whose birthday is another one,
// only may be the person.
func (f Found) search(e *entry, fileKeys map[string]bool) (m match) {
	for _, key := range e.matchKeys() {
		ids := slices.DeleteFunc(slices.Clone(f.IDs[key]), func(id string) bool { return f.People[id] == nil || e.id != "" && f.isOther(id, e, fileKeys) })
		at, doubtful := key.match(e, len(ids), func(i int) *people.Evidence {
			known := f.People[ids[i]].Evidence()
			return &known
		})
		if at >= 0 {
			return match{id: ids[at], by: key.why()}
		}
		for _, i := range doubtful {
			m.add(f.candidate(ids[i], key.why()))
		}
	}
	named := slices.DeleteFunc(slices.Clone(f.Named[text.Fold(e.connection.Name)]), func(id string) bool { return e.id != "" && f.isOther(id, e, fileKeys) })
	if e.ByName && len(named) == 1 && len(m.others) == 0 {
		return match{id: named[0], by: byName}
	}
	for _, id := range named {
		m.add(f.candidate(id, byName))
	}
	return m
}

// add adds a person who may be the entry's person.
func (m *match) add(a Candidate) {
	if len(m.others) < maxOthers && !slices.ContainsFunc(m.others, a.same) {
		m.others = append(m.others, a)
	}
}

// candidate returns a stored person as a match of a record.
func (f Found) candidate(id, by string) Candidate {
	c := f.People[id]
	if c == nil {
		return Candidate{ID: id, By: by}
	}
	return Candidate{ID: id, Name: c.Name, About: c.CurrentPosition().Headline(), By: by}
}

// match returns which of some people with a match key is the person of an entry: the one with the same name,
// or else the only one with a compatible name, unless there is doubt (people.Doubt). If there is none, it
// returns -1, and those who may be the person, the doubtful ones first.
func (k MatchKey) match(e *entry, n int, evidence func(i int) *people.Evidence) (at int, doubtful []int) {
	folded := text.Fold(e.connection.Name)
	var certain []int
	for i := range n {
		known := evidence(i)
		named := text.Fold(known.Full) == folded
		switch fits := (named || !k.shared()) && names.Compatible(known.Names, e.names) && people.Doubt(known, &e.evidence) == ""; {
		case fits && named:
			return i, nil
		case fits:
			certain = append(certain, i)
		case named || !k.shared():
			doubtful = append(doubtful, i)
		}
	}
	if len(certain) == 1 {
		return certain[0], nil
	}
	return -1, append(doubtful, certain...)
}

// isOther reports whether a stored person is another person of the file.
func (f Found) isOther(id string, e *entry, fileKeys map[string]bool) bool {
	if fileKeys[SourceKey(source.Kith, id)] && id != e.id {
		return true
	}
	return slices.ContainsFunc(f.Keys[id], func(key string) bool { return fileKeys[key] && key != e.key })
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

// deduper finds records of one file that are the same person. It stores hashes of match keys
// instead of the keys, because a file may have a hundred thousand people.
type deduper struct {
	seed    maphash.Seed
	leaders []leader           // the first records of people
	first   map[uint64]int32   // the index of the first leader with a match key
	more    map[uint64][]int32 // further leaders with it, maxSharing at most
	chosen  map[int]int32      // the leaders of the rows that choices refer to; -1 if none yet
}

// leader is the first record of a person. Later records add to its evidence.
type leader struct {
	identity

	row      int
	evidence people.Evidence
}

// maxSharing limits the leaders with one match key whose names are compared.
const maxSharing = 50

func newDeduper(choices map[int]RowChoice) *deduper {
	d := &deduper{seed: maphash.MakeSeed(), first: map[uint64]int32{}, more: map[uint64][]int32{}, chosen: map[int]int32{}}
	for _, c := range choices {
		if c.Row > 0 {
			d.chosen[c.Row] = -1
		}
	}
	return d
}

// add stores a record. It sets the entry's leader (the first record that is the same person) or
// else its namesake (a person with the same address). For people with Kith's own ids, only the id
// decides whether they are the same. For others, a member's choice takes precedence, except over
// equal keys.
func (d *deduper) add(e *entry) {
	hashes := []uint64{d.hash("key", e.key)}
	at, known := d.first[hashes[0]]
	if known {
		e.repeats = d.candidate(at, byKey)
	} else if e.id == "" {
		at, known = d.search(e)
		at, known = d.choose(e, at, known)
	}
	if e.id == "" {
		for _, key := range e.matchKeys() {
			hashes = append(hashes, d.hash(key.By, key.Value, key.Organization))
		}
	}
	if known {
		e.leader = d.leaders[at].identity
		d.leaders[at].evidence.Add(&e.evidence)
	} else {
		at = int32(len(d.leaders))
		d.leaders = append(d.leaders, leader{e.identity, e.Row, e.evidence})
	}
	if _, named := d.chosen[e.Row]; named {
		d.chosen[e.Row] = at
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
}

// search finds the leader of an entry by its addresses, and by its name with the organisation.
func (d *deduper) search(e *entry) (at int32, known bool) {
	for _, key := range e.matchKeys() {
		hash := d.hash(key.By, key.Value, key.Organization)
		first, taken := d.first[hash]
		if !taken {
			continue
		}
		leaders := append([]int32{first}, d.more[hash]...)
		i, doubtful := key.match(e, len(leaders), func(i int) *people.Evidence { return &d.leaders[leaders[i]].evidence })
		if i >= 0 {
			e.repeats, e.namesake = d.candidate(leaders[i], key.why()), Candidate{}
			return leaders[i], true
		}
		if len(doubtful) > 0 && e.namesake == (Candidate{}) {
			e.namesake = d.candidate(leaders[doubtful[0]], key.why())
		}
	}
	return 0, false
}

// choose replaces the found leader with the chosen one.
func (d *deduper) choose(e *entry, found int32, known bool) (int32, bool) {
	switch {
	case e.choice.Do == DoSame && e.choice.Row > 0:
		if at, named := d.chosen[e.choice.Row]; named && at >= 0 {
			e.picked = d.candidate(at, byChoice)
			return at, true
		}
		e.dropChoice()
	case e.choice.Do == DoNew, e.choice.Do == DoSame:
		return 0, false
	}
	return found, known
}

// dropChoice ignores the choice for an entry if the chosen person no longer exists.
func (e *entry) dropChoice() {
	e.choice = RowChoice{}
	e.Warnings = append(slices.Clip(e.Warnings), "the chosen person no longer exists")
}

// candidate returns a leader as a match of a record.
func (d *deduper) candidate(at int32, by string) Candidate {
	return Candidate{Row: d.leaders[at].row, Name: d.leaders[at].evidence.Full, By: by}
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
