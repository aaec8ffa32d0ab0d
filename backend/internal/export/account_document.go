package export

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/views"
)

// lists are the lists after the head, in the order of Data.Export.
func lists() []string {
	return []string{"connections", "organizations", "groups", "relationships", "distinct_pairs", "reminders", "notes", "interactions", "saved_views", "changes"}
}

// document writes one JSON object, list by list. After an error it writes nothing more.
type document struct {
	out  io.Writer
	list int // index of the open list
	some bool
	err  error
}

func (w *document) text(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.out, s)
	}
}

func (w *document) value(v any) {
	if w.err != nil {
		return
	}
	data, err := json.Marshal(v)
	if w.err = err; err == nil {
		_, w.err = w.out.Write(data)
	}
}

// begin writes the head and opens the first list.
func (w *document) begin(head []named) {
	w.text("{")
	for _, part := range head {
		w.value(part.name)
		w.text(":")
		w.value(part.value)
		w.text(",\n")
	}
	w.open()
}

func (w *document) open() {
	w.value(lists()[w.list])
	w.text(":[")
	w.some = false
}

// object writes one object into its list, and closes the lists before it. It fails for an
// object of a list that is already closed.
func (w *document) object(object any) error {
	list, shape := shapeOf(object)
	at := slices.Index(lists(), list)
	if at < w.list {
		return fmt.Errorf("export: %T comes out of order", object)
	}
	w.advance(at)
	if w.some {
		w.text(",")
	}
	w.some = true
	w.text("\n")
	w.value(shape)
	return w.err
}

// end closes the document.
func (w *document) end() error {
	w.advance(len(lists()) - 1)
	w.text("\n],\n\"complete\":true}\n")
	return w.err
}

// advance closes and opens lists until the one at an index is open.
func (w *document) advance(to int) {
	for w.list < to {
		w.text("\n],\n")
		w.list++
		w.open()
	}
}

// shapeOf returns the list that an object belongs to and its record.
func shapeOf(object any) (list string, shape any) {
	switch o := object.(type) {
	case *people.Connection:
		return "connections", newPersonRecord(o)
	case *people.Organization:
		return "organizations", organizationShape{o.ID, o.Name, o.Domain, o.CreatedAt}
	case *groups.Group:
		return "groups", GroupRecord{
			ID: o.ID, Name: o.Name, Description: o.Description, CadenceDays: o.CadenceDays, CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt,
		}
	case *people.Relationship:
		return "relationships", relationshipShape{o.ID, o.FromID, o.ToID, o.Type, o.CreatedAt}
	case *people.DistinctPair:
		return "distinct_pairs", distinctPairShape{o.ID, o.FirstID, o.SecondID, o.SaidBy, o.CreatedAt}
	case *reminders.Reminder:
		return "reminders", newReminderRecord(o)
	case *timeline.Note:
		return "notes", newNoteRecord(o)
	case *timeline.Interaction:
		return "interactions", newInteractionRecord(o)
	case *views.View:
		return "saved_views", viewShape{o.ID, o.Name, o.Query, o.CreatedAt, o.UpdatedAt}
	case *history.Change:
		return "changes", changeShape{
			o.ID, o.CredentialID, o.CredentialName, o.Tool, o.Summary, o.Effects, o.UndoneBy, o.Undoes, o.CreatedAt,
		}
	}
	return "", nil
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
