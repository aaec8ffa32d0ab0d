package publicapi

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"

	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/upstream"
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
		a.options.Problems.Write(w, r, problem.InvalidParameter, "A query parameter is not valid.", faults...)
		return
	}
	if lines := r.Header["Accept"]; len(lines) > 0 && refuses(lines, typeJSON) {
		a.options.Problems.Write(w, r, problem.NotAcceptable, "This address is "+typeJSON+" only.")
		return
	}
	page, err := a.options.Backend.ListMembers(r.Context(), request)
	if err != nil {
		a.fail(w, r, upstream.AsError(err))
		return
	}
	body, err := marshalPage(page, a.options.BaseURL)
	if err != nil {
		a.fail(w, r, upstream.AsError(err))
		return
	}
	newRepresentation(body, typeJSON).serve(w, r)
}

func marshalPage(page *directoryv1.ListMembersResponse, base string) ([]byte, error) {
	list := listJSON{Object: "list", Data: []memberJSON{}, HasMore: page.GetHasMore(), NextCursor: page.NextCursor}
	for _, m := range page.GetMembers() {
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
	body, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("marshal directory page: %w", err)
	}
	return body, nil
}
