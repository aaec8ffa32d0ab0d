package export

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/views"
)

// AccountFormat is the version of the structure of account.json. A change that breaks readers
// increments it.
const AccountFormat = "kith-export-1"

// partSize is the size, in bytes, at which a contacts.json ends and another one begins.
// Imports read 10 MiB: the difference is room for the last page.
const partSize = 6 << 20

// Account is the stored data about the member.
type Account struct {
	Member  *account.Member
	Profile *account.Profile
	Grants  []oauth.Grant
	Tokens  []account.PersonalToken
	Links   []signin.LinkedIdentity
	// Reads are how often agents read, by day.
	Reads []billing.Reads
	// Decisions are the calls of agents that the member was asked about first.
	Decisions []decision.Decision
	// Calendars are the sources that are read: calendars and address books.
	Calendars []sources.Source
	// Proposals are the cards of devices that the member decides on.
	Proposals []proposalShape
}

// ReadAccount reads what is stored about a member, whose data is given, or fails with fault.NotFound.
func ReadAccount(ctx context.Context, s *db.DB, data *db.Tenant, owner tenant.ID) (a Account, err error) {
	if a.Member, err = account.GetMemberByID(ctx, s, owner); err != nil {
		return a, err
	}
	if a.Profile, err = account.GetProfile(ctx, s, owner); err != nil {
		return a, err
	}
	if a.Grants, err = oauth.ListGrants(ctx, s, owner); err != nil {
		return a, err
	}
	if a.Tokens, err = account.ListPersonalTokens(ctx, s, owner); err != nil {
		return a, err
	}
	devices, err := account.ListDevices(ctx, s, owner)
	if err != nil {
		return a, err
	}
	feeds, err := account.ListFeeds(ctx, s, owner)
	if err != nil {
		return a, err
	}
	a.Tokens = append(append(a.Tokens, devices...), feeds...)
	if a.Links, err = signin.ListIdentities(ctx, s, owner); err != nil {
		return a, err
	}
	if a.Reads, err = billing.ListReads(ctx, data, time.Time{}); err != nil {
		return a, err
	}
	if a.Decisions, err = decision.List(ctx, data); err != nil {
		return a, err
	}
	if a.Calendars, err = sources.List(ctx, data); err != nil {
		return a, err
	}
	a.Proposals, err = listProposals(ctx, data)
	return a, err
}

// listProposals reads the proposals of a member, newest first. Package dav, whose rows they are, imports this package.
func listProposals(ctx context.Context, data *db.Tenant) (all []proposalShape, err error) {
	err = data.NewRaw(`SELECT id, connection_id, device_name, fields AS lines, card, state, coalesce(change_id, '') AS change_id, created_at, decided_at
FROM proposals WHERE tenant_id = ? ORDER BY created_at DESC, id`, data.TenantID()).Scan(ctx, &all)
	for i := range all {
		all[i].Fields = slices.Collect(strings.FieldsFuncSeq(all[i].Lines, func(r rune) bool { return r == '\n' }))
	}
	return all, err
}

// WriteAccount writes the ZIP. After an error, the output is not a valid ZIP.
func WriteAccount(ctx context.Context, out io.Writer, a Account, data *db.Tenant, now time.Time) error {
	f := &file{archive: zip.NewWriter(out), now: now.UTC()}
	f.objects = func(each func(any) error) error { return Export(ctx, data, each) }
	f.people = func(withTimeline, withPhotos bool, each func(People) error) error {
		return ExportPeople(ctx, data, withTimeline, withPhotos, each)
	}
	return f.write(a)
}

func (f *file) write(a Account) error {
	if err := f.readme(a); err != nil {
		return err
	}
	if err := f.account(a); err != nil {
		return err
	}
	if err := f.documents(); err != nil {
		return err
	}
	for _, other := range []struct{ name, format string }{
		{"contacts.csv", CSV}, {"contacts.vcf", VCard}, {"contacts.jscontact.json", JSContact},
	} {
		if err := f.contacts(other.name, other.format); err != nil {
			return err
		}
	}
	return f.archive.Close()
}

// file is a ZIP that is being written.
type file struct {
	archive *zip.Writer
	now     time.Time
	// objects and people read the member's data.
	objects func(each func(any) error) error
	people  func(withTimeline, withPhotos bool, each func(People) error) error
}

// begin begins a file in the ZIP, and ends the previous one.
func (f *file) begin(name string) (io.Writer, error) {
	return f.archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: f.now})
}

func (f *file) account(a Account) error {
	out, err := f.begin("account.json")
	if err != nil {
		return err
	}
	d := &document{out: out}
	d.begin(a.objects(f.now))
	if err := f.objects(d.object); err != nil {
		return err
	}
	return d.end()
}

// documents writes people, notes and interactions in as many files as necessary, so that
// each can be imported.
func (f *file) documents() error {
	part, err := f.part(1)
	if err != nil {
		return err
	}
	parts := 1
	err = f.people(true, true, func(page People) error {
		if part.Size() > partSize {
			if err := part.Close(); err != nil {
				return err
			}
			parts++
			if part, err = f.part(parts); err != nil {
				return err
			}
		}
		return part.Add(page)
	})
	if err != nil {
		return err
	}
	return part.Close()
}

// part begins the nth document.
func (f *file) part(n int) (*DocumentWriter, error) {
	name := "contacts.json"
	if n > 1 {
		name = fmt.Sprintf("contacts-%d.json", n)
	}
	out, err := f.begin(name)
	return NewDocument(out), err
}

// contacts writes all people in another format.
func (f *file) contacts(name, format string) error {
	out, err := f.begin(name)
	if err != nil {
		return err
	}
	w, err := NewWriter(format, out)
	if err != nil {
		return err
	}
	if err := f.people(false, format == VCard, w.Add); err != nil {
		return err
	}
	return w.Close()
}

// lists are the lists after the head, in the order of Data.Export.
func lists() []string {
	return []string{"connections", "organizations", "groups", "relationships", "distinct_pairs", "reminders", "notes", "interactions", "saved_views", "custom_fields", "changes"}
}

// document writes one JSON object, list by list. After an error it writes nothing more.
type document struct {
	out  io.Writer
	list int // index of the open list
	some bool
	err  error
}

func (w *document) text(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.out, s)
	}
}

func (w *document) value(v any) {
	if w.err != nil {
		return
	}
	data, err := json.Marshal(v)
	if w.err = err; err == nil {
		_, w.err = w.out.Write(data)
	}
}

// begin writes the head and opens the first list.
func (w *document) begin(head []named) {
	w.text("{")
	for _, part := range head {
		w.value(part.name)
		w.text(":")
		w.value(part.value)
		w.text(",\n")
	}
	w.open()
}

func (w *document) open() {
	w.value(lists()[w.list])
	w.text(":[")
	w.some = false
}

// object writes one object into its list, and closes the lists before it. It fails for an
// object of a list that is already closed.
func (w *document) object(object any) error {
	list, shape := shapeOf(object)
	at := slices.Index(lists(), list)
	if at < w.list {
		return fmt.Errorf("export: %T comes out of order", object)
	}
	w.advance(at)
	if w.some {
		w.text(",")
	}
	w.some = true
	w.text("\n")
	w.value(shape)
	return w.err
}

// end closes the document.
func (w *document) end() error {
	w.advance(len(lists()) - 1)
	w.text("\n],\n\"complete\":true}\n")
	return w.err
}

// advance closes and opens lists until the one at an index is open.
func (w *document) advance(to int) {
	for w.list < to {
		w.text("\n],\n")
		w.list++
		w.open()
	}
}

// shapeOf returns the list that an object belongs to and its record.
func shapeOf(object any) (list string, shape any) {
	switch o := object.(type) {
	case *people.Connection:
		return "connections", newPersonRecord(o)
	case *people.Organization:
		return "organizations", organizationShape{o.ID, o.Name, o.Domain, o.Website, o.Address, o.Notes, o.CreatedAt}
	case *groups.Group:
		return "groups", GroupRecord{
			ID: o.ID, Name: o.Name, Description: o.Description, CadenceDays: o.CadenceDays, CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt,
		}
	case *people.Relationship:
		return "relationships", relationshipShape{o.ID, o.FromID, o.ToID, o.Type, o.Label, o.InverseLabel, o.CreatedAt}
	case *people.DistinctPair:
		return "distinct_pairs", distinctPairShape{o.ID, o.FirstID, o.SecondID, o.SaidBy, o.CreatedAt}
	case *reminders.Reminder:
		return "reminders", newReminderRecord(o)
	case *timeline.Note:
		return "notes", newNoteRecord(o)
	case *timeline.Interaction:
		return "interactions", newInteractionRecord(o)
	case *views.View:
		return "saved_views", viewShape{o.ID, o.Name, o.Query, o.CreatedAt, o.UpdatedAt}
	case *people.Field:
		return "custom_fields", fieldShape{o.ID, o.Name, o.Type, o.Choices, o.CreatedAt, o.UpdatedAt}
	case *history.Change:
		return "changes", changeShape{
			o.ID, o.CredentialID, o.CredentialName, o.Tool, o.Summary, o.Effects, o.UndoneBy, o.Undoes, o.CreatedAt,
		}
	}
	return "", nil
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// The records that cardfile does not have. They are separate from the rows, so that the
// file stays the same when rows change.
type (
	memberShape struct {
		ID              string    `json:"id"`
		Username        string    `json:"username"`
		Email           string    `json:"email"`
		EmailVerifiedAt time.Time `json:"email_verified_at,omitzero"`
		Timezone        string    `json:"timezone"`
		Locale          string    `json:"locale"`
		Plan            string    `json:"plan"`
		CreatedAt       time.Time `json:"created_at"`
	}
	profileShape struct {
		Name            string                        `json:"name"`
		Headline        string                        `json:"headline"`
		Bio             string                        `json:"bio"`
		Location        locationShape                 `json:"location"`
		Organization    string                        `json:"organization"`
		Title           string                        `json:"title"`
		Skills          []string                      `json:"skills"`
		Languages       []string                      `json:"languages"`
		Links           []account.Link                `json:"links"`
		OpenTo          []string                      `json:"open_to"`
		AvatarURL       string                        `json:"avatar_url"`
		Visibility      account.Visibility            `json:"visibility"`
		FieldVisibility map[string]account.Visibility `json:"field_visibility"`
		Listed          bool                          `json:"listed"`
		UpdatedAt       time.Time                     `json:"updated_at"`
	}
	locationShape struct {
		Text    string `json:"text"`
		Country string `json:"country"`
	}
	agentShape struct {
		ID         string    `json:"id"`
		ClientName string    `json:"client_name"`
		Scopes     []string  `json:"scopes"`
		Tools      []string  `json:"tools,omitempty"`
		Asks       string    `json:"asks,omitempty"`
		CreatedAt  time.Time `json:"created_at"`
		ExpiresAt  time.Time `json:"expires_at,omitzero"`
		LastUsedAt time.Time `json:"last_used_at,omitzero"`
		PausedAt   time.Time `json:"paused_at,omitzero"`
	}
	tokenShape struct {
		ID         string    `json:"id"`
		Name       string    `json:"name"`
		Scopes     []string  `json:"scopes"`
		Tools      []string  `json:"tools,omitempty"`
		Asks       string    `json:"asks,omitempty"`
		CreatedAt  time.Time `json:"created_at"`
		ExpiresAt  time.Time `json:"expires_at,omitzero"`
		LastUsedAt time.Time `json:"last_used_at,omitzero"`
		RevokedAt  time.Time `json:"revoked_at,omitzero"`
	}
	identityShape struct {
		Issuer     string    `json:"issuer"`
		Subject    string    `json:"subject"`
		CreatedAt  time.Time `json:"created_at"`
		LastUsedAt time.Time `json:"last_used_at"`
	}
	readsShape struct {
		Day            string `json:"day"`
		CredentialID   string `json:"credential_id"`
		CredentialName string `json:"credential_name"`
		Tool           string `json:"tool"`
		Reads          int    `json:"reads"`
	}
	decisionShape struct {
		ID             string    `json:"id"`
		CredentialID   string    `json:"credential_id"`
		CredentialName string    `json:"credential_name"`
		Tool           string    `json:"tool"`
		Kinds          []string  `json:"kinds"`
		State          string    `json:"state"`
		Summary        string    `json:"summary,omitempty"`
		ChangeID       string    `json:"change_id,omitempty"`
		CreatedAt      time.Time `json:"created_at"`
		ExpiresAt      time.Time `json:"expires_at"`
		DecidedAt      time.Time `json:"decided_at,omitzero"`
	}
	proposalShape struct {
		ID           string    `json:"id"`
		ConnectionID string    `json:"connection_id,omitempty"`
		DeviceName   string    `json:"device_name"`
		Fields       []string  `json:"fields,omitempty" bun:"-"`
		Lines        string    `json:"-"`
		Card         string    `json:"card,omitempty"`
		State        string    `json:"state"`
		ChangeID     string    `json:"change_id,omitempty"`
		CreatedAt    time.Time `json:"created_at"`
		DecidedAt    time.Time `json:"decided_at,omitzero"`
	}
	calendarShape struct {
		ID          string          `json:"id"`
		Kind        string          `json:"kind"`
		Name        string          `json:"name"`
		Host        string          `json:"host"`
		State       string          `json:"state"`
		Since       time.Time       `json:"since"`
		Options     sources.Options `json:"options"`
		CreatedAt   time.Time       `json:"created_at"`
		SucceededAt time.Time       `json:"succeeded_at,omitzero"`
	}
	organizationShape struct {
		ID        string    `json:"id"`
		Name      string    `json:"name"`
		Domain    string    `json:"domain"`
		Website   string    `json:"website"`
		Address   string    `json:"address"`
		Notes     string    `json:"notes"`
		CreatedAt time.Time `json:"created_at"`
	}
	relationshipShape struct {
		ID           string    `json:"id"`
		FromID       string    `json:"from_id"`
		ToID         string    `json:"to_id"`
		Type         string    `json:"type"`
		Label        string    `json:"label,omitempty"` // more of to_id than type says, as inverse_label is of from_id
		InverseLabel string    `json:"inverse_label,omitempty"`
		CreatedAt    time.Time `json:"created_at"`
	}
	distinctPairShape struct {
		ID        string    `json:"id"`
		FirstID   string    `json:"first_id"`
		SecondID  string    `json:"second_id"`
		SaidBy    string    `json:"said_by"`
		CreatedAt time.Time `json:"created_at"`
	}
	fieldShape struct {
		ID        string    `json:"id"`
		Name      string    `json:"name"`
		Type      string    `json:"type"`
		Choices   []string  `json:"choices,omitempty"`
		CreatedAt time.Time `json:"created_at"`
		UpdatedAt time.Time `json:"updated_at"`
	}
	viewShape struct {
		ID        string    `json:"id"`
		Name      string    `json:"name"`
		Query     string    `json:"query"`
		CreatedAt time.Time `json:"created_at"`
		UpdatedAt time.Time `json:"updated_at"`
	}
	changeShape struct {
		ID             string           `json:"id"`
		CredentialID   string           `json:"credential_id"`
		CredentialName string           `json:"credential_name"`
		Tool           string           `json:"tool"`
		Summary        string           `json:"summary"`
		Effects        []history.Effect `json:"effects"`
		UndoneBy       string           `json:"undone_by,omitzero"`
		Undoes         string           `json:"undoes,omitzero"`
		CreatedAt      time.Time        `json:"created_at"`
	}
)

// named is one member of the JSON object.
type named struct {
	name  string
	value any
}

// objects returns what account.json says about the account, in order.
func (a Account) objects(now time.Time) []named {
	m, p := a.Member, a.Profile
	visibility := p.FieldVisibility
	if visibility == nil {
		visibility = map[string]account.Visibility{}
	}
	agents, tokens, identities := []agentShape{}, []tokenShape{}, []identityShape{}
	for _, g := range a.Grants {
		agents = append(agents, agentShape{g.ID, g.ClientName, strings.Fields(g.Scopes), strings.Fields(g.Tools), g.Asks, g.CreatedAt, g.ExpiresAt, g.LastUsedAt, g.PausedAt})
	}
	for _, t := range a.Tokens {
		tokens = append(tokens, tokenShape{t.ID, t.Name, strings.Fields(t.Scopes), strings.Fields(t.Tools), t.Asks, t.CreatedAt, t.ExpiresAt, t.LastUsedAt, t.RevokedAt})
	}
	for _, link := range a.Links {
		identities = append(identities, identityShape{link.Issuer, link.Subject, link.CreatedAt, link.LastUsedAt})
	}
	reads := []readsShape{}
	for _, r := range a.Reads {
		reads = append(reads, readsShape{r.Day, r.CredentialID, r.CredentialName, r.Tool, r.Reads})
	}
	decisions := []decisionShape{}
	for _, d := range a.Decisions {
		decisions = append(decisions, decisionShape{
			d.ID, d.CredentialID, d.CredentialName, d.Tool, d.Why(), d.State, d.Preview.Summary, d.ChangeID, d.CreatedAt, d.ExpiresAt, d.DecidedAt,
		})
	}
	calendars := []calendarShape{}
	for _, c := range a.Calendars {
		calendars = append(calendars, calendarShape{c.ID, c.Kind, c.Name, c.Host, c.State, c.Since, c.Options, c.CreatedAt, c.SucceededAt})
	}
	return []named{
		{"format", AccountFormat},
		{"exported_at", now.UTC()},
		{"member", memberShape{string(m.ID), m.Username, m.Email, m.EmailVerifiedAt, m.Timezone, m.Locale, m.Plan, m.CreatedAt}},
		{"profile", profileShape{
			p.Name, p.Headline, p.Bio, locationShape{p.LocationText, p.Country}, p.Organization, p.Title, nonNil(p.Skills), nonNil(p.Languages),
			nonNil(p.Links), nonNil(p.OpenTo), p.AvatarURL, p.Visibility, visibility, p.Listed, p.UpdatedAt,
		}},
		{"agents", agents},
		{"personal_tokens", tokens},
		{"linked_identities", identities},
		{"agent_reads", reads},
		{"decisions", decisions},
		{"proposals", nonNil(a.Proposals)},
		{"calendars", calendars},
	}
}

// readmeText describes the files in the ZIP; its values are the username and the day.
const readmeText = `Everything that Kith keeps for %s, %s.

account.json             all of it: your people, notes, interactions, groups, reminders,
                         relationships, pairs that are not the same person, saved views and
                         changes, your profile, agents and tokens, and how often agents
                         read; not the photos
contacts.json            your people, archived ones too, with notes, interactions,
                         reminders, groups and photos; Kith reads it back, on the page Imports
                         or by import_file. Its list left_out says what is not in it.
contacts-2.json, ...     further people, where they do not fit into one import; import
                         these files one after the other. Two people in different files
                         who share an address are then taken for one.
contacts.csv             your people for spreadsheets and other programs
contacts.vcf             your people for address books (vCard 4.0)
contacts.jscontact.json  your people for newer programs (JSContact, RFC 9553)

Archived people are in account.json and contacts.json only. What was changed while this was written may
be in one file and not in another.
`

func (f *file) readme(a Account) error {
	out, err := f.begin("README.txt")
	if err != nil {
		return err
	}
	text := fmt.Sprintf(readmeText, a.Member.Username, f.now.Format(time.DateOnly))
	_, err = io.WriteString(out, strings.ReplaceAll(text, "\n", "\r\n")) // for any editor
	return err
}
