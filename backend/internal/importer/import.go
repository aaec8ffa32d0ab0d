package importer

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/text"
)

// CodeUnreadable is the code of a job whose file cannot be read.
const CodeUnreadable = "file_unreadable"

// Bounds of a step: how many records it takes, and how much they may weigh.
const (
	stepRecords = 500
	stepWeight  = 1 << 20 // bytes, about
)

// rowsPerCredit is how many rows cost a credit.
const rowsPerCredit = 100

// Kind returns the kind of job that imports files.
func Kind(s *db.DB, ledger *billing.Ledger) job.Kind {
	return kind(s, ledger, stepRecords, job.WriteStepFor)
}

func kind(s *db.DB, ledger *billing.Ledger, records int, step stepFunc) job.Kind {
	return job.Kind{Name: JobKind, SoFar: soFar, Run: func(ctx context.Context, run *job.Run) (any, error) {
		im := &imports{store: s, ledger: ledger, run: run, write: step, records: records, overwritten: map[string]bool{}}
		err := im.work(ctx)
		if errors.Is(err, job.ErrCancelled) || context.Cause(ctx) != nil && errors.Is(context.Cause(ctx), job.ErrCancelled) {
			return im.at.Report, job.ErrCancelled
		}
		if err != nil {
			return nil, im.explain(err)
		}
		return im.at.Report, nil
	}}
}

// soFar is the report of what the last step left behind.
func soFar(run *job.Run) (any, error) {
	var at checkpoint
	if err := run.Checkpoint(&at); err != nil || at.Report.ImportID == "" {
		return nil, err
	}
	return at.Report, nil
}

// stepFunc runs a step of a job in one transaction, as job.WriteStepFor does; tests
// break it on purpose.
type stepFunc func(ctx context.Context, s *db.DB, j *job.Job, fn func(context.Context, *db.Tx) (job.Step, error)) error

// imports is one attempt at an import.
type imports struct {
	store  *db.DB
	ledger *billing.Ledger
	write  stepFunc
	run    *job.Run
	// records is how many records a step takes.
	records int
	params  Params
	file    *source.File
	// into is the transaction that Seed imports into; nil for a job, which has one
	// for each step.
	into *db.Tx
	// related are Seed's people, which need not be decoded again for their relations.
	related []source.Record
	// at is how far the import got: what the last step left behind.
	at checkpoint
	// others are the hashed keys of the file's people with ids of ours.
	others map[string]bool
	// groupDetails are what the file says of its groups, by folded names.
	groupDetails map[string]export.GroupRecord
	// overwritten are people on file for whom the file has spoken already.
	overwritten map[string]bool
	// dry is the plan of a dry run, which goes on from step to step, and leaders are
	// the keys of the records that it meets again.
	dry     *plan
	leaders map[string]bool
}

// checkpoint is how far an import got.
type checkpoint struct {
	Phase  phase  `json:"phase"`
	Next   int    `json:"next"` // records of the phase that are done
	Report Report `json:"report"`
	// Related tells that there are people with relations.
	Related bool `json:"related,omitempty"`
}

// phase is a part of an import.
type phase int

const (
	phasePeople phase = iota
	phaseRelations
	phaseNotes
	phaseInteractions
	phaseDone // keeps its number: checkpoints of older versions hold it
	phaseGroups
	phaseReminders
)

// order is the order of the phases.
func order() []phase {
	return []phase{phasePeople, phaseRelations, phaseNotes, phaseInteractions, phaseGroups, phaseReminders}
}

func (im *imports) work(ctx context.Context) error {
	if err := im.run.Params(&im.params); err != nil {
		return err
	}
	im.params.Options = im.params.Options.Normal()
	if err := im.run.Checkpoint(&im.at); err != nil {
		return err
	}
	if im.params.Options.DryRun {
		im.at = checkpoint{}
	}
	if im.at.Phase == phaseDone {
		return nil
	}
	if err := im.open(ctx); err != nil {
		return err
	}
	if err := im.phases(ctx); err != nil {
		return err
	}
	return im.end(ctx)
}

// phases imports what the file holds, from the checkpoint on.
func (im *imports) phases(ctx context.Context) error {
	work := map[phase]func(context.Context) error{
		phasePeople: im.people, phaseRelations: im.relations, phaseNotes: im.notes, phaseInteractions: im.interactions, phaseGroups: im.groups, phaseReminders: im.reminders,
	}
	for _, p := range order()[slices.Index(order(), im.at.Phase):] {
		if err := work[p](ctx); err != nil {
			return err
		}
	}
	return nil
}

// open reads the file.
func (im *imports) open(ctx context.Context) error {
	f, err := ReadFile(ctx, im.store, im.run.Job.TenantID, im.params.FileID)
	if fault.Is(err, fault.NotFound) {
		return job.Fail(CodeUnreadable, "The file is not there any more; pass or upload it again.")
	}
	if err != nil {
		return err
	}
	im.file, err = Open(f.Content, f.Name, im.params.Options)
	if fault.Is(err, fault.Invalid) {
		return job.Fail(CodeUnreadable, "%s", err.Error())
	}
	if err != nil {
		return err
	}
	im.begin()
	im.others = map[string]bool{}
	for rec := range im.file.Records() {
		if !id.Valid(id.Connection, rec.Person.Key) {
			break // only files of ours have them, and then all have
		}
		im.others[SourceKey(rec.Person.Key)] = true
	}
	return nil
}

// begin begins the report unless there is one, and reads the groups of the file.
func (im *imports) begin() {
	r := &im.at.Report
	if r.ImportID == "" {
		*r = Report{
			Errors: []RowError{}, Warnings: slices.Clone(im.file.Warnings), Format: im.file.Format, Charset: im.file.Charset,
			ImportID: im.params.ImportID, DryRun: im.params.Options.DryRun,
		}
		if r.Warnings == nil {
			r.Warnings = []string{}
		}
	}
	im.groupDetails = map[string]export.GroupRecord{}
	for g := range im.file.Groups() {
		if im.into == nil {
			g.Record.ID = ""
		}
		if g.Err == nil {
			im.groupDetails[text.Fold(g.Record.Name)] = g.Record
		}
	}
}

// people imports the records, or tells what would come of them.
func (im *imports) people(ctx context.Context) error {
	if im.params.Options.DryRun {
		im.leaders = im.findLeaders()
	}
	r := newReader(im.file.Format, im.params.Options.Tags)
	skip := im.begun(phasePeople)
	return chunks(im.records, im.file.Records(), weighRecord, func(records []source.Record) error {
		entries := make([]*entry, len(records))
		errs := make([]error, len(records))
		for i := range records {
			if errs[i] = records[i].Err; errs[i] == nil {
				entries[i], errs[i] = r.entry(&records[i])
			}
		}
		n := min(skip, len(records)) // those are only read to know who was in them
		skip -= n
		records, entries, errs = records[n:], entries[n:], errs[n:]
		if len(records) == 0 {
			return nil
		}
		return im.peopleStep(ctx, records, entries, errs)
	})
}

// findLeaders returns the keys of the first records of people who are in the file
// several times.
func (im *imports) findLeaders() map[string]bool {
	leaders := map[string]bool{}
	r := newReader(im.file.Format, im.params.Options.Tags)
	for rec := range im.file.Records() {
		if rec.Err != nil {
			continue
		}
		if e, err := r.entry(&rec); err == nil && e.leader != "" {
			leaders[e.leader] = true
		}
	}
	return leaders
}

// peopleStep imports some records.
func (im *imports) peopleStep(ctx context.Context, records []source.Record, entries []*entry, errs []error) error {
	next := checkpoint{Phase: phasePeople, Next: im.at.Next + len(records), Report: im.at.Report.clone(), Related: im.at.Related}
	var good []*entry
	for i, e := range entries {
		for _, warning := range records[i].Warnings {
			next.Report.warn("row %d: %s", records[i].Row, warning)
		}
		next.Related = next.Related || len(records[i].Person.Relations) > 0
		if errs[i] == nil {
			if im.into != nil {
				e.person.ID = e.id
				im.related = append(im.related, records[i])
			}
			good = append(good, e)
		}
	}
	decide := func(p *plan) {
		for i, e := range entries {
			if errs[i] != nil {
				next.Report.fail(records[i].Row, errs[i])
				continue
			}
			p.take(e)
		}
	}
	if im.params.Options.DryRun {
		return im.pretend(ctx, &next, good, decide)
	}
	return im.step(ctx, &next, func(ctx context.Context, w *db.Tx) error {
		p, err := im.newPlan(ctx, w, good, &next.Report, w.Now(), w.NewID)
		if err != nil {
			return err
		}
		decide(p)
		if err := im.keep(ctx, w, p); err != nil || im.params.Free {
			return err
		}
		return job.Charge(ctx, im.ledger, w, &im.run.Job, next.Next/rowsPerCredit-im.at.Next/rowsPerCredit)
	})
}

// pretend takes the decisions of a step and writes nothing but how far it is.
func (im *imports) pretend(ctx context.Context, next *checkpoint, good []*entry, decide func(*plan)) error {
	on := im.store.Tenant(im.run.Job.TenantID, true)
	p, err := im.newPlan(ctx, on, good, &next.Report, im.run.Job.CreatedAt, func(string) (string, error) { return "", nil })
	if err != nil {
		return err
	}
	decide(p)
	p.forget(good, im.leaders)
	im.at = *next
	return context.Cause(ctx)
}

// step runs fn as a step that ends at a checkpoint.
func (im *imports) step(ctx context.Context, next *checkpoint, fn func(context.Context, *db.Tx) error) error {
	if im.into != nil {
		err := fn(ctx, im.into)
		im.at = *next
		return err
	}
	err := im.write(ctx, im.store, &im.run.Job, func(ctx context.Context, w *db.Tx) (job.Step, error) {
		err := fn(ctx, w)
		return job.Step{Checkpoint: next, Done: min(next.Report.Total, im.file.Total()), Total: im.file.Total()}, err
	})
	if err != nil {
		return err
	}
	im.store.LearnTables(ctx)
	im.at = *next
	return im.run.Yield(ctx)
}

// begun returns how many records of a phase are done.
func (im *imports) begun(p phase) int {
	if im.at.Phase == p {
		return im.at.Next
	}
	return 0
}

// end gives the file up, unless it is an upload that was only tried.
func (im *imports) end(ctx context.Context) error {
	if im.params.Options.DryRun && im.params.Uploaded {
		return nil
	}
	next := checkpoint{Phase: phaseDone, Report: im.at.Report}
	err := im.step(ctx, &next, func(ctx context.Context, w *db.Tx) error { return DeleteFile(ctx, w, im.params.FileID) })
	if errors.Is(err, job.ErrYield) {
		return nil
	}
	return err
}

// explain adds to a failure what is left of the import.
func (im *imports) explain(err error) error {
	var failure *job.Failure
	if !errors.As(err, &failure) || im.at.Report.Created+im.at.Report.Updated == 0 || im.params.Options.DryRun {
		return err
	}
	return job.Fail(failure.Code, "%s %d rows are imported; undo_change with the import_id %s takes them back.",
		failure.Detail, im.at.Report.Total-im.at.Report.Failed, im.params.ImportID)
}

// chunks hands the values of seq on, most at a time, fewer of heavy ones.
func chunks[T any](most int, seq iter.Seq[T], weigh func(*T) int, do func([]T) error) error {
	var chunk []T
	weight := 0
	for v := range seq {
		chunk = append(chunk, v)
		weight += weigh(&v)
		if len(chunk) < most && weight < stepWeight {
			continue
		}
		if err := do(chunk); err != nil {
			return err
		}
		chunk, weight = nil, 0
	}
	if len(chunk) == 0 {
		return nil
	}
	return do(chunk)
}

func weighRecord(r *source.Record) int {
	weight := len(r.Person.Bio)
	for _, n := range r.Person.Notes {
		weight += len(n)
	}
	return weight
}
