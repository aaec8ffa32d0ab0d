// Package today serves the page that a member opens first: what is due, what their agents did,
// and whom they are losing touch with. Its forms call the same functions as the tools do.
package today

import (
	"embed"
	"io/fs"

	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

//go:embed templates
var templates embed.FS

// The paths of the forms.
const (
	pathDone   = page.PathToday + "/done"
	pathSnooze = page.PathToday + "/snooze"
	pathLog    = page.PathToday + "/log"
	pathSteps  = page.PathToday + "/steps"
)

// Templates returns the template of the page, for page.New.
func Templates() (fs.FS, error) { return fs.Sub(templates, "templates") }

// Pages are the page and its forms. They are safe for concurrent use.
type Pages struct{ *handlers.Handlers }

// New returns the pages, which call the given handlers.
func New(h *handlers.Handlers) *Pages { return &Pages{h} }

// Routes returns the routes of the pages.
func (p *Pages) Routes() []page.Route {
	return []page.Route{
		{Pattern: "GET /{$}", Enter: membersOnly, Handle: p.with((*request).show)},
		{Pattern: "GET " + page.PathToday, Enter: page.MembersOnly, Handle: p.with((*request).goToStart)},
		{Pattern: "POST " + pathDone, Enter: page.MembersOnly, Handle: p.with((*request).done)},
		{Pattern: "POST " + pathSnooze, Enter: page.MembersOnly, Handle: p.with((*request).snooze)},
		{Pattern: "POST " + pathSteps, Enter: page.MembersOnly, Handle: p.with((*request).hideSteps)},
		{Pattern: "POST " + pathLog, Enter: page.MembersOnly, Handle: p.with((*request).log)},
	}
}

// membersOnly is page.MembersOnly for the start page, which is the landing page for browsers
// without the cookie of a session. It deletes the cookie of a session that has ended, so that
// the browser reaches the landing page again.
func membersOnly(v *page.Request) (bool, error) {
	v.W.Header().Set("Vary", "Cookie")
	if v.Login == nil {
		v.ClearCookie(v.W, page.SessionCookie)
	}
	return page.MembersOnly(v)
}

// request is one request of a member.
type request struct {
	*page.Member
	*Pages
}

func (p *Pages) with(handle func(*request) error) page.Handler {
	return page.ForMember(func(m *page.Member) error { return handle(&request{m, p}) })
}

func (v *request) goToStart() error {
	v.Redirect(v.To(page.PathStart))
	return nil
}
