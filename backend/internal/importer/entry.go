package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

// entry is a record that can be imported.
type entry struct {
	row    int
	person *people.Connection
	// key is the hash by which the record is known again; id is the key itself when
	// that is an id of ours.
	key, id string
	// names are what the record calls the person; a name that was guessed from an
	// address is not among them.
	names names.Names
	// leader is the key of the first record in the file that is the same person;
	// empty when this is the first.
	leader string
	// stranger is an earlier person of the file who has the same address, and a name
	// that tells that it is somebody else; only where there is no leader.
	stranger stranger
	groups   []string
	notes    []string
	// archived tells that the person was archived where the file was written.
	archived bool
}

// stranger is somebody whose address another person has, too.
type stranger struct{ name, by string }

// SourceKey returns the hash of a key that a source gives a person.
func SourceKey(key string) string {
	sum := sha256.Sum256([]byte("key\x00" + key))
	return hex.EncodeToString(sum[:16])
}

// reader makes entries of records, in the order of the file.
type reader struct {
	dedupe *deduper
	// tags are everybody's, own tells a file of ours.
	tags []string
	own  bool
	seen map[[16]byte]int
}

func newReader(format string, tags []string) *reader {
	return &reader{dedupe: newDeduper(), tags: tags, own: format == source.JSON, seen: map[[16]byte]int{}}
}

// entry reads a record that has no error.
func (r *reader) entry(rec *source.Record) (*entry, error) {
	p := &rec.Person
	key, err := r.key(p)
	if err != nil {
		return nil, err
	}
	c, err := people.Complete(r.raw(p), p.Dates)
	if err != nil {
		return nil, err
	}
	e := &entry{row: rec.Row, person: c, key: key, groups: p.Groups, notes: p.Notes, archived: r.own && p.Archived}
	e.names = names.Names{Full: c.Name, Nickname: c.Nickname}
	if rec.Guessed {
		e.names = names.Names{Full: c.Nickname}
	}
	if id.Valid(id.Connection, p.Key) {
		e.id = p.Key
	}
	e.leader, e.stranger = r.dedupe.add(e)
	return e, nil
}

// raw is the person as a row. Only files of ours say where a person came from, and
// when.
func (r *reader) raw(p *source.Person) people.Connection {
	c := people.Connection{
		Name: p.Name, Nickname: p.Nickname, Location: p.Location, Bio: p.Bio, Starred: p.Starred, MetOn: p.MetOn, MetHow: p.MetHow,
		CadenceDays: p.CadenceDays, SnoozedUntil: moment(p.SnoozedUntil), Source: people.SourceImport, Version: 1,
		Tags: append(append(make([]string, 0, len(r.tags)+len(p.Tags)), r.tags...), p.Tags...),
	}
	if r.own {
		c.CreatedAt, c.UpdatedAt = moment(p.CreatedAt), moment(p.UpdatedAt)
		switch p.Source {
		case people.SourceManual, people.SourceAgent, people.SourceDirectory:
			c.Source = p.Source
		}
	}
	c.Tags = c.Tags[:min(len(c.Tags), maxTags)]
	for _, h := range p.Handles {
		c.Handles = append(c.Handles, people.Handle{Kind: h.Kind, Value: h.Value, Label: h.Label})
	}
	for _, o := range p.Positions {
		c.Positions = append(c.Positions, people.Position{
			Organization: o.Organization, Title: o.Title, StartedOn: o.StartedOn, EndedOn: o.EndedOn, Current: o.Current,
		})
	}
	return c
}

// maxTags is how many tags one person holds.
const maxTags = 50

// key returns the hash of the source's key; without one, of all that the record
// says, and how often it said so before.
func (r *reader) key(p *source.Person) (string, error) {
	if p.Key != "" {
		return SourceKey(p.Key), nil
	}
	said, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(said)
	content := [16]byte(sum[:16])
	n := r.seen[content]
	r.seen[content]++
	sum = sha256.Sum256(append(sum[:], strconv.Itoa(n)...))
	return hex.EncodeToString(sum[:16]), nil
}

// keys are the signs by which somebody is known, the strongest first.
func (e *entry) matchKeys() []MatchKey {
	out := make([]MatchKey, 0, len(e.person.Handles)+1)
	for _, class := range []string{byEmail, byPhone, byAddress} {
		for _, h := range e.person.Handles {
			if classOf(h.Kind) == class {
				out = append(out, MatchKey{By: class, Value: h.NormalValue})
			}
		}
	}
	organization := people.NormalOrganization(e.person.CurrentPosition().Organization)
	if organization != "" {
		out = append(out, MatchKey{By: byName, Value: text.Fold(e.person.Name), Organization: organization})
	}
	return out
}

func classOf(kind string) string {
	switch kind {
	case people.KindEmail:
		return byEmail
	case people.KindPhone:
		return byPhone
	default:
		return byAddress
	}
}

// moment is a time as databases keep it.
func moment(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
