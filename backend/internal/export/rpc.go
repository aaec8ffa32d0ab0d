package export

import (
	"context"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

const (
	defaultExport = 50
	// maxContent is the contract's bound on a document, in characters.
	maxContent = 4_000_000
)

// exportQuery is the query that a cursor of export_connections belongs to.
type exportQuery struct {
	Format, Selection string
	IDs               []string
}

// ExportConnections implements the RPC.
func (h *RPC) ExportConnections(ctx context.Context, req *connectionsv1.ExportConnectionsRequest) (*connectionsv1.ExportConnectionsResponse, error) {
	q := exportQuery{req.GetFormat(), req.GetSelection(), req.GetIds()}
	ids, err := call.People(ctx, q.IDs, req.Selection, h.Selected)
	if err != nil {
		return nil, err
	}
	f := PeopleFilter{
		IDs: ids, Limit: call.LimitOf(req.Limit, defaultExport), Timeline: q.Format == JSON,
	}
	if req.Cursor != nil {
		if err := cursor.Decode(req.GetCursor(), q, &f.After); err != nil {
			return nil, err
		}
	}
	p := tenant.PrincipalFrom(ctx)
	data := h.DB.Tenant(p.Tenant, p.ReadOnly)
	page, more, err := ListPeople(ctx, data, f)
	if err != nil {
		return nil, err
	}
	content, mediaType, err := Write(q.Format, page)
	if err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(content) > maxContent {
		if len(page.People) == 1 {
			return nil, fault.New(fault.Invalid, "%s has more on file than fits into one answer: use csv, vcard or jscontact, or the export on the settings page",
				page.People[0].ID)
		}
		return nil, fault.InvalidField("limit", "these %d people have more on file than fits into one answer: ask for fewer", len(page.People))
	}
	res := &connectionsv1.ExportConnectionsResponse{Content: content, MediaType: mediaType, Count: int32(len(page.People)), HasMore: more}
	if more {
		next, err := cursor.Encode(q, page.People[len(page.People)-1].ID)
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	return res, nil
}

// exportRPC implements the RPCs that export people.
type RPC struct {
	DB *db.DB
	// Selected reads selections of search_connections.
	Selected call.Selector
}
