package source

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// jsCards reads JSContact: a card, a list of cards, or one on each line.
type jsCards struct {
	addressBook

	text []byte
}

// openJSContact counts the cards, finds the groups among them and the properties that are
// not imported.
func (f *File) openJSContact(text []byte, o Options) error {
	c := &jsCards{addressBook: f.addressBook(o), text: text}
	f.records = c.records
	cut := false
	for e := range elements(text) {
		cut = cut || !e.whole
		if name, members := jsGroup(e); name != "" {
			c.addGroup(name, members)
			continue
		}
		if err := f.count("cards"); err != nil {
			return err
		}
		for m := range members(e.raw) {
			c.streets = c.streets || m.name == "addresses" && hasJSStreet(m)
			uid := ""
			if m.name == "uid" {
				if _, err := m.decode(&uid); err == nil {
					f.keys.add(uid)
				}
			}
			if !isKnownMember(m.name) {
				c.note(shown(m.name))
			}
		}
	}
	if f.total == 0 {
		return fault.New(fault.Invalid, "the file holds no JSContact card of a person")
	}
	if cut {
		f.warn("The file ends before its last card does: it was cut off.")
	}
	c.end()
	return nil
}

// records calls yield with each card of a person.
func (c *jsCards) records(yield func(Record) bool) {
	row := 0
	for e := range elements(c.text) {
		row++
		if name, _ := jsGroup(e); name != "" {
			continue
		}
		if !yield(c.read(row, e)) {
			return
		}
	}
}

// read reads a card.
func (c *jsCards) read(row int, e element) Record {
	var card jsCard
	if len(e.raw) == 0 || e.raw[0] != '{' {
		return Record{Row: row, Err: fault.New(fault.Invalid, "it is no JSContact card")}
	}
	warning, err := e.decode(&card)
	if err != nil {
		return Record{Row: row, Err: err}
	}
	d := draft{region: c.region, days: c.days}
	if warning != "" {
		d.warn("%s", warning)
	}
	d.jsCard(&card)
	for m := range members(e.raw) {
		switch empty := len(m.raw) <= 2 || string(m.raw) == "null"; {
		case empty:
		case m.name == "media":
			d.warn("photos and other media were left out")
		case !isKnownMember(m.name):
			d.noteOf(shown(m.name), strings.Trim(string(m.raw), `"`))
		}
	}
	return c.record(&d, row, programOf(JSContact, card.ProdID))
}

// jsGroup returns the name and the members of a card that is a group; the name is empty
// for other cards.
func jsGroup(e element) (name string, members []string) {
	if !bytes.Contains(e.raw, []byte(`"group"`)) {
		return "", nil
	}
	var card jsCard
	if _, err := e.decode(&card); err != nil || !strings.EqualFold(card.Kind, "group") {
		return "", nil
	}
	for member := range card.Members {
		members = append(members, keyOf(member))
	}
	return cmp.Or(strings.TrimSpace(card.Name.Full), "Group"), members
}

// hasJSStreet reports whether addresses have more than a town.
func hasJSStreet(m element) bool {
	var places map[string]jsPlace
	_, err := m.decode(&places)
	for _, p := range places {
		for _, part := range p.Components {
			if err == nil && (part.Kind == "name" || part.Kind == "number" || part.Kind == "postcode") {
				return true
			}
		}
	}
	return false
}

// inOrder calls see with the entries of a map: the preferred ones first, then in the order
// of their ids, which programs number.
func inOrder[T any](m map[string]T, pref func(T) int, see func(id string, v T)) {
	ids := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(pref(m[a])), rank(pref(m[b]))), cmp.Compare(len(digitsOf(a)), len(digitsOf(b))), cmp.Compare(a, b))
	})
	for _, id := range ids {
		see(id, m[id])
	}
}

// digitsOf returns the number at the end of an id. Its length puts 2 before 10.
func digitsOf(id string) string {
	return id[len(strings.TrimRight(id, "0123456789")):]
}

func noPref[T any](T) int { return 0 }
