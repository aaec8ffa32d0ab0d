// Package contacts serves the pages on which members see the people they know. The pages
// call the same functions as the tools do, with the same arguments: the address of a page
// is a request of the contract. They spend no credits.
package contacts

import (
	"embed"

	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// Templates has the templates of the pages.
//
//go:embed templates
var Templates embed.FS

// request is one request of a member.
type request struct {
	*page.Member
	*handlers.Handlers
}

// Routes returns the routes of the pages, which call the given handlers.
func Routes(h *handlers.Handlers) []page.Route {
	with := page.With(func(m *page.Member) *request { return &request{m, h} })
	return []page.Route{
		{Pattern: "GET " + page.PathPeople, Handle: with((*request).showList)},
		{Pattern: "POST " + pathAct, Handle: with((*request).actOnPeople)},
		{Pattern: "GET " + pathViews, Handle: with((*request).showViews)},
		{Pattern: "POST " + pathViews, Handle: with((*request).saveView)},
		{Pattern: "POST " + pathViews + "/rename", Handle: with((*request).renameView)},
		{Pattern: "POST " + pathViews + "/delete", Handle: with((*request).deleteView)},
		{Pattern: "GET " + pathFields, Handle: with((*request).showFields)},
		{Pattern: "POST " + pathFields + "/save", Handle: with((*request).saveField)},
		{Pattern: "POST " + pathFields + "/remove", Handle: with((*request).removeField)},
		{Pattern: "GET " + page.PathAdd, Handle: with((*request).showCapture)},
		{Pattern: "POST " + page.PathAdd, Handle: with((*request).capture)},
		{Pattern: "POST " + page.PathShare, Enter: memberOrShareAgain, Handle: with((*request).share), Upload: page.ReadUpload(maxShare, shareTooLarge, shareUnreadable), Tokenless: true},
		{Pattern: "GET " + pathDuplicates, Handle: with((*request).showDuplicates)},
		{Pattern: "POST " + pathDuplicates, Handle: with((*request).actOnPair)},
		{Pattern: "GET " + pathOrganization, Handle: with((*request).showOrganization)},
		{Pattern: "POST " + pathOrganization, Handle: with((*request).saveOrganization)},
		{Pattern: "GET " + page.PathPeople + "/{id}", Handle: with((*request).showPerson)},
		{Pattern: "GET " + page.PathPeople + "/{id}/merge", Handle: with((*request).showMerge)},
		{Pattern: "GET " + page.PathPeople + "/{id}/photo", Handle: with((*request).showPhoto)},
		{Pattern: "POST " + page.PathPeople + "/{id}/photo-upload", Handle: with((*request).setPhoto), Upload: page.ReadUpload(maxPhotoForm, photoTooLarge, page.FormUnreadable)},
		{Pattern: "GET " + page.PathPeople + "/{id}/{form}", Handle: with((*request).showFormOf)},
		{Pattern: "POST " + page.PathPeople + "/{id}/{form}", Handle: with((*request).act)},
	}
}
