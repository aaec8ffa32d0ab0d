package research

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/timeline"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
	insightsv1 "github.com/kith-crm/kith/proto/gen/kith/insights/v1"
	researchv1 "github.com/kith-crm/kith/proto/gen/kith/research/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// RPC implements the RPCs of research with the handlers of the tools.
type RPC struct {
	// BaseURL is the public address of the service; it may be empty.
	BaseURL  string
	People   *search.RPC
	Index    *search.IndexCache
	Insights *insights.RPC
	Timeline *timeline.RPC
	Account  *account.RPC
}

// perKind is how many results of each kind a search returns.
const perKind = 10

// The ids of organisations and members are their names with a prefix. Other documents have the ids of
// the tools.
const (
	organizationID = "organization:"
	memberID       = "member:"
)

// mayCall reports whether the caller may call a tool with a scope.
func mayCall(ctx context.Context, tool, scope string) bool {
	c := tenant.PrincipalFrom(ctx).Credential
	return c.Holds(scope) && c.Allows(tool)
}

// Search implements the RPC. A credential that may read no kind of document gets fault.NotFound.
func (h *RPC) Search(ctx context.Context, req *researchv1.SearchRequest) (*researchv1.SearchResponse, error) {
	res, read := &researchv1.SearchResponse{}, false
	for _, kind := range []struct {
		tool, scope string
		find        func(ctx context.Context, query string) ([]*researchv1.Result, error)
	}{
		{"search_connections", "connections", h.people},
		{"search_notes", "timeline", h.entries},
		{"find_people_at", "insights", h.organizations},
		{"search_directory", "directory", h.members},
	} {
		if !mayCall(ctx, kind.tool, kind.scope) {
			continue
		}
		read = true
		found, err := kind.find(ctx, req.GetQuery())
		if err != nil {
			return nil, err
		}
		res.Results = append(res.Results, found...)
	}
	if !read {
		return nil, fault.New(fault.NotFound, "this credential may read neither people nor notes, organizations or members, so there is nothing to search")
	}
	return res, nil
}

func (h *RPC) people(ctx context.Context, query string) (out []*researchv1.Result, err error) {
	found, err := h.People.SearchConnections(ctx, &connectionsv1.SearchConnectionsRequest{Query: &query, Limit: new(int32(perKind))})
	for _, hit := range found.GetHits() {
		out = append(out, &researchv1.Result{Id: hit.GetId(), Title: titleOf(hit.GetName(), hit.GetHeadline()), Url: h.personURL(hit.GetId())})
	}
	return out, err
}

func (h *RPC) entries(ctx context.Context, query string) (out []*researchv1.Result, err error) {
	found, err := h.Timeline.SearchNotes(ctx, &timelinev1.SearchNotesRequest{Query: query, Limit: new(int32(perKind))})
	for _, e := range found.GetEntries() {
		out = append(out, h.entry(e))
	}
	return out, err
}

// entry returns a note or an interaction as a result. Its page is that of the first person it is about.
func (h *RPC) entry(e *timelinev1.TimelineEntry) *researchv1.Result {
	var names []string
	for _, p := range e.GetParticipants() {
		names = append(names, p.GetName())
	}
	out := &researchv1.Result{Id: e.GetId(), Title: titleOf(text.Truncate(strings.Join(names, ", "), 200), text.Truncate(text.Line(e.GetText()), 100)), Url: h.BaseURL + "/people"}
	if with := e.GetParticipants(); len(with) > 0 {
		out.Url = h.personURL(with[0].GetId())
	}
	return out
}

// organizations returns those whose name has all words of the query.
func (h *RPC) organizations(ctx context.Context, query string) (out []*researchv1.Result, err error) {
	ix, err := h.Index.OfCaller(ctx)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(text.Fold(text.Line(query)))
names:
	for _, name := range ix.Names(func(d *index.Document) []string { return d.Organizations }) {
		folded := text.Fold(name)
		for _, word := range words {
			if !strings.Contains(folded, word) {
				continue names
			}
		}
		if out = append(out, h.organization(name)); len(out) == perKind {
			break
		}
	}
	return out, nil
}

func (h *RPC) organization(name string) *researchv1.Result {
	return &researchv1.Result{Id: organizationID + name, Title: name, Url: h.BaseURL + "/people/organization?name=" + url.QueryEscape(name)}
}

func (h *RPC) members(ctx context.Context, query string) (out []*researchv1.Result, err error) {
	found, err := h.Account.SearchDirectory(ctx, &directoryv1.SearchDirectoryRequest{Query: &query, Limit: new(int32(perKind))})
	for _, m := range found.GetMembers() {
		out = append(out, h.member(m.GetUsername(), m.GetName(), m.GetHeadline()))
	}
	return out, err
}

func (h *RPC) member(username, name, headline string) *researchv1.Result {
	if name == "" {
		name = username
	}
	return &researchv1.Result{Id: memberID + username, Title: titleOf(name, headline), Url: h.BaseURL + "/@" + url.PathEscape(username)}
}

func (h *RPC) personURL(id string) string { return h.BaseURL + "/people/" + id }

func titleOf(name, about string) string {
	if name == "" || about == "" {
		return name + about
	}
	return name + ": " + about
}

// Fetch implements the RPC.
func (h *RPC) Fetch(ctx context.Context, req *researchv1.FetchRequest) (*researchv1.FetchResponse, error) {
	id := req.GetId()
	organization, isOrganization := strings.CutPrefix(id, organizationID)
	username, isMember := strings.CutPrefix(id, memberID)
	kind, _, _ := strings.Cut(id, "_")
	switch {
	case isOrganization && mayCall(ctx, "find_people_at", "insights"):
		found, err := h.Insights.FindPeopleAt(ctx, &insightsv1.FindPeopleAtRequest{Organization: organization, IncludeOneStep: new(false), Limit: new(int32(50))})
		return document("organization", h.organization(organization), found, err)
	case isMember && mayCall(ctx, "get_member_profile", "directory"):
		found, err := h.Account.GetMemberProfile(ctx, &directoryv1.GetMemberProfileRequest{Username: &username})
		return document("member", h.member(username, found.GetProfile().GetName(), found.GetProfile().GetHeadline()), found, err)
	case kind == "con" && mayCall(ctx, "get_connection", "connections"):
		found, err := h.Insights.GetConnection(ctx, &connectionsv1.GetConnectionRequest{Id: &id, Include: []string{"notes", "interactions", "positions"}})
		return document("person", &researchv1.Result{Id: id, Title: found.GetConnection().GetName(), Url: h.personURL(id)}, found, err)
	case (kind == "not" || kind == "int") && mayCall(ctx, "search_notes", "timeline"):
		found, err := h.Timeline.Entry(ctx, id)
		return document(found.GetKind(), h.entry(found), found, err)
	}
	return nil, fault.InvalidField("id", "there is no document %q that this credential may read; search returns ids", text.Truncate(id, 40))
}

// document returns a result with its content as JSON, unless it could not be read.
func document(kind string, r *researchv1.Result, content proto.Message, err error) (*researchv1.FetchResponse, error) {
	if err != nil {
		return nil, err
	}
	encoded, err := protojson.Marshal(content)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer // protojson adds white space at random
	if err := json.Compact(&compact, encoded); err != nil {
		return nil, err
	}
	return &researchv1.FetchResponse{Id: r.GetId(), Title: r.GetTitle(), Text: compact.String(), Url: r.GetUrl(), Metadata: &researchv1.Metadata{Kind: kind}}, nil
}
