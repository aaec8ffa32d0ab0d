package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// DocumentWriter writes a Document. The other lists come after all people, so they are
// kept in memory until Close. An object that is added twice is written once.
type DocumentWriter struct {
	out    *counted
	people jsonList
	// held are the lists that come after people, in their order.
	held    []heldList
	heldIDs map[string]bool
	begun   bool
}

// heldList is a list that is kept in memory until Close.
type heldList struct {
	name string
	jsonList
	*bytes.Buffer
}

// The lists that come after people.
const (
	notesList = iota
	interactionsList
	remindersList
	groupsList
)

// NewDocument begins a document.
func NewDocument(out io.Writer) *DocumentWriter {
	d := &DocumentWriter{out: &counted{Writer: out}, heldIDs: map[string]bool{}}
	d.people = jsonList{out: d.out, depth: inDocument}
	for _, name := range []string{notesList: "notes", interactionsList: "interactions", remindersList: "reminders", groupsList: "groups"} {
		b := &bytes.Buffer{}
		d.held = append(d.held, heldList{name: name, jsonList: jsonList{out: b, depth: inDocument}, Buffer: b})
	}
	return d
}

// inDocument is the nesting depth of the elements of a document's lists.
const inDocument = 2

// Size returns the size of the document so far, in bytes.
func (d *DocumentWriter) Size() int {
	size := d.out.n
	for _, list := range d.held {
		size += list.Len()
	}
	return size
}

// Add implements Writer.
func (d *DocumentWriter) Add(p People) error {
	if err := d.begin(p); err != nil {
		return err
	}
	for i := range p.People {
		if err := d.people.add(recordOf(&p.People[i])); err != nil {
			return err
		}
	}
	var errs []error
	for i := range p.Notes {
		errs = append(errs, d.hold(notesList, p.Notes[i].ID, newNoteRecord(&p.Notes[i])))
	}
	for i := range p.Interactions {
		errs = append(errs, d.hold(interactionsList, p.Interactions[i].ID, newInteractionRecord(&p.Interactions[i])))
	}
	for i := range p.Reminders {
		errs = append(errs, d.hold(remindersList, p.Reminders[i].ID, newReminderRecord(&p.Reminders[i])))
	}
	for _, g := range p.Groups {
		errs = append(errs, d.hold(groupsList, g.ID, GroupRecord{Name: g.Name, Description: g.Description, CadenceDays: g.CadenceDays}))
	}
	return errors.Join(errs...)
}

// hold adds an object to a list that comes after people, unless it is already there.
func (d *DocumentWriter) hold(list int, id string, record any) error {
	if d.heldIDs[id] {
		return nil
	}
	d.heldIDs[id] = true
	return d.held[list].add(record)
}

func (d *DocumentWriter) begin(p People) error {
	if d.begun {
		return nil
	}
	d.begun = true
	if _, err := fmt.Fprintf(d.out, "{\n \"format\": %q,\n \"left_out\": ", Format); err != nil {
		return err
	}
	missing := jsonList{out: d.out, depth: inDocument}
	for _, what := range leftOut(p.Archived, p.Photos) {
		if err := missing.add(what); err != nil {
			return err
		}
	}
	return missing.end(",\n \"people\": ")
}

// Close implements Writer.
func (d *DocumentWriter) Close() error {
	errs := []error{d.begin(People{Archived: true, Photos: true}), d.people.end("")}
	for _, list := range d.held {
		_, err := fmt.Fprintf(d.out, ",\n %q: ", list.name)
		errs = append(errs, err, list.end(""))
		_, err = list.WriteTo(d.out)
		errs = append(errs, err)
	}
	_, err := io.WriteString(d.out, "\n}\n")
	return errors.Join(append(errs, err)...)
}

// counted is a writer that counts bytes.
type counted struct {
	io.Writer

	n int
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += n
	return n, err
}

// jsonList writes a JSON array element by element, indented as json.Encoder would.
type jsonList struct {
	out io.Writer
	// depth is the nesting depth of its elements.
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

// end writes the end of the list, and the text after it.
func (l *jsonList) end(after string) error {
	last := "[]"
	if l.some {
		last = "\n" + strings.Repeat(" ", l.depth-1) + "]"
	}
	_, err := io.WriteString(l.out, last+after)
	return err
}
