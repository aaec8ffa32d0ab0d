package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/cadence"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

// draft collects the data of a record, in any order, and applies the limits.
type draft struct {
	export.PersonRecord

	notes []string
	// noteLines are the values of columns that are kept in a note, with the columns' names; noted holds
	// the same lines, so that a repeated value is kept once.
	noteLines []string
	noted     map[string]bool
	region    string
	name      nameParts
	handles   []ranked
	jobs      []job
	places    []place
	seen      map[string]bool // folded tags and groups
	warnings  []string
	// unshown is how many warnings are not in warnings, which is bounded.
	unshown int
	birth   birth
	// column is the header of the column that is being read; empty for other formats.
	column string
	// days says how dates are read.
	days calendar
	// fields are the custom fields, which the drafts of a file share.
	fields *fieldSet
	// unreadDates is how many dates could not be read, unread how many values; inNotes is how many values are in notes.
	unreadDates, unread, inNotes int
	values                       []Value
}

// ranked is a handle and its preference: 1 is the highest, 0 means none.
type ranked struct {
	export.HandleRecord

	pref int
}

// job is a current position; values with the same number belong together.
type job struct{ number, organization, title string }

// maxWarnings limits the warnings of one record.
const maxWarnings = 20

// warn adds a warning, with the column that it is about.
func (d *draft) warn(format string, args ...any) {
	if len(d.warnings) == maxWarnings {
		d.unshown++
		return
	}
	warning := fmt.Sprintf(format, args...)
	if d.column != "" {
		warning = fmt.Sprintf("column %q: %s", shown(d.column), warning)
	}
	d.warnings = append(d.warnings, warning)
}

// keepInNote puts a value that no field takes into the import note, under the name of its column or
// else under what it is, and warns about it, once.
func (d *draft) keepInNote(what, value, why string) {
	if !d.addToNote(what, value) {
		return
	}
	d.warn("the %s %q is kept in a note: %s", what, shown(value), why)
}

// unreadable is keepInNote for a value that cannot be read.
func (d *draft) unreadable(what, value, why string) {
	d.unread++
	d.keepInNote(what, value, why)
}

// unreadableDate is unreadable for a date; wanted is what a value has to be.
func (d *draft) unreadableDate(what, value, wanted string) {
	d.unread++
	d.unreadDates++
	if d.addToNote(what, value) {
		d.warn("couldn't read the %s %q as %s; it is kept in a note", what, shown(value), wanted)
	}
}

// keep keeps a property that Kith does not understand. It returns false if there is no room for it.
func (d *draft) keep(format, name, value string) bool {
	k := people.Kept{Format: format, Name: name, Text: value}
	if slices.Contains(d.Kept, k) {
		return true
	}
	if !people.KeepsMore(d.Kept, k) {
		return false
	}
	d.Kept = append(d.Kept, k)
	return true
}

// addToNote adds a value to the import note, under the name of its column or else under what it is.
// It returns false if the note has the same already.
func (d *draft) addToNote(what, value string) bool {
	if d.column != "" {
		what = shown(d.column)
	}
	return d.addLine(what + ": " + strings.TrimSpace(value))
}

// addLine adds a line to the import note, and returns false if the note has it already.
func (d *draft) addLine(line string) bool {
	d.inNotes++
	if d.noted[line] {
		return false
	}
	if d.noted == nil {
		d.noted = map[string]bool{}
	}
	d.noted[line] = true
	d.noteLines = append(d.noteLines, line)
	return true
}

// line cuts and cleans a field of one line. A value that is too long is kept whole in the import
// note.
func (d *draft) line(what, value string, limit int) string {
	short, cut := line(value, limit)
	if cut {
		d.addToNote(what, value)
		d.warn("the %s was cut to %d characters; a note has all of it", what, limit)
	}
	return short
}

// set fills a field of one line. A second value is kept in the import note.
func (d *draft) set(field *string, what, value string, limit int) {
	if *field == "" {
		*field = d.line(what, value, limit)
		return
	}
	d.keepSecond(what, *field, value)
}

// keepSecond keeps a value in the import note if the field holds another one.
func (d *draft) keepSecond(what, held, value string) {
	if value = strings.TrimSpace(value); text.Visible(value) && text.Fold(value) != text.Fold(held) {
		d.keepInNote(what, value, "the person has another one already")
	}
}

// addText adds a text about the person. Text that does not fit into Bio becomes notes, so no
// words are lost.
func (d *draft) addText(value string) {
	value = text.Clean(value)
	if !text.Visible(value) {
		return
	}
	joined := value
	if d.Bio != "" {
		joined = d.Bio + "\n\n" + value
	}
	if short, cut := clean(joined, maxBio); !cut {
		d.Bio = short
		return
	}
	d.inNotes++
	d.notes = append(d.notes, pieces(value, maxNote)...)
}

// job returns the position of a number, adding it if necessary.
func (d *draft) job(number string) *job {
	at := slices.IndexFunc(d.jobs, func(j job) bool { return j.number == number })
	if at < 0 {
		at = len(d.jobs)
		d.jobs = append(d.jobs, job{number: number})
	}
	return &d.jobs[at]
}

// addPosition adds a position unless it is empty.
func (d *draft) addPosition(p export.PositionRecord) {
	p.Organization = d.line("organisation", p.Organization, maxOrganization)
	p.Title = d.line("job title", p.Title, maxTitle)
	if !text.Visible(p.Organization + p.Title) {
		return
	}
	for _, on := range []*string{&p.StartedOn, &p.EndedOn} {
		*on = d.partialDay("date of the position", *on)
	}
	if len(d.Positions) == people.MaxPositions {
		d.keepInNote("position", strings.TrimSpace(p.Title+" "+p.Organization), fmt.Sprintf("one person has %d at most", people.MaxPositions))
		return
	}
	d.Positions = append(d.Positions, p)
}

// partialDay returns a partial date that has a year, or nothing.
func (d *draft) partialDay(what, value string) string {
	day, err := readDate(value, d.days)
	if err != nil || strings.HasPrefix(day, "--") {
		d.unreadableDate(what, value, "a date with a year")
		return ""
	}
	return day
}

// addDate adds a day that recurs each year, unless it is there already. A birthday is never in the
// future.
func (d *draft) addDate(kind, label, value string) {
	if kind != people.DateOther {
		label = ""
	}
	if day, err := readYearly(value, d.days); err == nil && kind == people.DateBirthday && d.days.isFuture(day) {
		d.unreadDates++
		d.unreadable("date", value, "a birthday is not in the future")
		return
	}
	d.addLabelledDate(kind, label, value)
}

// addLabelledDate adds a date with its label, whatever its kind.
func (d *draft) addLabelledDate(kind, label, value string) {
	day, err := readYearly(value, d.days)
	switch {
	case errors.Is(err, errNoDate):
		d.unreadableDate("date", value, "a date")
		return
	case err != nil:
		d.unreadDates++
		d.unreadable("date", value, err.Error())
		return
	}
	d.keepDate(export.DateRecord{Kind: kind, Label: d.line("label of a date", label, maxLabel), Date: day})
}

func (d *draft) keepDate(date export.DateRecord) {
	switch {
	case date.Date == "" || slices.Contains(d.ImportantDates, date):
	case len(d.ImportantDates) == people.MaxDates:
		d.keepInNote("date", strings.TrimSpace(date.Label+" "+date.Date), fmt.Sprintf("one person has %d at most", people.MaxDates))
	default:
		d.ImportantDates = append(d.ImportantDates, date)
	}
}

// setMetOn sets when the member met the person, and setDeceasedOn when the person died.
func (d *draft) setMetOn(value string)      { d.setDay(&d.MetOn, "day they met", value) }
func (d *draft) setDeceasedOn(value string) { d.setDay(&d.DeceasedOn, "day of death", value) }

// setDay fills a partial date that has a year.
func (d *draft) setDay(field *string, what, value string) {
	day, err := readDate(value, d.days)
	switch {
	case err != nil || strings.HasPrefix(day, "--"):
		d.unreadableDate(what, value, "a date with a year")
	case *field == "":
		*field = day
	case day != "":
		d.keepSecond(what, *field, day)
	}
}

// tag adds a tag unless it is there.
func (d *draft) tag(value string) {
	d.word(&d.Tags, "tag", value, maxTag, people.MaxTags)
}

// group adds a group unless it is there.
func (d *draft) group(value string) {
	d.word(&d.Groups, "group", value, maxGroup, maxGroups)
}

func (d *draft) word(words *[]string, what, value string, limit, most int) {
	value = d.line("name of a "+what, value, limit)
	id := what + " " + text.Fold(value)
	switch {
	case !text.Visible(value) || d.seen[id]:
	case len(*words) == most:
		d.keepInNote(what, value, fmt.Sprintf("one person has %d at most", most))
	default:
		if d.seen == nil {
			d.seen = map[string]bool{}
		}
		d.seen[id] = true
		*words = append(*words, value)
	}
}

// setCadence fills the keep-in-touch interval.
func (d *draft) setCadence(value string) {
	days, err := strconv.Atoi(strings.TrimSpace(value))
	switch {
	case err != nil || days < 1 && days != cadence.Never || days > maxCadence:
		d.unreadable("interval", value, fmt.Sprintf("it is no number of days from 1 to %d", maxCadence))
	case d.CadenceDays == 0:
		d.CadenceDays = days
	default:
		d.keepSecond("interval", strconv.Itoa(d.CadenceDays), value)
	}
}

// relatedAs returns the record of a relation that a file has a word for.
func relatedAs(word, name string) (r export.RelationshipRecord) {
	r.Name = name
	r.Type, r.Label = people.ParseRelation(word)
	return r
}

// addRelation adds what another person is to this one.
func (d *draft) addRelation(r export.RelationshipRecord) {
	r.Name, r.Label = d.line("name of a relation", r.Name, maxName), d.line("relation", r.Label, maxLabel)
	r.InverseLabel, _ = line(r.InverseLabel, maxLabel)
	r.ConnectionID = keyOf(r.ConnectionID)
	byName := func(r export.RelationshipRecord) bool { return r.ConnectionID == "" }
	most := maxRelations
	if byName(r) && len(slices.DeleteFunc(slices.Clone(d.Relationships), func(r export.RelationshipRecord) bool { return !byName(r) })) >= people.MaxRelated {
		most = people.MaxRelated
	}
	switch {
	case r.ConnectionID == "" && !text.Visible(r.Name) || slices.Contains(d.Relationships, r):
	case len(d.Relationships) >= most:
		d.keepInNote("relation", cmp.Or(r.Label, r.Type)+" "+r.Name, fmt.Sprintf("one person has %d at most", most))
	default:
		d.Relationships = append(d.Relationships, r)
	}
}

// keyOf returns a key in the form for comparison: without the scheme of a UUID, and empty
// when it is too long for a key.
func keyOf(value string) string {
	key := text.Line(strings.TrimSpace(value))
	const urn = "urn:uuid:"
	if len(key) > len(urn) && strings.EqualFold(key[:len(urn)], urn) {
		key = strings.TrimSpace(key[len(urn):])
	}
	if len(key) > maxKey {
		return ""
	}
	return key
}

// record ends the draft and returns the person, or the reason why there is none. A file of Kith's own has names as they are shown.
func (d *draft) record(row int, own bool) Record {
	d.column = ""
	d.recount(func() {
		for _, j := range d.jobs {
			d.addPosition(export.PositionRecord{Organization: j.organization, Title: j.title, Current: true})
		}
	}, "organization", "job_title")
	d.recount(d.finishHandles, "email", "phone", "website", "linkedin", "twitter", "facebook", "github", "account")
	d.recount(d.finishPlaces, "address", "street", "city", "region", "postcode", "country")
	d.recount(func() {
		unread := d.unread
		if d.birth.addTo(d); d.unread > unread { // of three columns, which are one value
			d.unread, d.inNotes = d.unread+2, d.inNotes+2
		}
	}, "birth")
	if key := keyOf(d.ID); key != d.ID {
		if key == "" && text.Visible(d.ID) {
			d.recount(func() { d.keepInNote("id", d.ID, "it is too long for an id") }, "key")
		}
		d.ID = key
	}
	d.recount(func() { d.name.finish(d, own) }, "name", "given", "middle", "family", "phonetic", "former", "pronouns")
	guessed := !text.Visible(d.Name)
	if guessed {
		if err := d.guessName(); err != nil {
			return Record{Row: row, Err: err, Warnings: d.allWarnings()}
		}
	}
	if len(d.noteLines) > 0 {
		d.notes = append(d.notes, pieces(text.Clean(strings.Join(d.noteLines, "\n")), maxNote)...)
	}
	return Record{Row: row, Person: d.PersonRecord, Notes: d.notes, Guessed: guessed, UnreadDates: d.unreadDates, Values: d.values, Warnings: d.allWarnings()}
}

// allWarnings returns the warnings, with the number of those that are not among them.
func (d *draft) allWarnings() []string {
	if d.unshown == 0 {
		return d.warnings
	}
	return append(d.warnings, fmt.Sprintf("further values are kept in a note: %d", d.unshown))
}

// guessName names a person without a name: from the first e-mail or web address, otherwise
// from the nickname or the organisation.
func (d *draft) guessName() error {
	var handles []people.Handle
	for _, h := range d.Handles {
		if h.Kind != people.KindPhone { // which contains no name, and is slow to normalise
			handles = append(handles, people.Handle{Kind: h.Kind, Value: h.Value, NormalValue: people.NormalValue(h.Kind, h.Value)})
		}
	}
	d.Name = people.GuessName(handles)
	for _, other := range append([]string{d.Nickname}, organizations(d.Positions)...) {
		if !text.Visible(d.Name) {
			d.Name = other
		}
	}
	if !text.Visible(d.Name) {
		return fault.New(fault.Invalid, "there is no name, e-mail address, web address or organisation to tell who this is")
	}
	d.warn("there is no name; %q stands for it", shown(d.Name))
	return nil
}

func organizations(positions []export.PositionRecord) []string {
	var names []string
	for _, p := range positions {
		names = append(names, p.Organization)
	}
	return names
}

// nameParts are the parts of a name in a file, and all of it in one text.
type nameParts struct {
	people.NameParts

	full string
}

// finish sets the person's name, and the parts of it that the file has. The name is that of the file, otherwise what the parts
// make, also of a name such as "Holm, Vera" that is in no file of Kith's own.
func (n *nameParts) finish(d *draft, own bool) {
	family, given, inverted := names.Inverted(n.full)
	known := strings.TrimSpace(n.Given + " " + n.Middle)
	if inverted && !own && (n.Family == "" || text.Fold(n.Family) == text.Fold(family)) && (known == "" || text.Fold(known) == text.Fold(given)) {
		n.Family = cmp.Or(n.Family, family)
		if known == "" {
			n.Given = given
		}
		n.full = n.Joined()
	}
	for _, part := range n.All() {
		*part.Value = d.line(strings.ToLower(part.Label[:1])+part.Label[1:], *part.Value, maxName)
	}
	d.NameParts = n.NameParts
	if d.Name = n.Joined(); text.Visible(n.full) {
		d.Name = n.full
	}
	d.Name = d.line("name", d.Name, maxName)
}

// place is an address; values with the same number belong together.
type place struct {
	number, label string
	// lines are what is above the town: the street, the post office box and the like.
	lines                           []string
	postcode, city, region, country string
	// whole is the address in one text; if exact is set, it is kept even if it says no more than the parts.
	whole string
	exact bool
	pref  int
}

// place returns the address of a number, adding it if necessary.
func (d *draft) place(number string) *place {
	for i := range d.places {
		if d.places[i].number == number {
			return &d.places[i]
		}
	}
	d.places = append(d.places, place{number: number})
	return &d.places[len(d.places)-1]
}

// address returns the address. Its text as a whole is left out if it says no more than the parts.
func (p place) address(d *draft) people.Address {
	a := people.Address{
		Label: d.line("label of an address", p.label, maxLabel), Street: d.lines("street", p.lines, maxStreet), Locality: d.line("town", p.city, maxPlace),
		Region: d.line("region", p.region, maxPlace), Postcode: d.line("postcode", p.postcode, maxPostcode), Country: d.line("country", p.country, maxCountry),
	}
	whole, _ := firstBytes(p.whole, maxCell)
	parts := text.Words(strings.Join([]string{a.Street, a.Locality, a.Region, a.Postcode, a.Country, country.Name(a.Country)}, " "))
	if p.exact || len(parts) == 0 && text.Visible(whole) || slices.ContainsFunc(text.Words(whole), func(word string) bool { return !slices.Contains(parts, word) }) {
		a.Text = d.lines("address", []string{p.whole}, maxAddress)
	}
	return a
}

// lines cuts and cleans a text of several lines, as line does one of a line.
func (d *draft) lines(what string, parts []string, limit int) string {
	value := strings.Join(slices.DeleteFunc(slices.Clone(parts), func(s string) bool { return !text.Visible(s) }), "\n")
	short, cut := clean(value, limit)
	if cut {
		d.addToNote(what, value)
		d.warn("the %s was cut to %d characters; a note has all of it", what, limit)
	}
	return short
}

// joined joins the visible texts with commas.
func joined(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = text.Line(p); text.Visible(p) {
			out = append(out, p)
		}
	}
	return strings.Join(out, ", ")
}

// finishPlaces adds the addresses, the preferred ones first.
func (d *draft) finishPlaces() {
	slices.SortStableFunc(d.places, func(a, b place) int { return cmp.Compare(rank(a.pref), rank(b.pref)) })
	for _, p := range d.places {
		d.addAddress(p.address(d))
	}
}

func (d *draft) addAddress(a people.Address) {
	switch {
	case a == people.Address{Label: a.Label} || slices.Contains(d.Addresses, a):
	case len(d.Addresses) == people.MaxAddresses:
		d.keepInNote("address", joined(strings.Split(a.String(), "\n")...), fmt.Sprintf("one person has %d at most", people.MaxAddresses))
	default:
		d.Addresses = append(d.Addresses, a)
	}
}

// birth are the parts of a birthday that are in columns of their own.
type birth struct{ day, month, year string }

// addTo adds the birthday. Parts that are no date are kept in the import note.
func (b birth) addTo(d *draft) {
	if strings.Trim(b.day+b.month+b.year, "0 ") == "" {
		return
	}
	value := strings.Trim(strings.Join([]string{b.day, b.month, b.year}, "."), ".")
	if _, err := strconv.Atoi(b.month); err != nil { // in words, or missing
		value = strings.TrimSpace(strings.Join([]string{b.day, b.month, b.year}, " "))
	}
	how := d.days
	d.days.order, d.days.known, d.days.forDots = dayFirst, true, true
	d.addDate(people.DateBirthday, "", value)
	d.days = how
}
