package publicapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/page"
	"github.com/kith-crm/kith/edge/internal/route"
)

// maxEntrySkills is how many skills a directory entry shows.
const maxEntrySkills = 5

// listJSON is a page of the directory. NextCursor is null on the last page.
type listJSON struct {
	Object     string       `json:"object"`
	Data       []memberJSON `json:"data"`
	HasMore    bool         `json:"has_more"`
	NextCursor *string      `json:"next_cursor"`
}

// memberJSON is an entry of the directory.
type memberJSON struct {
	Object       string        `json:"object"`
	Username     string        `json:"username"`
	Name         *string       `json:"name,omitzero"`
	Headline     *string       `json:"headline,omitzero"`
	Organization *string       `json:"organization,omitzero"`
	Location     *locationJSON `json:"location,omitzero"`
	Skills       []string      `json:"skills,omitempty"`
	URL          string        `json:"url"`
	UpdatedAt    string        `json:"updated_at,omitzero"`
}

// ServeMembers serves a page of the directory.
func (a *API) ServeMembers(w http.ResponseWriter, r *http.Request, _ string) {
	request, faults := readListQuery(r.URL.RawQuery)
	if len(faults) > 0 {
		a.options.Problems.Write(w, r, httpapi.InvalidParameter, "A query parameter is not valid.", faults...)
		return
	}
	if httpapi.Refuses(r.Header["Accept"], typeJSON) {
		a.options.Problems.Write(w, r, httpapi.NotAcceptable, "This path serves "+typeJSON+" only.")
		return
	}
	members, err := a.options.Backend.ListMembers(r.Context(), request)
	if err != nil {
		a.failures.Write(w, r, err, httpapi.Internal)
		return
	}
	body, err := json.Marshal(newList(members, a.options.BaseURL))
	if err != nil {
		a.failures.Write(w, r, fmt.Errorf("marshal directory page: %w", err), httpapi.Internal)
		return
	}
	forPeople := page.Alternate{Type: "text/html", Address: a.options.BaseURL + pathMembers + listQuery(request)}
	newDocument(body, typeJSON, nil, forPeople).Serve(w, r, "")
}

func newList(members *directoryv1.ListMembersResponse, base string) listJSON {
	list := listJSON{Object: "list", Data: []memberJSON{}, HasMore: members.GetHasMore(), NextCursor: members.NextCursor}
	for _, m := range members.GetMembers() {
		list.Data = append(list.Data, memberJSON{
			Object:       "member",
			Username:     m.GetUsername(),
			Name:         m.Name,
			Headline:     m.Headline,
			Organization: m.Organization,
			Location:     newLocationJSON(m.GetLocation()),
			Skills:       m.GetSkills()[:min(len(m.GetSkills()), maxEntrySkills)],
			URL:          ProfileURL(base, m.GetUsername()),
			UpdatedAt:    formatTime(m.GetUpdatedAt()),
		})
	}
	return list
}

// listQuery returns the query string of a page of the directory, with its question mark; "" for
// the first page without a search.
func listQuery(request *directoryv1.ListMembersRequest) string {
	query := url.Values{}
	if request.Q != nil {
		query.Set("q", request.GetQ())
	}
	if request.PerPage != nil {
		query.Set("per_page", strconv.Itoa(int(request.GetPerPage())))
	}
	if request.Cursor != nil {
		query.Set("cursor", request.GetCursor())
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

// Bounds of the directory's query.
const (
	maxQueryRunes  = 200
	maxPerPage     = 100
	maxCursorBytes = 512
)

// readListQuery reads the query of a directory page. Unknown parameters are ignored; a known one
// may be given once.
func readListQuery(raw string) (*directoryv1.ListMembersRequest, []httpapi.Field) {
	request := &directoryv1.ListMembersRequest{}
	values, err := route.ParseQuery(raw)
	if err != nil {
		return nil, []httpapi.Field{{Field: "", Message: err.Error()}}
	}
	var faults []httpapi.Field
	read := func(name string, accept func(value string) string) {
		list, ok := values[name]
		switch {
		case !ok:
			return
		case len(list) > 1:
			faults = append(faults, httpapi.Field{Field: name, Message: "must be given once"})
		default:
			if message := accept(list[0]); message != "" {
				faults = append(faults, httpapi.Field{Field: name, Message: message})
			}
		}
	}
	read("q", func(value string) string {
		if utf8.RuneCountInString(value) > maxQueryRunes {
			return "must be at most 200 characters"
		}
		if value != "" {
			request.Q = &value
		}
		return ""
	})
	read("per_page", func(value string) string {
		n, ok := plainInteger(value)
		if !ok || n < 1 || n > maxPerPage {
			return "must be an integer from 1 to 100"
		}
		request.PerPage = &n
		return ""
	})
	read("cursor", func(value string) string {
		if value == "" || len(value) > maxCursorBytes {
			return "must be the next_cursor of a page"
		}
		request.Cursor = &value
		return ""
	})
	return request, faults
}

// plainInteger reads one to three digits, with no sign, space or leading zero.
func plainInteger(s string) (int32, bool) {
	if s == "" || len(s) > 3 || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return int32(n), err == nil
}
