package people

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Organization is a place where people work, stored once per normal name, and its database row. Its normal name never
// changes: a rename moves the positions to another row. A row without positions and without values of its own is not shown.
type Organization struct {
	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk" json:"id"`
	Name     string    `json:"name"`
	// NormalName is NormalOrganization of the name; it is unique within the tenant.
	NormalName string `json:"-"`
	// Domain is the web domain; empty if only the addresses of people tell it.
	Domain string `json:"domain"`
	// Website, Address, in lines, and Notes are what the member wrote about it. Bounds are the contract's.
	Website   string    `json:"website"`
	Address   string    `json:"address"`
	Notes     string    `json:"notes"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// OrganizationShown is the SQL condition that an organisation o has positions, or values of its own.
const OrganizationShown = `(o.website <> '' OR o.address <> '' OR o.notes <> ''
OR EXISTS (SELECT 1 FROM positions p WHERE p.tenant_id = o.tenant_id AND p.organization_id = o.id))`

// maxOrganizationNotes is the contract's bound, in characters: two notes that are joined must not pass it.
const maxOrganizationNotes = 4000

// OrganizationPatch says what to change of an organisation. Nil fields leave their value unchanged; an empty text clears it.
type OrganizationPatch struct {
	// Name says which one, in any spelling.
	Name string
	// NewName is its new name. If another organisation has it, the two become one, under the other's name.
	NewName                 *string
	Website, Address, Notes *string
}

// SavedOrganization is the result of UpdateOrganization.
type SavedOrganization struct {
	Organization *Organization
	// ChangeID is empty when nothing was written.
	ChangeID string
}

// UpdateOrganization changes an organisation. A patch that changes nothing writes nothing. A merge loses no value: the
// other's website and address stay, what differs goes into the notes. An undo separates the two again. It fails with
// fault.NotFound for a name that no organisation has, with the nearest ones, and with fault.Invalid for a new name
// that shows nothing, for joined notes that are too long, and for more people than one change may touch.
func UpdateOrganization(ctx context.Context, w *db.Tx, p OrganizationPatch) (SavedOrganization, error) {
	o, err := FindOrganization(ctx, w, p.Name)
	if err != nil {
		return SavedOrganization{}, err
	}
	before := *o
	p.apply(o)
	if p.NewName != nil {
		name := text.Line(*p.NewName)
		if !text.Visible(name) || NormalOrganization(name) == "" {
			return SavedOrganization{}, fault.InvalidField("new_name", "must hold a visible character other than a comma or a full stop")
		}
		if NormalOrganization(name) != o.NormalName {
			return p.move(ctx, w, before, name)
		}
		o.Name = name
	}
	if *o == before {
		return SavedOrganization{Organization: o}, nil
	}
	if err := replaceOrganization(ctx, w, o); err != nil {
		return SavedOrganization{}, err
	}
	changeID, err := history.Record(ctx, w, history.One("Changed the organization "+o.Name, history.Organization, o.ID, before, *o))
	return SavedOrganization{o, changeID}, err
}

func (p OrganizationPatch) apply(o *Organization) {
	if p.Website != nil {
		o.Website = text.Line(*p.Website)
	}
	if p.Address != nil {
		o.Address = text.Clean(*p.Address)
	}
	if p.Notes != nil {
		o.Notes = text.Clean(*p.Notes)
	}
}

// move moves the positions and the values of an organisation to the one with the new name, which it creates if it must.
func (p OrganizationPatch) move(ctx context.Context, w *db.Tx, from Organization, name string) (SavedOrganization, error) {
	into, err := organizationNamed(ctx, w, name)
	if err != nil {
		return SavedOrganization{}, err
	}
	summary := "Merged the organization %s into %s"
	renamed := into == nil
	if renamed {
		summary = "Renamed the organization %s to %s"
		if into, err = hiddenOrganization(ctx, w, name); err != nil {
			return SavedOrganization{}, err
		}
	}
	after, emptied, moved := *into, from, from
	if renamed {
		after.Name = name // the row may have another spelling
	}
	p.apply(&after)
	p.apply(&moved)
	if err := after.absorb(moved); err != nil {
		return SavedOrganization{}, err
	}
	emptied.Domain, emptied.Website, emptied.Address, emptied.Notes = "", "", "", ""
	var effects []history.EffectDraft
	for _, change := range []struct{ before, after *Organization }{{&from, &emptied}, {into, &after}} {
		if *change.before == *change.after {
			continue
		}
		effects = append(effects, history.EffectDraft{Kind: history.Organization, ID: change.after.ID, Before: *change.before, After: *change.after})
		if err := replaceOrganization(ctx, w, change.after); err != nil {
			return SavedOrganization{}, err
		}
	}
	people, err := movePositions(ctx, w, from.ID, after.Name)
	if err != nil {
		return SavedOrganization{}, err
	}
	changeID, err := history.Record(ctx, w, history.Draft{Summary: fmt.Sprintf(summary, from.Name, after.Name), Effects: append(effects, people...)})
	return SavedOrganization{&after, changeID}, err
}

// absorb adds the values of another organisation. Of what differs, the own value stays and the notes keep the other.
func (o *Organization) absorb(other Organization) error {
	notes := []string{o.Notes}
	if other.Notes != o.Notes {
		notes = append(notes, other.Notes)
	}
	for _, value := range []struct {
		label, its string
		mine       *string
	}{{"Domain", other.Domain, &o.Domain}, {"Website", other.Website, &o.Website}, {"Address", other.Address, &o.Address}} {
		if *value.mine == "" {
			*value.mine = value.its
		} else if value.its != "" && value.its != *value.mine {
			notes = append(notes, value.label+": "+value.its)
		}
	}
	o.Notes = joinVisible("\n", notes...)
	if n := utf8.RuneCountInString(o.Notes); n > maxOrganizationNotes {
		return fault.InvalidField("new_name", "the notes of both would have %d characters, of at most %d: shorten them first", n, maxOrganizationNotes)
	}
	return nil
}

// positions is the part of a connection's state that a move of positions changes.
type positions struct {
	Positions []Position `json:"positions"`
}

// movePositions moves the positions of everyone at an organisation, archived people too, to the one with a name, and returns
// the effects. Of two positions of a person that become the same, one stays.
func movePositions(ctx context.Context, w *db.Tx, fromID, name string) ([]history.EffectDraft, error) {
	const atOnce = 500
	var ids []string
	err := w.NewRaw("SELECT DISTINCT connection_id FROM positions WHERE tenant_id = ? AND organization_id = ? ORDER BY connection_id", w.TenantID(), fromID).Scan(ctx, &ids)
	if err != nil {
		return nil, err
	}
	if err := history.CheckEffects(len(ids)+2, "move people one by one, with update_connection"); err != nil {
		return nil, err
	}
	effects := make([]history.EffectDraft, 0, len(ids))
	for some := range slices.Chunk(ids, atOnce) {
		stored, err := GetConnections(ctx, w, some)
		if err != nil {
			return nil, err
		}
		people := make([]*Connection, len(some))
		for i, connectionID := range some {
			c := stored[connectionID]
			people[i] = c
			effects = append(effects, history.EffectDraft{Kind: history.Connection, ID: c.ID, Before: positions{slices.Clone(c.Positions)}})
			c.movePositions(fromID, name)
			c.Version++
			c.UpdatedAt = w.Now()
		}
		if err := ReplacePeople(ctx, w, people); err != nil {
			return nil, err
		}
		for i, c := range people {
			effects[len(effects)-len(people)+i].After = positions{c.Positions}
		}
	}
	return effects, nil
}

func (c *Connection) movePositions(fromID, name string) {
	held := c.Positions
	c.Positions = make([]Position, 0, len(held))
	for _, p := range held {
		if p.OrganizationID == fromID {
			p.Organization = name
		}
		same := func(other Position) bool {
			return NormalOrganization(other.Organization) == NormalOrganization(p.Organization) && other.Title == p.Title &&
				other.StartedOn == p.StartedOn && other.EndedOn == p.EndedOn && other.Current == p.Current
		}
		if !slices.ContainsFunc(c.Positions, same) {
			c.Positions = append(c.Positions, p)
		}
	}
}

// PersonThere is a person at an organisation, with their position there: the first current one, else the first one.
type PersonThere struct {
	ID, Name, Title, StartedOn, EndedOn string
	Current                             bool
}

// OrganizationDetails is an organisation with its people, without archived ones, and the last contact with them.
type OrganizationDetails struct {
	// Organization has a Domain even if none is stored: the most common one of the e-mail addresses of the people there.
	*Organization

	// Now are the people there, Before those who left, by name; MaxPeopleThere each. CountNow and CountBefore count all.
	Now, Before           []PersonThere
	CountNow, CountBefore int
	// LastContact is the last contact with anyone there now, until the time of the reader; zero for none. LastWith is with whom.
	LastContact time.Time
	LastWith    PersonThere
}

// The most people that OrganizationDetails lists, e-mail addresses that it counts domains of, and names that are compared
// with an unknown one.
const (
	MaxPeopleThere   = 200
	maxDomains       = 2000
	maxOrganizations = 5000
)

// Details reads the people, the last contact and the domain of an organisation. It makes three statements.
func (o *Organization) Details(ctx context.Context, q db.Reader) (*OrganizationDetails, error) {
	out := &OrganizationDetails{Organization: o}
	var rows []struct {
		PersonThere
		People int
	}
	err := q.NewRaw(`SELECT id, name, title, started_on, ended_on, current, people FROM (
SELECT t.*, count(*) OVER (PARTITION BY current) AS people, row_number() OVER (PARTITION BY current ORDER BY folded_name, id) AS place FROM (
SELECT c.id, c.name, c.folded_name, p.title, p.started_on, p.ended_on, p.current, row_number() OVER (PARTITION BY c.id ORDER BY p.current DESC, p.ordinal) AS nth
FROM positions p JOIN connections c ON c.tenant_id = p.tenant_id AND c.id = p.connection_id
WHERE p.tenant_id = ? AND p.organization_id = ? AND c.archived_at IS NULL) AS t WHERE nth = 1) AS s WHERE place <= ? ORDER BY place`,
		q.TenantID(), o.ID, MaxPeopleThere).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("read people at organization: %w", err)
	}
	for _, row := range rows {
		if row.Current {
			out.Now, out.CountNow = append(out.Now, row.PersonThere), row.People
		} else {
			out.Before, out.CountBefore = append(out.Before, row.PersonThere), row.People
		}
	}
	// CROSS JOIN keeps SQLite from reading all interactions.
	var last []struct {
		ID, Name   string
		OccurredAt time.Time
	}
	err = q.NewRaw(`SELECT c.id, c.name, i.occurred_at FROM positions p CROSS JOIN connections c CROSS JOIN interaction_connections l CROSS JOIN interactions i
WHERE p.tenant_id = ? AND p.organization_id = ? AND p.current AND c.tenant_id = p.tenant_id AND c.id = p.connection_id AND c.archived_at IS NULL
AND l.tenant_id = p.tenant_id AND l.connection_id = c.id AND i.tenant_id = p.tenant_id AND i.id = l.interaction_id AND i.occurred_at <= ?
ORDER BY i.occurred_at DESC, c.id LIMIT 1`, q.TenantID(), o.ID, q.Now()).Scan(ctx, &last)
	if err != nil {
		return nil, fmt.Errorf("read last contact with organization: %w", err)
	}
	for _, l := range last {
		out.LastContact, out.LastWith = l.OccurredAt, PersonThere{ID: l.ID, Name: l.Name}
	}
	var emails []string
	err = q.NewRaw(`SELECT DISTINCT h.normal_value FROM positions p CROSS JOIN handles h WHERE p.tenant_id = ? AND p.organization_id = ? AND p.current
AND h.tenant_id = p.tenant_id AND h.connection_id = p.connection_id AND h.kind = ? AND lower(h.label) <> 'home' ORDER BY h.normal_value LIMIT ?`,
		q.TenantID(), o.ID, KindEmail, maxDomains).Scan(ctx, &emails)
	o.Domain = cmp.Or(o.Domain, commonDomain(o.NormalName, emails))
	return out, err
}

// commonDomain returns the domain of most addresses that belongs to no public mailbox provider. Of equally common ones, it
// returns the one whose first part is in the normal name of the organisation; empty if that is none or several.
func commonDomain(normalName string, emails []string) string {
	counts, most := map[string]int{}, 0
	for _, email := range emails {
		if _, domain := SplitEmail(email); domain != "" && !publicMailbox(domain) {
			counts[domain]++
			most = max(most, counts[domain])
		}
	}
	var common, named []string
	for domain, n := range counts {
		if n < most {
			continue
		}
		common = append(common, domain)
		if label, _, _ := strings.Cut(domain, "."); strings.Contains(strings.ReplaceAll(normalName, " ", ""), label) {
			named = append(named, domain)
		}
	}
	switch {
	case len(common) == 1:
		return common[0]
	case len(named) == 1:
		return named[0]
	}
	return ""
}

// publicMailbox reports whether a domain belongs to a provider of mailboxes for anyone.
func publicMailbox(domain string) bool {
	label, _, _ := strings.Cut(domain, ".")
	switch label {
	case "aol", "gmail", "gmx", "googlemail", "hotmail", "icloud", "live", "msn", "outlook", "proton", "protonmail", "yahoo", "yandex", "ymail":
		return true
	}
	switch domain {
	case "126.com", "163.com", "bluewin.ch", "bol.com.br", "btinternet.com", "comcast.net", "fastmail.com", "fastmail.fm", "free.fr", "freenet.de", "hey.com", "inbox.ru",
		"laposte.net", "libero.it", "mac.com", "mail.com", "mail.ru", "me.com", "naver.com", "orange.fr", "pm.me", "posteo.de", "qq.com", "rediffmail.com", "rocketmail.com",
		"sapo.pt", "seznam.cz", "sfr.fr", "sky.com", "t-online.de", "tutanota.com", "uol.com.br", "verizon.net", "wanadoo.fr", "web.de", "wp.pl", "zoho.com":
		return true
	}
	return false
}

// FindOrganization returns the organisation with a name, in any spelling. It fails with fault.NotFound for a name that none
// has that is shown, with the nearest ones.
func FindOrganization(ctx context.Context, q db.Reader, name string) (*Organization, error) {
	o, err := organizationNamed(ctx, q, name)
	if err != nil || o != nil {
		return o, err
	}
	var names []string
	err = q.NewRaw("SELECT o.name FROM organizations o WHERE o.tenant_id = ? AND "+OrganizationShown+" ORDER BY o.normal_name LIMIT ?", q.TenantID(), maxOrganizations).Scan(ctx, &names)
	if err != nil {
		return nil, err
	}
	return nil, fault.New(fault.NotFound, "there is no organization %s%s", text.Quote(name), text.Nearest(ctx, names, name))
}

// organizationNamed returns the organisation with a name that is shown, or nil.
func organizationNamed(ctx context.Context, q db.Reader, name string) (*Organization, error) {
	o := &Organization{}
	err := q.NewRaw("SELECT ? FROM organizations o WHERE o.tenant_id = ? AND o.normal_name = ? AND "+OrganizationShown,
		db.Columns[Organization](q, "o"), q.TenantID(), NormalOrganization(text.Line(name))).Scan(ctx, o)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return o, err
}

// hiddenOrganization returns the row of an organisation that is not shown, and creates it if it must.
func hiddenOrganization(ctx context.Context, w *db.Tx, name string) (*Organization, error) {
	rows, err := organizations(ctx, w, []Position{{Organization: name}})
	return new(rows[NormalOrganization(name)]), err
}

// replaceOrganization stores the name and the values of an organisation.
func replaceOrganization(ctx context.Context, tx *db.Tx, o *Organization) error {
	_, err := tx.NewRaw("UPDATE organizations SET name = ?, domain = ?, website = ?, address = ?, notes = ?, updated_at = ? WHERE tenant_id = ? AND id = ?",
		o.Name, o.Domain, o.Website, o.Address, o.Notes, tx.Now(), tx.TenantID(), o.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("replace organization: %w", err)
	}
	var people []string
	err = tx.NewRaw("SELECT connection_id FROM positions WHERE tenant_id = ? AND organization_id = ?", tx.TenantID(), o.ID).Scan(ctx, &people)
	tx.MarkDirty(people...) // a search finds people by the name of their organisation
	return err
}

// putOrganization sets an organisation, whose positions are restored with the people, to a state; nil removes it.
func putOrganization(ctx context.Context, tx *db.Tx, id string, o *Organization) error {
	if o == nil {
		return fault.New(fault.Conflict, "an organization is never removed")
	}
	o.ID = id
	return replaceOrganization(ctx, tx, o)
}

// RestoreOrganization returns the restorer of organisations.
func RestoreOrganization(tx *db.Tx) history.Restorer { return history.Row(tx, putOrganization) }
