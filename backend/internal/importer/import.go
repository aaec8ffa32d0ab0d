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
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/text"
)

// CodeUnreadable is the code of a job whose file cannot be read.
const CodeUnreadable = "file_unreadable"

// Limits of a step: the number of records and the approximate bytes of text. In SQLite, all
// metered calls wait while a step is written.
const (
	stepRecords = 150
	stepBytes   = 1 << 20
)

// rowsPerCredit is how many rows cost a credit.
const rowsPerCredit = 100

// Kind returns the kind of job that imports files.
func Kind(s *db.DB, ledger *billing.Ledger) job.Kind {
	return kind(s, ledger, stepRecords, job.WriteStepFor)
}

func kind(s *db.DB, ledger *billing.Ledger, records int, write stepFunc) job.Kind {
	return job.Kind{Name: JobKind, SoFar: soFar, Run: func(ctx context.Context, run *job.Run) (any, error) {
		im := &fileImport{db: s, ledger: ledger, run: run, write: write, records: records}
		err := im.do(ctx)
		if errors.Is(err, job.ErrCancelled) || errors.Is(context.Cause(ctx), job.ErrCancelled) {
			return im.at.Report, job.ErrCancelled
		}
		if err != nil {
			return nil, im.explain(err)
		}
		return im.at.Report, nil
	}}
}

// stepFunc runs a step of a job in one transaction, as job.WriteStepFor does. Tests
// pass one that fails.
type stepFunc func(ctx context.Context, s *db.DB, j *job.Job, fn func(context.Context, *db.Tx) (job.Step, error)) error

// soFar returns the report of the last step.
func soFar(run *job.Run) (any, error) {
	var at checkpoint
	if err := run.Checkpoint(&at); err != nil || at.Report.ImportID == "" {
		return nil, err
	}
	return at.Report, nil
}

// fileImport is one attempt at an import.
type fileImport struct {
	db     *db.DB
	ledger *billing.Ledger
	run    *job.Run
	write  stepFunc
	// records is how many records a step has; limit is how many records of people a preview
	// looks at, 0 means all.
	records, limit int
	// read reads the member's rows for a dry run.
	read   db.Reader
	params Params
	file   *source.File
	// at is the checkpoint of the last step.
	at checkpoint
	// fileKeys are the hashed keys of the file's people if these are Kith's own ids.
	fileKeys map[string]bool
	// groupDetails are the file's records of groups, by folded names.
	groupDetails map[string]export.GroupRecord
	// overwritten are the stored people whom a record has overwritten; the first record of
	// a person counts.
	overwritten map[string]bool
	// dry is the plan of a dry run, which grows with each step. repeated are the keys of
	// records for which the file has further records of the same person.
	dry      *plan
	repeated map[string]bool
	// see, if set, is called with the decision of a dry run about each record.
	see func(Row)
	// indexed is made when it is needed.
	indexed *fileIndex
}

// checkpoint is the progress of an import.
type checkpoint struct {
	Phase  phase  `json:"phase"`
	Next   int    `json:"next"` // records of the phase that are done
	Report Report `json:"report"`
	// Related is set if people of the file have relationships or are marked as not the same person.
	Related bool `json:"related,omitempty"`
	// Contacts is set if the file says when the last contact with people was.
	Contacts bool `json:"contacts,omitempty"`
}

// phase is a part of an import. People come first: the other lists name them.
type phase int

const (
	phasePeople phase = iota
	phaseRelations
	phaseNotes
	phaseInteractions
	phaseContacts
	phaseGroups
	phaseReminders
	phaseDone
)

// do imports the file from the checkpoint on. A dry run reports what would happen to
// the people, writes nothing, and starts from the beginning each time.
func (im *fileImport) do(ctx context.Context) error {
	if err := errors.Join(im.run.Params(&im.params), im.run.Checkpoint(&im.at)); err != nil {
		return err
	}
	im.params.Options = im.params.Options.Normal()
	im.read = im.db.Tenant(im.run.Job.TenantID, true)
	if im.at.Phase == phaseDone {
		return nil
	}
	if im.params.Options.DryRun {
		im.at = checkpoint{}
	}
	if err := im.open(ctx); err != nil {
		return err
	}
	for p, work := range []func(context.Context) error{
		phasePeople:       im.people,
		phaseRelations:    im.relations,
		phaseNotes:        im.notes,
		phaseInteractions: im.interactions,
		phaseContacts:     im.contacts,
		phaseGroups:       im.groups,
		phaseReminders:    im.reminders,
		phaseDone:         im.deleteFile,
	} {
		if phase(p) < im.at.Phase {
			continue
		}
		if err := work(ctx); err != nil {
			return err
		}
	}
	return nil
}

// open reads the whole file: its format, and the keys and groups in it.
func (im *fileImport) open(ctx context.Context) error {
	f, err := GetFile(ctx, im.read, im.params.FileID)
	if fault.Is(err, fault.NotFound) {
		return job.Fail(CodeUnreadable, "The file is not there any more; pass or upload it again.")
	}
	if err != nil {
		return err
	}
	err = im.use(f)
	if fault.Is(err, fault.Invalid) {
		return job.Fail(CodeUnreadable, "%s", err.Error())
	}
	return err
}

// use reads a file as a whole. It fails with fault.Invalid if it cannot be read.
func (im *fileImport) use(f *File) (err error) {
	if im.file, err = Open(f.Content, f.Name, im.params.Options); err != nil {
		return err
	}
	im.fileKeys, im.groupDetails, im.overwritten = map[string]bool{}, map[string]export.GroupRecord{}, map[string]bool{}
	if im.at.Report.ImportID == "" {
		im.at.Report = Report{
			Errors: []RowError{}, Warnings: append([]string{}, im.file.Warnings...), Format: im.file.Format, Charset: im.file.Charset,
			ImportID: im.params.ImportID, DryRun: im.params.Options.DryRun,
		}
	}
	for rec := range im.file.Records() {
		if !id.Valid(id.Connection, rec.Person.ID) {
			break // either all people of a file have Kith's own ids, or none
		}
		im.fileKeys[SourceKey(source.Kith, rec.Person.ID)] = true
	}
	for g := range im.file.Groups() {
		if g.Err == nil {
			im.groupDetails[text.Fold(g.Record.Name)] = g.Record
		}
	}
	return nil
}

// people matches the records of people, plans what to do with each and writes the plan,
// one step at a time.
func (im *fileImport) people(ctx context.Context) error {
	if im.params.Options.DryRun {
		im.repeated = im.repeatedKeys()
		if im.see == nil {
			var shown shownRows
			im.see = shown.add
			defer func() { im.at.Report.Rows = shown }()
		}
	}
	for entries := range steps(im.entries(), im.done(phasePeople), im.records, func(e *entry) int { return e.size }) {
		next := im.next(phasePeople, len(entries))
		for _, e := range entries {
			next.Related, next.Contacts = next.Related || e.Related(), next.Contacts || !e.Person.LastInteractionAt.IsZero()
		}
		if im.params.Options.DryRun {
			if err := im.planDryRun(ctx, next, entries); err != nil {
				return err
			}
			continue
		}
		if err := readPhotos(ctx, entries); err != nil {
			return err
		}
		err := im.step(ctx, next, func(ctx context.Context, s *step) error {
			p, err := im.plan(ctx, s.tx, entries, s.report)
			if err != nil {
				return err
			}
			if !im.params.Free {
				s.price = next.Next/rowsPerCredit - im.at.Next/rowsPerCredit
			}
			return s.plan(p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readPhotos reads the photos of entries. It takes long, and happens before the transaction. A
// photo that cannot be read becomes a warning.
func readPhotos(ctx context.Context, entries []*entry) error {
	for _, e := range entries {
		if e.Err != nil || e.Person.Photo == "" {
			continue
		}
		photo, err := photos.ReadURI(ctx, e.Person.Photo)
		switch {
		case err == nil:
			e.photo, e.connection.Photo = photo, photo.ID
		case fault.Is(err, fault.Invalid):
			e.Warnings = append(e.Warnings, "the photo was left out: "+err.Error())
		default:
			return err
		}
	}
	return nil
}

// entries returns the records of people, each with the earlier record in the file that is
// the same person.
func (im *fileImport) entries() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		r := newReader(im.file.Format, im.params.Options)
		n := 0
		for rec := range im.file.Records() {
			if n++; im.limit > 0 && n > im.limit || !yield(r.entry(&rec)) {
				return
			}
		}
	}
}

// repeatedKeys returns the keys of records that later records are the same person as.
func (im *fileImport) repeatedKeys() map[string]bool {
	keys := map[string]bool{}
	for e := range im.entries() {
		if e.leader.key != "" {
			keys[e.leader.key] = true
		}
	}
	return keys
}

// plan finds the stored people of entries and decides what to do with each entry. In a dry
// run it continues the plan of the steps before.
func (im *fileImport) plan(ctx context.Context, on db.Reader, entries []*entry, report *Report) (p *plan, err error) {
	p = im.dry
	if p == nil {
		p = &plan{
			onMatch: im.params.Options.OnMatch, fileKeys: im.fileKeys, overwritten: im.overwritten,
			people: map[string]*person{}, existing: map[string]*person{}, see: im.see,
		}
	}
	p.report = report
	if p.found, err = FindPeople(ctx, on, wanted(entries, im.params.ImportID, im.see != nil)); err != nil {
		return nil, err
	}
	inGroups := func(e *entry) bool { return len(e.Person.Groups) > 0 }
	if p.groups == nil && (im.params.Options.DryRun || slices.ContainsFunc(entries, inGroups)) {
		if p.groups, err = readGroups(ctx, on, im.groupDetails); err != nil {
			return nil, err
		}
	}
	if im.params.Options.DryRun {
		im.dry = p
	}
	p.decide(entries)
	return p, nil
}

// planDryRun plans a step of a dry run.
func (im *fileImport) planDryRun(ctx context.Context, next checkpoint, entries []*entry) error {
	p, err := im.plan(ctx, im.read, entries, &next.Report)
	if err != nil {
		return err
	}
	p.forget(entries, im.repeated)
	im.at = next
	return context.Cause(ctx)
}

// importList imports a list, one step at a time: fill adds the rows of some records to a
// step. A dry run leaves lists out. size may be nil.
func importList[T any](
	ctx context.Context, im *fileImport, p phase, list iter.Seq[T], size func(T) int, fill func(context.Context, *step, []T) error,
) error {
	if im.params.Options.DryRun {
		return nil
	}
	for records := range steps(list, im.done(p), im.records, size) {
		err := im.step(ctx, im.next(p, len(records)), func(ctx context.Context, s *step) error { return fill(ctx, s, records) })
		if err != nil {
			return err
		}
	}
	return nil
}

// steps splits records into steps of most records, or fewer if they are large. It skips
// records that are done, but reads them, since later records may be the same people.
func steps[T any](records iter.Seq[T], done, most int, size func(T) int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		var step []T
		n, bytes := 0, 0
		for rec := range records {
			if n++; n <= done {
				continue
			}
			step = append(step, rec)
			if size != nil {
				bytes += size(rec)
			}
			if len(step) < most && bytes < stepBytes {
				continue
			}
			if !yield(step) {
				return
			}
			step, bytes = nil, 0
		}
		if len(step) > 0 {
			yield(step)
		}
	}
}

// done returns how many records of a phase are done.
func (im *fileImport) done(p phase) int {
	if im.at.Phase == p {
		return im.at.Next
	}
	return 0
}

// next returns the checkpoint after a step of n records.
func (im *fileImport) next(p phase, n int) checkpoint {
	return checkpoint{Phase: p, Next: im.done(p) + n, Report: im.at.Report.clone(), Related: im.at.Related, Contacts: im.at.Contacts}
}

// step makes one step in one transaction: fill decides what to write, then the rows,
// the recorded change, the price and the checkpoint are written.
func (im *fileImport) step(ctx context.Context, next checkpoint, fill func(context.Context, *step) error) error {
	err := im.write(ctx, im.db, &im.run.Job, func(ctx context.Context, tx *db.Tx) (out job.Step, err error) {
		s := &step{tx: tx, params: &im.params, groupDetails: im.groupDetails, report: &next.Report, index: im.index}
		if err := fill(ctx, s); err != nil {
			return out, err
		}
		if err := s.save(ctx); err != nil {
			return out, err
		}
		if err := job.Charge(ctx, im.ledger, tx, &im.run.Job, s.price); err != nil {
			return out, err
		}
		return job.Step{Checkpoint: next, Done: min(next.Report.Total, im.file.Total()), Total: im.file.Total()}, nil
	})
	if err != nil {
		return err
	}
	im.db.LearnTables(ctx)
	im.at = next
	return im.run.Yield(ctx)
}

// deleteFile deletes the file of an import. The upload of a dry run is kept for the real import.
func (im *fileImport) deleteFile(ctx context.Context) error {
	if im.params.Options.DryRun && im.params.Uploaded {
		return nil
	}
	err := im.step(ctx, checkpoint{Phase: phaseDone, Report: im.at.Report}, func(ctx context.Context, s *step) error {
		return DeleteFile(ctx, s.tx, im.params.FileID)
	})
	if errors.Is(err, job.ErrYield) {
		return nil
	}
	return err
}

// explain adds to a failure how many rows stay imported.
func (im *fileImport) explain(err error) error {
	var failure *job.Failure
	if !errors.As(err, &failure) || im.at.Report.Created+im.at.Report.Updated == 0 || im.params.Options.DryRun {
		return err
	}
	return job.Fail(failure.Code, "%s %d rows are imported; undo_change with the import_id %s takes them back.",
		failure.Detail, im.at.Report.Total-im.at.Report.Failed, im.params.ImportID)
}
