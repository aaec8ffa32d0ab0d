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
	text   []byte
	set    charset
	region string
	days   calendar
	// groups are the names of the groups in the file, by the keys of their members.
	groups  map[string][]string
	readers map[string]func(*cardReader, *property)
	count   int
	keys    keyUse
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
func (f *File) openCards(text []byte, set charset, o Options) (reader, error) {
	c := &cards{text: text[set.skip:], set: set, region: o.DefaultRegion, days: o.calendar(), groups: map[string][]string{}, readers: cardReaders()}
	lost := map[string]bool{}
	dropped := map[string]bool{}
	found, streets := false, false
	for card := range c.all {
		found = true
		if name, members := c.group(&card); name != "" {
			for _, member := range members {
				c.groups[member] = append(c.groups[member], name)
			}
			continue
		}
		c.count++
		if c.count > MaxRecords {
			return nil, fault.New(fault.Invalid, "the file holds more than %d cards; split it into several files", MaxRecords)
		}
		for i := range card.properties {
			p := &card.properties[i]
			streets = streets || p.name == "ADR" && hasStreet(p.value)
			if p.name == "UID" {
				uid, _ := c.set.value(p.bytes(), p.charset)
				c.keys.add(unescape(uid))
			}
			if !c.isKnown(p.name) && len(bytes.Trim(p.value, "; \t")) > 0 && len(lost) < maxProperties {
				lost[p.name] = true
			}
		}
		for _, name := range card.dropped {
			dropped[name] = true
		}
	}
	switch {
	case !found:
		return nil, fault.New(fault.Invalid, "the file holds no vCard: none begins with BEGIN:VCARD")
	case c.count == 0:
		return nil, fault.New(fault.Invalid, "the file holds groups and no vCard of a person")
	}
	if len(lost) > 0 {
		f.warn(fmt.Sprintf("Properties of cards that are kept in a note of each person: %s.", list(slices.Sorted(maps.Keys(lost)))))
	}
	if len(dropped) > 0 {
		f.warn(fmt.Sprintf("Properties of cards that were not imported: %s.", list(slices.Sorted(maps.Keys(dropped)))))
	}
	if streets {
		f.warn(streetWarning)
	}
	f.warn(c.keys.end())
	return c, nil
}

func (c *cards) total() int { return c.count }

// records calls yield with each card of a person.
func (c *cards) records(yield func(Record) bool) {
	row := 0
	for card := range c.all {
		row++
		if name, _ := c.group(&card); name != "" {
			continue
		}
		card.row = row
		if !yield(c.record(&card)) {
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
