package importer

import (
	"hash/maphash"
	"slices"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

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
		e.repeats = d.alike(at, byKey)
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
		d.leaders = append(d.leaders, leader{e.identity, e.row, e.evidence})
	}
	if _, named := d.chosen[e.row]; named {
		d.chosen[e.row] = at
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
		var unlike int32
		if at, unlike, known = d.find(d.hash(key.By, key.Value, key.Organization), key, e); known {
			e.repeats, e.namesake = d.alike(at, key.By), Alike{}
			return at, true
		}
		if unlike >= 0 && e.namesake == (Alike{}) {
			e.namesake = d.alike(unlike, key.By)
		}
	}
	return 0, false
}

// choose replaces the found leader with the chosen one.
func (d *deduper) choose(e *entry, found int32, known bool) (int32, bool) {
	switch {
	case e.choice.Do == DoSame && e.choice.Row > 0:
		if at, named := d.chosen[e.choice.Row]; named && at >= 0 {
			e.picked = d.alike(at, byChoice)
			return at, true
		}
		e.lost()
	case e.choice.Do == DoNew, e.choice.Do == DoSame:
		return 0, false
	}
	return found, known
}

// lost ignores the choice for an entry if the chosen person no longer exists.
func (e *entry) lost() {
	e.choice = RowChoice{}
	e.warnings = append(slices.Clip(e.warnings), "the chosen person no longer exists")
}

// alike returns a leader as a match of a record.
func (d *deduper) alike(at int32, by string) Alike {
	return Alike{Row: d.leaders[at].row, Name: d.leaders[at].evidence.Full, By: by}
}

// find returns the leader with a match key who is the person of an entry: the one with
// the same name, or else the only one with a compatible name, unless there is doubt
// (people.Doubt). If there is none, unlike is a leader with the match key who is or may be another
// person, or -1.
func (d *deduper) find(hash uint64, key MatchKey, e *entry) (at, unlike int32, ok bool) {
	first, taken := d.first[hash]
	if !taken {
		return 0, -1, false
	}
	folded := text.Fold(e.person.Name)
	like := 0
	unlike = -1
	for _, candidate := range append([]int32{first}, d.more[hash]...) {
		known := &d.leaders[candidate].evidence
		named := text.Fold(known.Full) == folded
		certain := named || !key.shared() && names.Compatible(known.Names, e.names)
		certain = certain && people.Doubt(known, &e.evidence) == ""
		switch {
		case certain && named:
			return candidate, -1, true
		case certain:
			at, like = candidate, like+1
		case unlike < 0 && (named || !key.shared()):
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
