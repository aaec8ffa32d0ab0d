package dav

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// The states of a proposal.
const (
	Waiting  = "waiting"
	Approved = "approved"
	Refused  = "refused"
)

// maxWaiting is how many proposals of a member can wait; a device that sends a card which would be one more is told that there is no
// room, and keeps what it has.
const maxWaiting = 100

// Proposal is a card that a device sent, of which Kith stored nothing or not all, because somebody else had changed the same. The
// member approves it or refuses it, and may approve it after they refused it.
type Proposal struct {
	bun.BaseModel `bun:"table:proposals,alias:proposal"`

	TenantID tenant.ID `bun:",pk"`
	ID       string    `bun:",pk"`
	// ConnectionID is the person whose card it is; empty for a new one.
	ConnectionID         string
	DeviceID, DeviceName string
	// Fingerprint is a hash of the device, the person and the cards.
	Fingerprint string
	// Fields are the names of the proposed fields, one per line, as in people.Revision; empty for all.
	Fields string
	// Base is the card that the device had, without its photo, and BasePhoto the photo's id; empty if they are unknown. Card is the one that
	// it sent, and Photo its photo. They are empty once the proposal is approved.
	Base, BasePhoto, Card, Photo string
	State                        string
	// ChangeID is the change that was made; empty for none.
	ChangeID  string `bun:",nullzero"`
	CreatedAt time.Time
	DecidedAt time.Time `bun:",nullzero"`
}

// proposal returns a proposal of the card that the device sent, and that replaces the one that it had; nil if that is unknown.
func (v *request) proposal(connectionID string, had *deviceCard) *Proposal {
	p := &Proposal{
		TenantID: v.who.Tenant, ID: id.New(id.Proposal), ConnectionID: connectionID, DeviceID: v.who.Credential.ID, DeviceName: v.who.Credential.Name,
		Card: source.UTF8(v.body), State: Waiting,
	}
	if had != nil {
		if text, err := had.text(); err == nil {
			p.Base, p.BasePhoto = source.UTF8([]byte(text)), had.Photo
		}
	}
	return p
}

// propose stores a proposal, unless the same one waits or was refused.
func propose(ctx context.Context, tx *db.Tx, p *Proposal) error {
	sum := sha256.Sum256([]byte(strings.Join([]string{p.DeviceID, p.ConnectionID, p.Base, p.BasePhoto, p.Card}, "\x1f")))
	p.Fingerprint, p.CreatedAt = hex.EncodeToString(sum[:16]), tx.Now()
	var same, waiting int
	err := tx.NewRaw(`SELECT (SELECT count(*) FROM proposals WHERE tenant_id = ?0 AND fingerprint = ?1 AND state <> ?2),
(SELECT count(*) FROM proposals WHERE tenant_id = ?0 AND state = ?3)`, tx.TenantID(), p.Fingerprint, Approved, Waiting).Scan(ctx, &same, &waiting)
	if err != nil || same > 0 {
		return err
	}
	if waiting >= maxWaiting {
		return &refusal{status: http.StatusInsufficientStorage, text: "Too many changes of devices wait for the member, who decides on them in Kith."}
	}
	if err := tx.Reserve(len(p.Card)); err != nil {
		return err
	}
	_, err = tx.NewInsert().Model(p).Exec(ctx)
	return err
}

// keepRefused keeps a card that is refused as a proposal, unless it says nothing new of the person; c is nil if the device changed a
// card that is not in the address book any more.
func (v *request) keepRefused(ctx context.Context, tx *db.Tx, c *card, sent *importer.Card, uid string) error {
	if c == nil {
		former, err := formerPerson(ctx, tx, v.to.name, uid)
		if err != nil {
			return err
		}
		p := v.proposal(former, nil)
		p.Photo = sent.Card.Photo
		return propose(ctx, tx, p)
	}
	given, err := v.lastGiven(ctx, tx, c.ID)
	if err != nil {
		return err
	}
	p := v.proposal(c.ID, given)
	p.Photo = sent.Card.Photo
	before, after, _, err := p.would(ctx, tx, v.who, false)
	if err != nil || reflect.DeepEqual(before, after) {
		return cardError(err)
	}
	return propose(ctx, tx, p)
}

// formerPerson returns the id of a person who had a card with a name or a UID, and may not exist any more; empty for none.
func formerPerson(ctx context.Context, tx *db.Tx, name, uid string) (string, error) {
	var ids []string
	err := tx.NewRaw("SELECT connection_id FROM cards WHERE tenant_id = ? AND name = ?", tx.TenantID(), name).Scan(ctx, &ids)
	if ids = slices.DeleteFunc(ids, isGroup); err != nil || len(ids) > 0 {
		return strings.Join(ids, ""), err
	}
	derived, _ := strings.CutSuffix(name, ending)
	return cmp.Or(personOf(derived), personOf(uid)), nil
}

// would returns the person before and after the proposal is approved, and the card with the photo if it is wanted. before is nil if the
// person is not in the address book any more: another one would be added.
func (p *Proposal) would(ctx context.Context, q db.Reader, who *tenant.Principal, photo bool) (before, after *people.Connection, sent *importer.Card, err error) {
	if sent, err = readCard(ctx, who, p.Card, photo); err != nil {
		return nil, nil, nil, err
	}
	sent.Card.Photo = p.Photo
	base := &importer.Card{}
	if p.Base != "" {
		if base, err = readCard(ctx, who, p.Base, false); err != nil {
			return nil, nil, nil, err
		}
		base.Card.Photo = p.BasePhoto
	}
	before, err = people.GetConnection(ctx, q, p.ConnectionID)
	for err == nil && before.MergedInto != "" {
		before, err = people.GetConnection(ctx, q, before.MergedInto)
	}
	switch {
	case fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) || err == nil && !before.ArchivedAt.IsZero():
		return nil, &sent.Connection, sent, nil
	case err != nil:
		return nil, nil, nil, err
	}
	r := people.Revision{Base: &base.Card, Sent: &sent.Card}
	if p.Fields != "" {
		r.Only = strings.Split(p.Fields, "\n")
	}
	after, _, err = r.Apply(before)
	return before, after, sent, err
}

// Preview returns the change that approving a proposal would make; it has no effects if there is nothing left to change.
func (p *Proposal) Preview(ctx context.Context, q db.Reader, who *tenant.Principal) (history.Change, error) {
	c := history.Change{CredentialID: p.DeviceID, CredentialName: p.DeviceName, CreatedAt: p.CreatedAt}
	before, after, _, err := p.would(ctx, q, who, false)
	if err != nil {
		return c, err
	}
	draft := history.One("add "+after.Name, history.Connection, after.ID, before, after)
	switch {
	case before == nil:
		draft.Effects[0].Before = nil
	case reflect.DeepEqual(before, after):
		draft = history.Draft{Summary: "change " + before.Name}
	default:
		draft.Summary = "change " + before.Name
	}
	c.Summary = draft.Summary
	c.Effects, err = draft.Encode()
	return c, err
}

// ListProposals returns the proposals that wait, the oldest first, and the last ones that were decided.
func ListProposals(ctx context.Context, q db.Reader, last int) (waiting, decided []Proposal, err error) {
	if err = q.From(&waiting).Where("state = ?", Waiting).Order("created_at", "id").Scan(ctx); err != nil {
		return nil, nil, err
	}
	err = q.From(&decided).Where("state <> ?", Waiting).Order("decided_at DESC", "id").Limit(int64(last)).Scan(ctx)
	return waiting, decided, err
}

// CountWaiting returns how many proposals wait.
func CountWaiting(ctx context.Context, q db.Reader) (n int, err error) {
	err = q.NewRaw("SELECT count(*) FROM proposals WHERE tenant_id = ? AND state = ?", q.TenantID(), Waiting).Scan(ctx, &n)
	return n, err
}

// Approve makes the change that a proposal is about, to the person as they are now, and returns the change; empty if there was nothing
// left to change. It fails with fault.NotFound if there is no such proposal, and with fault.Conflict if it is approved already.
func Approve(ctx context.Context, tx *db.Tx, who *tenant.Principal, proposalID string) (changeID string, err error) {
	p, err := findProposal(ctx, tx, proposalID, Waiting, Refused)
	if err != nil {
		return "", err
	}
	before, after, sent, err := p.would(ctx, tx, who, true)
	if err != nil {
		return "", err
	}
	var written people.Written
	if before == nil {
		if written, err = people.Add(ctx, tx, &sent.Card); err == nil && sent.Photo != nil {
			after.ID = written.Connection.ID
			err = insertPhoto(ctx, tx, sent, &people.Connection{}, written.Connection)
		}
	} else if err = insertPhoto(ctx, tx, sent, before, after); err == nil {
		written, err = people.Revise(ctx, tx, before, after)
	}
	if err != nil {
		return "", err
	}
	if p.Fields == "" {
		if err := addNotes(ctx, tx, written.Connection.ID, sent.Notes); err != nil {
			return "", err
		}
	}
	_, err = tx.NewRaw("UPDATE proposals SET state = ?, decided_at = ?, change_id = ?, base = '', base_photo = '', card = '', photo = '' WHERE tenant_id = ? AND id = ?",
		Approved, tx.Now(), bun.NullZero(written.ChangeID), tx.TenantID(), p.ID).Exec(ctx)
	return written.ChangeID, err
}

// Refuse refuses a proposal that waits. It fails with fault.NotFound if there is no such proposal, and with fault.Conflict if it was
// decided already.
func Refuse(ctx context.Context, tx *db.Tx, proposalID string) error {
	p, err := findProposal(ctx, tx, proposalID, Waiting)
	if err != nil {
		return err
	}
	_, err = tx.NewRaw("UPDATE proposals SET state = ?, decided_at = ? WHERE tenant_id = ? AND id = ?", Refused, tx.Now(), tx.TenantID(), p.ID).Exec(ctx)
	return err
}

// findProposal returns a proposal in one of some states.
func findProposal(ctx context.Context, q db.Reader, proposalID string, states ...string) (*Proposal, error) {
	p := &Proposal{}
	p, err := db.Found(p, q.From(p).Where("id = ?", proposalID).Scan(ctx), "there is no such proposal")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(states, p.State) {
		return nil, fault.New(fault.Conflict, "the proposal was decided already")
	}
	return p, nil
}

// SweepProposals deletes proposals that were decided on by a time.
const SweepProposals = "DELETE FROM proposals WHERE decided_at <= ?"

// SweepBefore returns the time to pass to SweepProposals.
func SweepBefore(now time.Time) time.Time {
	const keep = 90 * 24 * time.Hour
	return now.Add(-keep)
}
