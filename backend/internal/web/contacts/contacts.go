// Package contacts serves the pages on which members see the people they know. The pages
// call the same functions as the tools do, with the same arguments: the address of a page
// is a request of the contract. They spend no credits.
package contacts

import (
	"embed"
	"io/fs"

	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

//go:embed templates
var templates embed.FS

// Templates returns the templates of the pages, for page.New.
func Templates() (fs.FS, error) { return fs.Sub(templates, "templates") }

// Pages are the pages about people. They are safe for concurrent use.
type Pages struct{ *handlers.Handlers }

// New returns the pages, which call the given handlers.
func New(h *handlers.Handlers) *Pages { return &Pages{h} }

// Routes returns the routes of the pages.
func (p *Pages) Routes() []page.Route {
	return []page.Route{
		{Pattern: "GET " + page.PathPeople, Enter: page.MembersOnly, Handle: p.with((*request).showList)},
		{Pattern: "POST " + pathAct, Enter: page.MembersOnly, Handle: p.with((*request).actOnPeople)},
		{Pattern: "GET " + pathViews, Enter: page.MembersOnly, Handle: p.with((*request).showViews)},
		{Pattern: "POST " + pathViews, Enter: page.MembersOnly, Handle: p.with((*request).saveView)},
		{Pattern: "POST " + pathViews + "/rename", Enter: page.MembersOnly, Handle: p.with((*request).renameView)},
		{Pattern: "POST " + pathViews + "/delete", Enter: page.MembersOnly, Handle: p.with((*request).deleteView)},
		{Pattern: "GET " + page.PathAdd, Enter: page.MembersOnly, Handle: p.with((*request).showCapture)},
		{Pattern: "POST " + page.PathAdd, Enter: page.MembersOnly, Handle: p.with((*request).capture)},
		{Pattern: "POST " + page.PathShare, Enter: memberOrShareAgain, Handle: p.with((*request).share), Upload: readShare, Tokenless: true},
		{Pattern: "GET " + pathDuplicates, Enter: page.MembersOnly, Handle: p.with((*request).showDuplicates)},
		{Pattern: "POST " + pathDuplicates, Enter: page.MembersOnly, Handle: p.with((*request).actOnPair)},
		{Pattern: "GET " + page.PathPeople + "/{id}", Enter: page.MembersOnly, Handle: p.with((*request).showPerson)},
		{Pattern: "GET " + page.PathPeople + "/{id}/merge", Enter: page.MembersOnly, Handle: p.with((*request).showMerge)},
		{Pattern: "GET " + page.PathPeople + "/{id}/photo", Enter: page.MembersOnly, Handle: p.with((*request).showPhoto)},
		{Pattern: "POST " + page.PathPeople + "/{id}/photo-upload", Enter: page.MembersOnly, Handle: p.with((*request).setPhoto), Upload: readPhoto},
		{Pattern: "GET " + page.PathPeople + "/{id}/{form}", Enter: page.MembersOnly, Handle: p.with((*request).showFormOf)},
		{Pattern: "POST " + page.PathPeople + "/{id}/{form}", Enter: page.MembersOnly, Handle: p.with((*request).act)},
	}
}

// request is one request of a member.
type request struct {
	*page.Member
	*Pages
}

func (p *Pages) with(handle func(*request) error) page.Handler {
	return page.ForMember(func(m *page.Member) error { return handle(&request{m, p}) })
}
