package importer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/proto/catalog"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
	importsv1 "github.com/kith-crm/kith/proto/gen/kith/imports/v1"
	jobsv1 "github.com/kith-crm/kith/proto/gen/kith/jobs/v1"
	toolv1 "github.com/kith-crm/kith/proto/gen/kith/tool/v1"
)

// maxConflictReason bounds the reason of a conflict, in characters.
const maxConflictReason = 299

// UndoChange implements the RPC.
func (h *RPC) UndoChange(ctx context.Context, u *db.Tx, req *accountv1.UndoChangeRequest) (*accountv1.UndoChangeResponse, error) {
	var undone history.Undone
	var err error
	switch {
	case req.ImportId == nil:
		undone, err = history.Undo(ctx, u, h.Kinds, req.GetChangeId(), req.GetDryRun())
	case req.GetDryRun():
		undone, err = PreviewUndo(ctx, u, h.Kinds, req.GetImportId())
	default:
		return h.undoImport(ctx, u, req.GetImportId())
	}
	if err != nil {
		return nil, err
	}
	res := &accountv1.UndoChangeResponse{
		Restored: history.ObjectMessages(undone.Restored), RestoredCount: new(int32(len(undone.Restored))),
		AlreadyUndone: new(undone.AlreadyUndone), ChangeId: call.Optional(undone.ChangeID),
	}
	for _, c := range undone.Conflicts[:min(len(undone.Conflicts), history.MaxObjects)] {
		res.Conflicts = append(res.Conflicts, &accountv1.Conflict{Kind: c.Kind, Id: c.ID, Reason: text.Truncate(c.Reason, maxConflictReason), ChangeId: call.Optional(c.ChangeID)})
	}
	return res, nil
}

// undoImport starts the job that undoes an import.
func (h *RPC) undoImport(ctx context.Context, u *db.Tx, importID string) (*accountv1.UndoChangeResponse, error) {
	j, started, err := StartUndo(ctx, u, importID)
	if err != nil {
		return nil, err
	}
	if j == nil {
		return &accountv1.UndoChangeResponse{AlreadyUndone: new(true), RestoredCount: new(int32(0))}, nil
	}
	if started {
		db.OnCommit(ctx, h.Jobs.Wake)
	}
	return &accountv1.UndoChangeResponse{TaskId: &j.Number, Next: job.Wait(ctx, j.Number)}, nil
}

// maxInline is the largest file, in bytes, that may be passed with the call.
const maxInline = 1 << 20

// inlineName is the name of a file that was sent without a name.
const inlineName = "a file"

// RPC implements the RPCs that import people and undo changes.
type RPC struct {
	Jobs  job.Jobs
	Kinds history.Kinds
	// Read reads a job.
	Read func(context.Context, *jobsv1.GetJobRequest) (*jobsv1.GetJobResponse, error)
}

// Await completes the answer of ImportFile with the job, once it has ended or the caller's time is up. If
// the job cannot be read, the answer stays as it is: the import was started.
func (h *RPC) Await(ctx context.Context, req *importsv1.ImportFileRequest, res *importsv1.ImportFileResponse) {
	if req.GetWaitSeconds() == 0 {
		return
	}
	if got, err := h.Read(ctx, &jobsv1.GetJobRequest{TaskId: res.GetTaskId(), WaitSeconds: req.WaitSeconds}); err == nil {
		res.Job, res.Next = got.GetJob(), got.GetNext()
	}
}

// ImportFile implements the RPC.
func (h *RPC) ImportFile(ctx context.Context, u *db.Tx, req *importsv1.ImportFileRequest) (*importsv1.ImportFileResponse, error) {
	file, err := inlineFile(req)
	if err != nil {
		return nil, err
	}
	j, started, err := Start(ctx, u, Request{
		File: file, UploadID: req.GetUploadId(), Price: call.Price(ctx), Count: bulkLimit(ctx),
		Options: Options{
			Format: req.GetFormat(), Charset: req.GetCharset(), DefaultRegion: req.GetDefaultRegion(), DateOrder: req.GetDateOrder(),
			OnMatch: req.GetOnMatch(), DryRun: req.GetDryRun(), Tags: lines(req.GetTags()), Columns: columns(req.GetColumns()),
			Locale: tenant.PrincipalFrom(ctx).Locale, Owner: tenant.PrincipalFrom(ctx).DisplayName,
		},
	})
	if err != nil {
		return nil, err
	}
	if !started {
		call.SkipCharge(ctx)
	} else {
		db.OnCommit(ctx, h.Jobs.Wake)
		if call.Asked(ctx) {
			err = ask(ctx, u, j)
		}
	}
	return &importsv1.ImportFileResponse{TaskId: j.Number, Next: job.Wait(ctx, j.Number)}, err
}

// bulkLimit returns above how many people a call needs the approval of the member; 0 if it needs
// none.
func bulkLimit(ctx context.Context) int {
	if p := tenant.PrincipalFrom(ctx); p != nil && p.Credential.Asks.Before(catalog.ActBulk) {
		return p.Credential.Asks.Above
	}
	return 0
}

// Next returns the calls that make sense after an import that has ended: to look at the duplicates
// that it may have made, and at what an undo would do.
func Next(ctx context.Context, ended *job.Job) []*toolv1.NextCall {
	var r Report
	if json.Unmarshal([]byte(ended.Result), &r) != nil || r.DryRun || r.Created+r.Updated == 0 {
		return nil
	}
	var calls []*toolv1.NextCall
	if r.Created > 0 {
		calls = call.Next(ctx, "find_duplicates", nil)
	}
	return append(calls, call.Next(ctx, "undo_change", map[string]any{"import_id": r.ImportID, "dry_run": true})...)
}

// columns returns the choices for columns, which are named by their headers.
func columns(meanings []*importsv1.ColumnMeaning) []source.Choice {
	var out []source.Choice
	for _, m := range meanings {
		out = append(out, source.Choice{Header: m.GetHeader(), Field: m.GetMeaning()})
	}
	return out
}

// lines returns texts in the form in which they are stored.
func lines(texts []string) []string {
	out := make([]string, 0, len(texts))
	for _, s := range texts {
		if s = text.Line(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// inlineFile returns the file that was sent with the call, or nil.
func inlineFile(req *importsv1.ImportFileRequest) (*File, error) {
	name := text.Line(req.GetFilename())
	if name == "" {
		name = inlineName
	}
	switch {
	case req.Content != nil:
		if len(req.GetContent()) > maxInline {
			return nil, tooLarge("content")
		}
		return NewFile(name, []byte(req.GetContent())), nil
	case req.ContentBase64 != nil:
		content, err := decodeBase64(req.GetContentBase64())
		if err != nil {
			return nil, fault.InvalidField("content_base64", "is not base64")
		}
		if len(content) > maxInline {
			return nil, tooLarge("content_base64")
		}
		return NewFile(name, content), nil
	}
	return nil, nil
}

func tooLarge(field string) error {
	return fault.InvalidField(field, "holds more than 1 MiB; have the member upload the file on the settings page, under Data, and pass its upload_id")
}

// decodeBase64 accepts both alphabets, with or without padding, and line breaks.
func decodeBase64(s string) ([]byte, error) {
	s = strings.NewReplacer("\r", "", "\n", "", " ", "", "-", "+", "_", "/", "=", "").Replace(s)
	return base64.RawStdEncoding.DecodeString(s)
}
