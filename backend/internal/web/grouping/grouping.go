// Package grouping serves the pages of groups and tags: what there is and how many people are
// in each, and the forms that rename, merge and delete them. The people themselves are on the
// list of package contacts.
package grouping

import (
	"embed"

	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// Templates has the templates of the pages.
//
//go:embed templates
var Templates embed.FS

// pathTag is the path of the page of a tag.
const pathTag = page.PathGroups + "/tag"

// tool is the name under which changes made on the pages are recorded.
const tool = "groups"

// request is one request of a member.
type request struct {
	*page.Member
	*handlers.Handlers
}

// Routes returns the routes of the pages, which call the given handlers.
func Routes(h *handlers.Handlers) []page.Route {
	with := page.With(func(m *page.Member) *request { return &request{m, h} })
	return []page.Route{
		{Pattern: "GET " + page.PathGroups, Handle: with((*request).showGroups)},
		{Pattern: "GET " + page.PathGroups + "/{id}", Handle: with((*request).showGroup)},
		{Pattern: "POST " + page.PathGroups + "/save", Handle: with((*request).save)},
		{Pattern: "POST " + page.PathGroups + "/merge", Handle: with((*request).merge)},
		{Pattern: "POST " + page.PathGroups + "/delete", Handle: with((*request).delete)},
		{Pattern: "GET " + pathTag, Handle: with((*request).showTag)},
		{Pattern: "POST " + pathTag + "/rename", Handle: with((*request).renameTag)},
		{Pattern: "POST " + pathTag + "/remove", Handle: with((*request).removeTag)},
	}
}
