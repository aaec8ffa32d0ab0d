package people

import (
	"slices"

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

// Blend adds what a file says about a person to the record, and reports whether anything
// changed. Existing values stay, and missing ones are added; with overwrite, the file's
// values replace existing ones. Values that the file does not have never change. Versions
// and times are left to the caller.
func (c *Connection) Blend(from *Connection, overwrite bool) (after *Connection, changed bool, err error) {
	b := blend{Connection: c.clone(), overwrite: overwrite}
	b.fields(from)
	b.handles(from.Handles)
	b.positions(from.Positions)
	for _, d := range from.Dates {
		b.date(d)
	}
	b.tags(from.Tags)
	if !b.changed {
		return c, false, nil
	}
	return b.Connection, true, b.check()
}

// blend is a record to which values are being added.
type blend struct {
	*Connection

	overwrite, changed bool
}

// set replaces a value with another one if it is empty or may be overwritten.
func set[T comparable](b *blend, field *T, value T) {
	var empty T
	if value == empty || value == *field || *field != empty && !b.overwrite {
		return
	}
	*field = value
	b.changed = true
}

func (b *blend) fields(from *Connection) {
	theirs := from.texts()
	for i, mine := range b.texts() {
		if mine.name != "name" || from.Name != GuessName(from.Handles) { // a guess overwrites no name
			set(b, mine.value, *theirs[i].value)
		}
	}
	set(b, &b.Starred, from.Starred)
	set(b, &b.Photo, from.Photo)
	set(b, &b.CadenceDays, from.CadenceDays)
	if !from.SnoozedUntil.Equal(b.SnoozedUntil) {
		set(b, &b.SnoozedUntil, from.SnoozedUntil)
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
		set(b, &b.Handles[at].Label, h.Label)
		set(b, &b.Handles[at].Value, h.Value)
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
			set(b, &mine.Title, p.Title)
			set(b, &mine.StartedOn, p.StartedOn)
			set(b, &mine.EndedOn, p.EndedOn)
		case !p.Current || !held:
			b.Positions = append(b.Positions, p)
			b.changed = true
		case b.overwrite:
			b.setPosition(p.Organization, p.Title)
			set(b, &b.Positions[0].StartedOn, p.StartedOn)
			held, b.changed = false, true // further current ones are added beside it
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
		b.absorbDate(d, false)
	}
	b.changed = b.changed || !slices.Equal(known, b.Dates)
}

// tags adds tags while there is room for them.
func (b *blend) tags(from []string) {
	for _, tag := range from {
		if len(b.Tags) < maxTags && !slices.ContainsFunc(b.Tags, sameTag(tag)) {
			b.addTags([]string{tag})
			b.changed = true
		}
	}
}
