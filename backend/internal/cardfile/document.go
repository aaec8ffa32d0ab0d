package cardfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// DocumentWriter writes a Document. Notes and interactions come after all people,
// so those are held until Close; what is added twice is in it once.
type DocumentWriter struct {
	out                         *counted
	people, notes, interactions jsonList
	held                        [2]bytes.Buffer
	heldIDs                     map[string]bool
	begun                       bool
}

// NewDocument begins a document.
func NewDocument(out io.Writer) *DocumentWriter {
	d := &DocumentWriter{out: &counted{Writer: out}, heldIDs: map[string]bool{}}
	d.people = jsonList{out: d.out, depth: inDocument}
	d.notes = jsonList{out: &d.held[0], depth: inDocument}
	d.interactions = jsonList{out: &d.held[1], depth: inDocument}
	return d
}

// inDocument is how deep the elements of a document's lists are.
const inDocument = 2

// Size is how large the document is by now, in bytes.
func (d *DocumentWriter) Size() int { return d.out.n + d.held[0].Len() + d.held[1].Len() }

// Add implements Writer.
func (d *DocumentWriter) Add(p People) error {
	if err := d.begin(); err != nil {
		return err
	}
	for i := range p.People {
		if err := d.people.add(recordOf(&p.People[i])); err != nil {
			return err
		}
	}
	for i := range p.Notes {
		if n := &p.Notes[i]; d.first(n.ID) {
			if err := d.notes.add(NewNoteRecord(n)); err != nil {
				return err
			}
		}
	}
	for i := range p.Interactions {
		if met := &p.Interactions[i]; d.first(met.ID) {
			if err := d.interactions.add(NewInteractionRecord(met)); err != nil {
				return err
			}
		}
	}
	return nil
}

// first tells whether an id comes for the first time.
func (d *DocumentWriter) first(id string) bool {
	known := d.heldIDs[id]
	d.heldIDs[id] = true
	return !known
}

func (d *DocumentWriter) begin() error {
	if d.begun {
		return nil
	}
	d.begun = true
	_, err := fmt.Fprintf(d.out, "{\n \"format\": %q,\n \"people\": ", Format)
	return err
}

// Close implements Writer.
func (d *DocumentWriter) Close() error {
	return errors.Join(
		d.begin(), d.people.end(",\n \"notes\": "),
		d.notes.end(",\n \"interactions\": "), d.interactions.end("\n}\n"),
		d.move(&d.held[0]), d.move(&d.held[1]),
	)
}

func (d *DocumentWriter) move(b *bytes.Buffer) error {
	_, err := b.WriteTo(d.out)
	return err
}

// counted counts what is written.
type counted struct {
	io.Writer

	n int
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += n
	return n, err
}

// jsonList writes a list, an element at a time, and indents it as if it were
// written at once.
type jsonList struct {
	out io.Writer
	// depth is how deep its elements are.
	depth int
	some  bool
}

func (l *jsonList) add(v any) error {
	before := "[\n"
	if l.some {
		before = ",\n"
	}
	l.some = true
	indent := strings.Repeat(" ", l.depth)
	b := bytes.NewBufferString(before + indent)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.SetIndent(indent, " ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := l.out.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return err
}

// end writes the end of the list, and what comes after it.
func (l *jsonList) end(after string) error {
	last := "[]"
	if l.some {
		last = "\n" + strings.Repeat(" ", l.depth-1) + "]"
	}
	_, err := io.WriteString(l.out, last+after)
	return err
}
