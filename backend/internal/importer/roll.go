package importer

import (
	"hash/maphash"
	"strings"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/text"
)

// roll knows the records of a file that were read so far, by their signs. It keeps
// hashes: a file holds a hundred thousand people.
type roll struct {
	seed    maphash.Seed
	leaders []string         // keys of first records
	names   []uint64         // of their names
	signs   map[uint64]int32 // index of a leader, by sign
}

func newRoll() *roll {
	return &roll{seed: maphash.MakeSeed(), signs: map[uint64]int32{}}
}

// enter remembers a record, and returns the key of the first one that is the same
// person, or nothing. People with ids of ours are the same by those only.
func (r *roll) enter(e *entry) string {
	signs := []uint64{r.hash("key", e.key)}
	name := r.hash(byName, text.Fold(e.person.Name))
	leader := r.leader(signs[0], 0)
	if e.id == "" {
		for _, p := range e.probes() {
			sign := r.hash(p.By, p.Value, p.Organization)
			needed := uint64(0)
			if p.shared() {
				needed = name
			}
			if leader < 0 {
				leader = r.leader(sign, needed)
			}
			signs = append(signs, sign)
		}
	}
	var of string
	if leader < 0 {
		leader = int32(len(r.leaders))
		r.leaders, r.names = append(r.leaders, e.key), append(r.names, name)
	} else {
		of = r.leaders[leader]
	}
	for _, sign := range signs {
		if _, known := r.signs[sign]; !known {
			r.signs[sign] = leader
		}
	}
	return of
}

// leader returns the index of the first record with a sign, and with a name unless
// that is 0; -1 when there is none.
func (r *roll) leader(sign, name uint64) int32 {
	at, ok := r.signs[sign]
	if !ok || name != 0 && r.names[at] != name {
		return -1
	}
	return at
}

func (r *roll) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, part := range parts {
		_, _ = h.WriteString(part) // it never fails
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// shared tells a sign that belongs to a desk rather than to a person: a mailbox like
// info@, the front page of a site, or a number too short to tell anything.
func (p Probe) shared() bool {
	const digits = 7
	switch p.By {
	case byEmail:
		local, _ := connection.SplitEmail(p.Value)
		return desk(local)
	case byPhone:
		return len(p.Value) < digits
	case byAddress:
		return !strings.ContainsAny(p.Value, "/?")
	}
	return false
}

func desk(local string) bool {
	switch local {
	case "info", "contact", "hello", "office", "mail", "admin", "team", "sales", "support", "kontakt", "contacto",
		"help", "service", "reception", "enquiries", "inquiries", "press", "jobs", "hr", "billing", "noreply", "no-reply":
		return true
	}
	return false
}
