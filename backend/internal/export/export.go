package export

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// The formats.
const (
	JSON      = "json"
	CSV       = "csv"
	VCard     = "vcard"
	JSContact = "jscontact"
)

// Person is a connection with all its lists and its relationships.
type Person struct {
	people.Connection

	Relations []people.Relation
	// NotSameAs are the ids of people who are not the same as this one, as the member said. Only
	// JSON has them.
	NotSameAs []string
	// Picture is the person's photo in its largest size; without data if there is none. Only
	// JSON and vCard hold it.
	Picture photos.Image
}

// People is the input of a Writer.
type People struct {
	People []Person
	// Notes and Interactions are about these people, Reminders about them or about no
	// connection. Groups may have other people, or none. Only JSON holds these lists.
	Notes        []timeline.Note
	Interactions []timeline.Interaction
	Reminders    []reminders.Reminder
	Groups       []groups.Group
	// Zone is the member's time zone, in which CSV has its days; nil is UTC.
	Zone *time.Location
	// Archived says that archived people are included, Photos that photos are.
	Archived, Photos bool
}

// Write returns the people as a document of a format, and its media type. It fails for an
// unknown format.
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

// Writer writes one document of a format, page by page.
type Writer interface {
	// Add writes a page.
	Add(p People) error
	// Close writes the end of the document.
	Close() error
}

// NewWriter begins a document of a format. It fails for an unknown format.
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
