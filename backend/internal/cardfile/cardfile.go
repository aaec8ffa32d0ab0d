package cardfile

import (
	"fmt"
	"io"
	"strings"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// The formats.
const (
	JSON      = "json"
	CSV       = "csv"
	VCard     = "vcard"
	JSContact = "jscontact"
)

// Person is a connection with all its lists and how others are related to them.
type Person struct {
	connection.Connection

	Relations []connection.Relation
}

// People is what to write out.
type People struct {
	People []Person
	// Notes and Interactions are about these people, Reminders about them or nobody,
	// Groups those they are in, and others; only JSON holds them.
	Notes        []timeline.Note
	Interactions []timeline.Interaction
	Reminders    []reminder.Reminder
	Groups       []organize.Group
	// Archived tells that archived people are among them, or would be.
	Archived bool
}

// Write returns the people in a format, and its media type.
func Write(format string, p People) (content, mediaType string, err error) {
	var b strings.Builder
	w, err := NewWriter(format, &b)
	if err != nil {
		return "", "", err
	}
	if err := w.Add(p); err != nil {
		return "", "", err
	}
	err = w.Close()
	return b.String(), mediaTypeOf(format), err
}

// Writer writes one document in a format, some people at a time.
type Writer interface {
	// Add writes people.
	Add(p People) error
	// Close writes what ends the document.
	Close() error
}

// NewWriter begins a document.
func NewWriter(format string, out io.Writer) (Writer, error) {
	switch format {
	case JSON:
		return NewDocument(out), nil
	case CSV:
		return newTable(out)
	case VCard:
		return vCards{out}, nil
	case JSContact:
		return newCardList(out), nil
	}
	return nil, fmt.Errorf("no such format: %q", format)
}

func mediaTypeOf(format string) string {
	return map[string]string{
		JSON: "application/json", CSV: "text/csv; charset=utf-8", VCard: "text/vcard", JSContact: "application/jscontact+json",
	}[format]
}
