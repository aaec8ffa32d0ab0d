package people

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Complete turns what a file says about a person into a record. Addresses get their normal
// values, and duplicates and empty entries are removed. Values that no record may hold
// fail with fault.Invalid.
func Complete(c Connection, dates []DateDraft) (*Connection, error) {
	c.cleanTexts()
	handles, positions, tags := c.Handles, c.Positions, c.Tags
	c.Handles, c.Positions, c.Tags, c.Dates = nil, nil, nil, nil
	for _, h := range handles {
		h.Value, h.Label = text.Line(h.Value), text.Line(h.Label)
		h.NormalValue = NormalValue(h.Kind, h.Value)
		if h.NormalValue != "" && !slices.ContainsFunc(c.Handles, h.same) {
			c.Handles = append(c.Handles, h)
		}
	}
	for _, p := range positions {
		p.Organization, p.Title = text.Line(p.Organization), text.Line(p.Title)
		if p.Organization != "" || p.Title != "" {
			c.Positions = append(c.Positions, p)
		}
	}
	c.addTags(tags)
	if err := c.addDates("important_dates", dates); err != nil {
		return nil, err
	}
	if c.Name == "" {
		c.Name = GuessName(c.Handles)
	}
	return &c, c.check()
}

// Unused is a value of a file that a record does not get, because it has another one.
type Unused struct {
	// Field is what the value says, in words, such as "birthday".
	Field string
	// Stored is the value that stays, and Said the file's.
	Stored, Said string
}

// MergeFrom adds what a file says about a person to the record. It reports whether anything
// changed, and which of the file's values were not used. Existing values stay, and missing ones are
// added; with overwrite, the file's values replace existing ones. Values that the file does not have
// never change. Versions and times are left to the caller.
func (c *Connection) MergeFrom(from *Connection, overwrite bool) (after *Connection, changed bool, unused []Unused, err error) {
	b := blend{Connection: c.clone(), overwrite: overwrite}
	b.fields(from)
	b.handles(from.Handles)
	b.positions(from.Positions)
	for _, d := range from.Dates {
		b.date(d)
	}
	b.tags(from.Tags)
	if !b.changed {
		return c, false, b.unused, nil
	}
	return b.Connection, true, b.unused, b.check()
}

// blend is a record to which values are being added.
type blend struct {
	*Connection

	overwrite, changed bool
	unused             []Unused
}

// set replaces a value with another one if it is empty or may be overwritten.
func set[T comparable](b *blend, name string, field *T, value T) {
	var empty T
	switch {
	case value == empty || value == *field:
	case *field != empty && !b.overwrite:
		b.leave(name, fmt.Sprint(*field), fmt.Sprint(value))
	default:
		*field = value
		b.changed = true
	}
}

// leave notes a value that is not used, unless the stored one only has other capital letters, accents or spaces.
func (b *blend) leave(name, stored, said string) {
	if text.Fold(text.Line(stored)) != text.Fold(text.Line(said)) {
		b.unused = append(b.unused, Unused{name, stored, said})
	}
}

func (b *blend) fields(from *Connection) {
	words := map[string]string{
		"name": "name", "nickname": "nickname", "location": "place", "bio": "text about the person", "met_on": "day when you met", "met_how": "story of how you met",
	}
	theirs := from.texts()
	for i, mine := range b.texts() {
		if mine.name != "name" || from.Name != GuessName(from.Handles) { // a guess overwrites no name
			set(b, words[mine.name], mine.value, *theirs[i].value)
		}
	}
	set(b, "star", &b.Starred, from.Starred)
	if from.Photo != "" && b.Photo != "" && from.Photo != b.Photo && !b.overwrite {
		b.leave("photo", "the stored one", "another one")
	} else {
		set(b, "photo", &b.Photo, from.Photo)
	}
	set(b, "number of days for keeping in touch", &b.CadenceDays, from.CadenceDays)
	switch {
	case from.SnoozedUntil.Equal(b.SnoozedUntil):
	case !from.SnoozedUntil.IsZero() && !b.SnoozedUntil.IsZero() && !b.overwrite:
		b.leave("end of the pause of keeping in touch", b.SnoozedUntil.UTC().Format(time.DateOnly), from.SnoozedUntil.UTC().Format(time.DateOnly))
	default:
		set(b, "", &b.SnoozedUntil, from.SnoozedUntil)
	}
}

func (b *blend) handles(from []Handle) {
	for _, h := range from {
		at := slices.IndexFunc(b.Handles, h.same)
		if at < 0 {
			h.ID = ""
			b.Handles = append(b.Handles, h)
			b.changed = true
			continue
		}
		set(b, "label of "+b.Handles[at].Value, &b.Handles[at].Label, h.Label)
		if b.overwrite { // it is the same address in another spelling
			set(b, "", &b.Handles[at].Value, h.Value)
		}
	}
}

// positions adds jobs. When a current position exists, another current job is ignored,
// unless it may overwrite: then it becomes the primary position.
func (b *blend) positions(from []Position) {
	held := b.CurrentPosition() != (Position{})
	for _, p := range from {
		p.ID, p.OrganizationID = "", ""
		at := slices.IndexFunc(b.Positions, p.sameJob)
		switch {
		case at >= 0:
			mine := &b.Positions[at]
			set(b, "title at "+mine.Organization, &mine.Title, p.Title)
			set(b, "beginning of the job", &mine.StartedOn, p.StartedOn)
			set(b, "end of the job", &mine.EndedOn, p.EndedOn)
		case !p.Current || !held:
			b.Positions = append(b.Positions, p)
			b.changed = true
		case b.overwrite:
			b.setPosition(p.Organization, p.Title)
			set(b, "", &b.Positions[0].StartedOn, p.StartedOn)
			held, b.changed = false, true // further current ones are added beside it
		default:
			b.leave("job", b.CurrentPosition().line(), p.line())
		}
	}
}

func (b *blend) date(d ImportantDate) {
	d.ID = ""
	known := slices.Clone(b.Dates)
	at := slices.IndexFunc(b.Dates, func(other ImportantDate) bool { return other.Kind == DateBirthday })
	if b.overwrite && d.Kind == DateBirthday && at >= 0 {
		if fuller, ok := d.with(b.Dates[at]); ok {
			d = fuller
		}
		b.Dates[at].Year, b.Dates[at].Month, b.Dates[at].Day = d.Year, d.Month, d.Day
	} else {
		if stored, said := b.absorbDate(d, false); said != "" {
			b.unused = append(b.unused, Unused{cmp.Or(d.Label, d.Kind), stored, said})
		}
	}
	b.changed = b.changed || !slices.Equal(known, b.Dates)
}

// line is the job in one line.
func (p Position) line() string {
	if p.Title == "" || p.Organization == "" {
		return p.Title + p.Organization
	}
	return p.Title + " at " + p.Organization
}

// tags adds tags while there is room for them.
func (b *blend) tags(from []string) {
	for _, tag := range from {
		switch {
		case slices.ContainsFunc(b.Tags, sameTag(tag)):
		case len(b.Tags) < maxTags:
			b.addTags([]string{tag})
			b.changed = true
		default:
			b.unused = append(b.unused, Unused{"number of tags", strconv.Itoa(maxTags), tag})
		}
	}
}
