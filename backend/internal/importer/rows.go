package importer

import (
	"context"
	"encoding/json"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/job"
)

// RowReport says what an import would do with a row, and why. Rows that fail are in Report.Errors.
type RowReport struct {
	// Row is the row in a spreadsheet, or the ordinal of a card or object.
	Row int `json:"row"`
	// Action is RowAdd, RowUpdate or RowSkip.
	Action string `json:"action"`
	Name   string `json:"name"`
	// Match is the person that the row is taken for.
	Match *PersonReport `json:"match,omitempty"`
	// MayBe are people who were not taken for the same, three at most, such as those of the same name.
	MayBe []PersonReport `json:"may_be,omitempty"`
}

// The actions of rows.
const (
	RowAdd    = "add"
	RowUpdate = "update"
	RowSkip   = "skip"
)

// PersonReport is a person whom a row is, or may be.
type PersonReport struct {
	// ID is the id of a stored person; without one, OfRow is an earlier row of the file.
	ID    string `json:"id,omitempty"`
	OfRow int    `json:"of_row,omitempty"`
	// Name is empty if it is the row's name. Headline may be empty.
	Name     string `json:"name,omitempty"`
	Headline string `json:"headline,omitempty"`
	// Why says in a few words what they have in common.
	Why string `json:"why"`
}

// shownRows are the rows that a report shows.
type shownRows []RowReport

const (
	// maxShown is how many rows a report shows.
	maxShown = 50
	// maxMayBe is how many people it names whom a row may be.
	maxMayBe = 3
)

// add adds a row. If there are too many, a doubtful row replaces the last one that is not.
func (s *shownRows) add(r Row) {
	if r.Kind == RowFailed {
		return
	}
	if len(*s) == maxShown {
		at := maxShown - 1
		for at >= 0 && (*s)[at].doubtful() {
			at--
		}
		if at < 0 || r.Kind != RowDoubtful {
			return
		}
		*s = append((*s)[:at], (*s)[at+1:]...)
	}
	*s = append(*s, r.report())
}

// doubtful reports whether a row adds a person who may exist.
func (r *RowReport) doubtful() bool { return r.Action == RowAdd && len(r.MayBe) > 0 }

// report returns the row as reports show it.
func (r *Row) report() RowReport {
	out := RowReport{Row: r.Number, Name: r.Name, Action: RowSkip}
	switch {
	case r.Kind == RowNew, r.Kind == RowDoubtful:
		out.Action = RowAdd
	case r.Changes:
		out.Action = RowUpdate
	}
	known, matched := r.Known()
	if matched {
		out.Match = new(r.person(known))
	}
	for _, a := range r.Candidates {
		// The person of an earlier row may be among them.
		if len(out.MayBe) < maxMayBe && (!matched || known.Row == 0 && !a.same(known)) {
			out.MayBe = append(out.MayBe, r.person(a))
		}
	}
	return out
}

func (r *Row) person(a Candidate) PersonReport {
	p := PersonReport{ID: a.ID, OfRow: a.Row, Name: a.Name, Headline: a.About, Why: a.Why()}
	if p.Name == r.Name {
		p.Name = ""
	}
	return p
}

// MaxAsked is how many records of people are read for the member's approval of an import.
const MaxAsked = 500

// Asked is what the page on which a member approves an import shows of it: the report of a dry run of
// the first MaxAsked records of people. Partly is set if the file has more.
type Asked struct {
	Report

	Partly bool `json:"partly,omitempty"`
}

// ask tells the member, who may have to approve it, what an import that was just started would do.
func ask(ctx context.Context, tx *db.Tx, started *job.Job) error {
	p, err := paramsOf[Params](started)
	if err != nil || p.Options.DryRun {
		return err
	}
	f, err := GetFile(ctx, tx, p.FileID)
	if err != nil {
		return err
	}
	preview, err := newPreview(ctx, tx, f, p.Options, MaxAsked)
	if fault.Is(err, fault.Invalid) {
		return nil // the job says why a large file cannot be read
	}
	if err != nil {
		return err
	}
	asked := Asked{preview.Report, preview.Partly}
	var shown shownRows
	for _, r := range preview.Rows {
		shown.add(r)
	}
	asked.Rows = shown
	b, err := json.Marshal(asked)
	call.Show(ctx, b)
	return err
}
