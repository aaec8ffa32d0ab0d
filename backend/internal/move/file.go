package move

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// format is the version of the file's format. A file of a later one is refused.
const format = 1

// maxLine bounds a line, and so the memory that a file needs, in bytes. The longest lines are changes
// of thousands of people at once and photos.
const maxLine = 64 << 20

// header is the first line.
type header struct {
	Format int `json:"kith_account"`
	// Schema is the schema of the database that wrote the file (db.SchemaVersion).
	Schema   string    `json:"schema"`
	Member   tenant.ID `json:"member"`
	Username string    `json:"username"`
	// SecondFactor reports whether the member had one.
	SecondFactor bool      `json:"second_factor"`
	ExportedAt   time.Time `json:"exported_at"`
}

// line is any other line: a row, or the end.
type line struct {
	Table string                     `json:"table,omitempty"`
	Row   map[string]json.RawMessage `json:"row,omitempty"`
	End   *end                       `json:"end,omitempty"`
}

// end is the last line.
type end struct {
	Rows int `json:"rows"`
	// SHA256 is the digest of all lines before this one.
	SHA256 string `json:"sha256"`
}

// writer writes the lines of a file.
type writer struct {
	packed *gzip.Writer
	digest hash.Hash
	rows   int
}

func newWriter(out io.Writer) *writer {
	return &writer{packed: gzip.NewWriter(out), digest: sha256.New()}
}

// write writes a line.
func (w *writer) write(content any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text) // ends with a newline
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(content); err != nil {
		return fmt.Errorf("encode a line: %w", err)
	}
	if text.Len() > maxLine {
		return fmt.Errorf("a row takes %d bytes, and a line of the file has %d at most", text.Len(), maxLine)
	}
	_, _ = w.digest.Write(text.Bytes()) // never fails
	if _, err := w.packed.Write(text.Bytes()); err != nil {
		return fmt.Errorf("write the file: %w", err)
	}
	return nil
}

func (w *writer) writeRow(table string, row map[string]any) error {
	w.rows++
	return w.write(struct {
		Table string         `json:"table"`
		Row   map[string]any `json:"row"`
	}{table, row})
}

// close writes the last line.
func (w *writer) close() error {
	if err := w.write(line{End: &end{Rows: w.rows, SHA256: hex.EncodeToString(w.digest.Sum(nil))}}); err != nil {
		return err
	}
	if err := w.packed.Close(); err != nil {
		return fmt.Errorf("write the file: %w", err)
	}
	return nil
}

// broken returns the error of a file that is not as Export wrote it.
func broken(cause error) error {
	return fault.Wrap(cause, fault.Invalid, "the file is cut off or damaged: copy it again, or export the account again")
}

// reader reads the lines of a file.
type reader struct {
	lines  *bufio.Scanner
	digest hash.Hash
	rows   int
}

// newReader returns a reader of lines of at most longest bytes.
func newReader(in io.Reader, longest int) (*reader, error) {
	packed, err := gzip.NewReader(in)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "this is not a file from kith account export")
	}
	r := &reader{lines: bufio.NewScanner(packed), digest: sha256.New()}
	r.lines.Buffer(nil, longest+1)
	return r, nil
}

// next reads a line into a value, without counting it in the digest; it returns the text of the line.
func (r *reader) next(into any) ([]byte, error) {
	if !r.lines.Scan() {
		if r.lines.Err() == nil {
			return nil, broken(io.ErrUnexpectedEOF)
		}
		return nil, broken(r.lines.Err())
	}
	if err := json.Unmarshal(r.lines.Bytes(), into); err != nil {
		return nil, broken(err)
	}
	return r.lines.Bytes(), nil
}

func (r *reader) count(text []byte) {
	_, _ = r.digest.Write(text) // never fails
	_, _ = r.digest.Write([]byte{'\n'})
}

// readHeader reads the first line, and refuses what this version can't import into a database of its
// schema.
func (r *reader) readHeader(schema string) (h header, err error) {
	text, err := r.next(&h)
	if err != nil {
		return h, err
	}
	r.count(text)
	switch {
	case h.Format == 0:
		return h, fault.New(fault.Invalid, "this is not a file from kith account export")
	case h.Format > format:
		return h, fault.New(fault.Invalid, "the file was written by a newer kith (format %d, this one reads %d): upgrade this installation first", h.Format, format)
	case h.Schema > schema:
		return h, fault.New(fault.Invalid, "the file was written by a newer kith (schema %.30s, here it is %s): upgrade this installation first", h.Schema, schema)
	case h.Schema < schema:
		return h, fault.New(fault.Invalid, "the file was written by an older kith (schema %.30s, here it is %s): upgrade that installation to this version and export again", h.Schema, schema)
	default:
		return h, nil
	}
}

// readRow reads the next row. At the end of the file, whose digest it checks, it returns io.EOF.
func (r *reader) readRow() (line, error) {
	var l line
	text, err := r.next(&l)
	switch {
	case err != nil:
		return l, err
	case l.End == nil:
		r.rows++
		r.count(text)
		return l, nil
	case l.End.Rows != r.rows || l.End.SHA256 != hex.EncodeToString(r.digest.Sum(nil)):
		return l, broken(errors.New("the digest does not match"))
	case r.lines.Scan():
		return l, broken(errors.New("there are lines after the end"))
	case r.lines.Err() != nil: // the end of the compressed stream, with its checksum
		return l, broken(r.lines.Err())
	default:
		return l, io.EOF
	}
}
