// Package today serves the page that a member opens first: what is due, what their agents did,
// and whom they are losing touch with. Its forms call the same functions as the tools do.
package today

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

// Routes returns the routes of the page and its forms, which call the given handlers.
func Routes(h *handlers.Handlers) []page.Route {
	with := page.With(func(m *page.Member) *request { return &request{m, h} })
	return []page.Route{
		{Pattern: "GET /{$}", Enter: membersOnly, Handle: with((*request).show)},
		{Pattern: "GET " + page.PathToday, Handle: with((*request).goToStart)},
		{Pattern: "POST " + page.PathToday + "/done", Handle: with((*request).done)},
		{Pattern: "POST " + page.PathToday + "/snooze", Handle: with((*request).snooze)},
		{Pattern: "POST " + page.PathToday + "/steps", Handle: with((*request).hideSteps)},
		{Pattern: "POST " + page.PathToday + "/log", Handle: with((*request).log)},
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

func (v *request) goToStart() error {
	return v.Redirect(v.To(page.PathStart))
}
