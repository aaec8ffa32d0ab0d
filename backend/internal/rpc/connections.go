package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/finder"
	"github.com/kith-crm/kith/backend/internal/recall"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/timeline"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

const (
	defaultLimit = 10
	// includedEntries is how many notes and interactions get_connection adds.
	includedEntries = 10
)

// connections implements ConnectionService.
type connections struct {
	store  *store.Store
	finder *finder.Finder
	recall *recall.Searcher
}

// pageOf reads a page's bounds: offset from the cursor, limit with its default.
func pageOf(limit *int32, token *string, query any) (offset, size int, err error) {
	size = defaultLimit
	if limit != nil {
		size = int(*limit)
	}
	if token != nil {
		err = cursor.Decode(*token, query, &offset)
	}
	return offset, size, err
}

func (h *connections) SearchConnections(ctx context.Context, req *connectionsv1.SearchConnectionsRequest) (*connectionsv1.SearchConnectionsResponse, error) {
	q, err := searchQuery(req)
	if err != nil {
		return nil, err
	}
	order := pageOrder{Query: q, Mode: req.GetMode()}
	if q.Offset, q.Limit, err = pageOf(req.Limit, req.Cursor, order); err != nil {
		return nil, err
	}
	p := tenant.PrincipalFrom(ctx)
	if req.Group != nil {
		if _, q.Group, err = findGroup(ctx, h.store.Tenant(p.Tenant, p.ReadOnly), req.GetGroup()); err != nil {
			return nil, err
		}
	}
	found, err := h.recall.Search(ctx, recall.Request{Caller: p, Query: q, Mode: req.GetMode()})
	if err == nil && len(found.Hits) == 0 {
		err = checkKnown(ctx, h.finder, q)
	}
	if err != nil {
		return nil, err
	}
	res := &connectionsv1.SearchConnectionsResponse{
		Hits: make([]*connectionsv1.ConnectionHit, len(found.Hits)), HasMore: found.HasMore,
		ModeUsed: found.ModeUsed, Note: text.Truncate(found.Note, maxNote), StaleVectors: int32(found.Stale),
	}
	for i, hit := range found.Hits {
		res.Hits[i] = hitMessage(hit)
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

// maxNote bounds what an answer says about how it was found, in characters.
const maxNote = 400

// pageOrder is what the pages of one search have in common.
type pageOrder struct {
	search.Query

	Mode string `json:",omitempty"`
}

func searchQuery(req *connectionsv1.SearchConnectionsRequest) (search.Query, error) {
	q := search.Query{
		Text: text.Line(req.GetQuery()), Company: req.GetCompany(), Title: req.GetTitle(), Location: req.GetLocation(),
		Tag: req.GetTag(), Group: req.GetGroup(), Has: req.GetHas(), Sort: req.GetSort(),
	}
	if req.Query != nil {
		if err := checkWords(q.Text, insteadOfConnections); err != nil {
			return q, err
		}
	}
	var err error
	if q.LastContactAfter, err = parseDay("last_contact_after", req.LastContactAfter); err != nil {
		return q, err
	}
	if !q.LastContactAfter.IsZero() {
		q.LastContactAfter = q.LastContactAfter.AddDate(0, 0, 1) // after that day, not on it
	}
	q.LastContactBefore, err = parseDay("last_contact_before", req.LastContactBefore)
	return q, err
}

func hitMessage(hit search.Hit) *connectionsv1.ConnectionHit {
	d := hit.Doc
	m := &connectionsv1.ConnectionHit{
		Id: hit.ID, Name: d.Name, Headline: d.Headline, Organization: d.Organization,
		Score: hit.Score, MatchedFields: hit.Matched, Snippet: hit.Snippet,
	}
	if len(d.Emails) > 0 {
		m.Email = d.Emails[0]
	}
	return m
}

func (h *connections) GetConnection(ctx context.Context, req *connectionsv1.GetConnectionRequest) (*connectionsv1.GetConnectionResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	data := h.store.Tenant(p.Tenant, p.ReadOnly)
	c, err := data.GetConnection(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	whole, err := wholeConnection(ctx, data, c)
	if err != nil {
		return nil, err
	}
	res := &connectionsv1.GetConnectionResponse{Connection: whole}
	for _, part := range req.GetInclude() {
		switch part {
		case "positions":
			res.Positions = positionMessages(c.Positions)
		case "notes":
			notes, err := data.ListNotes(ctx, c.ID, includedEntries)
			if err != nil {
				return nil, err
			}
			for _, n := range notes {
				res.Notes = append(res.Notes, noteMessage(&n))
			}
		case "interactions":
			interactions, err := data.ListInteractions(ctx, c.ID, includedEntries)
			if err != nil {
				return nil, err
			}
			for _, i := range interactions {
				res.Interactions = append(res.Interactions, interactionMessage(&i))
			}
		}
	}
	return res, nil
}

func (h *connections) CreateConnection(ctx context.Context, req *connectionsv1.CreateConnectionRequest) (*connectionsv1.CreateConnectionResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	written, err := connection.Create(ctx, u, connection.Draft{
		Name: req.GetName(), Nickname: req.GetNickname(), Organization: req.GetOrganization(), Title: req.GetTitle(),
		Location: req.GetLocation(), Bio: req.GetBio(), MetOn: req.GetMetOn(), MetHow: req.GetMetHow(),
		Emails: req.GetEmails(), Phones: req.GetPhones(), URLs: req.GetUrls(), Tags: req.GetTags(),
		Starred: req.GetStarred(), Source: connection.SourceAgent, OnDuplicate: req.GetOnDuplicate(),
		Dates: dateDrafts(req.GetImportantDates()),
	})
	if err != nil {
		return nil, err
	}
	whole, err := wholeConnection(ctx, u, written.Connection)
	if err != nil {
		return nil, err
	}
	res := &connectionsv1.CreateConnectionResponse{
		Connection: whole, DuplicateOf: optional(written.DuplicateOf), ChangeId: optional(written.ChangeID),
	}
	for _, other := range written.Sharing {
		res.SameAddress = append(res.SameAddress, &connectionsv1.SameAddress{Id: other.ID, Name: other.Name, Kind: other.Kind})
	}
	return res, nil
}

func (h *connections) UpdateConnection(ctx context.Context, req *connectionsv1.UpdateConnectionRequest) (*connectionsv1.UpdateConnectionResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	written, err := connection.Update(ctx, u, connection.Patch{
		ID: req.GetId(), ExpectedVersion: req.ExpectedVersion,
		Name: req.Name, Nickname: req.Nickname, Organization: req.Organization, Title: req.Title,
		Location: req.Location, Bio: req.Bio, MetOn: req.MetOn, MetHow: req.MetHow, Starred: req.Starred,
		Emails: connection.Edit{Replace: req.GetEmails(), Add: req.GetAddEmails(), Remove: req.GetRemoveEmails()},
		Phones: connection.Edit{Replace: req.GetPhones(), Add: req.GetAddPhones(), Remove: req.GetRemovePhones()},
		URLs:   connection.Edit{Replace: req.GetUrls(), Add: req.GetAddUrls(), Remove: req.GetRemoveUrls()},
		Tags:   connection.Edit{Replace: req.GetTags(), Add: req.GetAddTags(), Remove: req.GetRemoveTags()},
		Dates: connection.DateEdit{
			Replace: dateDrafts(req.GetImportantDates()), Add: dateDrafts(req.GetAddImportantDates()),
			Remove: dateDrafts(req.GetRemoveImportantDates()),
		},
	})
	if err != nil {
		return nil, err
	}
	whole, err := wholeConnection(ctx, u, written.Connection)
	if err != nil {
		return nil, err
	}
	return &connectionsv1.UpdateConnectionResponse{
		Connection: whole, ChangeId: optional(written.ChangeID), RemovedImportantDates: dateMessages(written.RemovedDates),
	}, nil
}

func noteMessage(n *timeline.Note) *timelinev1.Note {
	return &timelinev1.Note{
		Id: n.ID, ConnectionIds: n.ConnectionIDs, Body: n.Body, Pinned: n.Pinned, Version: n.Version,
		CreatedAt: timestamp(n.CreatedAt), UpdatedAt: timestamp(n.UpdatedAt),
	}
}

func interactionMessage(i *timeline.Interaction) *timelinev1.Interaction {
	return &timelinev1.Interaction{
		Id: i.ID, Kind: i.Kind, ConnectionIds: i.ConnectionIDs, OccurredAt: timestamp(i.OccurredAt),
		DurationMinutes: i.DurationMinutes, Summary: i.Summary, ExternalKey: i.ExternalKey, CreatedAt: timestamp(i.CreatedAt),
	}
}

// timestamp returns nil for the zero time.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// optional returns nil for the empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
