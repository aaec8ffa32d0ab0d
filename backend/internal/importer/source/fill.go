package source

import (
	"net/url"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/people"
)

// fill reads the cells of a row into a draft.
func (l *layout) fill(d *draft, cells []cell, order dayOrder) {
	for i, c := range l.columns {
		if i >= len(cells) || c.field == fieldUnknown || c.field == fieldIgnored || cells[i].blank() {
			continue
		}
		if c.field == fieldNote {
			d.note(c, i+1, cells[i].String())
			continue
		}
		label, pref := c.label, 0
		if c.labelAt >= 0 && c.labelAt < len(cells) && c.field != fieldText {
			label, pref = googleLabel(cells[c.labelAt].String())
		}
		for _, value := range l.values(c.field, cells[i].String()) {
			if value = strings.TrimSpace(value); value != "" {
				if c.field == fieldGroups && l.googleGroups {
					d.googleGroup(value)
					continue
				}
				v := entry{value, label, c.number, pref, order}
				_ = v.name(d, c.field) || v.place(d, c.field) || v.day(d, c.field) || v.other(d, c.field)
			}
		}
	}
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
	order        dayOrder
}

// name reads a part of a name or job; it returns false for other fields.
func (e entry) name(d *draft, f field) bool {
	var part *string
	switch f {
	case fieldFullName:
		part = &d.name.full
	case fieldNamePrefix:
		part = &d.name.prefix
	case fieldGivenName:
		part = &d.name.given
	case fieldMiddleName:
		part = &d.name.middle
	case fieldFamilyName:
		part = &d.name.family
	case fieldNameSuffix:
		part = &d.name.suffix
	case fieldOrganization:
		part = &d.job(e.number).organization
	case fieldJobTitle:
		part = &d.job(e.number).title
	default:
		return false
	}
	if *part == "" {
		*part = e.value
	}
	return true
}

// place reads a part of an address; it returns false for other fields.
func (e entry) place(d *draft, f field) bool {
	p := func() *place { return d.place(e.label + e.number) }
	switch f {
	case fieldCity:
		p().city = e.value
	case fieldRegion:
		p().region = e.value
	case fieldCountry:
		p().country = e.value
	case fieldStreet:
		p().street = e.value
	case fieldWholeAddress:
		p().whole = e.value
	default:
		return false
	}
	p().pref = e.pref
	return true
}

// day reads a date; it returns false for other fields.
func (e entry) day(d *draft, f field) bool {
	switch f {
	case fieldBirthday:
		d.addDate(people.DateBirthday, "", e.value, e.order)
	case fieldAnniversary:
		d.addDate(people.DateAnniversary, "", e.value, e.order)
	case fieldOtherDate:
		kind := dateKind(e.label)
		d.addDate(kind, e.label, e.value, e.order)
	case fieldMetOn:
		d.metOn(e.value, e.order)
	case fieldLastContact:
		d.moment(&d.LastInteractionAt, e.value, e.order)
	case fieldAdded:
		d.moment(&d.CreatedAt, e.value, e.order)
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
func (d *draft) moment(at *time.Time, value string, order dayOrder) {
	day, err := readDate(value, order)
	if err != nil || day == "" {
		return
	}
	if on, err := time.Parse(time.DateOnly, day); err == nil {
		*at = on
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
		d.Starred = d.Starred || isYes(e.value)
	case fieldText:
		d.setText(e.label, e.value)
	case fieldCadence:
		d.cadence(e.value)
	case fieldKey:
		d.ID = e.value
	case fieldRelation:
		d.relate(export.RelationshipRecord{Name: e.value, Type: relationOf(e.label)})
	default:
		return false
	}
	return true
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
