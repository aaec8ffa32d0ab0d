package source

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// cards reads vCards.
type cards struct {
	addressBook

	text    []byte
	set     charset
	readers map[string]func(*cardReader, *property)
}

// addressBook is what vCards and JSContact have in common: a file of cards, groups among them.
type addressBook struct {
	file   *File
	region string
	days   calendar
	// groups are the names of the groups in the file, by the keys of their members.
	groups map[string][]string
	// noted are the names of properties that are kept in notes, dropped those that are not imported;
	// streets says that there are postal addresses.
	noted, dropped map[string]bool
	streets        bool
}

func (f *File) addressBook(o Options) addressBook {
	return addressBook{file: f, region: o.DefaultRegion, days: o.calendar(), groups: map[string][]string{}, noted: map[string]bool{}, dropped: map[string]bool{}}
}

func (b *addressBook) addGroup(name string, members []string) {
	for _, member := range members {
		b.groups[member] = append(b.groups[member], name)
	}
}

// note remembers a property that is kept in notes.
func (b *addressBook) note(property string) {
	if len(b.noted) < maxProperties {
		b.noted[property] = true
	}
}

// record ends a draft, with the groups that the file puts the person in.
func (b *addressBook) record(d *draft, row int, program string) Record {
	if d.ID != "" {
		for _, group := range b.groups[keyOf(d.ID)] {
			d.group(group)
		}
	}
	return b.file.keyed(d.record(row), program)
}

// end adds the warnings about the whole file.
func (b *addressBook) end() {
	if len(b.noted) > 0 {
		b.file.warn(fmt.Sprintf("Properties of cards that are kept in a note of each person: %s.", list(slices.Sorted(maps.Keys(b.noted)))))
	}
	if len(b.dropped) > 0 {
		b.file.warn(fmt.Sprintf("Properties of cards that were not imported: %s.", list(slices.Sorted(maps.Keys(b.dropped)))))
	}
	if b.streets {
		b.file.warn(streetWarning)
	}
	b.file.endKeys()
}

// card is a card as it is in the file.
type card struct {
	row        int
	old        bool // vCard 2.1
	raw        bool // version 4.0, where addresses are not text values
	properties []property
	// ended reports whether its END was found; tooMany, whether properties were left out.
	ended, tooMany bool
	// dropped are the names of properties that were not kept because they may be large.
	dropped []string
}

// maxProperties limits how many properties of one card are read.
const maxProperties = 1000

// openCards counts the cards, finds the groups among them and the properties that are not
// imported.
func (f *File) openCards(text []byte, set charset, o Options) error {
	c := &cards{addressBook: f.addressBook(o), text: text[set.skip:], set: set, readers: cardReaders()}
	f.records = c.records
	found := false
	for card := range c.all {
		found = true
		if name, members := c.group(&card); name != "" {
			c.addGroup(name, members)
			continue
		}
		if err := f.count("cards"); err != nil {
			return err
		}
		for i := range card.properties {
			p := &card.properties[i]
			c.streets = c.streets || p.name == "ADR" && hasStreet(p.value)
			if p.name == "UID" {
				uid, _ := c.set.value(p.bytes(), p.charset)
				f.keys.add(unescape(uid))
			}
			if !c.isKnown(p.name) && len(bytes.Trim(p.value, "; \t")) > 0 {
				c.note(p.name)
			}
		}
		for _, name := range card.dropped {
			c.dropped[name] = true
		}
	}
	switch {
	case !found:
		return fault.New(fault.Invalid, "the file holds no vCard: none begins with BEGIN:VCARD")
	case f.total == 0:
		return fault.New(fault.Invalid, "the file holds groups and no vCard of a person")
	}
	c.end()
	return nil
}

// records calls yield with each card of a person.
func (c *cards) records(yield func(Record) bool) {
	row := 0
	for card := range c.all {
		row++
		if name, _ := c.group(&card); name != "" {
			continue
		}
		card.row = row
		if !yield(c.read(&card)) {
			return
		}
	}
}

// all calls yield with each card, groups too. A card without END ends where the next one
// begins. A card within a card (an agent of the person) is skipped.
func (c *cards) all(yield func(card) bool) {
	lines := cardLines{text: c.text}
	var current *card
	nested := false
	last := ""
	for {
		line, ok := lines.next()
		switch {
		case !ok:
			if current != nil {
				yield(*current)
			}
			return
		case isEdge(line, "BEGIN:VCARD"):
			if current != nil && !nested && last == "AGENT" {
				nested = true
				break
			}
			if current != nil && !yield(*current) {
				return
			}
			current, nested, lines.old = &card{}, false, false
		case isEdge(line, "END:VCARD"):
			if nested || current == nil {
				nested = false
				break
			}
			current.ended = true
			if !yield(*current) {
				return
			}
			current = nil
		case current != nil && !nested:
			last = current.add(line, last)
			lines.old = current.old
			continue
		}
		last = ""
	}
}

// add adds the property of a line and returns its name. A line that is not a property
// continues a note whose line ends were not escaped.
func (c *card) add(line []byte, last string) string {
	p, ok := readProperty(line)
	if !ok {
		if n := len(c.properties); n > 0 && last == "NOTE" && c.properties[n-1].name == last && len(c.properties[n-1].value) < maxCell {
			note := &c.properties[n-1]
			note.value = append(append(note.value, '\n'), line...)
		}
		return last
	}
	switch {
	case p.name == "VERSION":
		version := strings.TrimSpace(string(p.value[:min(len(p.value), 8)]))
		c.old, c.raw = version == "2.1", version == "4.0"
	case isDropped(p.name) || p.isBinary() && p.name != propertyPhoto:
		if !slices.Contains(c.dropped, p.name) && len(c.dropped) < maxWarnings {
			c.dropped = append(c.dropped, p.name)
		}
	case len(c.properties) == maxProperties:
		c.tooMany = true
	default:
		p.value = bytes.Clone(p.value)
		c.properties = append(c.properties, p)
	}
	return p.name
}

// group returns the name and the members of a card that is a group; the name is empty for
// other cards.
func (c *cards) group(card *card) (name string, members []string) {
	isGroup := false
	for i := range card.properties {
		p := &card.properties[i]
		switch p.name {
		case "KIND", "X-ADDRESSBOOKSERVER-KIND":
			isGroup = isGroup || strings.EqualFold(strings.TrimSpace(string(p.value)), "group")
		case "FN":
			name, _ = c.set.value(p.bytes(), p.charset)
			name = unescape(name)
		case "MEMBER", "X-ADDRESSBOOKSERVER-MEMBER":
			members = append(members, keyOf(string(p.value)))
		}
	}
	if !isGroup {
		return "", nil
	}
	if name = strings.TrimSpace(name); name == "" {
		name = "Group"
	}
	return name, members
}

// hasStreet reports whether an address has a line above the town.
func hasStreet(value []byte) bool {
	parts := bytes.SplitN(value, []byte{';'}, 4)
	return len(bytes.TrimSpace(bytes.Join(parts[:min(len(parts), 3)], nil))) > 0
}

// isDropped reports whether a property is not imported and may be large.
func isDropped(name string) bool {
	switch name {
	case "LOGO", "SOUND", "KEY", "AGENT":
		return true
	}
	return false
}

// isKnown reports whether a property is read, or has no data about a person.
func (c *cards) isKnown(name string) bool {
	switch name {
	case "PRODID", "REV", "SORT-STRING", "CLASS", "PROFILE", "MAILER", "SOURCE", "NAME", "CLIENTPIDMAP", "XML", "CREATED", "LANG",
		"X-ABUID", "X-ABSHOWAS", "X-ABADR", "X-ABLABEL", "X-ABORDER", "X-PHONETIC-FIRST-NAME", "X-PHONETIC-LAST-NAME", "X-IMAGEHASH", "X-IMAGETYPE",
		"KIND", "X-ADDRESSBOOKSERVER-KIND", "MEMBER", "X-ADDRESSBOOKSERVER-MEMBER":
		return true
	}
	_, known := c.readers[name]
	return known
}
