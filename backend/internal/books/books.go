// Package books reads address books by CardDAV (RFC 6352): it is the kind of source of package sources that brings in people.
//
// A run lists the cards with their ETags, reads those whose ETag has changed, and takes those whose content has: a server may change ETags, or
// have none. A card goes the way that a card of a device goes (dav.Take): it is merged against the one that the address book had before, so
// that nothing is overwritten that the member typed. Nobody is deleted because a card is gone.
package books

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/content"
	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

const (
	// maxCards is how many cards an address book may have.
	maxCards = 20_000
	// atOnce is how many cards one request reads and one transaction writes.
	atOnce = 50
	// maxLooked is how many cards a preview reads.
	maxLooked = 500
	// maxTold is how many cards that could not be taken a report names.
	maxTold = 50
)

// Reader reads address books. It implements sources.Books.
type Reader struct {
	Store   *db.DB
	Fetcher *sources.Fetcher
}

// row is a card of an address book.
type row struct {
	bun.BaseModel `bun:"table:source_cards"`

	TenantID tenant.ID `bun:",pk"`
	SourceID string    `bun:",pk"`
	Key      string    `bun:",pk"`
	ETag     string    `bun:"etag"`
	Hash     string
	// ConnectionID is whose card it is; empty for one that was not taken.
	ConnectionID string
	// Photo is the id of the photo, Card the card without it, as dav.Pack returns it.
	Photo string
	Card  []byte
	Gone  bool
	// Problem says why the card was not taken.
	Problem string
}

// item is a card that the address book lists.
type item struct {
	key, href, etag string
}

// reading is one reading of an address book.
type reading struct {
	*Reader
	*client

	src    *sources.Source
	who    *tenant.Principal
	name   string
	report sources.Report
	list   []item
	rows   map[string]*row
}

// Read implements sources.Books.
func (b *Reader) Read(ctx context.Context, src *sources.Source, a *sources.Access, taken []string) (sources.Reading, error) {
	home, err := b.Fetcher.Parse(a.Address)
	if err != nil {
		return nil, err
	}
	m, err := account.GetMemberByID(ctx, b.Store, src.TenantID)
	if err != nil {
		return nil, err
	}
	profile, err := account.GetProfile(ctx, b.Store, src.TenantID)
	if err != nil {
		return nil, err
	}
	actor := src.Actor()
	v := &reading{Reader: b, client: &client{fetcher: b.Fetcher, access: a, home: home}, src: src, rows: map[string]*row{}, who: &tenant.Principal{
		Tenant: src.TenantID, Username: m.Username, DisplayName: profile.Name, Locale: m.Locale, Timezone: m.Timezone,
		Credential: tenant.Credential{ID: actor.CredentialID, Name: actor.CredentialName},
	}}
	v.report.Warnings = []string{}
	if a.Book == "" {
		if v.report.Books, v.name, err = v.choose(ctx, src.Options.Book, taken); err != nil {
			return nil, err
		}
	}
	if err := v.listCards(ctx); err != nil {
		return nil, err
	}
	v.report.Cards = len(v.list)
	if src.State == sources.Preview {
		return v, v.look(ctx)
	}
	var rows []row
	if err := b.Store.Tenant(src.TenantID, true).From(&rows).Where("source_id = ?", src.ID).Scan(ctx); err != nil {
		return nil, err
	}
	for i := range rows {
		v.rows[rows[i].Key] = &rows[i]
	}
	return v, nil
}

// Name implements sources.Reading.
func (v *reading) Name() string { return v.name }

// Report implements sources.Reading.
func (v *reading) Report() sources.Report { return v.report }

// Finish implements sources.Reading.
func (v *reading) Finish(context.Context, *db.Tx) error { return nil }

// listCards lists the cards of the address book with their ETags.
func (v *reading) listCards(ctx context.Context) error {
	at, err := url.Parse(v.access.Book)
	if err != nil {
		return errNoBook
	}
	answer, at, err := v.request(ctx, "PROPFIND", at, "1", `<d:propfind xmlns:d="DAV:"><d:prop><d:resourcetype/><d:getetag/></d:prop></d:propfind>`)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range answer.Responses {
		r := &answer.Responses[i]
		p, ok := r.found()
		address, err := at.Parse(r.Href)
		if !ok || err != nil || p.Type.Collection != nil || keyOf(address) == keyOf(at) || seen[keyOf(address)] {
			continue
		}
		seen[keyOf(address)] = true
		v.list = append(v.list, item{keyOf(address), r.Href, p.etag()})
	}
	if len(v.list) > maxCards {
		return fault.New(fault.Invalid, "the address book has %d cards, more than %d", len(v.list), maxCards)
	}
	return nil
}

// fetch returns the texts of cards by their keys. Cards that the server does not send are left out. If the
// answer is too long, the cards are asked for in two halves.
func (v *reading) fetch(ctx context.Context, items []item) (map[string]string, error) {
	at, err := url.Parse(v.access.Book)
	if err != nil {
		return nil, errNoBook
	}
	var ask strings.Builder
	ask.WriteString(`<c:addressbook-multiget xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><d:getetag/><c:address-data/></d:prop>`)
	for _, one := range items {
		ask.WriteString("<d:href>" + escape(one.href) + "</d:href>")
	}
	ask.WriteString("</c:addressbook-multiget>")
	answer, at, err := v.request(ctx, "REPORT", at, "1", ask.String())
	texts := map[string]string{}
	if errors.Is(err, errTooLong) {
		if len(items) == 1 {
			return texts, nil
		}
		half, err := v.fetch(ctx, items[:len(items)/2])
		if err != nil {
			return nil, err
		}
		texts, err = v.fetch(ctx, items[len(items)/2:])
		for key, card := range half {
			if err == nil {
				texts[key] = card
			}
		}
		return texts, err
	}
	if err != nil {
		return nil, err
	}
	for i := range answer.Responses {
		r := &answer.Responses[i]
		if p, ok := r.found(); ok && strings.TrimSpace(p.Card) != "" {
			if address, err := at.Parse(r.Href); err == nil {
				texts[keyOf(address)] = p.Card
			}
		}
	}
	return texts, nil
}

// look counts who would be new, of a preview.
func (v *reading) look(ctx context.Context) error {
	data := v.Store.Tenant(v.src.TenantID, true)
	for part := range slices.Chunk(v.list[:min(len(v.list), maxLooked)], atOnce) {
		texts, err := v.fetch(ctx, part)
		if err != nil {
			return err
		}
		for _, one := range part {
			card, ok := texts[one.key]
			v.report.Looked++
			c, problem, list := v.readCard(ctx, card, ok, false)
			switch {
			case list:
				v.report.Lists++
				continue
			case problem != "":
				v.tell(problem)
				continue
			}
			person, err := dav.FindPerson(ctx, data, c)
			switch {
			case err != nil:
				return err
			case person == "":
				v.report.Added++
			default:
				v.report.Known++
			}
		}
	}
	return nil
}

// tell reports a card that could not be taken.
func (v *reading) tell(problem string) {
	v.report.Skipped++
	if len(v.report.Warnings) < maxTold {
		v.report.Warnings = append(v.report.Warnings, problem)
	}
}

// readCard reads a card. It returns a problem that names the card if that can't be done; list is set for one of a group.
func (v *reading) readCard(ctx context.Context, card string, sent, photo bool) (c *importer.Card, problem string, list bool) {
	if !sent {
		return nil, "A card: the server does not send it, or it is too large.", false
	}
	if isList(card) {
		return nil, "", true
	}
	c, err := dav.ReadPulled(ctx, v.who, card, photo)
	if err != nil {
		return nil, problemOf(card, err), false
	}
	return c, "", false
}

// problemOf names a card with what is wrong with it.
func problemOf(card string, err error) string {
	reason := "it can't be read"
	if coded, ok := errors.AsType[*fault.Error](err); ok && coded.Code == fault.Invalid {
		reason = coded.Message
	}
	return text.QuoteUpTo(property(card, "FN"), 80) + ": " + strings.TrimSuffix(reason, ".") + "."
}

// property returns the value of the first property of a card with a name.
func property(card, name string) string {
	for l, err := range content.Lines(card) {
		if err == nil && strings.EqualFold(l.Name, name) {
			return content.Unescape(l.Value)
		}
	}
	return ""
}

// escape returns a text as the content of an element.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return b.String()
}

// isList reports whether a card is of a group.
func isList(card string) bool {
	return strings.EqualFold(property(card, "KIND"), "group") || strings.EqualFold(property(card, "X-ADDRESSBOOKSERVER-KIND"), "group")
}

// hashOf returns the hash of what a card says: some servers write a new REV or PRODID each time.
func hashOf(card string) string {
	var said strings.Builder
	for l, err := range content.Lines(card) {
		switch {
		case err != nil:
			sum := sha256.Sum256([]byte(card))
			return hex.EncodeToString(sum[:16])
		case !strings.EqualFold(l.Name, "REV") && !strings.EqualFold(l.Name, "PRODID"):
			said.WriteString(l.String() + "\n")
		}
	}
	sum := sha256.Sum256([]byte(said.String()))
	return hex.EncodeToString(sum[:16])
}
