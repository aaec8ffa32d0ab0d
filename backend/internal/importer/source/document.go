package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/cadence"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/text"
)

// openDocument finds the lists of Kith's lossless JSON export, in any order.
func (f *File) openDocument(data []byte) error {
	f.lists = map[string][][]byte{}
	format := ""
	for m := range members(data) {
		switch m.name {
		case "format":
			if _, err := m.decode(&format); err != nil {
				return fault.New(fault.Invalid, "the format of the document is no text")
			}
		case "people", "notes", "interactions", "reminders", "groups":
			f.lists[m.name] = [][]byte{m.raw}
		}
	}
	switch family, _, _ := strings.Cut(export.Format, "/"); {
	case !strings.HasPrefix(format, family+"/"):
		return fault.New(fault.Invalid, "this JSON is no export of Kith")
	case format != export.Format:
		return fault.New(fault.Invalid, "this export is of the format %q, which another version of Kith wrote; here %q is read", shown(format), export.Format)
	}
	for range elements(f.lists["people"]...) {
		if err := f.count("people"); err != nil {
			return err
		}
	}
	if f.total == 0 && none(f.lists["reminders"]...) && none(f.lists["groups"]...) {
		return fault.New(fault.Invalid, "the export holds no people")
	}
	if !valueAt(data, space(data, 0)).whole {
		f.warn("The file ends before the document does: it was cut off.")
	}
	f.records = f.people
	return nil
}

// none reports whether a list has no elements.
func none(list ...[]byte) bool {
	for range elements(list...) {
		return false
	}
	return true
}

// people calls yield with each person of Kith's JSON export.
func (f *File) people(yield func(Record) bool) {
	row := 0
	for e := range elements(f.lists["people"]...) {
		row++
		var p export.PersonRecord
		warning, err := e.decode(&p)
		r := Record{Row: row, Err: err}
		if err == nil {
			r = f.person(row, p, warning)
			r.Source = Kith
		}
		if !yield(r) {
			return
		}
	}
}

// person applies the limits to a record, as for other files.
func (f *File) person(row int, p export.PersonRecord, warning string) Record {
	d := draft{fields: f.fields}
	if warning != "" {
		d.warn("%s", warning)
	}
	d.ID, d.name.full, d.Starred, d.Source, d.ArchivedAt = p.ID, p.Name, p.Starred, shown(p.Source), p.ArchivedAt
	d.setText("nickname", p.Nickname)
	d.setText("location", p.Location)
	d.setText("met_how", p.MetHow)
	d.addText(p.Bio)
	d.Photo = p.Photo
	d.name.NameParts = p.NameParts
	d.setMetOn(p.MetOn)
	d.setDeceasedOn(p.DeceasedOn)
	if p.CadenceDays < cadence.Never || p.CadenceDays > maxCadence {
		d.keepInNote("interval", strconv.Itoa(p.CadenceDays), fmt.Sprintf("it is no number of days from 1 to %d", maxCadence))
	} else {
		d.CadenceDays = p.CadenceDays
	}
	d.SnoozedUntil, d.LastInteractionAt, d.CreatedAt, d.UpdatedAt = p.SnoozedUntil, p.LastInteractionAt, p.CreatedAt, p.UpdatedAt
	for _, h := range p.Handles {
		d.handle(h)
	}
	for _, k := range p.Kept {
		if !canBeKept(k) || !d.keep(k.Format, k.Name, k.Text) {
			d.keepInNote("property "+shown(k.Name), k.Text, "it is no property that a card may have beside those that Kith knows, or there are too many")
		}
	}
	for _, v := range p.Fields {
		d.customField(v.Name, v.Type, v.Value)
	}
	for _, a := range p.Accounts {
		d.account(a.Service, a.Handle, a.Label)
	}
	for _, a := range p.Addresses {
		d.addAddress(place{
			label: a.Label, lines: []string{a.Street}, postcode: a.Postcode, city: a.Locality, region: a.Region, country: a.Country, whole: a.Text, exact: true,
		}.address(&d))
	}
	for _, o := range p.Positions {
		d.addPosition(export.PositionRecord{Organization: o.Organization, Title: o.Title, StartedOn: o.StartedOn, EndedOn: o.EndedOn, Current: o.Current})
	}
	for _, on := range p.ImportantDates {
		d.addLabelledDate(dateKindOf(on.Kind), on.Label, on.Date)
	}
	for _, tag := range p.Tags {
		d.tag(tag)
	}
	for _, group := range p.Groups {
		d.group(group)
	}
	for _, r := range p.Relationships {
		read := relatedAs(r.Type, r.Name)
		read.ID, read.ConnectionID, read.Label, read.InverseLabel = r.ID, r.ConnectionID, cmp.Or(r.Label, read.Label), r.InverseLabel
		d.addRelation(read)
	}
	for _, other := range p.NotSameAs {
		switch key := keyOf(other); {
		case key == "" || slices.Contains(d.NotSameAs, key):
		case len(d.NotSameAs) == maxNotSame:
			d.warn("%q was left out: one person is marked as not the same as %d others at most", shown(key), maxNotSame)
		default:
			d.NotSameAs = append(d.NotSameAs, key)
		}
	}
	return d.record(row, true)
}

// canBeKept reports whether what a document says is a property that Kith does not understand, so that it ends no card.
func canBeKept(k people.Kept) bool {
	switch k.Format {
	case VCard:
		p, ok := readProperty([]byte(k.Text))
		known := (&cards{readers: cardReaders()}).isKnown(p.name) && p.name != "X-ABLABEL"
		return ok && p.name == k.Name && !known && !strings.HasPrefix("BEGIN:VCARD", p.name+":") && p.name != "END" && p.name != "VERSION" && !strings.ContainsAny(k.Text, "\r\n")
	case JSContact:
		return json.Valid([]byte(k.Text)) && k.Name != "" && !isKnownMember(k.Name)
	}
	return false
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
		d.keepInNote("address", h.Value, fmt.Sprintf("%q is no kind of address", shown(h.Kind)))
	}
}

func dateKindOf(kind string) string {
	switch kind {
	case people.DateBirthday, people.DateAnniversary:
		return kind
	}
	return people.DateOther
}

// Limits of the lists of a document, as in the contract.
const (
	mostOfNote        = 20
	mostOfInteraction = 50
	maxSummary        = 2000
	maxExternalKey    = 200
	maxMinutes        = 7 * 24 * 60
	maxReminder       = 500
	maxDescription    = 500
)

// Listed is an object in a list of Kith's JSON export or of Monica's.
type Listed[T any] struct {
	// Row is its ordinal, from 1.
	Row    int
	Record T
	// Err is a *fault.Error (Invalid) when the object cannot be imported; Record is
	// empty then.
	Err error
}

// The objects in the lists of Kith's JSON export.
type (
	Note        = Listed[export.NoteRecord]
	Interaction = Listed[export.InteractionRecord]
	Reminder    = Listed[export.ReminderRecord]
	Group       = Listed[export.GroupRecord]
)

// Notes returns the notes of Kith's JSON export or of Monica's; other files have none.
func (f *File) Notes() iter.Seq[Note] { return listed(f.lists["notes"], tidyNote) }

// Interactions returns the interactions of Kith's JSON export or of Monica's; other files have none.
func (f *File) Interactions() iter.Seq[Interaction] {
	return listed(f.lists["interactions"], tidyInteraction)
}

// Reminders returns the reminders of Kith's JSON export or of Monica's; other files have none.
func (f *File) Reminders() iter.Seq[Reminder] { return listed(f.lists["reminders"], tidyReminder) }

// Groups returns the groups of Kith's JSON export, with their data other than people; other
// files have none.
func (f *File) Groups() iter.Seq[Group] { return listed(f.lists["groups"], tidyGroup) }

// listed decodes the objects of a list. tidy makes a record fit the limits of the
// contract, or returns an error.
func listed[T any](list [][]byte, tidy func(*T) error) iter.Seq[Listed[T]] {
	return func(yield func(Listed[T]) bool) {
		row := 0
		for e := range elements(list...) {
			row++
			item := Listed[T]{Row: row}
			_, err := e.decode(&item.Record)
			if err == nil {
				err = tidy(&item.Record)
			}
			if err != nil {
				item = Listed[T]{Row: row, Err: err}
			}
			if !yield(item) {
				return
			}
		}
	}
}

func tidyNote(n *export.NoteRecord) error {
	n.ID, n.ConnectionIDs = keyOf(n.ID), keys(n.ConnectionIDs)
	n.Body, _ = clean(n.Body, maxNote)
	day, err := time.Parse(time.DateOnly, n.Day)
	if err == nil && !localFits(n.NotedAt, n.Day) {
		n.NotedAt = civil.Noon(day, time.UTC)
	}
	switch {
	case n.Day != "" && err != nil:
		return fault.New(fault.Invalid, "%q is no day of the calendar", shown(n.Day))
	case !text.Visible(n.Body):
		return fault.New(fault.Invalid, "the note is empty")
	case len(n.ConnectionIDs) == 0 || len(n.ConnectionIDs) > mostOfNote:
		return fault.New(fault.Invalid, "the note is about %d people; it may be about 1 to %d", len(n.ConnectionIDs), mostOfNote)
	}
	return nil
}

func tidyInteraction(i *export.InteractionRecord) error {
	i.ID, i.ConnectionIDs = keyOf(i.ID), keys(i.ConnectionIDs)
	i.Summary, _ = clean(i.Summary, maxSummary)
	i.ExternalKey, _ = line(i.ExternalKey, maxExternalKey)
	kinds := []string{"meeting", "call", "email", "message", "event", "intro", "other"}
	switch {
	case !slices.Contains(kinds, i.Kind):
		return fault.New(fault.Invalid, "%q is no kind of interaction; use one of %s", shown(i.Kind), list(kinds))
	case i.OccurredAt.IsZero():
		return fault.New(fault.Invalid, "it is not known when the interaction took place")
	case !localFits(i.OccurredAt, i.OccurredLocal):
		return fault.New(fault.Invalid, "the interaction cannot have taken place at %s and, in local time, at %s", i.OccurredAt.UTC().Format(time.RFC3339), shown(i.OccurredLocal))
	case len(i.ConnectionIDs) == 0 || len(i.ConnectionIDs) > mostOfInteraction:
		return fault.New(fault.Invalid, "%d people took part; there may be 1 to %d", len(i.ConnectionIDs), mostOfInteraction)
	case i.DurationMinutes < 0 || i.DurationMinutes > maxMinutes:
		return fault.New(fault.Invalid, "a duration of %d minutes is none", i.DurationMinutes)
	}
	return nil
}

// localFits reports whether a local time, if there is one, is the same time as at, or its day in some
// time zone.
func localFits(at time.Time, given string) bool {
	local, err := civil.ParseLocal(given, time.UTC)
	if given == "" || err != nil {
		return given == ""
	}
	if len(given) == len(time.DateOnly) {
		return at.Sub(local).Abs() < 36*time.Hour
	}
	return at.Sub(local).Abs() < time.Second
}

func tidyReminder(r *export.ReminderRecord) error {
	if r.ConnectionID != "" {
		r.ConnectionIDs, r.ConnectionID = append(r.ConnectionIDs, r.ConnectionID), ""
	}
	r.ID, r.ConnectionIDs = keyOf(r.ID), keys(r.ConnectionIDs)
	r.Text, _ = line(r.Text, maxReminder)
	if r.StartsOn == "" {
		r.StartsOn = r.DueOn
	}
	recurrences := []string{reminders.RecursNever, reminders.RecursWeekly, reminders.RecursMonthly, reminders.RecursQuarterly, reminders.RecursYearly}
	states := []string{reminders.Open, reminders.Done, reminders.Dismissed}
	switch {
	case !text.Visible(r.Text):
		return fault.New(fault.Invalid, "the reminder is empty")
	case len(r.ConnectionIDs) > mostOfNote:
		return fault.New(fault.Invalid, "the reminder is about %d people; it may be about %d at most", len(r.ConnectionIDs), mostOfNote)
	case !slices.Contains(recurrences, r.Recurrence):
		return fault.New(fault.Invalid, "%q is no recurrence; use one of %s", shown(r.Recurrence), list(recurrences))
	case !slices.Contains(states, r.State):
		return fault.New(fault.Invalid, "%q is no state of a reminder; use one of %s", shown(r.State), list(states))
	}
	for _, day := range []string{r.DueOn, r.StartsOn} {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			return fault.New(fault.Invalid, "%q is no day of the calendar", shown(day))
		}
	}
	return nil
}

func tidyGroup(g *export.GroupRecord) error {
	g.ID = keyOf(g.ID)
	g.Name, _ = line(g.Name, maxGroup)
	g.Description, _ = clean(g.Description, maxDescription)
	switch {
	case !text.Visible(g.Name):
		return fault.New(fault.Invalid, "the group has no name")
	case g.CadenceDays < 0 || g.CadenceDays > maxCadence:
		return fault.New(fault.Invalid, "an interval of %d days is none", g.CadenceDays)
	}
	return nil
}

// keys returns the distinct ids that are keys. It returns at most one more than allowed,
// which shows that there are too many.
func keys(ids []string) []string {
	var out []string
	for _, id := range ids {
		if len(out) > mostOfInteraction {
			break
		}
		if key := keyOf(id); key != "" && !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}
