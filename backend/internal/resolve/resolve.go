// Package resolve tells who the people of a list are: an e-mail address, a phone
// number or a name each, in any mix, as they stand in a guest list or a mail thread.
//
// Addresses and exact names are looked up with one statement for each kind. Only
// what is on file under none of them is searched for in memory, where typing
// mistakes, nicknames and numbers without a country code are forgiven.
package resolve

import (
	"context"
	"strings"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/text"
)

// KindName is how a person was found who was not found by an address.
const KindName = "name"

// Outcomes.
const (
	Matched   = "matched"
	Ambiguous = "ambiguous"
	None      = "none"
)

// MaxPeople is how many people an entry may be.
const MaxPeople = 5

// Directory looks people up in one tenant's network.
type Directory interface {
	// ListByHandle returns who has which normal value of a kind of handle.
	ListByHandle(ctx context.Context, kind string, values []string) (map[string][]string, error)
	// ListByName returns who bears which folded name.
	ListByName(ctx context.Context, folded []string) (map[string][]string, error)
}

// Search finds people by a name, or by a phone number as it is written elsewhere,
// likeliest first, MaxPeople+1 at most.
type Search func(ctx context.Context, words, kind string) ([]string, error)

// Answer says who an entry is.
type Answer struct {
	Outcome string
	// MatchedBy is connection.KindEmail, connection.KindPhone or KindName.
	MatchedBy string
	// IDs are the people it may be, likeliest first.
	IDs []string
}

// entry is an entry in the forms that may be on file; each may be empty.
type entry struct{ email, phone, name string }

// parse reads an address, a number, a name, or `Name <address>`.
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
		return entry{email: connection.NormalValue(connection.KindEmail, s)}
	}
	number := strings.TrimPrefix(strings.ToLower(s), "tel:")
	if isNumber(number) {
		return entry{phone: connection.NormalValue(connection.KindPhone, number)}
	}
	return entry{name: s}
}

// isNumber tells what can only be a phone number.
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

// All answers each entry, in their order.
func All(ctx context.Context, d Directory, search Search, entries []string) ([]Answer, error) {
	parsed := make([]entry, len(entries))
	wanted := map[string][]string{}
	for i, s := range entries {
		parsed[i] = parse(s)
		for kind, value := range parsed[i].keys() {
			wanted[kind] = append(wanted[kind], value)
		}
	}
	found := map[string]map[string][]string{}
	var err error
	for _, kind := range []string{connection.KindEmail, connection.KindPhone} {
		if found[kind], err = d.ListByHandle(ctx, kind, wanted[kind]); err != nil {
			return nil, err
		}
	}
	if found[KindName], err = d.ListByName(ctx, wanted[KindName]); err != nil {
		return nil, err
	}
	answers := make([]Answer, len(entries))
	for i, e := range parsed {
		if answers[i], err = e.answer(ctx, found, search); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// keys returns what to look the entry up by, for each kind.
func (e entry) keys() map[string]string {
	keys := map[string]string{}
	for kind, value := range map[string]string{connection.KindEmail: e.email, connection.KindPhone: e.phone, KindName: text.Fold(e.name)} {
		if value != "" {
			keys[kind] = value
		}
	}
	return keys
}

// answer prefers the address to the number to the name, and what is on file so to
// what is like it.
func (e entry) answer(ctx context.Context, found map[string]map[string][]string, search Search) (Answer, error) {
	keys := e.keys()
	for _, kind := range []string{connection.KindEmail, connection.KindPhone, KindName} {
		if ids := found[kind][keys[kind]]; keys[kind] != "" && len(ids) > 0 {
			return outcome(kind, ids), nil
		}
	}
	for _, try := range []struct{ kind, words string }{{connection.KindPhone, e.phone}, {KindName, e.name}} {
		if try.words == "" {
			continue
		}
		ids, err := search(ctx, try.words, try.kind)
		if err != nil || len(ids) > 0 {
			return outcome(try.kind, ids), err
		}
	}
	return Answer{Outcome: None}, nil
}

func outcome(kind string, ids []string) Answer {
	seen := map[string]bool{}
	a := Answer{Outcome: Matched, MatchedBy: kind}
	for _, id := range ids {
		if !seen[id] && len(a.IDs) < MaxPeople {
			a.IDs = append(a.IDs, id)
		}
		seen[id] = true
	}
	if len(seen) > 1 {
		a.Outcome = Ambiguous
	}
	return a
}
