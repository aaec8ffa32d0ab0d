package dav

import (
	"bytes"
	"compress/flate"
	"context"
	"io"
	"slices"
	"sync"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// deviceCard is the card of a person that a device last got or sent: see ADR 57.
type deviceCard struct {
	bun.BaseModel `bun:"table:device_cards,alias:given"`

	TenantID     tenant.ID `bun:",pk"`
	ConnectionID string    `bun:",pk"`
	DeviceID     string    `bun:",pk"`
	// ETag is that of the card that the device got; empty for one that it sent.
	ETag string `bun:"etag"`
	// Photo is the id of its photo; empty for none. Card has the other properties, compressed.
	Photo string
	Card  []byte
}

// usualLines begin the dictionary of the compression: what almost every card has. Stored cards are read with the same text, so it
// never changes.
const usualLines = "BEGIN:VCARD\r\nVERSION:3.0\r\nPRODID:-//Kith//Kith//EN\r\nUID:6b697468-0000-8000-8\r\nFN:\r\nN:\r\nitem1.X-ABLabel:\r\nADR;TYPE=home:;;\r\n" +
	"ADR;TYPE=work:;;\r\nURL:https://\r\nCATEGORIES:\r\nTITLE:\r\nORG:\r\nBDAY:19\r\nNOTE:\r\nTEL;TYPE=cell:+\r\nTEL;TYPE=work:+\r\nTEL;TYPE=pref:+\r\nEMAIL;TYPE=work:\r\nEMAIL;TYPE=pref:\r\nEND:VCARD\r\n"

var compressors = sync.Pool{New: func() any {
	w, _ := flate.NewWriterDict(nil, flate.BestSpeed, []byte(usualLines)) // fails for a level that does not exist
	return w
}}

func compress(card string) []byte {
	w, _ := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	var b bytes.Buffer
	w.Reset(&b)
	_, _ = io.WriteString(w, card) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// text returns the card.
func (c *deviceCard) text() (string, error) { return expand(c.Card) }

func expand(compressed []byte) (string, error) {
	card, err := io.ReadAll(flate.NewReaderDict(bytes.NewReader(compressed), []byte(usualLines)))
	return string(card), err
}

// give notes that the device gets a card.
func (v *request) give(c *card) {
	if !v.mayWrite() {
		return // it sends none back
	}
	if c.group != nil {
		v.givenGroups = append(v.givenGroups, deviceGroup{
			TenantID: v.who.Tenant, DeviceID: v.who.Credential.ID, GroupID: c.ID, ETag: c.etag(), Card: compress(c.text(true)),
		})
		return
	}
	v.given = append(v.given, deviceCard{
		TenantID: v.who.Tenant, DeviceID: v.who.Credential.ID, ConnectionID: c.ID, ETag: c.etag(), Photo: c.person.Photo, Card: compress(c.plain()),
	})
}

// plain returns the card of version 3.0 without its photo.
func (c *card) plain() string {
	plain := c.person
	plain.Picture.Data = nil
	return export.Card(&plain, true)
}

// keepGiven stores the cards that the device got, once they are sent: an answer that is lost changes nothing. It writes nothing if the
// device had all of them.
func (v *request) keepGiven() error {
	const part = 500
	v.ctx = db.WithoutQuota(v.ctx)
	if len(v.givenGroups) > 0 {
		if err := v.keepGroups(); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(v.given, part) {
		ids := make([]string, len(some))
		for i, c := range some {
			ids[i] = c.ConnectionID
		}
		var held []deviceCard
		err := v.data.From(&held).Column("connection_id", "etag").Where("device_id = ? AND connection_id IN (?)", v.who.Credential.ID, bun.List(ids)).Scan(v.ctx)
		if err != nil {
			return err
		}
		etags := make(map[string]string, len(held))
		for _, h := range held {
			etags[h.ConnectionID] = h.ETag
		}
		some = slices.DeleteFunc(some, func(c deviceCard) bool { return etags[c.ConnectionID] == c.ETag })
		if len(some) == 0 {
			continue
		}
		err = v.write(func(ctx context.Context, tx *db.Tx) error { return putGiven(ctx, tx, some) })
		if err != nil {
			return err
		}
	}
	return nil
}

// putGiven stores cards of people who are on file.
func putGiven(ctx context.Context, tx *db.Tx, cards []deviceCard) error {
	ids := make([]string, len(cards))
	for i, c := range cards {
		ids[i] = c.ConnectionID
	}
	var there []string
	err := tx.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND id IN (?)", tx.TenantID(), bun.List(ids)).Scan(ctx, &there)
	if err != nil {
		return err
	}
	cards = slices.DeleteFunc(slices.Clone(cards), func(c deviceCard) bool { return !slices.Contains(there, c.ConnectionID) })
	if len(cards) == 0 {
		return nil
	}
	_, err = tx.NewInsert().Model(&cards).On("CONFLICT (tenant_id, connection_id, device_id) DO UPDATE").
		Set("etag = EXCLUDED.etag, photo = EXCLUDED.photo, card = EXCLUDED.card").Exec(ctx)
	return err
}

// lastGiven returns the card of a person that the device last got or sent; nil if it is unknown.
func (v *request) lastGiven(ctx context.Context, tx *db.Tx, connectionID string) (*deviceCard, error) {
	var held []deviceCard
	err := tx.From(&held).Where("device_id = ? AND connection_id = ?", v.who.Credential.ID, connectionID).Scan(ctx)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	return &held[0], nil
}

// putSent stores the card that the device sent: it has this one until it reads the stored one. photo is nil for none, and for one that
// is not stored.
func (v *request) putSent(ctx context.Context, tx *db.Tx, connectionID string, photo *photos.Photo) error {
	card := keepLines(string(v.body), func(property string) bool { return property != "PHOTO" })
	sent := deviceCard{TenantID: v.who.Tenant, DeviceID: v.who.Credential.ID, ConnectionID: connectionID, Card: compress(card)}
	if photo != nil {
		sent.Photo = photo.ID
	}
	return putGiven(ctx, tx, []deviceCard{sent})
}
