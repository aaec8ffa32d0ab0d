package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/text"
)

// monica is an account of Monica 4, from its JSON export or from its SQL dump.
type monica struct {
	file     *File
	days     calendar
	region   string
	contacts iter.Seq2[monicaItem, error]
	// named are the genders, types and the like that others refer to, by kind and id.
	named map[string]monicaItem
	// activities are the activities by id, and photos and documents return those with an id.
	activities      iter.Seq[monicaItem]
	photo, document func(id string) (monicaItem, bool)
	relations       iter.Seq[monicaRelation]
	names           map[string]string
	related         map[string][]export.RelationshipRecord
	participants    map[string][]string
	// lists are the notes, interactions and reminders of the contacts, each encoded.
	lists            map[string][][]byte
	repeated         map[string]int
	counts, leftOuts map[string]int
	// noPictures is set for the dump, which has no pictures.
	noPictures bool
}

// monicaItem is an object of Monica: a row with what belongs to it.
type monicaItem struct {
	id string
	// values are its properties, of an object within it under both names with a dot between them.
	values map[string]string
	// lists are the objects that belong to it by their types, as JSON, and refs the ids of others. Instead of lists, rows reads
	// them from the tables of a dump.
	lists map[string][][]byte
	rows  func(kind string) iter.Seq[monicaItem]
	refs  map[string][]string
}

// each returns the objects of a type that belong to it. They are decoded one after the other, since a decoded object takes many
// times the memory of its text.
func (i monicaItem) each(kind string) iter.Seq[monicaItem] {
	if i.rows != nil {
		return i.rows(kind)
	}
	return func(yield func(monicaItem) bool) {
		for _, list := range i.lists[kind] {
			for e := range objects(list) {
				if len(e.raw) == 0 || e.raw[0] != '{' {
					continue
				}
				if item, err := monicaObject(e); err == nil && !yield(item) {
					return
				}
			}
		}
	}
}

// kinds returns the types of the objects that belong to it, in the same order each time that the file is read.
func (i monicaItem) kinds() []string {
	if i.rows != nil {
		return slices.Sorted(maps.Keys(monicaLists))
	}
	return slices.Sorted(maps.Keys(i.lists))
}

// monicaRelation says that of is a type, such as parent, of who.
type monicaRelation struct{ who, of, word string }

func (i monicaItem) get(name string) string { return strings.TrimSpace(i.values[name]) }

// is reports whether a property is set.
func (i monicaItem) is(name string) bool { return i.get(name) == "true" || i.get(name) == "1" }

// day returns the day of a property, which is a day or a time; empty if it is neither.
func (i monicaItem) day(name string) string {
	value := i.get(name)
	if len(value) > len(time.DateOnly) {
		value = value[:len(time.DateOnly)]
	}
	if _, err := time.Parse(time.DateOnly, value); err != nil {
		return ""
	}
	return value
}

// time returns the time of a property, which is the zero value if it is none.
func (i monicaItem) time(name string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
		if at, err := time.Parse(layout, i.get(name)); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// amount returns an amount of money, with its currency if the file has both.
func (i monicaItem) amount() string {
	amount, currency := i.get("amount"), i.get("currency.iso")
	if strings.Trim(amount, "0123456789., ") == "" && amount != "" && currency != "" {
		return amount + " " + currency
	}
	return amount
}

// finish reads the contacts once, and with them all that is about them.
func (m *monica) finish() error {
	f := m.file
	m.lists = map[string][][]byte{}
	m.names, m.participants, m.repeated, m.counts = map[string]string{}, map[string][]string{}, map[string]int{}, map[string]int{}
	if m.leftOuts == nil {
		m.leftOuts = map[string]int{}
	}
	for contact, err := range m.contacts {
		if countErr := f.count("contacts"); countErr != nil {
			return countErr
		}
		if err != nil {
			continue // its record says so
		}
		f.keys.add(contact.id)
		m.names[contact.id] = text.Line(strings.Join([]string{contact.get("first_name"), contact.get("middle_name"), contact.get("last_name")}, " "))
	}
	if f.total == 0 {
		return fault.New(fault.Invalid, "the export of Monica holds no contacts")
	}
	f.endKeys()
	for contact, err := range m.contacts {
		if err == nil {
			m.timeline(contact)
		}
	}
	m.relate()
	m.allActivities()
	f.records, f.lists = m.records, m.lists
	m.lists, m.repeated, m.relations = nil, nil, nil
	m.tell("Also imported from Monica: %s.", m.counts)
	m.tell("Not imported from Monica: %s.", m.leftOuts)
	return nil
}

// tell warns about how many there are of each kind, in several warnings if there are many.
func (m *monica) tell(format string, counts map[string]int) {
	const most = 200 // reports cut longer warnings
	told := ""
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		one := fmt.Sprintf("%s (%d)", what, counts[what])
		if told != "" && len(told)+len(one) > most {
			m.file.warn(fmt.Sprintf(format, told))
			told = ""
		}
		told = joined(told, one)
	}
	if told != "" {
		m.file.warn(fmt.Sprintf(format, told))
	}
}

// relate collects the relationships of each contact. Monica has each of them in both directions, and some pairs have several.
func (m *monica) relate() {
	m.related = map[string][]export.RelationshipRecord{}
	unknown := 0
	places := map[[3]string]int{}
	for r := range m.relations {
		name, known := m.names[r.of]
		if _, found := m.names[r.who]; !found || !known || r.of == r.who {
			unknown++
			continue
		}
		record := relatedAs(cmp.Or(monicaWords[r.word], r.word), name)
		record.ConnectionID = r.of
		key := [3]string{r.who, r.of, record.Type}
		at, several := places[key]
		switch {
		case !several:
			places[key] = len(m.related[r.who])
			m.related[r.who] = append(m.related[r.who], record)
		case m.related[r.who][at].Label == record.Label:
		case len(m.related[r.who][at].Label) > maxLabel:
			m.leftOuts["further words for a relationship that has many"]++
		default:
			m.related[r.who][at].Label = joined(m.related[r.who][at].Label, record.Label)
		}
	}
	if unknown > 0 {
		m.leftOuts["relationships with a contact who is not in the file"] += unknown
	}
}

// monicaWords are words for the relations that Monica has names of its own for.
//
//nolint:gochecknoglobals // a constant
var monicaWords = map[string]string{
	"inlovewith": "in love with", "lovedby": "loved by", "bestfriend": "best friend", "ex_husband": "ex-spouse", "subordinate": "report",
	"stepparent": "step-parent", "stepchild": "step-child", "protege": "protégé",
}

// records calls yield with each contact.
func (m *monica) records(yield func(Record) bool) {
	row := 0
	for contact, err := range m.contacts {
		row++
		r := Record{Row: row, Err: err}
		if err == nil {
			r = m.file.keyed(m.record(row, contact), "monica")
		}
		if !yield(r) {
			return
		}
	}
}

// record returns the person of a contact.
func (m *monica) record(row int, contact monicaItem) Record {
	d := draft{fields: m.file.fields, days: m.days, region: m.region}
	d.ID = contact.id
	for _, name := range slices.Sorted(maps.Keys(contact.values)) {
		value := contact.get(name)
		if value == "" {
			continue
		}
		how, known := monicaValues[name]
		object, _, _ := strings.Cut(name, ".")
		switch {
		case known && how.read == nil, object == "avatar", strings.HasSuffix(object, "_reminder"), isMonicaDate(object):
		case known:
			d.count(name, how.field, func() { how.read(&d, value) })
		default:
			d.count(shown(name), FieldNote, func() { d.keepInNote(shown(name), value, "Kith has no field for it") })
		}
	}
	d.Starred = contact.is("is_starred")
	if active := contact.get("is_active"); active == "false" || active == "0" {
		d.ArchivedAt = cmp.Or(contact.time("updated_at"), contact.time("created_at"), time.Unix(0, 0).UTC())
	}
	d.CreatedAt = contact.time("created_at")
	if gender := contact.get("gender"); gender != "" {
		d.count("gender", "custom", func() {
			d.customField("Gender", people.FieldText, cmp.Or(m.named["gender "+gender].get("name"), gender))
		})
	}
	m.dates(&d, contact)
	for _, tag := range contact.refs["tags"] {
		d.count("tags", "tags", func() { d.tag(tag) })
	}
	for field := range contact.each("contact_field") {
		m.contactField(&d, field)
	}
	n := 0
	for address := range contact.each("address") {
		d.count("address", "address", func() { d.addMonicaAddress(fmt.Sprint(n), address) })
		n++
	}
	m.pets(&d, contact.each("pet"))
	m.pictures(&d, contact)
	for _, relation := range m.related[contact.id] {
		d.count("relationship", "related", func() { d.addRelation(relation) })
	}
	if through := contact.get("first_met_through"); through != "" {
		m.introducer(&d, contact.id, through)
	}
	return d.record(row, false)
}

// monicaValue says which field the property of a contact goes to; one without read is no value of the person, or read elsewhere.
type monicaValue struct {
	field string
	read  func(d *draft, value string)
}

// monicaValues are the properties of a contact.
//
//nolint:gochecknoglobals // a constant
var monicaValues = map[string]monicaValue{
	"first_name":                {"given_name", func(d *draft, v string) { d.name.Given = v }},
	"middle_name":               {"middle_name", func(d *draft, v string) { d.name.Middle = v }},
	"last_name":                 {"family_name", func(d *draft, v string) { d.name.Family = v }},
	"nickname":                  {"nickname", func(d *draft, v string) { d.setText("nickname", v) }},
	"description":               {"bio", func(d *draft, v string) { d.addText(v) }},
	"job":                       {"job_title", func(d *draft, v string) { d.set(&d.job("").title, "job title", v, maxTitle) }},
	"company":                   {"organization", func(d *draft, v string) { d.set(&d.job("").organization, "organisation", v, maxOrganization) }},
	"food_preferences":          {FieldNote, func(d *draft, v string) { d.addToNote("Food preferences", v) }},
	"first_met_where":           {"met_how", func(d *draft, v string) { d.addMetHow(v) }},
	"first_met_additional_info": {"met_how", func(d *draft, v string) { d.addMetHow(v) }},
	"stay_in_touch_frequency":   {"cadence", func(d *draft, v string) { d.setCadence(v) }},
	"last_talked_to":            {"last_contact", func(d *draft, v string) { d.setLastContact(v) }},
	"first_met_through":         {}, "gender": {}, "is_starred": {}, "is_active": {}, "created_at": {}, "updated_at": {},
	// Not imported: what only controls how Monica displays a contact, and the vCards that phones sent.
	"is_partial": {}, "last_consulted_at": {}, "number_of_views": {}, "stay_in_touch_trigger_date": {}, "vcard": {}, "distant_etag": {}, "is_dead": {},
}

func isMonicaDate(name string) bool {
	return slices.Contains([]string{"birthdate", "deceased_date", "first_met_date"}, name)
}

// addMetHow adds to how the member met the person.
func (d *draft) addMetHow(value string) {
	if both := joined(d.MetHow, value); len([]rune(both)) <= maxMetHow {
		d.MetHow = both
		return
	}
	d.keepInNote("How you met", value, "there is no room for it")
}

// setLastContact sets when the last contact was.
func (d *draft) setLastContact(value string) {
	if at := (monicaItem{values: map[string]string{"": value}}).day(""); at != "" {
		d.LastInteractionAt, _ = time.Parse(time.DateOnly, at)
		return
	}
	d.unreadableDate("day of the last contact", value, "a date")
}

// dates adds the birthday, the day of death and when the member met the contact.
func (m *monica) dates(d *draft, contact monicaItem) {
	if on := contact.day("birthdate.date"); on != "" {
		switch {
		case contact.is("birthdate.is_age_based"):
			on = "about " + on[:4]
		case contact.is("birthdate.is_year_unknown"):
			on = "-" + on[4:]
		}
		d.count("birthdate", "birthday", func() { d.addDate(people.DateBirthday, "", on) })
	} else if value := contact.get("birthdate.date"); value != "" {
		d.count("birthdate", "birthday", func() { d.unreadableDate("birthday", value, "a date") })
	}
	for _, date := range []struct {
		name, field string
		set         func(string)
	}{{"deceased_date", "deceased_on", d.setDeceasedOn}, {"first_met_date", "met_on", d.setMetOn}} {
		value := contact.get(date.name + ".date")
		if value == "" {
			continue
		}
		on := cmp.Or(contact.day(date.name+".date"), value)
		switch {
		case contact.is(date.name + ".is_age_based"):
			on = on[:min(len(on), 4)]
		case contact.is(date.name+".is_year_unknown") && len(on) > 4:
			on = "-" + on[4:]
		}
		d.count(date.name, date.field, func() { date.set(on) })
	}
	if contact.is("is_dead") && d.DeceasedOn == "" {
		d.count("is_dead", "deceased_on", func() { d.keepInNote("death", "on a day that the file does not say", "Kith needs at least the year") })
	}
}

// contactField adds an address or an account.
func (m *monica) contactField(d *draft, field monicaItem) {
	value, kind := field.get("data"), m.named["contact_field_type "+field.get("type")]
	if value == "" {
		return
	}
	service := kind.get("name")
	lower := strings.ToLower(service)
	switch {
	case kind.get("type") == "email" || lower == "email":
		d.count("Email", "email", func() { d.email(value, "", 0) })
	case kind.get("type") == "phone" || lower == "phone":
		d.count("Phone", "phone", func() { d.phone(value, "", 0) })
	case service == "":
		d.count("contact_field", FieldNote, func() { d.keepInNote("contact field", value, "the file does not say what it is") })
	case strings.HasPrefix(strings.ToLower(value), "www.") || lower == "website" || lower == "homepage" || lower == "url":
		d.count(shown(service), "website", func() { d.web(people.KindURL, value, "", 0) })
	default:
		d.count(shown(service), "account", func() { d.account(service, value, "") })
	}
}

// addMonicaAddress adds a postal address.
func (d *draft) addMonicaAddress(number string, address monicaItem) {
	p := d.place(number)
	p.label = address.get("name")
	if street := address.get("street"); street != "" {
		p.lines = []string{street}
	}
	p.city, p.region, p.postcode, p.country = address.get("city"), address.get("province"), address.get("postal_code"), address.get("country")
}

// pets adds the pets as a custom field.
func (m *monica) pets(d *draft, pets iter.Seq[monicaItem]) {
	var all []string
	for pet := range pets {
		name, kind := pet.get("name"), pet.get("category")
		if name != "" && kind != "" {
			kind = "(" + kind + ")"
		}
		if one := strings.TrimSpace(name + " " + kind); one != "" {
			all = append(all, one)
		}
	}
	if len(all) > 0 {
		d.count("pet", "custom", func() { d.customField("Pets", people.FieldText, strings.Join(all, ", ")) })
	}
}

// pictures adds the picture of a contact, and the names of further photos and of documents.
func (m *monica) pictures(d *draft, contact monicaItem) {
	ids := contact.refs["photo"]
	if avatar := contact.get("avatar.avatar_photo"); avatar != "" {
		ids = slices.Concat([]string{avatar}, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == avatar }))
	}
	for _, id := range ids {
		photo, found := m.photo(id)
		switch uri := photo.get("dataUrl"); {
		case !found:
			d.warn("a photo of the contact is not in the file")
		case d.Photo == "" && uri != "":
			d.count("photo", "photo", func() { d.Photo = uri })
		default:
			d.count("photo", FieldNote, func() { d.addToNote("Photo in Monica", cmp.Or(photo.get("original_filename"), id)) })
		}
	}
	for _, id := range contact.refs["document"] {
		document, found := m.document(id)
		if !found {
			d.warn("a document of the contact is not in the file")
			continue
		}
		d.count("document", FieldNote, func() { d.addToNote("Document in Monica", cmp.Or(document.get("original_filename"), id)) })
	}
}

// introducer adds who introduced the contact to the member.
func (m *monica) introducer(d *draft, id, through string) {
	name, known := m.names[through]
	if !known || through == id {
		d.warn("who introduced you is not in the file")
		return
	}
	d.count("first_met_through", "introduced_by", func() {
		d.addRelation(export.RelationshipRecord{ConnectionID: through, Name: name, Type: people.RelationIntroducedBy})
	})
}

// timeline collects what happened with a contact and is to be done.
func (m *monica) timeline(contact monicaItem) {
	about := []string{contact.id}
	for _, kind := range contact.kinds() {
		for item := range contact.each(kind) {
			m.unknown(kind, item)
			switch kind {
			case "note":
				pinned := item.is("is_favorited") || item.get("favorited_at") != ""
				m.note("notes", about, item, "", pinned, item.get("body"))
			case "call":
				m.call(about, item)
			case "conversation":
				m.conversation(about, m.names[contact.id], item)
			case "reminder":
				if isBirthdayReminder(item, contact) {
					m.leftOuts["reminders of birthdays, which Kith makes of the birthday"]++
				} else {
					m.reminder(about, item)
				}
			case "task":
				m.task(about, item)
			case "gift":
				m.gift(about, item)
			case "debt":
				m.debt(about, item)
			case "life_event":
				m.lifeEvent(about, item)
			case "pet":
				m.counts["pets, in a custom field"]++
			case "contact_field", "address", "activity", "photo", "document":
			default:
				m.leftOuts[shown(kind)]++
			}
		}
	}
	for _, id := range contact.refs["activity"] {
		m.participants[id] = append(m.participants[id], contact.id)
	}
	if contact.is("is_partial") {
		m.counts["contacts whom Monica knew only as a relation of others, imported as people"]++
	}
	if contact.get("vcard") != "" {
		m.leftOuts["copies of contacts that a phone sent"]++
	}
	if documents := len(contact.refs["document"]); documents > 0 {
		m.leftOuts["documents, whose names are in notes"] += documents
	}
	if photos := len(contact.refs["photo"]); m.noPictures && photos > 0 {
		m.leftOuts["photos, whose names are in notes"] += photos
	} else if photos > 1 {
		m.leftOuts["further photos, whose names are in notes"] += photos - 1
	}
}

// add adds a record to a list.
func (m *monica) add(list string, record any) {
	encoded, err := json.Marshal(record)
	if err != nil {
		m.leftOuts[list+" that cannot be read"]++
		return
	}
	m.lists[list] = append(m.lists[list], encoded)
}

// monicaParts are the properties of what belongs to a contact, by its type. What is not among them is told.
//
//nolint:gochecknoglobals // a constant
var monicaParts = map[string]string{
	"note": "body is_favorited favorited_at", "call": "content contact_called called_at", "conversation": "contact_field_type happened_at type",
	"reminder": "initial_date title description frequency_type frequency_number delible inactive", "task": "title description completed completed_at",
	"gift": "name comment url amount status date currency recipient", "debt": "amount currency status in_debt reason", "pet": "name category",
	"life_event":    "name note happened_at specific_information type happened_at_month_unknown happened_at_day_unknown contact_field_type",
	"contact_field": "data type contact_field_type", "address": "name street city province postal_code country latitude longitude",
}

// unknown counts the properties of an object that have no place here.
func (m *monica) unknown(kind string, item monicaItem) {
	const most = 100
	known, found := monicaParts[kind]
	for name, value := range item.values {
		object, _, _ := strings.Cut(name, ".")
		switch {
		case !found || value == "" || value == "null" || name == "created_at" || name == "updated_at" || strings.HasSuffix(name, "_id"):
		case !slices.Contains(strings.Fields(known), object) && len(m.leftOuts) < most:
			m.leftOuts[shown(name)+" of a "+strings.ReplaceAll(kind, "_", " ")]++
		}
	}
}

// note adds a note, in pieces if it is long. day may be empty.
func (m *monica) note(kind string, about []string, of monicaItem, day string, pinned bool, lines ...string) {
	body := strings.Join(slices.DeleteFunc(lines, func(line string) bool { return !text.Visible(line) }), "\n")
	for _, piece := range pieces(text.Clean(body), maxNote) {
		for people := range slices.Chunk(about, mostOfNote) {
			m.add("notes", export.NoteRecord{ConnectionIDs: people, Body: piece, Pinned: pinned, Day: day, CreatedAt: of.time("created_at"), UpdatedAt: of.time("updated_at")})
		}
	}
	if text.Visible(body) && kind != "" {
		m.counts[kind]++
	}
}

// interaction adds an interaction at the time of a property. A text that is too long for it becomes a note of the day.
func (m *monica) interaction(name, kind string, about []string, of monicaItem, at string, lines ...string) {
	body := text.Clean(strings.Join(slices.DeleteFunc(lines, func(line string) bool { return !text.Visible(line) }), "\n"))
	day, when := of.day(at), of.time(at)
	if day == "" {
		m.note(name+" without a date, as notes", about, of, "", false, body)
		if !text.Visible(body) {
			m.leftOuts[name+" without a date and without a text"]++
		}
		return
	}
	i := export.InteractionRecord{Kind: kind, OccurredAt: when, CreatedAt: of.time("created_at")}
	if when.IsZero() || when.Equal(when.Truncate(24*time.Hour)) { // only the day is known
		on, _ := time.Parse(time.DateOnly, day)
		i.OccurredAt, i.OccurredLocal = civil.Noon(on, time.UTC), day
	}
	summary, cut := clean(body, maxSummary)
	if cut {
		m.note("", about, of, day, false, body)
	}
	// Two that are the same in all that Kith stores are two, also when the file is imported again.
	same := fmt.Sprint(about[0], i.OccurredAt, kind, summary)
	if m.repeated[same]++; m.repeated[same] > 1 {
		summary = strings.TrimSpace(fmt.Sprintf("%s (%d)", text.Truncate(summary, maxSummary-12), m.repeated[same]))
	}
	i.Summary = summary
	for people := range slices.Chunk(about, mostOfInteraction) {
		i.ConnectionIDs = people
		m.add("interactions", i)
	}
	m.counts[name]++
}

func (m *monica) call(about []string, item monicaItem) {
	lines := []string{item.get("content")}
	if item.is("contact_called") {
		lines = append(lines, "They called.")
	}
	if emotions := item.refs["emotions"]; len(emotions) > 0 {
		lines = append(lines, "Emotions: "+strings.Join(emotions, ", "))
	}
	m.interaction("calls", "call", about, item, "called_at", lines...)
}

func (m *monica) conversation(about []string, name string, item monicaItem) {
	var lines []string
	if service := m.named["contact_field_type "+item.get("contact_field_type")].get("name"); service != "" {
		lines = append(lines, "By "+service)
	}
	at := "happened_at"
	for message := range item.each("messages") {
		who := cmp.Or(name, "They")
		if message.is("written_by_me") {
			who = "Me"
		}
		lines = append(lines, who+": "+message.get("content"))
		if item.get(at) == "" { // as in the dump
			item.values[at] = message.get("written_at")
		}
	}
	m.interaction("conversations", "message", about, item, at, lines...)
}

// allActivities adds the activities with all who took part.
func (m *monica) allActivities() {
	for item := range m.activities {
		about := m.participants[item.id]
		delete(m.participants, item.id)
		if len(about) == 0 {
			m.leftOuts["activities in which no contact of the file took part"]++
			continue
		}
		kind := m.named["activity_type "+item.get("type")]
		lines := []string{item.get("summary"), item.get("description")}
		if name := cmp.Or(kind.get("name"), strings.ReplaceAll(kind.get("translation_key"), "_", " ")); name != "" {
			lines = append(lines, "Activity: "+name)
		}
		m.interaction("activities", "meeting", about, item, "happened_at", lines...)
	}
	if len(m.participants) > 0 {
		m.leftOuts["activities that are not in the file"] = len(m.participants)
	}
	m.participants = nil
}

// isBirthdayReminder reports whether Monica made a reminder of the birthday of the contact.
func isBirthdayReminder(reminder, contact monicaItem) bool {
	day, birthday, own := reminder.day("initial_date"), contact.day("birthdate.date"), reminder.get("delible")
	return (own == "false" || own == "0") && reminder.get("frequency_type") == "year" && day != "" && birthday != "" && day[4:] == birthday[4:]
}

// reminder adds a reminder, due on its next day.
func (m *monica) reminder(about []string, item monicaItem) {
	start, err := time.Parse(time.DateOnly, item.day("initial_date"))
	title, every := item.get("title"), cmp.Or(item.get("frequency_number"), "1")
	frequency := item.get("frequency_type")
	if err != nil || title == "" {
		m.note("reminders without a date, as notes", about, item, "", false, "Reminder: "+title, item.get("description"))
		return
	}
	r := export.ReminderRecord{ConnectionIDs: about, State: reminders.Open, CreatedAt: item.time("created_at"), UpdatedAt: item.time("updated_at")}
	r.Recurrence = map[string]string{
		"week 1": reminders.RecursWeekly, "month 1": reminders.RecursMonthly, "month 3": reminders.RecursQuarterly, "month 12": reminders.RecursYearly, "year 1": reminders.RecursYearly,
	}[frequency+" "+every]
	due, kind := start, "reminders"
	today, _ := time.Parse(time.DateOnly, m.days.today.AddDate(0, 0, -1).Format(time.DateOnly))
	switch {
	case r.Recurrence != "":
		if start.Before(today) {
			due, _ = reminders.Next(start, r.Recurrence, today.AddDate(0, 0, -1))
		}
	case frequency == "" || frequency == "one_time":
		r.Recurrence = reminders.RecursNever
	default: // Kith has no such interval
		r.Recurrence, kind = reminders.RecursNever, "reminders at intervals that Kith has not, as reminders of their next day"
		title += fmt.Sprintf(" (in Monica every %s %ss)", every, frequency)
		due = nextOf(start, frequency, every, today)
	}
	if item.is("inactive") {
		r.State = reminders.Done
	}
	r.DueOn, r.StartsOn = due.Format(time.DateOnly), start.Format(time.DateOnly)
	if r.Recurrence == reminders.RecursNever {
		r.StartsOn = r.DueOn
	}
	whole := joined(title, item.get("description"))
	short, cut := line(whole, maxReminder)
	if cut {
		m.note("", about, item, "", false, "Reminder: "+title, item.get("description"))
	}
	r.Text = short
	m.add("reminders", r)
	m.counts[kind]++
}

// nextOf returns the first day from today on that is a whole number of periods of several weeks, months or years from start.
func nextOf(start time.Time, frequency, every string, today time.Time) time.Time {
	n := 0
	if _, err := fmt.Sscan(every, &n); err != nil || n < 1 || n > 1000 {
		return start
	}
	due := start
	for i := 1; due.Before(today) && i < 100_000; i++ {
		switch frequency {
		case "week":
			due = start.AddDate(0, 0, 7*n*i)
		case "month":
			due = civil.Clamped(start.Year(), start.Month()+time.Month(n*i), start.Day())
		case "year":
			due = civil.Clamped(start.Year()+n*i, start.Month(), start.Day())
		default:
			return start
		}
	}
	return due
}

// task adds a task: an open one as a reminder of today, a finished one as a note.
func (m *monica) task(about []string, item monicaItem) {
	title := item.get("title")
	if item.is("completed") {
		m.note("finished tasks, as notes", about, item, item.day("completed_at"), false, "Task, done: "+title, item.get("description"))
		return
	}
	whole := joined(title, item.get("description"))
	short, cut := line(whole, maxReminder)
	if !text.Visible(short) {
		return
	}
	if cut {
		m.note("", about, item, "", false, "Task: "+title, item.get("description"))
	}
	today := m.days.today.AddDate(0, 0, -1).Format(time.DateOnly)
	m.add("reminders", export.ReminderRecord{
		ConnectionIDs: about, Text: short, DueOn: today, StartsOn: today, Recurrence: reminders.RecursNever, State: reminders.Open,
		CreatedAt: item.time("created_at"), UpdatedAt: item.time("updated_at"),
	})
	m.counts["open tasks, as reminders of today"]++
}

func (m *monica) gift(about []string, item monicaItem) {
	lines := []string{"Gift" + spaced("(", item.get("status"), ")") + ": " + item.get("name"), item.get("comment"), item.get("url")}
	if amount := item.amount(); amount != "" {
		lines = append(lines, "Amount: "+amount)
	}
	if recipient := m.names[item.get("recipient")]; recipient != "" {
		lines = append(lines, "For: "+recipient)
	}
	for _, id := range item.refs["photos"] {
		photo, _ := m.photo(id)
		lines = append(lines, "Photo in Monica: "+cmp.Or(photo.get("original_filename"), id))
	}
	m.note("gifts, as notes", about, item, item.day("date"), false, lines...)
}

func (m *monica) debt(about []string, item monicaItem) {
	owes := "They owe me "
	if item.is("in_debt") || item.get("in_debt") == "yes" {
		owes = "I owe them "
	}
	status := map[string]string{"inprogress": "open", "completed": "paid"}[item.get("status")]
	m.note("debts, as notes", about, item, "", false,
		"Debt"+spaced("(", cmp.Or(status, item.get("status")), ")")+": "+owes+item.amount(), item.get("reason"))
}

// lifeEvent adds a note of the day of a life event.
func (m *monica) lifeEvent(about []string, item monicaItem) {
	kind := m.named["life_event_type "+item.get("type")]
	name := cmp.Or(kind.get("name"), strings.ReplaceAll(cmp.Or(kind.get("translation_key"), kind.get("default_life_event_type_key")), "_", " "))
	day := item.day("happened_at")
	title := "Life event" + spaced("(", name, ")") + ": " + item.get("name")
	if item.is("happened_at_day_unknown") || item.is("happened_at_month_unknown") {
		known := len("2006-01")
		if item.is("happened_at_month_unknown") {
			known = len("2006")
		}
		title, day = title+", "+day[:min(len(day), known)], ""
	}
	specific := item.get("specific_information")
	if specific == "null" || specific == "[]" || specific == "{}" {
		specific = ""
	}
	m.note("life events, as notes of their day", about, item, day, false, title, item.get("note"), specific)
}

// spaced returns a text after a blank and between others, or nothing for an empty text.
func spaced(before, s, after string) string {
	if s == "" {
		return ""
	}
	return " " + before + s + after
}

// mostNamed is how many types and the like of an account are read.
const mostNamed = 10_000

// monicaVersion begins the versions of Monica's JSON export that are read.
const monicaVersion = "1."

// openMonica reads Monica's export, as JSON or SQL.
func (f *File) openMonica(data []byte, o Options) error {
	if isMonicaDump(data) {
		return f.openMonicaDump(data, o)
	}
	version, account := "", element{}
	for e := range members(data) {
		switch e.name {
		case "version":
			if _, err := e.decode(&version); err != nil {
				return fault.New(fault.Invalid, "the version of the export of Monica is no text")
			}
		case "account":
			account = e
		}
	}
	switch {
	case !valueAt(data, space(data, 0)).whole:
		return fault.New(fault.Invalid, "the export of Monica ends before its end: it was cut off; export or download it again")
	case !strings.HasPrefix(version, monicaVersion):
		return fault.New(fault.Invalid, "this export of Monica is of the version %q; here version 1, which Monica 4 writes, is read", shown(version))
	}
	m := &monica{file: f, days: o.calendar(), region: o.DefaultRegion, named: map[string]monicaItem{}}
	parts := map[string][]byte{}
	journal := 0
	for e := range members(account.raw) {
		switch e.name {
		case "data":
			for list := range objects(e.raw) {
				kind, values := monicaList(list.raw)
				parts[kind] = values
			}
		case "properties", "instance":
			for list := range members(e.raw) {
				if kind, found := strings.CutSuffix(list.name, "s"); e.name == "instance" && found {
					for item := range m.items(list.raw) {
						if len(m.named) < mostNamed {
							m.named[kind+" "+item.id] = item
						}
					}
				}
				if list.name == "journal_entries" {
					for range elements(list.raw) {
						journal++
					}
				}
			}
		}
	}
	m.contacts = func(yield func(monicaItem, error) bool) {
		for e := range objects(parts["contact"]) {
			if item, err := monicaObject(e); !yield(item, err) {
				return
			}
		}
	}
	m.activities = m.items(parts["activity"])
	m.photo, m.document = byMonicaID(parts["photo"]), byMonicaID(parts["document"])
	m.relations = func(yield func(monicaRelation) bool) {
		for item := range m.items(parts["relationship"]) {
			if !yield(monicaRelation{item.get("contact_is"), item.get("of_contact"), item.get("type")}) {
				return
			}
		}
	}
	if err := m.finish(); err != nil {
		return err
	}
	if journal > 0 {
		f.warn(fmt.Sprintf("Not imported from Monica: entries of the journal, which are about no contact (%d).", journal))
	}
	return nil
}

// objects calls yield with the values of a list, or of an object whose names are numbers.
func objects(raw []byte) iter.Seq[element] {
	if bytes.HasPrefix(raw, []byte("{")) {
		return members(raw)
	}
	return elements(raw)
}

// monicaList returns the type of a list of Monica, and its values.
func monicaList(raw []byte) (kind string, values []byte) {
	for e := range members(raw) {
		switch e.name {
		case "type":
			if _, err := e.decode(&kind); err != nil {
				return "", nil
			}
		case "values":
			values = e.raw
		}
	}
	return kind, values
}

// items calls yield with each object of a list. Those that are none are left out.
func (m *monica) items(raw []byte) iter.Seq[monicaItem] {
	return func(yield func(monicaItem) bool) {
		for e := range objects(raw) {
			if item, err := monicaObject(e); err == nil && !yield(item) {
				return
			}
		}
	}
}

// byMonicaID returns a function that returns the object of a list with an id. It decodes an object only then: photos are large.
func byMonicaID(list []byte) func(id string) (monicaItem, bool) {
	byID := map[string]element{}
	for e := range objects(list) {
		for m := range members(e.raw) {
			id := ""
			if m.name == "uuid" {
				if _, err := m.decode(&id); err == nil {
					byID[id] = e
				}
				break
			}
		}
	}
	return func(id string) (monicaItem, bool) {
		e, found := byID[id]
		if !found {
			return monicaItem{}, false
		}
		item, err := monicaObject(e)
		return item, err == nil
	}
}

// monicaObject decodes an object of Monica's JSON export.
func monicaObject(e element) (monicaItem, error) {
	var object map[string]json.RawMessage
	if _, err := e.decode(&object); err != nil {
		return monicaItem{}, err
	}
	item := monicaItem{values: map[string]string{}, lists: map[string][][]byte{}, refs: map[string][]string{}}
	item.fill("", object)
	item.id = keyOf(item.get("uuid"))
	delete(item.values, "uuid")
	return item, nil
}

// deepest is how deep objects within objects are read as such.
const deepest = 3

// fill adds the members of an object, whose names begin with before.
func (i monicaItem) fill(before string, object map[string]json.RawMessage) {
	for name, raw := range object {
		var within map[string]json.RawMessage
		var one string
		switch {
		case string(raw) == "null":
		case name == "data" && before == "" && (raw[0] == '[' || raw[0] == '{'):
			for list := range objects(raw) {
				kind, values := monicaList(list.raw)
				i.list(kind, values)
			}
		case raw[0] == '{' && strings.Count(before, ".") < deepest && json.Unmarshal(raw, &within) == nil:
			if name != "properties" {
				name = before + name + "."
			} else {
				name = before
			}
			i.fill(name, within)
		case raw[0] == '[':
			i.list(before+name, raw)
		case raw[0] == '"' && json.Unmarshal(raw, &one) == nil:
			i.values[before+name] = one
		default:
			i.values[before+name] = string(raw)
		}
	}
}

// list adds a list of objects or ids.
func (i monicaItem) list(name string, raw []byte) {
	listed := false
	for e := range objects(raw) {
		var one string
		if len(e.raw) > 0 && e.raw[0] == '{' {
			listed = true
		} else if _, err := e.decode(&one); err == nil {
			i.refs[name] = append(i.refs[name], one)
		}
	}
	if listed {
		i.lists[name] = append(i.lists[name], raw)
	}
}
