package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// draft collects the data of a record, in any order, and applies the limits.
type draft struct {
	export.PersonRecord

	notes []string
	// rest are the values of columns that are kept in a note, with the columns' names.
	rest     []string
	region   string
	name     nameParts
	handles  []ranked
	jobs     []job
	places   []place
	seen     map[string]bool // folded tags and groups
	warnings []string
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

func (d *draft) warn(format string, args ...any) {
	if len(d.warnings) < maxWarnings {
		d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
	}
}

// line cuts and cleans a field of one line.
func (d *draft) line(what, value string, limit int) string {
	value, cut := line(value, limit)
	if cut {
		d.warn("the %s was cut to %d characters", what, limit)
	}
	return value
}

// set fills a field of one line that is still empty.
func (d *draft) set(field *string, what, value string, limit int) {
	if *field == "" {
		*field = d.line(what, value, limit)
	}
}

// about adds a text about the person. Text that does not fit into Bio becomes notes, so no
// words are lost.
func (d *draft) about(value string) {
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
	if len(d.Positions) == maxPositions {
		d.warn("the position %q was left out: one person holds %d at most", shown(p.Organization+" "+p.Title), maxPositions)
		return
	}
	d.Positions = append(d.Positions, p)
}

// partialDay returns a partial date that has a year, or nothing.
func (d *draft) partialDay(what, value string) string {
	day, err := readDate(value, monthFirst)
	if err != nil || strings.HasPrefix(day, "--") {
		d.warn("the %s %q was left out: it is no date with a year", what, shown(value))
		return ""
	}
	return day
}

// addDate adds a day that recurs each year, unless it is there already.
func (d *draft) addDate(kind, label, value string, order dayOrder) {
	if kind != people.DateOther {
		label = ""
	}
	d.addLabelledDate(kind, label, value, order)
}

// addLabelledDate adds a date with its label, whatever its kind.
func (d *draft) addLabelledDate(kind, label, value string, order dayOrder) {
	day, err := readDate(value, order)
	if err != nil {
		d.warn("the date %q was left out: %v", shown(value), err)
		return
	}
	d.keepDate(export.DateRecord{Kind: kind, Label: d.line("label of a date", label, maxLabel), Date: day})
}

func (d *draft) keepDate(date export.DateRecord) {
	switch {
	case date.Date == "" || slices.Contains(d.ImportantDates, date):
	case len(d.ImportantDates) == maxDates:
		d.warn("the date %q was left out: one person holds %d at most", date.Date, maxDates)
	default:
		d.ImportantDates = append(d.ImportantDates, date)
	}
}

// metOn sets when the member met the person.
func (d *draft) metOn(value string, order dayOrder) {
	if d.MetOn != "" {
		return
	}
	day, err := readDate(value, order)
	if err != nil || strings.HasPrefix(day, "--") {
		d.warn("the day they met, %q, was left out: it is no date with a year", shown(value))
		return
	}
	d.MetOn = day
}

// tag adds a tag unless it is there.
func (d *draft) tag(value string) {
	d.word(&d.Tags, "tag", value, maxTag, maxTags)
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
		d.warn("the %s %q was left out: one person has %d at most", what, shown(value), most)
	default:
		if d.seen == nil {
			d.seen = map[string]bool{}
		}
		d.seen[id] = true
		*words = append(*words, value)
	}
}

// cadence fills the keep-in-touch interval.
func (d *draft) cadence(value string) {
	days, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil || days < 1 || days > maxCadence {
		d.warn("the interval %q was left out: it is no number of days from 1 to %d", shown(value), maxCadence)
		return
	}
	d.CadenceDays = days
}

// relate adds what another person is to this one.
func (d *draft) relate(r export.RelationshipRecord) {
	r.Name = d.line("name of a relation", r.Name, maxName)
	r.ConnectionID = keyOf(r.ConnectionID)
	if (r.ConnectionID != "" || text.Visible(r.Name)) && len(d.Relationships) < maxRelations && !slices.Contains(d.Relationships, r) {
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

// record ends the draft and returns the person, or the reason why there is none.
func (d *draft) record(row int) Record {
	for _, j := range d.jobs {
		d.addPosition(export.PositionRecord{Organization: j.organization, Title: j.title, Current: true})
	}
	d.settleHandles()
	d.settlePlace()
	if len(d.rest) > 0 {
		d.notes = append(d.notes, pieces(text.Clean(strings.Join(d.rest, "\n")), maxNote)...)
	}
	d.ID = keyOf(d.ID)
	d.Name = d.line("name", d.name.String(), maxName)
	guessed := !text.Visible(d.Name)
	if guessed {
		if err := d.guessName(); err != nil {
			return Record{Row: row, Err: err, Warnings: d.warnings}
		}
	}
	return Record{Row: row, Person: d.PersonRecord, Notes: d.notes, Guessed: guessed, Warnings: d.warnings}
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

// nameParts are the parts of a name in address books.
type nameParts struct{ full, prefix, given, middle, family, suffix string }

// String returns the name in its usual form: the full name of the file, otherwise the
// joined parts.
func (n nameParts) String() string {
	if text.Visible(n.full) {
		return n.full
	}
	given, family := tidyPart(n.given), tidyPart(n.family)
	if family != "" && strings.HasSuffix(given, " "+family) { // the first name is all of it
		family = ""
	}
	if joiner, ok := familyFirst(given, family); ok {
		return family + joiner + given
	}
	words := []string{tidyPart(n.prefix), given, tidyPart(n.middle), family, tidyPart(n.suffix)}
	if isCivil(words[0]) {
		words[0] = ""
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// tidyPart bounds a part of a name before it is joined.
func tidyPart(s string) string {
	s, _ = line(s, maxName)
	return s
}

// isCivil reports whether a title is a form of address, such as Mr, rather than an earned
// title.
func isCivil(title string) bool {
	switch strings.TrimSuffix(text.Fold(title), ".") {
	case "mr", "mrs", "ms", "miss", "mx", "mister", "herr", "frau", "m", "mme", "mlle", "monsieur", "madame",
		"sr", "sra", "srta", "sig", "signor", "signora", "sig.ra", "dhr", "mevr", "mw", "pan", "pani", "hr", "fr":
		return true
	}
	return false
}

// familyFirst reports whether a name begins with the family name, and the separator after
// it: names in Han, kana and Hangul do. Japanese names have a space there. Short names in
// Han alone are assumed to be Chinese, and have none.
func familyFirst(given, family string) (joiner string, ok bool) {
	both := family + given
	if given == "" || family == "" || !only(both, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
		return "", false
	}
	const short = 3
	if only(both, unicode.Hangul) || only(both, unicode.Han) && utf8.RuneCountInString(both) <= short {
		return "", true
	}
	return " ", true
}

func only(s string, tables ...*unicode.RangeTable) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.In(r, tables...) && r != 'ー' && r != '々' })
}

// place is an address; values with the same number belong together.
type place struct {
	number, street, city, region, country string
	// whole is the address in one text.
	whole string
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

// location returns where a person with that address lives or works: the town and region,
// otherwise the address as it is.
func (p place) location() string {
	town := joined(p.city, p.region, p.country)
	whole := joined(strings.FieldsFunc(p.whole, func(r rune) bool { return r == '\n' || r == '\r' })...)
	switch {
	case p.city != "" || town != "" && whole == "":
		return town
	case whole != "":
		return whole
	}
	return joined(p.street)
}

// joined joins the visible texts with commas.
func joined(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p, _ = line(p, maxLocation); text.Visible(p) {
			out = append(out, p)
		}
	}
	return strings.Join(out, ", ")
}

// settlePlace makes the first of the preferred addresses the location.
func (d *draft) settlePlace() {
	best, left := place{}, 0
	for _, p := range d.places {
		if p.location() == "" {
			continue
		}
		if best.location() != "" {
			left++
		}
		if best.location() == "" || rank(p.pref) < rank(best.pref) {
			best = p
		}
	}
	d.set(&d.Location, "location", best.location(), maxLocation)
	if left > 0 {
		d.warn("of %d addresses only %q was kept", left+1, shown(d.Location))
	}
}
