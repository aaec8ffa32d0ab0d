// Package connect serves the page that says how to connect an agent, and shows whether one is
// connected. The demo's page connects agents to the sandbox.
package connect

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

	// sandboxOn is set if agents can try the demo account.
	sandboxOn bool
}

// Routes returns the route of the page, which calls the given handlers. sandboxOn says whether agents
// can try the demo account.
func Routes(h *handlers.Handlers, sandboxOn bool) []page.Route {
	with := page.With(func(m *page.Member) *request { return &request{m, h, sandboxOn} })
	return []page.Route{{Pattern: "GET " + page.PathConnect, Handle: with((*request).show)}}
}
