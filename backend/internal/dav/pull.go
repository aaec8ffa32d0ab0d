package dav

import (
	"context"
	"errors"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// Pulled is the card of a person that was read from an address book elsewhere.
type Pulled struct {
	Text string
	Card *importer.Card
	// ConnectionID is whose card it is; empty for somebody new.
	ConnectionID string
	// Base is the card that the address book had before, as Pack returns it, and BasePhoto the id of its photo; empty if there was none.
	Base      []byte
	BasePhoto string
}

// Taken says what became of a card.
type Taken struct {
	ConnectionID string
	// Changed is set if the person was changed, Waits if something of the card waits for the member's decision.
	Changed, Waits bool
}

// ReadPulled reads a card with its photo. It fails with fault.Invalid as importer.ReadCard does.
func ReadPulled(ctx context.Context, who *tenant.Principal, text string, photo bool) (*importer.Card, error) {
	return readCard(ctx, who, text, photo)
}

// Pack returns a card without its photo, compressed.
func Pack(text string) []byte {
	return compress(keepLines(text, func(property string) bool { return property != "PHOTO" }))
}

// FindPerson returns the person of a card: the one whose card has its UID, or else the one whom an import would find. It is empty for somebody new.
func FindPerson(ctx context.Context, q db.Reader, c *importer.Card) (string, error) {
	if c.UID != "" {
		for _, uid := range []string{c.UID, "urn:uuid:" + c.UID} {
			name, err := withUID(ctx, q, uid)
			if err != nil {
				return "", err
			}
			if name != "" {
				found, err := find(ctx, q, name)
				if person := found[name].ID; err != nil || !isGroup(person) {
					return person, err
				}
			}
		}
	}
	return importer.FindCard(ctx, q, c)
}

// Take adds the person of a card that was read from an address book elsewhere, or merges the card into the person on file: what differs from
// the card that the address book had before is changed. A value that was changed here too stays, and the card's value becomes a proposal. A
// card without a photo removes none. The changes are recorded as those of the credential of who.
// It fails with fault.Invalid for a card that a person can't have, and if too many proposals wait.
func Take(ctx context.Context, tx *db.Tx, who *tenant.Principal, p Pulled) (t Taken, err error) {
	if t.ConnectionID = p.ConnectionID; p.ConnectionID == "" {
		t.ConnectionID, err = addPulled(ctx, tx, p.Card)
		return t, err
	}
	persons, err := export.ReadPeople(ctx, tx, []string{p.ConnectionID}, false)
	if err != nil || len(persons) != 1 {
		return t, errors.Join(err, fault.New(fault.Invalid, "the person is not on file any more"))
	}
	c := &card{entry: entry{ID: p.ConnectionID}, person: persons[0]}
	now, err := readCard(ctx, who, c.plain(), false)
	if err != nil {
		return t, err
	}
	now.Card.Photo = c.person.Photo
	base, text := &importer.Card{}, ""
	if len(p.Base) > 0 {
		if text, err = expand(p.Base); err == nil {
			base, err = readCard(ctx, who, text, false)
		}
		if err != nil {
			return t, err
		}
	}
	base.Card.Photo = p.BasePhoto
	if p.Card.Card.Photo == "" {
		p.Card.Card.Photo = base.Card.Photo
	}
	changed, conflicts, err := revise(ctx, tx, people.Revision{Base: &base.Card, Sent: &p.Card.Card, Now: &now.Card}, p.ConnectionID, p.Card, base)
	if t.Changed = changed; err != nil || len(conflicts) == 0 {
		return t, err
	}
	t.Waits = true
	err = propose(ctx, tx, &Proposal{
		TenantID: who.Tenant, ID: id.New(id.Proposal), ConnectionID: p.ConnectionID, DeviceID: who.Credential.ID, DeviceName: who.Credential.Name,
		Card: p.Text, Photo: p.Card.Card.Photo, Base: text, BasePhoto: p.BasePhoto, Fields: strings.Join(conflicts, "\n"), State: Waiting,
	})
	if refused, ok := errors.AsType[*refusal](err); ok {
		err = fault.Wrap(refused, fault.Invalid, "%s", refused.text)
	}
	return t, err
}

// addPulled adds the person of a card, who keeps its UID for the devices of the member.
func addPulled(ctx context.Context, tx *db.Tx, c *importer.Card) (string, error) {
	person, err := addPerson(ctx, tx, c)
	if err != nil {
		return "", err
	}
	if c.UID != "" && len(c.UID) <= maxName && personOf(c.UID) == "" {
		row := cardRow{TenantID: tx.TenantID(), Name: uidOf(person) + ending, ConnectionID: person, UID: c.UID}
		if _, err := tx.NewInsert().Model(&row).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
			return "", err
		}
	}
	return person, addNotes(ctx, tx, person, c.Notes)
}

// LivePeople returns the people who are on file now for some ids, by these: somebody who was merged is the other one. Who is archived or deleted
// is left out.
func LivePeople(ctx context.Context, q db.Reader, ids []string) (map[string]string, error) {
	live := map[string]string{}
	var rows []struct{ ID, Live string }
	err := q.NewRaw(`SELECT c.id, coalesce(m.id, c.id) AS live FROM connections c LEFT JOIN connections m ON m.tenant_id = c.tenant_id AND m.id = c.merged_into
WHERE c.tenant_id = ? AND c.id IN (?) AND (m.id IS NULL AND c.archived_at IS NULL OR m.id IS NOT NULL AND m.archived_at IS NULL)`, q.TenantID(), bun.List(ids)).Scan(ctx, &rows)
	for _, r := range rows {
		live[r.ID] = r.Live
	}
	return live, err
}
