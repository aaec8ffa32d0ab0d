// Package grouping serves the pages of groups and tags: what there is and how many people are
// in each, and the forms that rename, merge and delete them. The people themselves are on the
// list of package contacts.
package grouping

import (
	"embed"
	"io/fs"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

//go:embed templates
var templates embed.FS

// Templates returns the templates of the pages, for page.New.
func Templates() (fs.FS, error) { return fs.Sub(templates, "templates") }

// The paths of the forms, and of the page of a tag.
const (
	pathSave      = page.PathGroups + "/save"
	pathMerge     = page.PathGroups + "/merge"
	pathDelete    = page.PathGroups + "/delete"
	pathTag       = page.PathGroups + "/tag"
	pathTagRename = pathTag + "/rename"
	pathTagRemove = pathTag + "/remove"
)

// tool is the name under which changes made on the pages are recorded.
const tool = "groups"

// Pages are the pages of groups and tags. They are safe for concurrent use.
type Pages struct{ *handlers.Handlers }

// New returns the pages, which call the given handlers.
func New(h *handlers.Handlers) *Pages { return &Pages{h} }

// Routes returns the routes of the pages.
func (p *Pages) Routes() []page.Route {
	return []page.Route{
		{Pattern: "GET " + page.PathGroups, Enter: page.MembersOnly, Handle: p.with((*request).showGroups)},
		{Pattern: "GET " + page.PathGroups + "/{id}", Enter: page.MembersOnly, Handle: p.with((*request).showGroup)},
		{Pattern: "POST " + pathSave, Enter: page.MembersOnly, Handle: p.with((*request).save)},
		{Pattern: "POST " + pathMerge, Enter: page.MembersOnly, Handle: p.with((*request).merge)},
		{Pattern: "POST " + pathDelete, Enter: page.MembersOnly, Handle: p.with((*request).delete)},
		{Pattern: "GET " + pathTag, Enter: page.MembersOnly, Handle: p.with((*request).showTag)},
		{Pattern: "POST " + pathTagRename, Enter: page.MembersOnly, Handle: p.with((*request).renameTag)},
		{Pattern: "POST " + pathTagRemove, Enter: page.MembersOnly, Handle: p.with((*request).removeTag)},
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

// link returns the address of a path with one parameter.
func (v *request) link(path, name, value string) string {
	return v.To(path) + "?" + url.Values{name: {value}}.Encode()
}
