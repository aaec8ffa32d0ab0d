package importer

import (
	"slices"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

// The kinds of sign by which people are known.
const (
	byEmail   = "email"
	byPhone   = "phone"
	byAddress = "address" // of the web, social ones too
	byName    = "name"    // and organisation
	byKey     = "key"     // of the source, hashed
	byID      = "id"      // of ours
)

// MatchKey is a sign by which somebody may be known.
type MatchKey struct {
	// By is email, phone, address, name, key or id.
	By string
	// Value is a normal value, a folded name, a hash or an id.
	Value string
	// Organization is the normal name of an organisation, with a name.
	Organization string
}

// Wanted says whom to look for.
type Wanted struct {
	Keys []MatchKey
	// Notes asks for the texts of people's notes, Bare for no records at all.
	Notes, Bare bool
	// ImportID is the import that looks.
	ImportID string
}

// Found is who was found, archived people left out.
type Found struct {
	// IDs are those of the people who bear a sign, in order.
	IDs map[MatchKey][]string
	// Archived are the ids of archived people by the keys and ids that they bear.
	Archived map[MatchKey]string
	// People are their records with all lists.
	People map[string]*people.Connection
	// Keys are the hashed keys by which sources know them.
	Keys map[string][]string
	// Added are those whom the import that looks added.
	Added map[string]bool
	// Notes are the texts of their notes.
	Notes map[string][]string
}

// wanted is everything to look for on behalf of entries.
func wanted(entries []*entry) Wanted {
	var w Wanted
	for _, e := range entries {
		w.Keys = append(w.Keys, MatchKey{By: byKey, Value: e.key})
		if e.id != "" {
			w.Keys = append(w.Keys, MatchKey{By: byID, Value: e.id})
		}
		if e.leader != "" {
			w.Keys = append(w.Keys, MatchKey{By: byKey, Value: e.leader})
		}
		w.Keys = append(w.Keys, e.matchKeys()...)
		w.Notes = w.Notes || len(e.notes) > 0
	}
	return w
}

// find returns who on file an entry is; empty when nobody. others are the hashed
// keys of the file's people with ids of ours: whoever is known by one of them is
// somebody else. An address is a sign only with a name that may be the same: stranger
// is who has the address and another name.
func (f Found) find(e *entry, others map[string]bool) (id string, other stranger) {
	for _, p := range []MatchKey{{By: byID, Value: e.id}, {By: byKey, Value: e.leader}, {By: byKey, Value: e.key}} {
		if ids := f.IDs[p]; p.Value != "" && len(ids) > 0 {
			return ids[0], stranger{}
		}
	}
	for _, p := range e.matchKeys() {
		ids := slices.DeleteFunc(slices.Clone(f.IDs[p]), func(id string) bool { return e.id != "" && f.isOther(id, e, others) })
		if named := f.named(ids, e); named != "" {
			return named, stranger{}
		}
		if p.shared() {
			continue
		}
		like, unlike := f.compatible(ids, e)
		if len(like) == 1 {
			return like[0], stranger{}
		}
		if unlike != "" && other == (stranger{}) {
			other = stranger{unlike, p.By}
		}
	}
	return "", other
}

// compatible returns those of the people whose names may be the entry's, and the name
// of the first of the others.
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

// isOther tells whether a person on file is one of the others.
func (f Found) isOther(id string, e *entry, others map[string]bool) bool {
	if others[SourceKey(id)] && id != e.id {
		return true
	}
	return slices.ContainsFunc(f.Keys[id], func(key string) bool { return others[key] && key != e.key })
}

// named returns the first of the people whose name is the entry's.
func (f Found) named(ids []string, e *entry) string {
	folded := text.Fold(e.person.Name)
	for _, id := range ids {
		if c := f.People[id]; c != nil && text.Fold(c.Name) == folded {
			return id
		}
	}
	return ""
}
