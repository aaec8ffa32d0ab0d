package source

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/people"
)

// fill reads the cells of a row into a draft.
func (l *layout) fill(d *draft, cells []string) {
	for i, c := range l.columns {
		if i >= len(cells) || c.field == fieldIgnored || cells[i] == "" {
			continue
		}
		value := cells[i]
		if c.field == fieldUnknown && isDefault(value) {
			continue
		}
		label, pref := c.label, 0
		if c.labelAt >= 0 && c.labelAt < len(cells) && c.field != fieldText {
			label, pref = googleLabel(cells[c.labelAt])
		}
		if c.field == fieldNote || c.field == fieldUnknown {
			d.note(c, i+1, label, value)
			continue
		}
		d.column, d.days = c.name(i+1), c.days
		for n, value := range l.values(c.field, value) {
			if value = strings.TrimSpace(value); value == "" {
				continue
			}
			if c.field == fieldGroups && l.googleGroups {
				d.googleGroup(value)
				continue
			}
			e := entry{value, label, c.number, pref}
			if n > 0 {
				e.number += fmt.Sprint(":::", n)
			}
			_ = e.name(d, c.field) || e.place(d, c.field) || e.day(d, c.field) || e.other(d, c.field)
		}
	}
	d.column = ""
	if d.MetOn != "" && d.MetHow == "" {
		d.MetHow = l.metHow
	}
	if l.keyFromProfile {
		d.ID = profileKey(d.handles)
	}
}

// entry is a value of a cell, with the data of its column.
type entry struct {
	value, label string
	number       string
	pref         int
}

// name reads a part of a name or job; it returns false for other fields. A second value is kept in
// the import note.
func (e entry) name(d *draft, f field) bool {
	var part *string
	what := ""
	switch f {
	case fieldFullName:
		part, what = &d.name.full, "name"
	case fieldNamePrefix:
		part, what = &d.name.prefix, "name prefix"
	case fieldGivenName:
		part, what = &d.name.given, "given name"
	case fieldMiddleName:
		part, what = &d.name.middle, "middle name"
	case fieldFamilyName:
		part, what = &d.name.family, "family name"
	case fieldNameSuffix:
		part, what = &d.name.suffix, "name suffix"
	case fieldOrganization:
		part, what = &d.job(e.number).organization, "organisation"
	case fieldJobTitle:
		part, what = &d.job(e.number).title, "job title"
	default:
		return false
	}
	e.into(d, part, what)
	return true
}

// into fills a text, or keeps a second value in the import note.
func (e entry) into(d *draft, part *string, what string) {
	if *part == "" {
		*part = e.value
		return
	}
	d.second(what, *part, e.value)
}

// place reads a part of an address; it returns false for other fields.
func (e entry) place(d *draft, f field) bool {
	p := func() *place {
		at := d.place(e.label + e.number)
		at.label, at.pref = e.label, e.pref
		return at
	}
	switch f {
	case fieldLocation:
		d.set(&d.Location, "location", e.value, maxLocation)
	case fieldCity:
		e.into(d, &p().city, "town")
	case fieldRegion:
		e.into(d, &p().region, "region")
	case fieldCountry:
		e.into(d, &p().country, "country")
	case fieldPostcode:
		e.into(d, &p().postcode, "postcode")
	case fieldStreet:
		at := p()
		at.lines = append(at.lines, e.value)
	case fieldWholeAddress:
		e.into(d, &p().whole, "address")
	default:
		return false
	}
	return true
}

// day reads a date; it returns false for other fields.
func (e entry) day(d *draft, f field) bool {
	switch f {
	case fieldBirthday:
		d.addDate(people.DateBirthday, "", e.value)
	case fieldBirthDay:
		e.into(d, &d.birth.day, "day of birth")
	case fieldBirthMonth:
		e.into(d, &d.birth.month, "month of birth")
	case fieldBirthYear:
		e.into(d, &d.birth.year, "year of birth")
	case fieldAnniversary:
		d.addDate(people.DateAnniversary, "", e.value)
	case fieldOtherDate:
		kind := dateKind(e.label)
		d.addDate(kind, e.label, e.value)
	case fieldMetOn:
		d.metOn(e.value)
	case fieldLastContact:
		d.moment(&d.LastInteractionAt, "last contact", e.value)
	case fieldAdded:
		d.moment(&d.CreatedAt, "day they were added", e.value)
	default:
		return false
	}
	return true
}

// dateKind returns the kind of a date with a label.
func dateKind(label string) string {
	switch strings.ToLower(label) {
	case "birthday":
		return people.DateBirthday
	case "anniversary", "wedding":
		return people.DateAnniversary
	}
	return people.DateOther
}

// moment sets a time of which only the day is known.
func (d *draft) moment(at *time.Time, what, value string) {
	day, err := readDate(value, d.days)
	if day == "" && err == nil {
		return
	}
	on, err := time.Parse(time.DateOnly, day)
	switch {
	case err != nil:
		d.keep(what, value, "it is no day")
	case at.IsZero():
		*at = on
	default:
		d.second(what, at.Format(time.DateOnly), day)
	}
}

// other reads the remaining fields; it returns false for fields that no column has.
func (e entry) other(d *draft, f field) bool {
	switch f {
	case fieldEmail:
		d.email(e.value, e.label, e.pref)
	case fieldPhone:
		d.phone(e.value, e.label, e.pref)
	case fieldWebAddress:
		d.web(people.KindURL, e.value, e.label, e.pref)
	case fieldProfile:
		d.web(people.KindSocial, e.value, e.label, e.pref)
	case fieldAboutText:
		d.about(e.value)
	case fieldTags:
		d.tag(e.value)
	case fieldGroups:
		d.group(e.value)
	case fieldStarred:
		d.star(e.value)
	case fieldText:
		d.setText(e.label, e.value)
	case fieldCadence:
		d.cadence(e.value)
	case fieldKey:
		e.into(d, &d.ID, "id")
	case fieldRelation:
		d.relate(export.RelationshipRecord{Name: e.value, Type: relationOf(e.label), Label: e.label})
	default:
		return false
	}
	return true
}

// star reads whether a person is starred.
func (d *draft) star(value string) {
	switch strings.ToLower(value) {
	case "no", "n", "false", "0", "nein", "non", "nao", "não", "nee", "nie", "falsch", "faux", "falso", "☆":
	default:
		if !isYes(value) {
			d.keep("star", value, "it is neither yes nor no")
			return
		}
		d.Starred = true
	}
}

func isYes(s string) bool {
	switch strings.ToLower(s) {
	case "yes", "y", "true", "1", "x", "ja", "oui", "si", "sí", "sim", "tak", "★":
		return true
	}
	return false
}

// profileKey returns the path of the first LinkedIn profile, /in/ and the name, in one
// spelling.
func profileKey(handles []ranked) string {
	for _, h := range handles {
		u, err := url.Parse(h.Value)
		if err != nil || h.Kind != people.KindSocial {
			continue
		}
		if slug, ok := strings.CutPrefix(strings.ToLower(u.Path), "/in/"); ok {
			if slug, _, _ = strings.Cut(slug, "/"); slug != "" {
				return "/in/" + slug
			}
		}
	}
	return ""
}
