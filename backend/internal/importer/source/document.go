package source

import (
	"strings"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
)

// document reads our own lossless export.
type document struct {
	// The lists of the document, not decoded yet.
	peopleList, noteList, interactionList, reminderList, groupList []byte
	count                                                          int
}

// openDocument finds the lists of a document, in whatever order they come.
func (f *File) openDocument(data []byte) (reader, error) {
	d := &document{}
	format := ""
	for m := range members(data) {
		switch m.name {
		case "format":
			if _, err := m.decode(&format); err != nil {
				return nil, fault.New(fault.Invalid, "the format of the document is no text")
			}
		case "people":
			d.peopleList = m.raw
		case "notes":
			d.noteList = m.raw
		case "interactions":
			d.interactionList = m.raw
		case "reminders":
			d.reminderList = m.raw
		case "groups":
			d.groupList = m.raw
		}
	}
	switch family, _, _ := strings.Cut(export.Format, "/"); {
	case !strings.HasPrefix(format, family+"/"):
		return nil, fault.New(fault.Invalid, "this JSON is no export of Kith")
	case format != export.Format:
		return nil, fault.New(fault.Invalid, "this export is of the format %q, which another version of Kith wrote; here %q is read", shown(format), export.Format)
	}
	for range elements(d.peopleList) {
		if d.count++; d.count > MaxRecords {
			return nil, fault.New(fault.Invalid, "the file holds more than %d people; split it into several files", MaxRecords)
		}
	}
	if d.count == 0 && none(d.reminderList) && none(d.groupList) {
		return nil, fault.New(fault.Invalid, "the export holds no people")
	}
	if valueAt(data, space(data, 0)).whole {
		return d, nil
	}
	f.warn("The file ends before the document does: it was cut off.")
	return d, nil
}

// none tells whether a list has no elements.
func none(list []byte) bool {
	for range elements(list) {
		return false
	}
	return true
}

func (d *document) total() int { return d.count }

// records calls yield with each person.
func (d *document) records(yield func(Record) bool) {
	row := 0
	for e := range elements(d.peopleList) {
		row++
		var p export.PersonRecord
		warning, err := e.decode(&p)
		r := Record{Row: row, Err: err}
		if err == nil {
			r = person(row, p, warning)
		}
		if !yield(r) {
			return
		}
	}
}

// person holds a record to the bounds, as those of other files.
func person(row int, p export.PersonRecord, warning string) Record {
	d := draft{}
	if warning != "" {
		d.warn("%s", warning)
	}
	d.Key, d.name.full, d.Starred, d.Source, d.Archived = p.ID, p.Name, p.Starred, shown(p.Source), !p.ArchivedAt.IsZero()
	d.set(&d.Nickname, "nickname", p.Nickname, maxNickname)
	d.set(&d.Location, "location", p.Location, maxLocation)
	d.set(&d.MetHow, "way they met", p.MetHow, maxMetHow)
	d.about(p.Bio)
	d.metOn(p.MetOn, monthFirst)
	if p.CadenceDays < 0 || p.CadenceDays > maxCadence {
		d.warn("the interval of %d days was left out", p.CadenceDays)
	} else {
		d.CadenceDays = p.CadenceDays
	}
	d.SnoozedUntil, d.LastInteractionAt, d.CreatedAt, d.UpdatedAt = p.SnoozedUntil, p.LastInteractionAt, p.CreatedAt, p.UpdatedAt
	for _, h := range p.Handles {
		d.handle(h)
	}
	for _, o := range p.Positions {
		d.addPosition(Position{o.Organization, o.Title, o.StartedOn, o.EndedOn, o.Current})
	}
	for _, on := range p.ImportantDates {
		d.addLabelledDate(dateKindOf(on.Kind), on.Label, on.Date, monthFirst)
	}
	for _, tag := range p.Tags {
		d.tag(tag)
	}
	for _, group := range p.Groups {
		d.group(group)
	}
	for _, r := range p.Relationships {
		d.relate(Relation{ID: r.ID, Key: r.ConnectionID, Name: r.Name, Type: relationType(r.Type)})
	}
	return d.record(row)
}

func (d *draft) handle(h export.HandleRecord) {
	switch h.Kind {
	case people.KindEmail:
		d.email(h.Value, h.Label, 0)
	case people.KindPhone:
		d.phone(h.Value, h.Label, 0)
	case people.KindURL, people.KindSocial:
		d.web(h.Kind, h.Value, h.Label, 0)
	default:
		d.warn("%q was left out: %q is no kind of address", shown(h.Value), shown(h.Kind))
	}
}

func dateKindOf(kind string) string {
	switch kind {
	case people.DateBirthday, people.DateAnniversary:
		return kind
	}
	return people.DateOther
}

func relationType(relation string) string {
	switch relation {
	case people.RelationSpouse, people.RelationParent, people.RelationChild, people.RelationSibling,
		people.RelationColleague, people.RelationManager, people.RelationReport, people.RelationIntroducedBy,
		people.RelationIntroduced, people.RelationFriend:
		return relation
	}
	return people.RelationOther
}
