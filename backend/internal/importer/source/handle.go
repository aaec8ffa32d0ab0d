package source

import (
	"cmp"
	"slices"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// email, phone and web add an address as the contract has it, or warn that it
// cannot be one.
func (d *draft) email(value, label string, pref int) {
	d.address(people.KindEmail, value, label, pref, cleanEmail)
}

func (d *draft) phone(value, label string, pref int) {
	d.address(people.KindPhone, value, label, pref, func(v string) (string, string) { return cleanPhone(v, d.region) })
}

func (d *draft) web(kind, value, label string, pref int) {
	d.address(kind, value, label, pref, cleanURL)
}

// mostAddresses is how many addresses of a record are looked at, doubles and all.
const mostAddresses = 200

// address adds a handle whose value clean has put right; clean returns what is
// wrong with a value that it cannot.
func (d *draft) address(kind, value, label string, pref int, clean func(string) (value, wrong string)) {
	head, _ := firstBytes(value, 4*maxURL)
	if head = text.Line(head); !text.Visible(head) {
		return
	}
	if len(d.handles) == mostAddresses {
		d.warn("%q was left out: there are too many addresses", shown(value))
		return
	}
	good, wrong := clean(head)
	if wrong != "" {
		d.warn("%q was left out: %s", shown(value), wrong)
		return
	}
	d.handles = append(d.handles, ranked{Handle{kind, good, d.line("label of an address", label, maxLabel)}, pref})
}

// settleHandles puts the preferred handle of each kind first, in the places that
// its kind has, and leaves out doubles and those that are too many.
func (d *draft) settleHandles() {
	for _, kind := range []string{people.KindEmail, people.KindPhone, people.KindURL} {
		preferFirst(d.handles, kind)
	}
	all := map[string]int{}
	for _, h := range d.handles {
		all[listOf(h.Kind)]++
	}
	seen := map[string]bool{}
	count := map[string]int{}
	for _, h := range d.handles {
		kind := listOf(h.Kind)
		key := kind
		if all[kind] > 1 { // what stands alone is no double, and normalising is not cheap
			key += " " + people.NormalValue(h.Kind, h.Value)
		}
		switch {
		case seen[key]:
		case count[kind] == maxHandlesOfKind:
			d.warn("%q was left out: one person holds %d of a kind at most", shown(h.Value), maxHandlesOfKind)
		default:
			seen[key] = true
			count[kind]++
			d.Handles = append(d.Handles, h.Handle)
		}
	}
}

// listOf returns the kind in whose list a kind is: to callers, social addresses
// are web addresses.
func listOf(kind string) string {
	if kind == people.KindSocial {
		return people.KindURL
	}
	return kind
}

// preferFirst sorts the handles of a kind by preference, among themselves.
func preferFirst(handles []ranked, kind string) {
	var places []int
	var of []ranked
	for i, h := range handles {
		if listOf(h.Kind) == kind {
			places, of = append(places, i), append(of, h)
		}
	}
	slices.SortStableFunc(of, func(a, b ranked) int { return cmp.Compare(rank(a.pref), rank(b.pref)) })
	for i, h := range of {
		handles[places[i]] = h
	}
}

// rank puts what says nothing behind every preference (1 to 100 in vCards).
func rank(pref int) int {
	if pref <= 0 {
		return 1000
	}
	return pref
}
