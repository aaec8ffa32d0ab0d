// Package connect serves the page that says how to connect an agent, and shows whether one is
// connected. The demo's page connects agents to the sandbox.
package connect

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

// Pages is the page. It is safe for concurrent use.
type Pages struct {
	*handlers.Handlers

	// sandboxOn is set if agents can try the demo account.
	sandboxOn bool
}

// New returns the page, which calls the given handlers. sandboxOn says whether agents can try the
// demo account.
func New(h *handlers.Handlers, sandboxOn bool) *Pages { return &Pages{h, sandboxOn} }

// Routes returns the routes of the page.
func (p *Pages) Routes() []page.Route {
	return []page.Route{{Pattern: "GET " + page.PathConnect, Enter: page.MembersOnly, Handle: page.ForMember(func(m *page.Member) error {
		return (&request{m, p}).show()
	})}}
}

// request is one request of a member.
type request struct {
	*page.Member
	*Pages
}
