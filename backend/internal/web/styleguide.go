package web

import (
	"net/http"
	"net/netip"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// pathStyleguide shows the parts that pages are made of.
const pathStyleguide = "/styleguide"

// styleguideContent are the parts that the page of the design shows, besides those that stand in its template.
type styleguideContent struct {
	Avatars []page.Avatar
	// Examples of form fields: a line of text, one with an error, a text area and a list to choose from.
	Plain, Wrong, Long page.Field
	Choice             page.Select
	// Words are shown as they are, in all languages.
	Words string
}

// showStyleguide shows every part of the pages in every state, for those who build pages. Only a server at a loopback address has it.
func (v *request) showStyleguide() error {
	address, err := url.Parse(v.BaseURL)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(address.Hostname()); address.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return fault.New(fault.NotFound, "only a server at a loopback address shows the parts of its pages")
	}
	content := styleguideContent{
		Words:  "Ada Stone, CTO at Helios",
		Plain:  page.Field{Name: "plain", Label: "Name", Value: "Ada Stone", Required: true},
		Wrong:  page.Field{Name: "wrong", Label: "E-mail address", Value: "ada@", Hint: "One per line.", Error: "Enter a name, an e-mail address or a link."},
		Long:   page.Field{Name: "long", Label: "Note", Value: "Rows at dawn.", Rows: 3},
		Choice: page.Select{Name: "choice", Label: "Group", Options: page.Choose("", page.Option{Label: "None"}, page.Option{Value: "rowers", Label: "Rowers"})},
	}
	for _, name := range []string{"Ada Stone", "Ben Okafor", "Grace Hopper", "Heike Brandt", "Kofi Mensah", "Mary Somerville", "Vera Holm", "Zoë Ångström"} {
		content.Avatars = append(content.Avatars, page.AvatarOf(name, name))
	}
	return v.Render(http.StatusOK, "styleguide", page.Page{Title: "Style guide", Area: page.PathSettings, Content: content, Errors: []page.FieldError{{Name: "wrong", Message: content.Wrong.Error}}})
}
