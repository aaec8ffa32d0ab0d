package importer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// UndoKind is the kind of the job that undoes an import: one change of the import after
// the other, the latest first, each in one transaction.
const UndoKind = "undo_import"

// maxTried limits how many changes a dry run undoes, within one transaction.
const maxTried = 10

// maxConflicts limits how many conflicts a report lists.
const maxConflicts = 50

// UndoParams are the parameters of the job.
type UndoParams struct {
	ImportID string `json:"import_id"`
	// UndoID is to the undo what ImportID is to the import: undoing the change with this
	// id restores the import.
	UndoID string `json:"undo_id"`
}

// undoStart are the stored parameters: those of the job, and what approval is asked about.
type undoStart struct {
	UndoParams

	// People is how many people the undo changes at most. InForce names the changes of the import that
	// are in force.
	People  int    `json:"people"`
	InForce string `json:"in_force"`
}

// UndoReport is the result of the job.
type UndoReport struct {
	UndoParams

	// Restored is how many objects were restored.
	Restored int `json:"restored_count"`
	// Conflicts are the first of ConflictCount objects that were changed since, and stay
	// unchanged.
	Conflicts     []Conflict `json:"conflicts"`
	ConflictCount int        `json:"conflict_count"`
}

// Conflict is an object that an undo did not change.
type Conflict struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Reason string `json:"reason"`
	// ChangeID is the latest change that made the conflict; empty if not known.
	ChangeID string `json:"change_id,omitempty"`
}

// add counts the result of undoing a change.
func (r *UndoReport) add(u history.Undone) {
	r.Restored += len(u.Restored)
	r.ConflictCount += len(u.Conflicts)
	for _, c := range u.Conflicts[:min(len(u.Conflicts), maxConflicts-len(r.Conflicts))] {
		r.Conflicts = append(r.Conflicts, Conflict{Kind: c.Kind, ID: c.ID, Reason: text.Truncate(c.Reason, maxMessage), ChangeID: c.ChangeID})
	}
}

// StartUndo starts to undo an import. It returns no job when no change of the import is in
// force, and the live undo of the same import when there is one. A live undo of another
// import, and a live job of the import itself, are fault.Conflict.
func StartUndo(ctx context.Context, w *db.Tx, importID string) (j *job.Job, started bool, err error) {
	inForce, err := checkUndo(ctx, w, importID)
	if err != nil {
		return nil, false, err
	}
	live, err := job.LiveJob(ctx, w, UndoKind)
	if err != nil {
		return nil, false, err
	}
	if live != nil {
		return live, false, checkLiveUndo(live, importID)
	}
	if inForce == 0 {
		return nil, false, nil
	}
	p := undoStart{UndoParams: UndoParams{ImportID: importID, UndoID: id.New(id.Import)}}
	if err := p.measure(ctx, w); err != nil {
		return nil, false, err
	}
	return job.StartJob(ctx, w, job.Draft{Kind: UndoKind, Params: p, Total: inForce})
}

// measure counts what an undo changes. The database counts in the recorded changes, because those of
// a large import would take seconds to read. Quotes within texts are escaped there, so the word that
// is counted occurs only in effects.
func (p *undoStart) measure(ctx context.Context, w *db.Tx) error {
	const person = `"kind":"connection"`
	var changes int
	var last int64
	err := w.NewRaw(`SELECT count(*), coalesce(max(number), 0), coalesce(sum((length(effects) - length(replace(effects, ?, ''))) / ?), 0)
FROM changes WHERE tenant_id = ? AND import_id = ? AND undone_by IS NULL`, person, len(person), w.TenantID(), p.ImportID).Scan(ctx, &changes, &last, &p.People)
	p.InForce = fmt.Sprintf("%d %d", changes, last)
	return err
}

// checkUndo returns how many changes of an import are in force. It fails with
// fault.Conflict while the import is running.
func checkUndo(ctx context.Context, w *db.Tx, importID string) (inForce int, err error) {
	if err := checkEnded(ctx, w, importID); err != nil {
		return 0, err
	}
	changes, inForce, err := CountImport(ctx, w, importID)
	if err == nil && changes == 0 {
		err = fault.New(fault.NotFound, "there is no import %s that changed anything", importID)
	}
	return inForce, err
}

// checkLiveUndo refuses to undo an import while another undo is live.
func checkLiveUndo(live *job.Job, importID string) error {
	p, err := paramsOf[UndoParams](live)
	if err != nil || p.ImportID == importID {
		return err
	}
	return fault.New(fault.Conflict, "job %d is undoing another import: wait for its end with get_job, and undo this one then", live.Number)
}

// PreviewUndo reports what undoing a small import would do. An import with too many changes
// for one transaction fails with fault.Invalid.
func PreviewUndo(ctx context.Context, w *db.Tx, kinds history.Kinds, importID string) (out history.Undone, err error) {
	inForce, err := checkUndo(ctx, w, importID)
	switch {
	case err != nil:
		return out, err
	case inForce == 0:
		return history.Undone{AlreadyUndone: true}, nil
	case inForce > maxTried:
		return out, fault.New(fault.Invalid, "this import is too large to be tried: undo it without dry_run; "+
			"what was changed since stays as it is, and the job lists it")
	}
	err = w.Attempt(ctx, func(ctx context.Context) (bool, error) {
		for before := int64(0); ; {
			c, err := ChangeOfImport(ctx, w, importID, before)
			if err != nil || c == nil {
				return false, err
			}
			undone, err := history.UndoImport(ctx, w, kinds, c, importID)
			if err != nil {
				return false, err
			}
			out.Restored = append(out.Restored, undone.Restored...)
			out.Conflicts = append(out.Conflicts, undone.Conflicts...)
			before = c.Number
		}
	})
	return out, err
}

// undoCheckpoint is the progress of an undo: the number of the change that was undone last.
type undoCheckpoint struct {
	Before int64      `json:"before"`
	Steps  int        `json:"steps"`
	Report UndoReport `json:"report"`
}

// Undo returns the kind of job that undoes imports.
func Undo(s *db.DB, kinds history.Kinds) job.Kind { return undo(s, kinds, job.WriteStepFor) }

func undo(s *db.DB, kinds history.Kinds, step stepFunc) job.Kind {
	return job.Kind{Name: UndoKind, SoFar: undoneSoFar, Run: func(ctx context.Context, run *job.Run) (any, error) {
		at, err := readUndo(run)
		if err != nil {
			return nil, err
		}
		for more := true; more; {
			more, err = undoStep(ctx, s, kinds, step, run, &at)
			if errors.Is(err, job.ErrCancelled) || errors.Is(context.Cause(ctx), job.ErrCancelled) {
				return at.Report, job.ErrCancelled
			}
			if err == nil && more {
				err = run.Yield(ctx)
			}
			if err != nil {
				return nil, err
			}
		}
		return at.Report, nil
	}}
}

// readUndo returns the progress of an undo.
func readUndo(run *job.Run) (at undoCheckpoint, err error) {
	at.Report.Conflicts = []Conflict{}
	if err := run.Params(&at.Report.UndoParams); err != nil {
		return at, err
	}
	return at, run.Checkpoint(&at)
}

func undoneSoFar(run *job.Run) (any, error) {
	at, err := readUndo(run)
	return at.Report, err
}

// undoStep undoes one change, and reports whether there may be more.
func undoStep(ctx context.Context, s *db.DB, kinds history.Kinds, step stepFunc, run *job.Run, at *undoCheckpoint) (more bool, err error) {
	var next undoCheckpoint
	err = step(db.WithExtraQuota(ctx), s, &run.Job, func(ctx context.Context, w *db.Tx) (job.Step, error) {
		next = *at
		next.Report.Conflicts = append([]Conflict{}, at.Report.Conflicts...) // a step that is rolled back must not change the report
		c, err := ChangeOfImport(ctx, w, next.Report.ImportID, next.Before)
		if err != nil {
			return job.Step{}, err
		}
		if more = c != nil; more {
			undone, err := history.UndoImport(ctx, w, kinds, c, next.Report.UndoID)
			if err != nil {
				return job.Step{}, err
			}
			next.Before = c.Number
			next.Steps++
			next.Report.add(undone)
		}
		total := next.Steps
		if more {
			total = max(total, run.Job.Total)
		}
		return job.Step{Checkpoint: next, Done: next.Steps, Total: total}, nil
	})
	if err == nil {
		*at = next
	}
	return more, err
}

// CountImport counts the changes of an import, and those that are in force.
func CountImport(ctx context.Context, tx *db.Tx, importID string) (changes, inForce int, err error) {
	err = tx.NewRaw("SELECT count(*), count(*) - count(undone_by) FROM changes WHERE tenant_id = ? AND import_id = ?", tx.TenantID(), importID).
		Scan(ctx, &changes, &inForce)
	return changes, inForce, err
}

// ChangeOfImport returns the latest change of an import that is in force and has a number below
// before, or nil if there is none. With before 0 it returns the latest of all.
func ChangeOfImport(ctx context.Context, tx *db.Tx, importID string, before int64) (*history.Change, error) {
	c := &history.Change{}
	query := tx.From(c).Where("import_id = ? AND undone_by IS NULL", importID).Order("number DESC").Limit(1)
	if before != 0 {
		query = query.Where("number < ?", before)
	}
	err := query.Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return c, err
}

// ListImportsInForce returns those of the imports that have changes that are not undone.
func ListImportsInForce(ctx context.Context, q db.Reader, importIDs []string) (map[string]bool, error) {
	out := map[string]bool{}
	if len(importIDs) == 0 {
		return out, nil
	}
	var found []string
	err := q.NewRaw("SELECT DISTINCT import_id FROM changes WHERE tenant_id = ? AND import_id IN (?) AND undone_by IS NULL",
		q.TenantID(), bun.List(importIDs)).Scan(ctx, &found)
	for _, importID := range found {
		out[importID] = true
	}
	return out, err
}
