package publicapi

import (
	"net/http"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/page"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// membersContent is the content of the directory's page.
type membersContent struct {
	// Query is the search text.
	Query string
	// QueryFault says what is wrong with Query, Fault what is wrong with the other parameters.
	QueryFault, Fault string
	Members           []memberJSON
	// First and Next are addresses of other pages of the directory; each may be empty.
	First, Next string
}

// ServeMembersPage serves a page of the directory for people. It takes the parameters of the JSON.
func (a *API) ServeMembersPage(w http.ResponseWriter, r *http.Request, _ string) {
	if httpapi.Refuses(r.Header["Accept"], page.Type) {
		a.options.Pages.WriteError(w, r, httpapi.Error{Code: httpapi.NotAcceptable, Detail: "This path serves " + page.Type + " only."})
		return
	}
	request, faults := readListQuery(r.URL.RawQuery)
	if len(faults) > 0 {
		a.refuseList(w, r, faults[0])
		return
	}
	members, err := a.options.Backend.ListMembers(r.Context(), request)
	if failure := upstream.AsError(err); failure != nil && failure.Kind == upstream.Invalid {
		a.refuseList(w, r, httpapi.Field{Field: "cursor"})
		return
	}
	if err != nil {
		a.pageFailures.Write(w, r, err, httpapi.Internal)
		return
	}
	document, err := a.renderMembers(request, newList(members, a.options.BaseURL))
	if err != nil {
		a.pageFailures.Write(w, r, err, httpapi.Internal)
		return
	}
	document.Serve(w, r, "")
}

// renderMembers renders a page of the directory.
func (a *API) renderMembers(request *directoryv1.ListMembersRequest, list listJSON) (*httpapi.Document, error) {
	content := membersContent{Query: request.GetQ(), Members: list.Data}
	other := &directoryv1.ListMembersRequest{Q: request.Q, PerPage: request.PerPage}
	if request.Cursor != nil {
		content.First = pathMembers + listQuery(other)
	}
	if list.NextCursor != nil {
		other.Cursor = list.NextCursor
		content.Next = pathMembers + listQuery(other)
	}
	alternate := page.Alternate{Type: typeJSON, Address: a.options.BaseURL + "/api/network/members" + listQuery(request)}
	p := a.membersPage(content)
	p.Canonical, p.Kind, p.Alternates = a.options.BaseURL+pathMembers+listQuery(request), "website", []page.Alternate{alternate}
	body, err := a.options.Pages.Render(page.Members, p)
	if err != nil {
		return nil, err
	}
	return newDocument(body, page.Type, page.Header(false), alternate), nil
}

func (a *API) membersPage(content membersContent) page.Page {
	return page.Page{
		Title: "Members", Description: "The members of this Kith who chose to be found, by name, skill and place.", Section: pathMembers, Content: content,
	}
}

// refuseList answers 400 with the form, the search text, and what is wrong with the parameters.
func (a *API) refuseList(w http.ResponseWriter, r *http.Request, fault httpapi.Field) {
	content := membersContent{Query: r.URL.Query().Get("q")}
	if fault.Field == "q" {
		content.QueryFault = "Your search " + fault.Message + "."
	} else {
		content.Fault = "This address of the directory is not valid. Search again, or start at the first page."
		content.First = pathMembers
	}
	body, err := a.options.Pages.Render(page.Members, a.membersPage(content))
	if err != nil {
		a.pageFailures.Write(w, r, err, httpapi.Internal)
		return
	}
	a.options.Pages.Write(w, r, http.StatusBadRequest, body)
}
