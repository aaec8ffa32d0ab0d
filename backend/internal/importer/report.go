package importer

import (
	"fmt"
	"slices"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Bounds of a report.
const (
	maxErrors   = 50
	maxWarnings = 50
	maxMessage  = 300 // characters
)

// Report is the result of an import: Created, Updated, Skipped and Failed sum up
// to Total.
type Report struct {
	Total   int `json:"total"`
	Created int `json:"created"`
	Updated int `json:"updated"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
	// Errors are those of the first rows that failed.
	Errors   []RowError `json:"errors"`
	Format   string     `json:"format"`
	Charset  string     `json:"charset"`
	Warnings []string   `json:"warnings"`
	ImportID string     `json:"import_id"`
	DryRun   bool       `json:"dry_run"`
}

// RowError says what is wrong with a row.
type RowError struct {
	Row     int    `json:"row"`
	Message string `json:"message"`
}

// outcome is what became of a record.
type outcome int

const (
	created outcome = iota
	updated
	skipped
	failed
)

// count counts a record.
func (r *Report) count(o outcome) {
	r.Total++
	switch o {
	case created:
		r.Created++
	case updated:
		r.Updated++
	case skipped:
		r.Skipped++
	case failed:
		r.Failed++
	}
}

// fail counts a record that cannot be imported.
func (r *Report) fail(row int, err error) {
	r.count(failed)
	if len(r.Errors) < maxErrors {
		r.Errors = append(r.Errors, RowError{Row: row, Message: text.Truncate(err.Error(), maxMessage)})
	}
}

// warn adds a warning unless it was given, or there are too many.
func (r *Report) warn(format string, args ...any) {
	if len(r.Warnings) >= maxWarnings {
		return
	}
	warning := text.Truncate(fmt.Sprintf(format, args...), maxMessage)
	if !slices.Contains(r.Warnings, warning) {
		r.Warnings = append(r.Warnings, warning)
	}
}

// clone returns a report that shares no list with r, so that a step that is rolled
// back leaves none of its words behind.
func (r *Report) clone() Report {
	out := *r
	out.Errors, out.Warnings = slices.Clip(r.Errors), slices.Clip(r.Warnings)
	return out
}
