package contacts

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/cadence"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	organizev1 "github.com/kith-crm/kith/proto/gen/kith/organize/v1"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The sections of the page of a person that are edited in place.
const (
	sectionName      = "name"
	sectionParts     = "parts"
	sectionWays      = "ways"
	sectionAccounts  = "accounts"
	sectionAddresses = "addresses"
	sectionPositions = "positions"
	sectionDates     = "dates"
	sectionRelations = "relations"
	sectionGroups    = "groups"
	sectionCadence   = "cadence"
	sectionFields    = "fields"
	sectionAbout     = "about"
)

// person is what get_connection returns about a person.
type person = connectionsv1.GetConnectionResponse

// section is a part of the page that is edited as one form.
type section struct {
	name string
	// fields returns the inputs with what is stored. Those of a section with rows have a row
	// for each entry.
	fields func(v *request, p *person) ([]FormField, error)
	// row returns the inputs of an empty row; nil for a section without rows.
	row func(v *request, i int) []FormField
	// save writes the fields of a form that changed, and returns the id of the change.
	save func(v *request, p *person, f *Form, changed map[string]bool) (wrong []page.FieldError, changeID string, err error)
}

// sections returns the sections with a form that replaces what is stored.
func sections() []section {
	return []section{
		{name: sectionName, fields: nameFields, save: saveTexts},
		{name: sectionParts, fields: namePartFields, save: saveNameParts},
		{name: sectionWays, fields: wayFields, save: saveWays},
		{name: sectionAccounts, fields: accountFields, row: accountRow, save: saveAccounts},
		{name: sectionAddresses, fields: addressFields, row: addressRow, save: saveAddresses},
		{name: sectionPositions, fields: positionFields, row: positionRow, save: savePositions},
		{name: sectionDates, fields: dateFields, row: dateFieldRow, save: saveDates},
		{name: sectionGroups, fields: groupFields, save: saveGroups},
		{name: sectionCadence, fields: cadenceFields, save: saveCadence},
		{name: sectionFields, fields: customFieldInputs, save: saveCustomFields},
		{name: sectionAbout, fields: aboutFields, save: saveTexts},
	}
}

func sectionOf(name string) (section, bool) {
	all := sections()
	at := slices.IndexFunc(all, func(s section) bool { return s.name == name })
	if at < 0 {
		return section{}, false
	}
	return all[at], true
}

func nameFields(v *request, p *person) ([]FormField, error) {
	c := p.GetConnection()
	name := textField("name", "Name", "")
	name.Required = true
	return []FormField{
		name.with(c.GetName()), textField("nickname", "Nickname", "").with(c.GetNickname()), textField("location", "Place", "").with(c.GetLocation()),
		textField("met_how", "How you met", "").with(c.GetMetHow()), v.dateField("met_on", "When you met", "").with(c.GetMetOn()),
		v.dateField("deceased_on", "Died", "Birthdays, intervals and reminders end.").with(c.GetDeceasedOn()),
	}, nil
}

func namePartFields(_ *request, p *person) ([]FormField, error) {
	parts := people.NamePartsOf(p.GetConnection().GetNameParts())
	var fields []FormField
	for _, part := range parts.All() {
		fields = append(fields, textField(part.Name, part.Label, "").with(*part.Value))
	}
	return fields, nil
}

// saveNameParts writes the parts of the name. The name itself stays as it is shown.
func saveNameParts(v *request, p *person, f *Form, _ map[string]bool) ([]page.FieldError, string, error) {
	values := valuesOf(f.Fields)
	var parts people.NameParts
	for _, part := range parts.All() {
		*part.Value = values[part.Name]
		if err := people.CheckNamePart(part); err != nil {
			return []page.FieldError{{Name: part.Name, Message: page.Sentence(err.Error())}}, "", nil
		}
	}
	req := &connectionsv1.UpdateConnectionRequest{Id: p.GetConnection().GetId(), ExpectedVersion: &p.Connection.Version}
	written, wrong, err := page.Write(v.Member, pageName, req, func(ctx context.Context, tx *db.Tx, req *connectionsv1.UpdateConnectionRequest) (people.Written, error) {
		return people.Update(ctx, tx, people.Patch{ID: req.GetId(), ExpectedVersion: req.ExpectedVersion, NameParts: &parts})
	})
	return wrong, written.ChangeID, err
}

func wayFields(_ *request, p *person) ([]FormField, error) {
	c := p.GetConnection()
	labels := people.LabelsOf(c.GetLabels())
	joined := func(values []string) string {
		return strings.Join(people.IDs(values, func(value string) string {
			if label := labels[value]; label != "" {
				value += " (" + label + ")"
			}
			return value
		}), "\n")
	}
	return []FormField{
		linesField("emails", "E-mail addresses", "One per line, the preferred one first. A label may follow: ana@example.com (work).").with(joined(c.GetEmails())),
		linesField("phones", "Phone numbers", "One per line, with the country code: +44 20 7946 0000 (mobile).").with(joined(c.GetPhones())),
		linesField("urls", "Links", "One per line, beginning with https://.").with(joined(c.GetUrls())),
	}, nil
}

// labelAfter matches a value with a label in parentheses after it. A label has a letter, unlike parts of phone numbers.
var labelAfter = regexp.MustCompile(`^(.*\S)\s+\(([^()]*\pL[^()]*)\)$`)

// saveWays writes addresses, numbers and links with their labels.
func saveWays(v *request, p *person, f *Form, changed map[string]bool) ([]page.FieldError, string, error) {
	c := p.GetConnection()
	req := &connectionsv1.UpdateConnectionRequest{Id: c.GetId(), ExpectedVersion: &c.Version}
	labels := people.LabelsOf(c.GetLabels())
	for _, field := range f.Fields {
		if !changed[field.Name] {
			continue
		}
		values := lines(field.Value)
		for i, value := range values {
			label := ""
			if m := labelAfter.FindStringSubmatch(value); m != nil {
				values[i], label = m[1], m[2]
			}
			if label != labels[values[i]] {
				req.Labels = append(req.Labels, &connectionsv1.Label{Of: values[i], Label: label})
			}
		}
		field.Value = strings.Join(values, "\n")
		setField(req, field, c)
	}
	res, wrong, err := page.Write(v.Member, pageName, req, v.People.UpdateConnection)
	return wrong, res.GetChangeId(), err
}

func accountRow(_ *request, i int) []FormField {
	return []FormField{
		textField(rowName("service", i), "Messenger or network", "Signal, WhatsApp, Mastodon, GitHub or another."), textField(rowName("handle", i), "Name or number there", ""),
		textField(rowName("account_label", i), "Label", ""),
	}
}

func accountFields(v *request, p *person) ([]FormField, error) {
	var fields []FormField
	for i, a := range people.AccountsOf(p.GetConnection().GetAccounts()) {
		fields = append(fields, filled(accountRow(v, i), a.Shown(), a.Handle, a.Label)...)
	}
	return fields, nil
}

// saveAccounts writes all accounts.
func saveAccounts(v *request, p *person, f *Form, _ map[string]bool) ([]page.FieldError, string, error) {
	values := valuesOf(f.Fields)
	req := &connectionsv1.UpdateConnectionRequest{Id: p.GetConnection().GetId(), ExpectedVersion: &p.Connection.Version}
	var rows []int
	var wrong []page.FieldError
	for i := range len(f.Fields) / len(accountRow(v, 0)) {
		a := &connectionsv1.Account{Service: values[rowName("service", i)], Handle: values[rowName("handle", i)], Label: optional(values[rowName("account_label", i)])}
		if a.GetHandle() == "" {
			continue
		}
		found, err := v.checkRow(a, "service", i)
		if err != nil {
			return nil, "", err
		}
		req.Accounts, rows, wrong = append(req.Accounts, a), append(rows, i), append(wrong, found...)
	}
	if len(wrong) > 0 {
		return wrong, "", nil
	}
	for _, stored := range p.GetConnection().GetAccounts() { // removed, unless the form has its service
		req.Accounts = append([]*connectionsv1.Account{{Service: stored.GetService()}}, req.GetAccounts()...)
		rows = append([]int{0}, rows...)
	}
	res, wrong, err := page.Write(v.Member, pageName, req, v.People.UpdateConnection)
	return ofRows(wrong, rows), res.GetChangeId(), err
}

func addressRow(_ *request, i int) []FormField {
	return []FormField{
		textField(rowName("label", i), "Label", "home, work or your own word."), areaField(rowName("street", i), "Street", "", 2),
		textField(rowName("postcode", i), "Postcode", ""), textField(rowName("locality", i), "Town", ""), textField(rowName("region", i), "Region", ""),
		textField(rowName("country", i), "Country", ""), areaField(rowName("text", i), "Or all of it as one text", "", 2),
	}
}

func addressFields(v *request, p *person) ([]FormField, error) {
	var fields []FormField
	for i, a := range people.AddressesOf(p.GetConnection().GetAddresses()) {
		fields = append(fields, filled(addressRow(v, i), a.Label, a.Street, a.Postcode, a.Locality, a.Region, country.Name(a.Country), a.Text)...)
	}
	return fields, nil
}

// saveAddresses writes all addresses.
func saveAddresses(v *request, p *person, f *Form, _ map[string]bool) ([]page.FieldError, string, error) {
	values := valuesOf(f.Fields)
	req := &connectionsv1.UpdateConnectionRequest{Id: p.GetConnection().GetId(), ExpectedVersion: &p.Connection.Version}
	var rows []int
	var wrong []page.FieldError
	for i := range len(f.Fields) / len(addressRow(v, 0)) {
		at := func(name string) *string { return optional(values[rowName(name, i)]) }
		a := &connectionsv1.PostalAddress{
			Label: at("label"), Street: at("street"), Postcode: at("postcode"), Locality: at("locality"), Region: at("region"), Country: at("country"), Text: at("text"),
		}
		if proto.Size(a) == 0 {
			continue
		}
		found, err := v.checkRow(a, "street", i)
		if err != nil {
			return nil, "", err
		}
		req.Addresses, rows, wrong = append(req.Addresses, a), append(rows, i), append(wrong, found...)
	}
	if len(wrong) > 0 {
		return wrong, "", nil
	}
	written, wrong, err := page.Write(v.Member, pageName, req, func(ctx context.Context, tx *db.Tx, req *connectionsv1.UpdateConnectionRequest) (people.Written, error) {
		all := append([]people.Address{}, people.AddressesOf(req.GetAddresses())...) // replaced by none, too
		return people.Update(ctx, tx, people.Patch{ID: req.GetId(), ExpectedVersion: req.ExpectedVersion, Addresses: people.AddressEdit{Replace: all}})
	})
	return ofRows(wrong, rows), written.ChangeID, err
}

func aboutFields(_ *request, p *person) ([]FormField, error) {
	return []FormField{areaField("bio", "About", "", 6).with(p.GetConnection().GetBio())}, nil
}

// saveTexts writes texts and lists, which are fields of update_connection.
func saveTexts(v *request, p *person, f *Form, changed map[string]bool) ([]page.FieldError, string, error) {
	req := &connectionsv1.UpdateConnectionRequest{Id: p.GetConnection().GetId(), ExpectedVersion: &p.Connection.Version}
	for _, field := range f.Fields {
		if changed[field.Name] {
			setField(req, field, p.GetConnection())
		}
	}
	res, wrong, err := page.Write(v.Member, pageName, req, v.People.UpdateConnection)
	return wrong, res.GetChangeId(), err
}

// setField sets a field of a request, also to nothing. A list is emptied by removing what
// is stored.
func setField(req *connectionsv1.UpdateConnectionRequest, f FormField, stored proto.Message) {
	message := req.ProtoReflect()
	fields := message.Descriptor().Fields()
	if !f.Lines {
		message.Set(fields.ByName(protoreflect.Name(f.Name)), protoreflect.ValueOfString(f.Value))
		return
	}
	to, values := f.Name, lines(f.Value)
	if len(values) == 0 {
		to = "remove_" + f.Name
		held := stored.ProtoReflect()
		list := held.Get(held.Descriptor().Fields().ByName(protoreflect.Name(f.Name))).List()
		for i := range list.Len() {
			values = append(values, list.Get(i).String())
		}
	}
	list := message.Mutable(fields.ByName(protoreflect.Name(to))).List()
	for _, value := range values {
		list.Append(protoreflect.ValueOfString(value))
	}
}

func positionRow(v *request, i int) []FormField {
	return []FormField{
		textField(rowName("organization", i), "Organisation", ""), textField(rowName("title", i), "Title", ""),
		v.dateField(rowName("started_on", i), "From", ""), v.dateField(rowName("ended_on", i), "Until", ""),
		{Field: page.Field{Name: rowName("past", i), Label: "No longer there"}, Check: true},
	}
}

func positionFields(v *request, p *person) ([]FormField, error) {
	var fields []FormField
	for i, held := range p.GetPositions() {
		past := ""
		if !held.GetCurrent() {
			past = ticked
		}
		fields = append(fields, filled(positionRow(v, i), held.GetOrganization(), held.GetTitle(), held.GetStartedOn(), held.GetEndedOn(), past)...)
	}
	return fields, nil
}

// filled returns the inputs of a row with values.
func filled(row []FormField, values ...string) []FormField {
	for i, value := range values {
		row[i] = row[i].with(value)
	}
	return row
}

// savePositions writes all positions. update_connection can only add and remove them, which
// would end a position when another one is added.
func savePositions(v *request, p *person, f *Form, _ map[string]bool) ([]page.FieldError, string, error) {
	values := valuesOf(f.Fields)
	jobs := []people.JobDraft{}
	var rows []int
	var wrong []page.FieldError
	for i := range len(f.Fields) / len(positionRow(v, 0)) {
		at := func(name string) string { return values[rowName(name, i)] }
		d := people.JobDraft{Organization: at("organization"), Title: at("title"), StartedOn: at("started_on"), EndedOn: at("ended_on"), Past: at("past") == ticked}
		if d == (people.JobDraft{Past: d.Past}) {
			continue
		}
		job := &connectionsv1.Job{Organization: optional(d.Organization), Title: optional(d.Title), StartedOn: &d.StartedOn, EndedOn: &d.EndedOn}
		found, err := v.checkRow(job, "organization", i)
		if err != nil {
			return nil, "", err
		}
		jobs, rows, wrong = append(jobs, d), append(rows, i), append(wrong, found...)
	}
	if len(wrong) > 0 {
		return wrong, "", nil
	}
	req := &connectionsv1.UpdateConnectionRequest{Id: p.GetConnection().GetId(), ExpectedVersion: &p.Connection.Version}
	written, wrong, err := page.Write(v.Member, pageName, req, func(ctx context.Context, tx *db.Tx, req *connectionsv1.UpdateConnectionRequest) (people.Written, error) {
		return people.Update(ctx, tx, people.Patch{ID: req.GetId(), ExpectedVersion: req.ExpectedVersion, Jobs: people.JobEdit{Replace: jobs}})
	})
	return ofRows(wrong, rows), written.ChangeID, err
}

// optional returns a text, or nil for none.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// checkRow checks a message that a row of a form makes. An error about all of it is shown at
// the first input.
func (v *request) checkRow(message proto.Message, first string, row int) ([]page.FieldError, error) {
	wrong, err := v.Check(message)
	for i, e := range wrong {
		if e.Name == "" {
			e.Name = first
		}
		wrong[i].Name = rowName(e.Name, row)
	}
	return wrong, err
}

// ofRows names the rows of the form in errors that name entries of a request.
func ofRows(wrong []page.FieldError, rows []int) []page.FieldError {
	for i, e := range wrong {
		m := listEntry.FindStringSubmatch(e.Name)
		if m == nil {
			continue
		}
		if at, err := strconv.Atoi(m[2]); err == nil && at < len(rows) {
			wrong[i].Name = strings.Replace(e.Name, "["+m[2]+"]", "["+strconv.Itoa(rows[at])+"]", 1)
		}
	}
	return wrong
}

func dateFieldRow(v *request, i int) []FormField {
	return []FormField{
		choiceField(rowName("kind", i), "Kind", page.Option{Value: "birthday", Label: "Birthday"}, page.Option{Value: "anniversary", Label: "Anniversary"}, page.Option{Value: "other", Label: "Other"}).with("birthday"),
		v.dateField(rowName("date", i), "Date", ""), textField(rowName("label", i), "Label", ""),
	}
}

func dateFields(v *request, p *person) ([]FormField, error) {
	var fields []FormField
	for i, d := range p.GetConnection().GetImportantDates() {
		fields = append(fields, filled(dateFieldRow(v, i), d.GetKind(), d.GetDate(), d.GetLabel())...)
	}
	return fields, nil
}

func saveDates(v *request, p *person, f *Form, _ map[string]bool) ([]page.FieldError, string, error) {
	values := valuesOf(f.Fields)
	req := &connectionsv1.UpdateConnectionRequest{Id: p.GetConnection().GetId(), ExpectedVersion: &p.Connection.Version}
	var rows []int
	var wrong []page.FieldError
	for i := range len(f.Fields) / len(dateFieldRow(v, 0)) {
		d := &connectionsv1.ImportantDate{Kind: values[rowName("kind", i)], Date: values[rowName("date", i)], Label: values[rowName("label", i)]}
		if d.GetDate() == "" && d.GetLabel() == "" {
			continue
		}
		found, err := v.checkRow(d, "date", i)
		if err != nil {
			return nil, "", err
		}
		req.ImportantDates, rows, wrong = append(req.ImportantDates, d), append(rows, i), append(wrong, found...)
	}
	if len(wrong) > 0 {
		return wrong, "", nil
	}
	if len(req.GetImportantDates()) == 0 {
		req.RemoveImportantDates = p.GetConnection().GetImportantDates()
	}
	res, wrong, err := page.Write(v.Member, pageName, req, v.People.UpdateConnection)
	return ofRows(wrong, rows), res.GetChangeId(), err
}

const groupPrefix = "group."

func groupFields(v *request, p *person) ([]FormField, error) {
	tags := linesField("tags", "Tags", "One per line. New ones are created.")
	fields := []FormField{tags.with(strings.Join(p.GetConnection().GetTags(), "\n"))}
	list, err := v.Groups.ListGroups(v.Ctx, &organizev1.ListGroupsRequest{})
	for _, g := range list.GetGroups() {
		f := FormField{Field: page.Field{Name: groupPrefix + g.GetId(), Label: g.GetName(), Own: true}, Check: true}
		if slices.Contains(p.GetConnection().GetGroups(), g.GetName()) {
			f.Value = ticked
		}
		fields = append(fields, f)
	}
	return fields, err
}

// saveGroups adds and removes tags and groups, so that those which another form or an agent
// added stay.
func saveGroups(v *request, p *person, f *Form, changed map[string]bool) ([]page.FieldError, string, error) {
	c := p.GetConnection()
	req := &organizev1.UpdateMembershipRequest{ConnectionIds: []string{c.GetId()}}
	for _, field := range f.Fields {
		group, isGroup := strings.CutPrefix(field.Name, groupPrefix)
		switch {
		case !changed[field.Name]:
		case isGroup && field.Checked():
			req.AddGroups = append(req.AddGroups, group)
		case isGroup:
			req.RemoveGroups = append(req.RemoveGroups, group)
		default:
			wanted := lines(field.Value)
			req.AddTags, req.RemoveTags = missing(wanted, c.GetTags()), missing(c.GetTags(), wanted)
		}
	}
	if len(req.GetAddGroups())+len(req.GetRemoveGroups())+len(req.GetAddTags())+len(req.GetRemoveTags()) == 0 {
		return nil, "", nil // only the order or the case of tags differs
	}
	res, wrong, err := page.Write(v.Member, pageName, req, v.Groups.UpdateMembership)
	return wrong, res.GetChangeId(), err
}

// missing returns what a list has and others do not, ignoring case.
func missing(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(tag string) bool {
		return slices.ContainsFunc(others, func(other string) bool { return text.Fold(other) == text.Fold(tag) })
	})
}

func cadenceFields(v *request, p *person) ([]FormField, error) {
	stored, err := people.GetConnection(v.Ctx, v.Data(), p.GetConnection().GetId())
	if err != nil {
		return nil, err
	}
	days := textField("days", "Days between contacts", "0 for the interval of their groups, or none; -1 to never be reminded of them.")
	days.Kind = "number"
	until := ""
	if !stored.SnoozedUntil.IsZero() {
		until = stored.SnoozedUntil.Format(time.DateOnly)
	}
	return []FormField{
		days.with(strconv.Itoa(stored.CadenceDays)), dayField("snooze_until", "Not before", "Kith does not ask you to be in touch until then.").with(until),
	}, nil
}

func saveCadence(v *request, p *person, f *Form, changed map[string]bool) ([]page.FieldError, string, error) {
	values := valuesOf(f.Fields)
	req := &remindersv1.SetCadenceRequest{ConnectionIds: []string{p.GetConnection().GetId()}}
	if changed["days"] {
		days, err := strconv.ParseInt(values["days"], 10, 32)
		if err != nil {
			return []page.FieldError{{Name: "days", Message: "Enter a number of days, 0 to 730."}}, "", nil
		}
		if req.Days = new(int32(days)); days == cadence.Never {
			req.Days, req.Never = nil, new(true)
		}
	}
	if changed["snooze_until"] {
		req.SnoozeUntil = new(values["snooze_until"])
	}
	res, wrong, err := page.Write(v.Member, pageName, req, v.Reminders.SetCadence)
	return wrong, res.GetChangeId(), err
}
