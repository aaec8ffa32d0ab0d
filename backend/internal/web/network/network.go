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

	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// Templates has the template of the page.
//
//go:embed templates
var Templates embed.FS

// request is one request of a member.
type request struct {
	*page.Member
	*handlers.Handlers
}

// Routes returns the route of the page, which calls the given handlers.
func Routes(h *handlers.Handlers) []page.Route {
	with := page.With(func(m *page.Member) *request { return &request{m, h} })
	return []page.Route{{Pattern: "GET " + page.PathNetwork, Handle: with((*request).show)}}
}
