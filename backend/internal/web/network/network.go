// Package network serves the page that shows the member's network as a whole: whom they know by
// organisation, place, tag and time, and who can introduce them to an organisation. It calls the
// same functions as the tools do.
//
// The charts are SVG made here and in the template. Lengths across are percentages, so that text
// keeps its size on every screen. Each mark is a link, and each chart has a table with the same
// figures.
package network

import (
	"embed"
	"io/fs"

	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

//go:embed templates
var templates embed.FS

// Templates returns the template of the page, for page.New.
func Templates() (fs.FS, error) { return fs.Sub(templates, "templates") }

// Pages are the page. They are safe for concurrent use.
type Pages struct{ *handlers.Handlers }

// New returns the page, which calls the given handlers.
func New(h *handlers.Handlers) *Pages { return &Pages{h} }

// Routes returns the route of the page.
func (p *Pages) Routes() []page.Route {
	return []page.Route{{
		Pattern: "GET " + page.PathNetwork, Enter: page.MembersOnly,
		Handle: page.ForMember(func(m *page.Member) error { return (&request{m, p}).show() }),
	}}
}

// request is one request of a member.
type request struct {
	*page.Member
	*Pages
}
