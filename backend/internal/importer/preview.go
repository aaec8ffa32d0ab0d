package importer

import (
	"context"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
)

// Row says what an import does with one record of a file, and why.
type Row struct {
	// Number is the row in a spreadsheet, or the ordinal of a card or object.
	Number int
	// Name, About, their job, and Addresses, at most two, are as in the file.
	Name, About string
	Addresses   []string
	// Kind says what happens to it. Changes is set if a known person is changed.
	Kind    RowKind
	Changes bool
	// Candidates are at most six people who are the same, or may be. Matched is set if the first one is
	// the same by the rules of matching. Exact is set if the file was imported before: then only
	// DoSkip changes anything.
	Candidates     []Candidate
	Matched, Exact bool
	// Choice is what the member chose.
	Choice RowChoice
	// Problem says why the record cannot be imported.
	Problem  string
	Warnings []string
}

// RowKind is what happens to a record.
type RowKind string

// The kinds. RowDoubtful adds a person like RowNew, but there are people who may be the same, and
// the member has not chosen yet.
const (
	RowNew      RowKind = "new"
	RowKnown    RowKind = "known"
	RowDoubtful RowKind = "doubtful"
	RowLeftOut  RowKind = "left_out"
	RowFailed   RowKind = "failed"
)

// row returns the decision about an entry.
func (p *plan) row(e *entry, m match, o outcome) Row {
	r := Row{Number: e.Row, Choice: e.choice, Warnings: e.Warnings}
	if e.Err != nil {
		r.Kind, r.Problem = RowFailed, e.Err.Error()
		return r
	}
	r.Name, r.About = e.connection.Name, e.connection.CurrentPosition().Headline()
	const shown = 2
	for _, h := range e.connection.Handles[:min(len(e.connection.Handles), shown)] {
		r.Addresses = append(r.Addresses, h.Value)
	}
	r.addCandidates(p, e, m)
	switch {
	case o == failed:
		r.Kind, r.Problem = RowFailed, e.misfit.Error()
	case e.choice.Do == DoSkip:
		r.Kind = RowLeftOut
	case o != created:
		r.Kind, r.Changes = RowKnown, o == updated
	case len(r.Candidates) > 0 && !r.Matched && e.choice.Do == "":
		r.Kind = RowDoubtful
	default:
		r.Kind = RowNew
	}
	return r
}

// Known returns the person that a row is taken for, chosen or by the rules; false if there is none.
func (r *Row) Known() (Candidate, bool) {
	for i, a := range r.Candidates {
		if r.Kind == RowKnown && (r.Choice.Do == DoSame && a.For() == r.Choice || i == 0 && (r.Choice.Do == "" || r.Exact)) {
			return a, true
		}
	}
	return Candidate{}, false
}

// addCandidates adds the people who are the same, or may be, whatever the member chose.
func (r *Row) addCandidates(p *plan, e *entry, m match) {
	if m.id != "" && m.by == byKey {
		r.Candidates, r.Matched, r.Exact = []Candidate{p.found.candidate(m.id, byKey)}, true, true
		return
	}
	if e.repeats.By == byKey || e.archived() {
		r.Matched, r.Exact = e.repeats.By == byKey, true
		if r.Matched {
			r.Candidates = []Candidate{e.repeats}
		}
		return
	}
	plain := *e
	plain.choice = RowChoice{}
	rules := p.found.find(&plain, p.fileKeys)
	r.Matched = rules.id != "" || e.repeats.By != ""
	for _, a := range slices.Concat([]Candidate{e.repeats}, rules.candidates(p.found), []Candidate{e.namesake}) {
		if a.By != "" && !slices.ContainsFunc(r.Candidates, a.same) {
			r.Candidates = append(r.Candidates, a)
		}
	}
	r.Candidates = r.Candidates[:min(len(r.Candidates), maxOthers+1)]
	// A chosen person remains in the list, even if another choice has made the match unlikely.
	picked := e.picked
	if e.choice.Do == DoSame && e.choice.Person != "" && m.by == byChoice {
		picked = p.found.candidate(e.choice.Person, byChoice)
	}
	if picked.By != "" && !slices.ContainsFunc(r.Candidates, picked.same) {
		r.Candidates = append(r.Candidates, picked)
	}
}

// Preview says what an import would do.
type Preview struct {
	Report
	// Counts are how many records of each kind there are.
	Counts map[RowKind]int
	// Rows are all rows, in the order of the file.
	Rows []Row
	// Others is set if the file has more than people, such as notes and groups.
	Others bool
	// Linked is set if records of people have relationships or a last contact. The rows do not show
	// them: the import adds them after the people, also to people who are known and do not change.
	Linked bool
	// Partly is set if the file has more people; the preview omits the others.
	Partly bool
}

// MaxPreviewed is the maximum number of records in a preview.
const MaxPreviewed = 10_000

// previewRecords is how many records a preview matches at a time.
const previewRecords = 500

// Of returns the rows of a kind, empty for all: at most limit of them, after skip.
func (p *Preview) Of(kind RowKind, skip, limit int) []Row {
	var rows []Row
	seen := 0
	for i := range p.Rows {
		if kind != "" && p.Rows[i].Kind != kind {
			continue
		}
		if seen++; seen > skip && len(rows) < limit {
			rows = append(rows, p.Rows[i])
		}
	}
	return rows
}

// NewPreview returns what an import of a file with the options would do. It is a dry run and writes
// nothing. It fails with fault.Invalid if the file cannot be read.
func NewPreview(ctx context.Context, on db.Reader, f *File, o Options) (*Preview, error) {
	return newPreview(ctx, on, f, o, MaxPreviewed)
}

// newPreview returns a preview of the first records of people.
func newPreview(ctx context.Context, on db.Reader, f *File, o Options, most int) (*Preview, error) {
	o = o.Normal()
	o.DryRun = true
	var err error
	if o.Fields, err = people.ListFields(ctx, on); err != nil {
		return nil, err
	}
	p := &Preview{Counts: map[RowKind]int{}}
	im := &fileImport{
		read: on, params: Params{Options: o}, records: previewRecords, limit: most,
		see: func(r Row) {
			p.Counts[r.Kind]++
			p.Rows = append(p.Rows, r)
		},
	}
	if err := im.use(f); err != nil {
		return nil, err
	}
	if err := im.people(ctx); err != nil {
		return nil, err
	}
	p.Report, p.Others, p.Partly = im.at.Report, im.file.HasLists(), im.file.Total() > most
	p.Linked = im.at.Related || im.at.Contacts
	return p, nil
}

// Why returns in a few words what a person has in common with a record.
func (c Candidate) Why() string {
	words := map[string]string{
		byEmail: "same e-mail address", byPhone: "same phone number", byAddress: "same web address", byName: "same name", byNamesake: "same name and organisation",
		byKey: "imported before", byID: "same id in that program, another name", byChoice: "you chose so",
	}
	return words[c.By]
}
