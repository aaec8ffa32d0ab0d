package export

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/tenant"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// MaxContent bounds the document in an answer, in bytes: what a model can read.
const MaxContent = 32 << 10

const defaultExport = 50

// exportQuery is the query that a cursor of export_connections belongs to.
type exportQuery struct {
	Format, Selection string
	IDs               []string
}

// ExportConnections implements the RPC.
func (h *RPC) ExportConnections(ctx context.Context, req *connectionsv1.ExportConnectionsRequest) (*connectionsv1.ExportConnectionsResponse, error) {
	ids, err := call.People(ctx, req.GetIds(), req.Selection, h.Selected)
	if err != nil {
		return nil, err
	}
	p := tenant.PrincipalFrom(ctx)
	data := h.DB.Tenant(p.Tenant, p.ReadOnly)
	if req.Limit != nil || req.Cursor != nil || p.ReadOnly {
		return exportPageOf(ctx, data, ids, req)
	}
	if len(req.GetIds()) > 0 {
		if err := data.Snapshot(ctx, func(ctx context.Context, q db.Reader) error { return allExist(ctx, q, ids) }); err != nil {
			return nil, err
		}
	}
	return h.exportWhole(ctx, data, File{Format: req.GetFormat(), IDs: ids})
}

// exportWhole answers with all people, or with the job that makes a file of them. Only the file
// has photos: they would not fit into an answer.
func (h *RPC) exportWhole(ctx context.Context, data *db.Tenant, f File) (*connectionsv1.ExportConnectionsResponse, error) {
	var content answerBuffer
	count, err := f.write(ctx, data, &content, false)
	if err == nil {
		return &connectionsv1.ExportConnectionsResponse{Content: content.String(), MediaType: f.MediaType(), Count: int32(count), LeftOut: LeftOut(f.Format)}, nil
	}
	if !errors.Is(err, errFull) {
		return nil, err
	}
	if count, err = f.Count(ctx, data); err != nil {
		return nil, err
	}
	res := &connectionsv1.ExportConnectionsResponse{
		MediaType: f.MediaType(), Count: int32(count), LeftOut: LeftOut(f.Format),
		Note: fmt.Sprintf("These %d people are more than the %d KB that fit into an answer. get_job waits for the file; its result has the address.", count, MaxContent>>10),
	}
	call.WriteAfter(ctx, func(ctx context.Context, tx *db.Tx) error { return h.start(ctx, tx, f, res) })
	return res, nil
}

// start starts the job that makes a file.
func (h *RPC) start(ctx context.Context, tx *db.Tx, f File, res *connectionsv1.ExportConnectionsResponse) error {
	j, started, err := job.StartJob(ctx, tx, job.Draft{Kind: JobKind, Params: f, Charged: call.Price(ctx)})
	if err != nil {
		return err
	}
	res.TaskId, res.Next = &j.Number, job.Wait(ctx, j.Number)
	if started {
		db.OnCommit(ctx, h.Jobs.Wake)
		return nil
	}
	var running File
	if err := (&job.Run{Job: *j}).Params(&running); err != nil {
		return err
	}
	if running.Format != f.Format || !slices.Equal(running.IDs, f.IDs) {
		return fault.New(fault.Conflict, "another export is being made: wait for it with get_job and task_id %d, then call again", j.Number)
	}
	call.SkipCharge(ctx)
	return nil
}

// exportPageOf answers with a page, which ends early where it would not fit.
func exportPageOf(ctx context.Context, data *db.Tenant, ids []string, req *connectionsv1.ExportConnectionsRequest) (*connectionsv1.ExportConnectionsResponse, error) {
	q := exportQuery{req.GetFormat(), req.GetSelection(), req.GetIds()}
	f := PeopleFilter{IDs: ids, Limit: call.LimitOf(req.Limit, defaultExport), Timeline: q.Format == JSON}
	if req.Cursor != nil {
		if err := cursor.Decode(req.GetCursor(), q, &f.After); err != nil {
			return nil, err
		}
	}
	for {
		page, more, err := ListPeople(ctx, data, f)
		if err != nil {
			return nil, err
		}
		content, mediaType, err := Write(q.Format, page)
		if err != nil {
			return nil, err
		}
		count := len(page.People)
		if len(content) > MaxContent {
			if count == 1 {
				return nil, fault.New(fault.Invalid, "%s has more data than the %d KB that fit into an answer: leave out limit and cursor to get a file, or use csv, vcard or jscontact",
					page.People[0].ID, MaxContent>>10)
			}
			f.Limit = max(1, count*MaxContent*9/(len(content)*10))
			continue
		}
		res := &connectionsv1.ExportConnectionsResponse{Content: content, MediaType: mediaType, Count: int32(count), HasMore: more, LeftOut: LeftOut(q.Format)}
		if more {
			next, err := cursor.Encode(q, page.LastPlace())
			if err != nil {
				return nil, err
			}
			res.NextCursor = &next
		}
		return res, nil
	}
}

// errFull means that a document does not fit into an answer.
var errFull = errors.New("the document does not fit into an answer")

// answerBuffer is a buffer for a document of up to MaxContent bytes.
type answerBuffer struct{ strings.Builder }

// Write implements io.Writer. It fails with errFull.
func (b *answerBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > MaxContent {
		return 0, errFull
	}
	return b.Builder.Write(p)
}

// WriteString implements io.StringWriter. It fails with errFull.
func (b *answerBuffer) WriteString(s string) (int, error) { return b.Write([]byte(s)) }

// RPC implements the RPCs that export people.
type RPC struct {
	DB *db.DB
	// Selected reads selections of search_connections.
	Selected call.Selector
	// Jobs wakes the workers of the queue.
	Jobs job.Jobs
}
