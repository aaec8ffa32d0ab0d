package importer

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

// deduper knows the records of a file that were read so far, by their signs. Of these it
// keeps hashes: a file holds a hundred thousand people.
type deduper struct {
	seed    maphash.Seed
	leaders []string           // keys of first records
	names   []names.Names      // theirs
	signs   map[uint64]int32   // index of the first leader, by sign
	more    map[uint64][]int32 // further leaders with a sign, maxSharing at most
}

// maxSharing bounds the leaders with one sign whose names are compared.
const maxSharing = 50

func newDeduper() *deduper {
	return &deduper{seed: maphash.MakeSeed(), signs: map[uint64]int32{}, more: map[uint64][]int32{}}
}

// add remembers a record, and returns the key of the first one that is the same
// person, or else somebody with the same address. People with ids of ours are the
// same by those only.
func (d *deduper) add(e *entry) (leader string, other stranger) {
	signs := []uint64{d.hash("key", e.key)}
	at, known := d.signs[signs[0]]
	if e.id == "" {
		for _, p := range e.matchKeys() {
			sign := d.hash(p.By, p.Value, p.Organization)
			if !known {
				var unlike int32
				if at, unlike, known = d.leaderWith(sign, p, e); unlike >= 0 && other == (stranger{}) {
					other = stranger{d.names[unlike].Full, p.By}
				}
			}
			signs = append(signs, sign)
		}
	}
	if known {
		leader, other = d.leaders[at], stranger{}
		if len(d.names[at].Full) < len(e.names.Full) { // the fuller name tells more people apart
			d.names[at].Full = e.names.Full
		}
	} else {
		at = int32(len(d.leaders))
		d.leaders, d.names = append(d.leaders, e.key), append(d.names, e.names)
	}
	for _, sign := range signs {
		d.sign(sign, at)
	}
	return leader, other
}

// sign remembers that a leader has a sign.
func (d *deduper) sign(sign uint64, at int32) {
	first, taken := d.signs[sign]
	switch {
	case !taken:
		d.signs[sign] = at
	case first != at && !slices.Contains(d.more[sign], at) && len(d.more[sign]) < maxSharing:
		d.more[sign] = append(d.more[sign], at)
	}
}

// leaderWith returns the leader with a sign who is the person of an entry: the one of the
// same name, or else the only one whose name is compatible. Without one it returns a
// leader whose address the sign is, or -1.
func (d *deduper) leaderWith(sign uint64, p MatchKey, e *entry) (at, unlike int32, ok bool) {
	first, taken := d.signs[sign]
	if !taken {
		return 0, -1, false
	}
	folded := text.Fold(e.person.Name)
	like := 0
	unlike = -1
	for _, candidate := range append([]int32{first}, d.more[sign]...) {
		switch named := d.names[candidate]; {
		case text.Fold(named.Full) == folded:
			return candidate, -1, true
		case p.shared():
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

// shared reports whether the key belongs to a team rather than to a person: a mailbox like
// info@, the front page of a site, or a number too short to tell anything.
func (p MatchKey) shared() bool {
	const digits = 7
	switch p.By {
	case byEmail:
		local, _ := people.SplitEmail(p.Value)
		return isSharedMailbox(local)
	case byPhone:
		return len(p.Value) < digits
	case byAddress:
		return !strings.ContainsAny(p.Value, "/?")
	}
	return false
}

func isSharedMailbox(local string) bool {
	switch local {
	case "info", "contact", "hello", "office", "mail", "admin", "team", "sales", "support", "kontakt", "contacto",
		"help", "service", "reception", "enquiries", "inquiries", "press", "jobs", "hr", "billing", "noreply", "no-reply":
		return true
	}
	return false
}
