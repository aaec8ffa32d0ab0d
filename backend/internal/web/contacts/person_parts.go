package contacts

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/cadence"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// parts returns what is known about a person, section by section. The page offers to add those without rows.
func (v *request) parts(p *person) []part {
	c := p.GetConnection()
	format := v.Format()
	return []part{
		{Name: sectionWays, Title: "Phone and e-mail", Rows: rows(
			partRow{Label: "E-mail", Values: labelled(c, c.GetEmails(), func(value string) string { return "mailto:" + url.PathEscape(value) })},
			partRow{Label: "Phone", Values: labelled(c, c.GetPhones(), func(value string) string { return "tel:" + strings.Map(dialled, value) })},
			partRow{Label: "Links", Values: labelled(c, c.GetUrls(), webAddress)})},
		{Name: sectionAccounts, Title: "Messengers and networks", Rows: accountRows(c)},
		{Name: sectionAddresses, Title: "Addresses", Rows: addressRows(c)},
		{Name: sectionPositions, Title: "Positions", Rows: v.positionRows(p)},
		{Name: sectionDates, Title: "Dates", Rows: dateRows(format, c)},
		{Name: sectionRelations, Title: "Relations", Rows: v.relationRows(c), Linked: relations(c)},
		{Name: sectionGroups, Title: "Groups and tags", Rows: rows(
			partRow{Label: "Tags", Values: linked(c.GetTags(), func(tag string) string { return v.Link(page.PathPeople, "tag", tag) })},
			partRow{Label: "Groups", Values: linked(c.GetGroups(), func(group string) string { return v.Link(page.PathPeople, "group", group) })})},
		{Name: sectionCadence, Title: "Keeping in touch", Rows: v.cadenceRows(c)},
		{Name: sectionFields, Title: "Custom fields", Rows: customFieldRows(c)},
		{Name: sectionName, Title: "Name and how you met", Rows: rows(
			text1("Nickname", c.GetNickname(), ""), text1("Place", c.GetLocation(), ""), text1("How you met", c.GetMetHow(), format.PartialDay(c.GetMetOn())), text1("Died", format.PartialDay(c.GetDeceasedOn()), ""),
			text1("Added", format.Day(c.GetCreatedAt().AsTime().In(v.Zone)), c.GetSource()), keptRow(int(c.GetKept())))},
		{Name: sectionParts, Title: "Parts of the name", Rows: namePartRows(c)},
		{Name: sectionAbout, Title: "About", Rows: rows(partRow{Values: linked(nonEmpty(c.GetBio()), nil), Long: true})},
	}
}

func namePartRows(c *connectionsv1.Connection) []partRow {
	parts := people.NamePartsOf(c.GetNameParts())
	var all []partRow
	for _, part := range parts.All() {
		all = append(all, text1(part.Label, *part.Value, ""))
	}
	return rows(all...)
}

// keptRow tells how much of cards is not shown.
func keptRow(n int) partRow {
	switch n {
	case 0:
		return partRow{}
	case 1:
		return text1("From files", "1 property that only exports show", "")
	}
	return text1("From files", fmt.Sprintf("%d properties that only exports show", n), "")
}

func nonEmpty(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// rows returns the rows that have a value.
func rows(all ...partRow) []partRow {
	var out []partRow
	for _, row := range all {
		if len(row.Values) > 0 {
			out = append(out, row)
		}
	}
	return out
}

// text1 is a row with one text; a note alone is a value too.
func text1(label, value, note string) partRow {
	if value == "" && note == "" {
		return partRow{}
	}
	return partRow{Label: label, Values: []contactLink{{Text: value, Note: note}}}
}

// linked returns texts with the addresses that they lead to.
func linked(values []string, address func(string) string) []contactLink {
	var out []contactLink
	for _, value := range values {
		link := contactLink{Text: value}
		if address != nil {
			link.Path = template.URL(address(value))
		}
		out = append(out, link)
	}
	return out
}

// labelled is linked with the labels of the values.
func labelled(c *connectionsv1.Connection, values []string, address func(string) string) []contactLink {
	labels := people.LabelsOf(c.GetLabels())
	out := linked(values, address)
	for i := range out {
		out[i].Note = labels[out[i].Text]
	}
	return out
}

func accountRows(c *connectionsv1.Connection) (out []partRow) {
	for _, a := range people.AccountsOf(c.GetAccounts()) {
		out = append(out, partRow{Label: a.Shown(), Values: []contactLink{{Text: a.Handle, Path: template.URL(a.Link()), Note: a.Label}}})
	}
	return out
}

func addressRows(c *connectionsv1.Connection) (out []partRow) {
	for _, a := range people.AddressesOf(c.GetAddresses()) {
		out = append(out, partRow{Label: cmp.Or(a.Label, "Address"), Values: linked([]string{a.String()}, nil), Long: true})
	}
	return out
}

func (v *request) positionRows(p *person) []partRow {
	var out []partRow
	for _, held := range p.GetPositions() {
		label := "Worked at"
		if held.GetCurrent() {
			label = "Works at"
		}
		value := contactLink{Text: held.GetTitle()}
		if held.GetOrganization() != "" {
			value = contactLink{Text: held.GetOrganization(), Path: v.organizationPath(held.GetOrganization()), Note: held.GetTitle()}
		}
		value.Note = withPeriod(value.Note, v.Format().PartialDay(held.GetStartedOn()), v.Format().PartialDay(held.GetEndedOn()))
		out = append(out, partRow{Label: label, Values: []contactLink{value}})
	}
	return out
}

// withPeriod adds the dates between which a position was held to its title.
func withPeriod(title, from, to string) string {
	if from == "" && to == "" {
		return title
	}
	return strings.TrimSpace(title + " (" + from + "–" + to + ")")
}

func dateRows(format page.Format, c *connectionsv1.Connection) []partRow {
	var out []partRow
	for _, d := range c.GetImportantDates() {
		label := d.GetLabel()
		if label == "" {
			label = strings.ToUpper(d.GetKind()[:1]) + d.GetKind()[1:]
		}
		out = append(out, text1(label, format.PartialDay(d.GetDate()), ""))
	}
	return out
}

func relations(c *connectionsv1.Connection) []relationRow {
	var out []relationRow
	for _, r := range c.GetRelationships() {
		out = append(out, relationRow{ID: r.GetConnectionId(), Name: r.GetName(), Type: r.GetType(), Words: strings.ReplaceAll(r.GetType(), "_", " ")})
	}
	return out
}

func (v *request) relationRows(c *connectionsv1.Connection) []partRow {
	var out []partRow
	for _, r := range relations(c) {
		row := partRow{Label: r.Words, Values: []contactLink{{Text: r.Name, Note: v.Text("not in Kith")}}}
		if r.ID != "" {
			row.Values[0] = contactLink{Text: r.Name, Path: v.personPath(r.ID)}
		}
		out = append(out, row)
	}
	return out
}

// offerLinks finds the people on file who have the names of related people who are not. It takes a statement if there are any.
func (v *request) offerLinks(content *personContent) error {
	at := slices.IndexFunc(content.Parts, func(p part) bool { return p.Name == sectionRelations })
	linked := content.Parts[at].Linked
	var names []string
	for _, r := range linked {
		if r.ID == "" {
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 || !content.Archived.IsZero() {
		return nil
	}
	found, err := people.ListNamed(v.Ctx, v.Data(), names)
	for i, r := range linked {
		if offer := found[text.Fold(r.Name)]; r.ID == "" && offer != content.GetId() {
			linked[i].Offer = offer
		}
	}
	return err
}

func (v *request) cadenceRows(c *connectionsv1.Connection) []partRow {
	return rows(text1("Be in touch", cadenceWords(int(c.GetCadenceDays())), ""))
}

// cadenceWords says how often to be in touch; "" without an interval.
func cadenceWords(days int) string {
	switch {
	case days == cadence.Never:
		return "Never remind me"
	case days == 1:
		return "Every day"
	case days > 1:
		return fmt.Sprintf("Every %d days", days)
	}
	return ""
}

// strengthWord says how close a person is, from a strength of 0 to 100.
func strengthWord(strength int32) string {
	const close, good, loose = 70, 40, 15
	switch {
	case strength >= close:
		return "Close"
	case strength >= good:
		return "Often in touch"
	case strength >= loose:
		return "Now and then in touch"
	case strength > 0:
		return "Seldom in touch"
	}
	return ""
}

// reach returns how to reach a person from their page: the first number, address and messenger.
func reach(c *connectionsv1.Connection) []contactLink {
	var out []contactLink
	if phones := c.GetPhones(); len(phones) > 0 {
		out = append(out, contactLink{Text: "Call", Path: template.URL("tel:" + strings.Map(dialled, phones[0])), Note: phones[0]})
	}
	if emails := c.GetEmails(); len(emails) > 0 {
		out = append(out, contactLink{Text: "Mail", Path: template.URL("mailto:" + url.PathEscape(emails[0])), Note: emails[0]})
	}
	for _, a := range people.AccountsOf(c.GetAccounts()) {
		if a.Link() != "" {
			return append(out, contactLink{Text: "Message", Path: template.URL(a.Link()), Note: a.Shown() + " " + a.Handle})
		}
	}
	if phones := c.GetPhones(); len(phones) > 0 {
		out = append(out, contactLink{Text: "Message", Path: template.URL("sms:" + strings.Map(dialled, phones[0])), Note: phones[0]})
	}
	return out
}

// dialled keeps what a tel: address may hold (RFC 3966, section 5.1.1).
func dialled(r rune) rune {
	if r >= '0' && r <= '9' || r == '+' {
		return r
	}
	return -1
}

// webAddress returns the address that a stored link leads to; empty unless it is http or
// https.
func webAddress(value string) string {
	if !strings.Contains(value, "://") {
		value = "https://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	return u.String()
}
