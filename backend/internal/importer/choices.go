package importer

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
)

// The choices for one record.
const (
	// DoNew adds a new person, unless the file's key of the person is already known.
	DoNew = "new"
	// DoSame treats the record as a given person.
	DoSame = "same"
	// DoSkip leaves the record out.
	DoSkip = "skip"
)

// RowChoice is a member's choice for one record. The zero value means the rules of matching.
type RowChoice struct {
	// Do is DoNew, DoSame or DoSkip.
	Do string `json:"do"`
	// With DoSame, Person is the id of a stored person; if it is empty, Row is an earlier record
	// of the file.
	Person string `json:"person,omitempty"`
	Row    int    `json:"row,omitempty"`
}

// MaxRowChoices limits the choices for single records of one file.
const MaxRowChoices = 2000

// ParseRowChoice parses a text from String. It reports whether the text is valid; the empty text is
// the zero value.
func ParseRowChoice(s string) (RowChoice, bool) {
	do, of, _ := strings.Cut(s, ":")
	switch {
	case s == "", s == DoNew, s == DoSkip:
		return RowChoice{Do: s}, true
	case do != DoSame:
		return RowChoice{}, false
	case id.Valid(id.Connection, of):
		return RowChoice{Do: DoSame, Person: of}, true
	}
	row, err := strconv.Atoi(of)
	return RowChoice{Do: DoSame, Row: row}, err == nil && row > 0
}

func (c RowChoice) String() string {
	switch {
	case c.Person != "":
		return c.Do + ":" + c.Person
	case c.Row > 0:
		return fmt.Sprint(c.Do, ":", c.Row)
	}
	return c.Do
}

// For returns the choice of a matching or similar person.
func (c Candidate) For() RowChoice { return RowChoice{Do: DoSame, Person: c.ID, Row: c.Row} }

// OpenDraft reads a file for the page on which a member chooses the meaning of its columns. It fails
// with fault.Invalid if the file cannot be read.
func OpenDraft(f *File, o Options) (*source.File, error) {
	options := o.source(f.Name)
	options.Draft = true
	return source.Open(f.Content, options)
}

// Chosen returns the stored choices of a member for a file.
func (f *File) Chosen() (o Options, err error) {
	if f.Choices == "" {
		return o, nil
	}
	if err := json.Unmarshal([]byte(f.Choices), &o); err != nil {
		return o, fmt.Errorf("read the choices for file %s: %w", f.ID, err)
	}
	return o, nil
}

// Choose sets the choices of a member for a file, which are not stored by that.
func (f *File) Choose(o Options) error {
	choices, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode choices: %w", err)
	}
	f.Choices = string(choices)
	return nil
}

// GetUpload returns a file that waits for an import, or fails with fault.NotFound.
func GetUpload(ctx context.Context, q db.Reader, fileID string) (*File, error) {
	f, err := GetFile(ctx, q, fileID)
	if err == nil && f.ImportID != "" {
		err = fault.New(fault.NotFound, "the file %s is being imported", fileID)
	}
	return f, err
}

// UpdateChoices changes the stored choices for a file that waits for an import. It fails with
// fault.NotFound if there is no such file, and with fault.Invalid if there are too many choices for
// single records.
func UpdateChoices(ctx context.Context, t *db.Tenant, page, fileID string, change func(o *Options)) error {
	return t.Write(ctx, db.Actor{Tool: page}, func(ctx context.Context, tx *db.Tx) error {
		f := &File{}
		err := tx.From(f).ExcludeColumn("content").Where("id = ? AND import_id = ''", fileID).Scan(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			return fault.New(fault.NotFound, "there is no file %s", fileID)
		}
		if err != nil {
			return err
		}
		o, err := f.Chosen()
		if err != nil {
			return err
		}
		change(&o)
		if len(o.Rows) > MaxRowChoices {
			return fault.InvalidField("rows", "you can decide about %d rows of one file; split the file for more", MaxRowChoices)
		}
		if err := f.Choose(o); err != nil {
			return err
		}
		_, err = tx.NewRaw("UPDATE files SET choices = ? WHERE tenant_id = ? AND id = ?", f.Choices, tx.TenantID(), fileID).Exec(ctx)
		return err
	})
}

// ListAdded returns the ids of the people whom an import added and who still exist, in the order of
// their names: at most limit of them after skip, and their total number.
func ListAdded(ctx context.Context, q db.Reader, importID string, skip, limit int) (ids []string, total int, err error) {
	err = q.NewRaw(`SELECT c.id FROM connections c WHERE c.tenant_id = ?0 AND c.archived_at IS NULL AND c.merged_into IS NULL
AND c.id IN (SELECT s.connection_id FROM source_keys s WHERE s.tenant_id = ?0 AND s.import_id = ?1) ORDER BY c.folded_name, c.id`, q.TenantID(), importID).Scan(ctx, &ids)
	total = len(ids)
	return slices.Clip(ids[min(skip, total):min(skip+limit, total)]), total, err
}
