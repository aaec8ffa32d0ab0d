// Package people also identifies the people of a list. Each entry is an e-mail address, a
// phone number or a name, in any mix, as in a guest list or a mail thread.
//
// An address identifies its holder whatever the entry's name, unless that name cannot be
// the holder's: then the entry is ambiguous.
//
// Addresses and exact names are looked up with one statement for each kind. Only entries
// that match none of them are searched for in memory, where typing mistakes, nicknames and
// numbers without a country code are accepted.
package people

import (
	"context"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// KindName is how a person was found who was not found by an address.
const KindName = "name"

// Outcomes.
const (
	Matched   = "matched"
	Ambiguous = "ambiguous"
	None      = "none"
)

// MaxPeople limits how many people an entry may match.
const MaxPeople = 5

// Resolved is a person who was found.
type Resolved struct {
	ID string
	names.Names
}

// Search finds people by a name, or by a phone number as it is written elsewhere,
// likeliest first, MaxPeople+1 at most.
type Search func(ctx context.Context, words, kind string) ([]Resolved, error)

// Answer says which people an entry matches.
type Answer struct {
	Outcome string
	// People are the people the entry may be, likeliest first, MaxPeople at most.
	People []Match
}

// Match is a person that an entry may be. By is connection.KindEmail, connection.KindPhone
// or KindName.
type Match struct{ ID, By string }

// entry is an entry in the forms that may be stored; each may be empty.
type entry struct{ email, phone, name string }

// parse parses an address, a number, a name, or `Name <address>`.
func parse(s string) entry {
	s = text.Line(s)
	if at := strings.LastIndexByte(s, '<'); at >= 0 && strings.HasSuffix(s, ">") {
		e := parse(s[at+1 : len(s)-1])
		if e.name = strings.Trim(strings.TrimSpace(s[:at]), `"' `); e.email != "" || e.phone != "" {
			return e
		}
	}
	if address, ok := strings.CutPrefix(strings.ToLower(s), "mailto:"); ok {
		s = address
	}
	if strings.Contains(s, "@") && !strings.Contains(s, " ") {
		return entry{email: NormalValue(KindEmail, s)}
	}
	number := strings.TrimPrefix(strings.ToLower(s), "tel:")
	if isNumber(number) {
		return entry{phone: NormalValue(KindPhone, number)}
	}
	return entry{name: s}
}

// EntryForms returns what an entry of a list is searched for by, by kind: an e-mail address, a phone number, a name.
func EntryForms(s string) map[string]string {
	e := parse(s)
	return map[string]string{KindEmail: e.email, KindPhone: e.phone, KindName: e.name}
}

// isNumber reports whether a text can only be a phone number.
func isNumber(s string) bool {
	digits := 0
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case !strings.ContainsRune("+-.()/x \u00a0", r):
			return false
		}
	}
	return digits >= 3
}

// All returns an answer for each entry, in their order.
func All(ctx context.Context, r db.Reader, search Search, entries []string) ([]Answer, error) {
	return all(ctx, func(ctx context.Context, kind string, values []string) (map[string][]Resolved, error) {
		if kind == KindName {
			return ListByName(ctx, r, values)
		}
		return ListByHandle(ctx, r, kind, values)
	}, search, entries)
}

// lookup returns the people who have one of the values of a kind, by value.
type lookup func(ctx context.Context, kind string, values []string) (map[string][]Resolved, error)

func all(ctx context.Context, look lookup, search Search, entries []string) ([]Answer, error) {
	parsed := make([]entry, len(entries))
	wanted := map[string][]string{}
	for i, s := range entries {
		parsed[i] = parse(s)
		for kind, value := range parsed[i].keys() {
			wanted[kind] = append(wanted[kind], value)
		}
	}
	found := map[string]map[string][]Resolved{}
	var err error
	for _, kind := range []string{KindEmail, KindPhone, KindName} {
		if found[kind], err = look(ctx, kind, wanted[kind]); err != nil {
			return nil, err
		}
	}
	answers := make([]Answer, len(entries))
	for i, e := range parsed {
		if answers[i], err = e.answer(ctx, found, search); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// keys returns the values to look the entry up by, for each kind.
func (e entry) keys() map[string]string {
	keys := map[string]string{}
	for kind, value := range map[string]string{KindEmail: e.email, KindPhone: e.phone, KindName: text.Fold(e.name)} {
		if value != "" {
			keys[kind] = value
		}
	}
	return keys
}

// answer prefers the address to the number to the name, and exact matches to similar ones.
func (e entry) answer(ctx context.Context, found map[string]map[string][]Resolved, search Search) (Answer, error) {
	keys := e.keys()
	namesakes := found[KindName][keys[KindName]]
	for _, kind := range []string{KindEmail, KindPhone} {
		if people := found[kind][keys[kind]]; keys[kind] != "" && len(people) > 0 {
			return e.holder(kind, people, namesakes), nil
		}
	}
	if keys[KindName] != "" && len(namesakes) > 0 {
		return outcome(KindName, namesakes), nil
	}
	for _, try := range []struct{ kind, words string }{{KindPhone, e.phone}, {KindName, e.name}} {
		if try.words == "" {
			continue
		}
		people, err := search(ctx, try.words, try.kind)
		switch {
		case err != nil:
			return Answer{}, err
		case len(people) > 0 && try.kind == KindPhone:
			return e.holder(try.kind, people, namesakes), nil
		case len(people) > 0:
			return outcome(try.kind, people), nil
		}
	}
	return Answer{Outcome: None}, nil
}

// holder answers an entry whose address these people have. When none of their names can be
// the entry's name, the entry is ambiguous: people with that name may be meant as well.
func (e entry) holder(kind string, people, namesakes []Resolved) Answer {
	var fit []Resolved
	for _, p := range people {
		if names.Compatible(names.Names{Full: e.name}, p.Names) {
			fit = append(fit, p)
		}
	}
	if len(fit) > 0 {
		return outcome(kind, fit)
	}
	a := outcome(kind, people)
	a.Outcome = Ambiguous
	for _, p := range namesakes {
		if len(a.People) < MaxPeople {
			a.People = append(a.People, Match{p.ID, KindName})
		}
	}
	return a
}

func outcome(kind string, people []Resolved) Answer {
	seen := map[string]bool{}
	a := Answer{Outcome: Matched}
	for _, p := range people {
		if !seen[p.ID] && len(a.People) < MaxPeople {
			a.People = append(a.People, Match{p.ID, kind})
		}
		seen[p.ID] = true
	}
	if len(seen) > 1 {
		a.Outcome = Ambiguous
	}
	return a
}

// sharingListed limits how many people with one address or name are read.
const sharingListed = 6

// ListByHandle returns the people who have one of the normal values of a kind, by value.
// For each value it returns a few people, in the order of their last contact, without
// archived ones. It takes one statement.
func ListByHandle(ctx context.Context, q db.Reader, kind string, values []string) (map[string][]Resolved, error) {
	if len(values) == 0 {
		return map[string][]Resolved{}, nil
	}
	return sharing(ctx, q, "SELECT h.normal_value AS value, h.connection_id FROM handles h WHERE h.tenant_id = ? AND h.kind = ? AND h.normal_value IN (?)",
		q.TenantID(), kind, bun.List(values))
}

// ListByName is ListByHandle for folded names.
func ListByName(ctx context.Context, q db.Reader, folded []string) (map[string][]Resolved, error) {
	if len(folded) == 0 {
		return map[string][]Resolved{}, nil
	}
	return sharing(ctx, q, "SELECT n.folded_name AS value, n.id AS connection_id FROM connections n WHERE n.tenant_id = ? AND n.folded_name IN (?)",
		q.TenantID(), bun.List(folded))
}

// sharing reads the live people of each value. The selection yields pairs of a value and a
// connection id.
func sharing(ctx context.Context, q db.Reader, selection string, args ...any) (map[string][]Resolved, error) {
	var rows []struct{ Value, ConnectionID, Name, Nickname string }
	err := q.NewRaw(`SELECT value, connection_id, name, nickname FROM (
SELECT v.value, v.connection_id, c.name, c.nickname, row_number() OVER (PARTITION BY v.value ORDER BY c.last_interaction_at DESC NULLS LAST, c.folded_name, c.id) AS place
FROM (?) AS v JOIN connections c ON c.tenant_id = ? AND c.id = v.connection_id AND c.archived_at IS NULL) AS r
WHERE place <= ? ORDER BY value, place`, bun.SafeQuery(selection, args...), q.TenantID(), sharingListed).Scan(ctx, &rows)
	out := map[string][]Resolved{}
	for _, row := range rows {
		out[row.Value] = append(out[row.Value], Resolved{
			ID: row.ConnectionID, Names: names.Names{Full: row.Name, Nickname: row.Nickname},
		})
	}
	return out, err
}
