package dav

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/content"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// maxName bounds the name and the UID of a card, in bytes.
const maxName = 255

// get answers with a card.
func (v *request) get() error {
	if v.to.kind != cardKind {
		return &refusal{status: http.StatusMethodNotAllowed, text: "This is an address book. Open it with a program for contacts, not in a browser."}
	}
	c, err := load(v.ctx, v.data, v.to.name, true)
	if err != nil {
		return err
	}
	if c == nil {
		return errNotFound
	}
	h := v.w.Header()
	h.Set("ETag", c.etag())
	if c.group == nil {
		h.Set("Last-Modified", c.person.UpdatedAt.UTC().Format(http.TimeFormat))
	}
	if tagIn(v.r.Header.Get("If-None-Match"), c.etag()) {
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	d := addressData{v4: strings.Contains(strings.ReplaceAll(v.r.Header.Get("Accept"), " ", ""), "version=4.0")}
	h.Set("Content-Type", "text/vcard; charset=utf-8")
	if v.r.Method == http.MethodGet {
		if _, err = io.WriteString(v.w, d.text(c)); err == nil {
			v.give(c)
		}
	}
	return err
}

// load returns the card with a name; nil if there is none.
func load(ctx context.Context, q db.Reader, name string, photos bool) (c *card, err error) {
	found, err := find(ctx, q, name)
	if e, ok := found[name]; ok && err == nil {
		err = read(ctx, q, []entry{e}, photos, func(one *card) error {
			c = one
			return nil
		})
	}
	return c, err
}

// tagIn reports whether a list of entity tags has one; * has all.
func tagIn(list, etag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == "*" || one == etag || one == strings.Trim(etag, `"`) {
			return true
		}
	}
	return false
}

// checkConditions fails with 412 if the headers about entity tags don't allow to write a card; c is nil for one that does not exist.
func (v *request) checkConditions(c *card) error {
	match, none := v.r.Header.Get("If-Match"), v.r.Header.Get("If-None-Match")
	switch {
	case match != "" && (c == nil || !tagIn(match, c.etag())):
		return &refusal{status: http.StatusPreconditionFailed, text: "The card has changed or was deleted since the device read it."}
	case none != "" && c != nil && tagIn(none, c.etag()):
		return &refusal{status: http.StatusPreconditionFailed, text: "There is a card at this address already."}
	}
	return nil
}

// put adds a card or changes one.
func (v *request) put() error {
	if v.to.kind != cardKind {
		return &refusal{status: http.StatusMethodNotAllowed, text: "Only cards are written here, in the address book."}
	}
	if !v.mayWrite() {
		return v.write(nil)
	}
	v.body = bytes.ReplaceAll(v.body, []byte{0}, nil) // no text has NUL, and the database takes none
	lines, err := v.checkCard()
	if err != nil {
		return err
	}
	uid, photo := valueOf(lines, "UID"), valueOf(lines, "PHOTO") != ""
	if len(uid) > maxName {
		return invalidCard(fmt.Errorf("the UID has more than %d bytes", maxName))
	}
	if isGroupCard(lines) {
		return v.putGroup(uid, groupOf(lines))
	}
	sent, err := v.readCard(v.body, true)
	if err != nil {
		return err
	}
	created := false
	var refused error
	err = v.write(func(ctx context.Context, tx *db.Tx) error {
		c, err := load(ctx, tx, v.to.name, false)
		if err != nil {
			return err
		}
		target := c
		if refused = v.checkConditions(c); refused == nil {
			target, refused, err = v.checkUID(ctx, tx, c, uid)
		}
		if err != nil {
			return err
		}
		if target != nil && target.group != nil {
			return invalidCard(errors.New("there is the card of a group at this address, or with this UID"))
		}
		if photo {
			checkPhoto(tx, target, sent)
		}
		if refused != nil { // the device may drop what it sent
			return v.keepRefused(ctx, tx, target, sent, uid)
		}
		if created = c == nil; created {
			return v.add(ctx, tx, sent, uid)
		}
		return v.change(ctx, tx, c, sent)
	})
	if err = cmp.Or(err, refused); err != nil {
		return err
	}
	// The answer has no ETag, because the stored card may differ from the one that was sent (RFC 6352, section 6.3.2.3). So the
	// device reads it again.
	v.w.WriteHeader(map[bool]int{true: http.StatusCreated, false: http.StatusNoContent}[created])
	return nil
}

// checkCard fails unless the headers, the path and the content lines of a PUT are valid. It returns the lines.
func (v *request) checkCard() ([]content.Line, error) {
	if media := v.r.Header.Get("Content-Type"); media != "" {
		media, _, err := mime.ParseMediaType(media)
		if err != nil || !slices.Contains([]string{"text/vcard", "text/x-vcard", "text/directory"}, media) {
			return nil, refuse(http.StatusUnsupportedMediaType, spaceCardDAV, "supported-address-data", "Send a card as text/vcard.")
		}
	}
	if v.r.Header.Get("Content-Encoding") != "" {
		return nil, &refusal{status: http.StatusUnsupportedMediaType, text: "Send the card without a content encoding."}
	}
	if name := v.to.name; len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, &refusal{status: http.StatusForbidden, text: "The last part of the address has 255 bytes of text at most."}
	}
	lines, err := content.Parse(string(v.body))
	if err != nil {
		return nil, invalidCard(err)
	}
	return lines, nil
}

// valueOf returns the last value of a property that has one.
func valueOf(lines []content.Line, property string) (value string) {
	for _, l := range lines {
		if strings.EqualFold(l.Name, property) && l.Value != "" {
			value = strings.TrimSpace(content.Unescape(l.Value))
		}
	}
	return value
}

// invalidCard refuses a card that cannot be stored.
func invalidCard(err error) error {
	return refuse(http.StatusForbidden, spaceCardDAV, "valid-address-data", "The card cannot be stored: "+err.Error()+".")
}

// readCard reads a card as an import does.
func (v *request) readCard(text []byte, photo bool) (*importer.Card, error) {
	c, err := readCard(v.ctx, v.who, string(text), photo)
	if fault.Is(err, fault.Invalid) {
		err = invalidCard(err)
	}
	return c, err
}

func readCard(ctx context.Context, who *tenant.Principal, text string, photo bool) (*importer.Card, error) {
	c, err := importer.ReadCard(ctx, []byte(text), importer.Options{Locale: who.Locale, Owner: who.DisplayName}, photo)
	if err == nil {
		c.Source = people.SourceManual // somebody typed it into the device
	}
	return c, err
}

// checkUID refuses with no-uid-conflict if another card has the UID, which it returns, or if the card has another one.
func (v *request) checkUID(ctx context.Context, tx *db.Tx, c *card, uid string) (other *card, refused, err error) {
	if uid == "" {
		return c, nil, nil
	}
	conflict := func(name string) error {
		return &refusal{
			status: http.StatusConflict, condition: tag(cardName("no-uid-conflict"), tag(davName("href"), escapeXML(v.href(resource{kind: cardKind, name: name})))),
			text: "Another card has this UID, or this card has another UID.",
		}
	}
	name, err := withUID(ctx, tx, uid)
	switch {
	case err != nil:
		return nil, nil, err
	case c != nil && c.UID != uid:
		return c, conflict(c.Name), nil
	case name != "" && (c == nil || name != c.Name):
		other, err = load(ctx, tx, name, false)
		return other, conflict(name), err
	}
	return c, nil, nil
}

// checkPhoto leaves a photo out for which the member has no room, with a note. Such a photo, and one that could not be read, takes the
// place of none; c is nil for a new card.
func checkPhoto(tx *db.Tx, c *card, sent *importer.Card) {
	present := ""
	if c != nil {
		present = c.person.Photo
	}
	if sent.Photo != nil && sent.Photo.ID != present && !tx.HasRoom(sent.Photo.Bytes()) {
		sent.Photo = nil
		sent.Notes = append(sent.Notes, "Of the card, the photo was left out: the account is full.")
	}
	if sent.Photo == nil {
		sent.Card.Photo = present
	}
}

// add adds the person of a card, at the address that the device chose.
func (v *request) add(ctx context.Context, tx *db.Tx, sent *importer.Card, uid string) error {
	person, err := addPerson(ctx, tx, sent)
	if err != nil {
		return cardError(err)
	}
	if err := v.nameCard(ctx, tx, person, uid); err != nil {
		return err
	}
	if err := v.putSent(ctx, tx, person, sent.Photo); err != nil {
		return err
	}
	if err := v.joinGroups(ctx, tx, uid, person); err != nil {
		return err
	}
	return addNotes(ctx, tx, person, sent.Notes)
}

// nameCard gives a new person or group the address and the UID that the device chose. Somebody who is archived or in the bin may have had
// this address, by a row or by their id. They get another one.
func (v *request) nameCard(ctx context.Context, tx *db.Tx, objectID, uid string) error {
	derived, _ := strings.CutSuffix(v.to.name, ending)
	if former := objectOf(derived); former != "" {
		aside := cardRow{TenantID: tx.TenantID(), Name: former + ending, ConnectionID: former, UID: "kith-" + rand.Text()}
		if _, err := tx.NewInsert().Model(&aside).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
			return err
		}
	}
	row := cardRow{TenantID: tx.TenantID(), Name: v.to.name, ConnectionID: objectID, UID: uid}
	_, err := tx.NewInsert().Model(&row).On("CONFLICT (tenant_id, name) DO UPDATE").Set("connection_id = EXCLUDED.connection_id, uid = EXCLUDED.uid").Exec(ctx)
	return err
}

// change makes the changes to a card that the device made. What was changed here too since the device got the card stays, and the
// value of the device is a proposal. A device that says which version it changed has the present one.
func (v *request) change(ctx context.Context, tx *db.Tx, c *card, sent *importer.Card) error {
	now, err := v.readCard([]byte(c.plain()), false)
	if err != nil {
		return err
	}
	now.Card.Photo = c.person.Photo
	r, base := people.Revision{Base: &now.Card, Sent: &sent.Card}, now
	given, err := v.lastGiven(ctx, tx, c.ID)
	if err != nil {
		return err
	}
	if match := v.r.Header.Get("If-Match"); given != nil && (match == "" || match == "*") {
		if base, err = v.readGiven(given); err != nil {
			return err
		}
		r.Base, r.Now = &base.Card, &now.Card
	}
	if sent.Card.Photo == "" && (given == nil || given.Photo == "") { // the device removes no photo that it never had
		sent.Card.Photo = r.Base.Photo
	}
	_, conflicts, err := revise(ctx, tx, r, c.ID, sent, base)
	if err != nil {
		return cardError(err)
	}
	if len(conflicts) > 0 {
		p := v.proposal(c.ID, given)
		p.Fields, p.Photo = strings.Join(conflicts, "\n"), sent.Card.Photo
		if err := propose(ctx, tx, p); err != nil {
			return err
		}
	}
	return v.putSent(ctx, tx, c.ID, sent.Photo)
}

// addPerson adds the person of a card, with the photo.
func addPerson(ctx context.Context, tx *db.Tx, sent *importer.Card) (personID string, err error) {
	written, err := people.Add(ctx, tx, &sent.Card)
	if err != nil {
		return "", err
	}
	if sent.Photo != nil {
		err = photos.Insert(ctx, tx, map[string]*photos.Photo{written.Connection.ID: sent.Photo})
	}
	return written.Connection.ID, err
}

// revise applies a revision to a person, and stores the photo of sent and its notes that base does not have. It returns the fields that
// both sides changed.
func revise(ctx context.Context, tx *db.Tx, r people.Revision, personID string, sent, base *importer.Card) (changed bool, conflicts []string, err error) {
	stored, err := people.GetConnection(ctx, tx, personID)
	if err != nil {
		return false, nil, err
	}
	after, conflicts, err := r.Apply(stored)
	if err != nil {
		return false, nil, err
	}
	if err := insertPhoto(ctx, tx, sent, stored, after); err != nil {
		return false, nil, err
	}
	written, err := people.Revise(ctx, tx, stored, after)
	if err != nil {
		return false, nil, err
	}
	fresh := slices.DeleteFunc(slices.Clone(sent.Notes), func(body string) bool { return slices.Contains(base.Notes, body) })
	return written.ChangeID != "", conflicts, addNotes(ctx, tx, personID, fresh)
}

// readGiven reads a card that the device had.
func (v *request) readGiven(given *deviceCard) (*importer.Card, error) {
	text, err := given.text()
	if err != nil {
		return nil, err
	}
	c, err := v.readCard([]byte(text), false)
	if err == nil {
		c.Card.Photo = given.Photo
	}
	return c, err
}

// insertPhoto stores the photo of a card if the person has it now.
func insertPhoto(ctx context.Context, tx *db.Tx, sent *importer.Card, stored, after *people.Connection) error {
	if sent.Photo == nil || after.Photo != sent.Photo.ID || stored.Photo == after.Photo {
		return nil
	}
	return photos.Insert(ctx, tx, map[string]*photos.Photo{after.ID: sent.Photo})
}

// cardError refuses a card with values that a person can't have.
func cardError(err error) error {
	if fault.Is(err, fault.Invalid) {
		return invalidCard(err)
	}
	return err
}

// addNotes keeps values that no field takes in notes about the person, unless they have these notes already.
func addNotes(ctx context.Context, tx *db.Tx, person string, bodies []string) error {
	for _, body := range bodies {
		var held int
		err := tx.NewRaw(`SELECT count(*) FROM note_connections l JOIN notes n ON n.tenant_id = l.tenant_id AND n.id = l.note_id
WHERE l.tenant_id = ? AND l.connection_id = ? AND n.body = ?`, tx.TenantID(), person, body).Scan(ctx, &held)
		if err != nil {
			return err
		}
		if held > 0 {
			continue
		}
		if _, _, err := timeline.AddNote(ctx, tx, timeline.Note{Body: body, ConnectionIDs: []string{person}}); err != nil {
			return err
		}
	}
	return nil
}

// delete moves the person of a card into the bin, or deletes a group.
func (v *request) delete() error {
	if v.to.kind != cardKind {
		return &refusal{status: http.StatusForbidden, text: "The address book cannot be deleted."}
	}
	v.ctx = db.WithExtraQuota(v.ctx)
	err := v.write(func(ctx context.Context, tx *db.Tx) error {
		c, err := load(ctx, tx, v.to.name, false)
		if err != nil {
			return err
		}
		if err := v.checkConditions(c); err != nil {
			return err
		}
		if c == nil {
			return errNotFound
		}
		if c.group != nil {
			_, err = groups.Delete(ctx, tx, c.ID)
			return err
		}
		_, err = people.DeleteAll(ctx, tx, v.Kinds, []string{c.ID}, false)
		return err
	})
	if err == nil {
		v.w.WriteHeader(http.StatusNoContent)
	}
	return err
}
