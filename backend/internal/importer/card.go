package importer

import (
	"context"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos"
)

// Card is a vCard of one person.
type Card struct {
	people.Card

	// UID is the card's, without urn:uuid:; empty for none.
	UID string
	// Photo is the photo in the card, whose id Card.Photo is; nil for none.
	Photo *photos.Photo
	// Notes are texts and values that no field of a person takes.
	Notes []string

	entry *entry
}

// ReadCard reads the vCard of one person, as an import of a file does. It fails with fault.Invalid if the text is not exactly one card,
// if the card is of a group, or if a person can't have the values. With photo it reads the photo; one that cannot be read is left out, and Notes
// say why.
func ReadCard(ctx context.Context, text []byte, o Options, photo bool) (*Card, error) {
	o.Format = source.VCard
	f, err := Open(text, "", o)
	if err != nil {
		return nil, err
	}
	if f.Total() != 1 {
		return nil, fault.New(fault.Invalid, "send one vCard of a person, not %d", f.Total())
	}
	r := newReader(f.Format, o)
	for rec := range f.Records() {
		e := r.entry(&rec)
		if e.Err != nil {
			return nil, e.Err
		}
		c := &Card{UID: strings.TrimSpace(rec.Person.ID), Notes: rec.Notes, entry: e}
		if photo {
			if err := readPhotos(ctx, []*entry{e}); err != nil {
				return nil, err
			}
			c.Photo = e.photo
			if e.photo == nil && rec.Person.Photo != "" {
				c.Notes = append(c.Notes, "Of the card, "+e.Warnings[len(e.Warnings)-1]+".")
			}
		}
		c.Connection = *e.connection
		for _, other := range rec.Person.Relationships {
			c.Names = append(c.Names, people.Relation{Name: other.Name, Type: other.Type, Label: other.Label})
		}
		return c, nil
	}
	return nil, fault.New(fault.Invalid, "the vCard has no person")
}

// FindCard returns the person whom an import would take for the one of a card that ReadCard returned; empty for somebody new.
func FindCard(ctx context.Context, q db.Reader, c *Card) (string, error) {
	found, err := FindPeople(ctx, q, wanted([]*entry{c.entry}, "", false))
	if err != nil {
		return "", err
	}
	return found.find(c.entry, nil).id, nil
}
