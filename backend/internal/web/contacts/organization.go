package contacts

import (
	"html/template"
	"net/http"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// pathOrganization is the path of the page of an organisation, whose name is a parameter.
const pathOrganization = page.PathPeople + "/organization"

// organizationContent is the content of the page of an organisation.
type organizationContent struct {
	*people.OrganizationDetails

	// Self is the address of the page, Path that of its form, List that of everyone there, past and present.
	Self, Path, List string
	// Facts are the rows with website, domain, address, notes and last contact, as far as they are known.
	Facts []partRow
	// Now and Before are the people, MoreNow and MoreBefore how many others there are.
	Now, Before         []contactLink
	MoreNow, MoreBefore int
	Fields              []page.Field
	// Seen is the version that the form shows. Stored is set if the organisation was changed after the form was shown.
	Seen   string
	Stored bool
	// Merge is the name of the organisation that has the new name: the page asks before the two become one.
	Merge string
}

func (v *request) showOrganization() error {
	name := v.R.URL.Query().Get("name")
	if name == "" {
		return v.Redirect(v.To(page.PathPeople))
	}
	o, err := people.FindOrganization(v.Ctx, v.Data(), name)
	if err != nil {
		return err
	}
	return v.renderOrganization(http.StatusOK, o, organizationContent{Fields: organizationFields(o.Name, o.Website, o.Address, o.Notes, nil)}, nil)
}

// organizationFields returns the fields of the form of an organisation, with values and their errors.
func organizationFields(name, website, address, notes string, wrong []page.FieldError) []page.Field {
	m := page.Mistakes{List: wrong}
	return []page.Field{
		{Name: "new_name", Label: "Name", Value: name, Required: true, Autocomplete: "off", Error: m.Of("new_name"), Hint: "If another organisation has this name, the two become one."},
		{Name: "website", Label: "Website", Value: website, Autocomplete: "off", Plain: true, Error: m.Of("website")},
		{Name: "address", Label: "Address", Value: address, Rows: 3, Error: m.Of("address")},
		{Name: "notes", Label: "Notes", Value: notes, Rows: 5, Error: m.Of("notes")},
	}
}

// renderOrganization shows what is known about an organisation, with its form.
func (v *request) renderOrganization(status int, o *people.Organization, content organizationContent, wrong []page.FieldError) error {
	content.Seen = o.UpdatedAt.Format(time.RFC3339Nano)
	details, err := o.Details(v.Ctx, v.Data())
	if err != nil {
		return err
	}
	content.OrganizationDetails = details
	content.Self, content.Path, content.List = string(v.organizationPath(o.Name)), v.To(pathOrganization), v.Link(page.PathPeople, "company", o.Name)
	content.Now, content.MoreNow = v.peopleThere(details.Now), details.CountNow-len(details.Now)
	content.Before, content.MoreBefore = v.peopleThere(details.Before), details.CountBefore-len(details.Before)
	site := partRow{Label: "Website", Values: linked(nonEmpty(o.Website), webAddress)}
	content.Facts = rows(site, text1("Domain", details.Domain, ""), partRow{Label: "Address", Values: linked(nonEmpty(o.Address), nil), Long: true},
		partRow{Label: "Notes", Values: linked(nonEmpty(o.Notes), nil), Long: true})
	if !details.LastContact.IsZero() {
		last := contactLink{Text: details.LastWith.Name, Path: v.personPath(details.LastWith.ID), Note: v.Format().Day(details.LastContact.In(v.Zone))}
		content.Facts = append(content.Facts, partRow{Label: "Last contact", Values: []contactLink{last}})
	}
	return v.Render(status, "organization", page.Page{Title: o.Name, Area: page.PathPeople, Errors: wrong, Content: content})
}

// peopleThere returns links to people, with their titles and the time in which they held them.
func (v *request) peopleThere(there []people.PersonThere) []contactLink {
	out := make([]contactLink, len(there))
	for i, p := range there {
		out[i] = contactLink{Text: p.Name, Path: v.personPath(p.ID), Note: withPeriod(p.Title, p.StartedOn, p.EndedOn)}
	}
	return out
}

// organizationPath returns the address of the page of an organisation.
func (v *request) organizationPath(name string) template.URL {
	return template.URL(v.Link(pathOrganization, "name", name))
}

// saveOrganization changes an organisation. Before it merges two, it asks.
func (v *request) saveOrganization() error {
	form := v.R.PostForm
	o, err := people.FindOrganization(v.Ctx, v.Data(), form.Get("name"))
	if err != nil {
		return err
	}
	name, website, address, notes := v.Line("new_name"), v.Line("website"), form.Get("address"), form.Get("notes")
	again := func(status int, content organizationContent, wrong []page.FieldError) error {
		content.Fields = organizationFields(name, website, address, notes, wrong)
		return v.renderOrganization(status, o, content, wrong)
	}
	if !text.Visible(name) {
		return again(http.StatusUnprocessableEntity, organizationContent{}, []page.FieldError{{Name: "new_name", Message: "Enter a name."}})
	}
	if form.Get("seen") != o.UpdatedAt.Format(time.RFC3339Nano) {
		return again(http.StatusConflict, organizationContent{Stored: true}, nil)
	}
	if people.NormalOrganization(name) != o.NormalName && form.Get("merge") != name {
		other, err := people.FindOrganization(v.Ctx, v.Data(), name)
		if err == nil {
			return again(http.StatusOK, organizationContent{Merge: other.Name}, nil)
		} else if !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	req := &connectionsv1.UpdateOrganizationRequest{Name: o.Name, NewName: &name, Website: &website, Address: &address, Notes: &notes}
	saved, wrong, err := page.Write(v.Member, pageName, req, v.People.UpdateOrganization)
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return again(http.StatusUnprocessableEntity, organizationContent{}, wrong)
	}
	to := string(v.organizationPath(saved.GetOrganization().GetName()))
	if saved.GetChangeId() == "" {
		return v.Redirect(to)
	}
	return v.RedirectUndoable(to, "organization-saved", saved.GetChangeId())
}
