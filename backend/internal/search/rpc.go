package search

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	importsv1 "github.com/kith-crm/kith/proto/gen/kith/imports/v1"
)

// EmbedRPC implements the RPC that makes vectors.
type EmbedRPC struct {
	Jobs     job.Jobs
	Provider vector.Provider
}

// EmbedObjects implements the RPC.
func (h *EmbedRPC) EmbedObjects(ctx context.Context, u *db.Tx, req *importsv1.EmbedObjectsRequest) (*importsv1.EmbedObjectsResponse, error) {
	params := EmbedParams{All: req.OnlyStale != nil && !req.GetOnlyStale()}
	j, started, err := StartEmbedding(ctx, u, h.Provider, tenant.PrincipalFrom(ctx).EmbeddingsHost, params, call.Price(ctx))
	if err != nil {
		return nil, err
	}
	if started {
		u.OnCommit(h.Jobs.Wake)
	} else {
		call.SkipCharge(ctx)
	}
	return &importsv1.EmbedObjectsResponse{TaskId: j.Number, Next: job.Wait(ctx, j.Number)}, nil
}

// localHost is the name of the built-in provider in answers.
const localHost = "local"

// EmbeddingsMessage tells which provider makes vectors, and whether the member allows it.
func EmbeddingsMessage(p vector.Provider, caller *tenant.Principal) *accountv1.Embeddings {
	m := &accountv1.Embeddings{Provider: localHost, Model: p.Model(), Allowed: new(Allowed(p, caller.EmbeddingsHost))}
	if host := p.Host(); host != "" {
		m.Provider = host
	}
	return m
}

// insteadOfWildcard tells the caller what to do instead of searching for a wildcard.
const insteadOfWildcard = "leave query out to list everyone who matches the filters"

// FindGroup returns the group that a filter names by id or name. When there is none, it
// fails with fault.Invalid and lists the nearest groups.
func FindGroup(ctx context.Context, data *db.Tenant, idOrName string) (groupID, name string, err error) {
	group, err := groups.FindGroup(ctx, data, idOrName)
	if fault.Is(err, fault.NotFound) {
		return "", "", fault.InvalidField("group", "%s", err)
	}
	if err != nil {
		return "", "", err
	}
	return group.ID, group.Name, nil
}

// CheckKnown fails with fault.Invalid, listing the nearest names, when no person has the
// tag of q, or no person is or was at its company. It is for empty answers only.
func CheckKnown(ctx context.Context, f *IndexCache, q index.Query) error {
	if len(q.Tags) == 0 && q.Company == "" {
		return nil
	}
	p := tenant.PrincipalFrom(ctx)
	ix, err := f.Index(ctx, p.Tenant, p.DataVersion)
	if err != nil {
		return err
	}
	known := func(q index.Query) bool { return len(ix.Search(q).Hits) > 0 }
	for _, tag := range q.Tags {
		if !known(index.Query{Tags: []string{tag}, Archived: q.Archived, Limit: 1}) {
			tags := ix.Names(func(d *index.Document) []string { return d.Tags })
			return fault.InvalidField("tag", "nobody has the tag %q%s", tag, text.Nearest(ctx, tags, tag))
		}
	}
	if q.Company != "" && !known(index.Query{Company: q.Company, Archived: q.Archived, Limit: 1}) {
		return UnknownOrganization(ctx, ix, "company", q.Company)
	}
	return nil
}

// UnknownOrganization returns the error of a field for an organisation where no person is
// or was, with the nearest names.
func UnknownOrganization(ctx context.Context, ix *index.Index, field, name string) error {
	organizations := ix.Names(func(d *index.Document) []string { return d.Organizations })
	return fault.InvalidField(field, "nobody is or was at %q%s", name, text.Nearest(ctx, organizations, name))
}

// RPC implements the RPCs that find people.
type RPC struct {
	DB     *db.DB
	Index  *IndexCache
	Search *Searcher
}

// SearchConnections implements the RPC.
func (h *RPC) SearchConnections(ctx context.Context, req *connectionsv1.SearchConnectionsRequest) (*connectionsv1.SearchConnectionsResponse, error) {
	q, err := h.query(ctx, req)
	if err != nil {
		return nil, err
	}
	order := pageOrder{Query: q, Mode: req.GetMode()}
	if q.Offset, q.Limit, err = call.PageOf(req.Limit, req.Cursor, order); err != nil {
		return nil, err
	}
	p := tenant.PrincipalFrom(ctx)
	found, err := h.Search.Search(ctx, Request{Caller: p, Query: q, Mode: req.GetMode()})
	if err == nil && len(found.Hits) == 0 {
		err = CheckKnown(ctx, h.Index, q)
	}
	if err != nil {
		return nil, err
	}
	res := &connectionsv1.SearchConnectionsResponse{
		Hits: make([]*connectionsv1.ConnectionHit, len(found.Hits)), HasMore: found.HasMore, Count: int32(found.Count),
		ModeUsed: found.ModeUsed, Note: text.Truncate(found.Note, maxNote), StaleVectors: int32(found.Stale),
	}
	show := newHitFields(req, q)
	for i, hit := range found.Hits {
		res.Hits[i] = show.message(hit)
	}
	if res.Selection, err = encodeSelection(p.Tenant, req, found.Words); err != nil {
		return nil, err
	}
	if res.HasMore {
		next, err := cursor.Encode(order, q.Offset+len(found.Hits))
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	return res, nil
}

// maxNote limits the note about how an answer was found, in characters.
const maxNote = 400

// pageOrder is the state that the pages of one search share.
type pageOrder struct {
	index.Query

	Mode string `json:",omitempty"`
}
