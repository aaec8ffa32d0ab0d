package cardfile

import (
	"fmt"

	"github.com/kith-crm/kith/backend/internal/connection"
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
	// Notes and Interactions are about these people; only JSON holds them.
	Notes        []timeline.Note
	Interactions []timeline.Interaction
}

// Write returns the people in a format, and its media type.
func Write(format string, p People) (content, mediaType string, err error) {
	switch format {
	case JSON:
		content, err = writeJSON(p)
		return content, "application/json", err
	case CSV:
		content, err = writeCSV(p.People)
		return content, "text/csv; charset=utf-8", err
	case VCard:
		return writeVCards(p.People), "text/vcard", nil
	case JSContact:
		content, err = writeJSContact(p.People)
		return content, "application/jscontact+json", err
	}
	return "", "", fmt.Errorf("no such format: %q", format)
}
