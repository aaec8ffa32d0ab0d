package people

import (
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Sources: where a record came from.
const (
	SourceManual    = "manual"
	SourceAgent     = "agent"
	SourceImport    = "import"
	SourceDirectory = "directory"
)

// Connection is a person in a member's network, and its database row. Its lists are rows
// of their own.
type Connection struct {
	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk" json:"id"`
	Name     string    `json:"name"`
	Nickname string    `json:"nickname"`
	Location string    `json:"location"`
	Bio      string    `json:"bio"`
	Starred  bool      `json:"starred"`
	// MetOn is a partial date: YYYY, YYYY-MM, YYYY-MM-DD or empty.
	MetOn  string `json:"met_on"`
	MetHow string `json:"met_how"`
	Source string `json:"source"`
	// CadenceDays is the person's own keep-in-touch interval; 0 when there is none.
	CadenceDays       int       `json:"cadence_days"`
	SnoozedUntil      time.Time `bun:",nullzero" json:"snoozed_until"`
	LastInteractionAt time.Time `bun:",nullzero" json:"last_interaction_at"`
	ArchivedAt        time.Time `bun:",nullzero" json:"archived_at"`
	// MergedInto is the connection that this one was merged into.
	MergedInto string `bun:",nullzero" json:"merged_into"`
	// Photo is the id of the photo, which package photos keeps; empty for none.
	Photo string `json:"photo"`
	// Version grows by one with each change (optimistic locking).
	Version int32 `json:"version"`
	// DataVersion is the tenant's data version at the last write to anything that a search
	// for this person reads.
	DataVersion int64 `json:"-"`
	// FoldedName is Name, folded for comparison; the store sets it.
	FoldedName string    `json:"-"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`

	Handles   []Handle        `bun:"-" json:"handles"`
	Positions []Position      `bun:"-" json:"positions"`
	Tags      []string        `bun:"-" json:"tags"`
	Dates     []ImportantDate `bun:"-" json:"dates"`
	// SourceKeys are the keys by which imported files identify the person. They are read
	// and written only where a change records or restores the person.
	SourceKeys []SourceKey `bun:"-" json:"source_keys,omitempty"`
	// Groups are the names of the person's groups. GroupCadence is the shortest interval
	// of those groups, 0 for none. Both belong to the groups: replacing a connection does
	// not change them.
	Groups       []string `bun:"-" json:"-"`
	GroupCadence int      `bun:"-" json:"-"`
}

// SourceKey is a key by which imported files identify a person, the import that added the person by
// that key, which is empty when the person existed before, and the person's name in the file.
type SourceKey struct {
	Key      string `json:"key"`
	ImportID string `json:"import_id"`
	Name     string `json:"name"`
}

// The kinds of handle.
const (
	KindEmail  = "email"
	KindPhone  = "phone"
	KindURL    = "url"
	KindSocial = "social"
)

// Handle is an address of a connection. Its normal value is unique within the
// connection, not across connections: people share mailboxes.
type Handle struct {
	TenantID     tenant.ID `bun:",pk" json:"-"`
	ID           string    `bun:",pk" json:"id"`
	ConnectionID string    `json:"-"`
	Kind         string    `json:"kind"`
	Value        string    `json:"value"`
	NormalValue  string    `json:"normal_value"`
	Label        string    `json:"label"`
	// Ordinal orders the handles of a connection; the first of a kind is the preferred one.
	Ordinal int `json:"ordinal"`
}

// in reports whether h belongs to the list of a kind. To callers, social addresses are web
// addresses.
func (h Handle) in(kind string) bool {
	return h.Kind == kind || kind == KindURL && h.Kind == KindSocial
}

// Organization is a place where people work, stored once per normal name.
type Organization struct {
	TenantID   tenant.ID `bun:",pk"`
	ID         string    `bun:",pk"`
	Name       string
	NormalName string
	Domain     string
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Position is a job of a connection, now or in the past.
type Position struct {
	TenantID     tenant.ID `bun:",pk" json:"-"`
	ID           string    `bun:",pk" json:"id"`
	ConnectionID string    `json:"-"`
	// OrganizationID is empty for a title without a known organisation.
	OrganizationID string `bun:",nullzero" json:"-"`
	// Organization is the organisation's name, kept with the organisation.
	Organization string `bun:",scanonly" json:"organization"`
	Title        string `json:"title"`
	// StartedOn and EndedOn are partial dates; empty when unknown.
	StartedOn string `json:"started_on"`
	EndedOn   string `json:"ended_on"`
	Current   bool   `json:"current"`
	Ordinal   int    `json:"ordinal"`
}

// Values returns the handles of a kind, the preferred one first.
func (c *Connection) Values(kind string) []string {
	values := make([]string, 0, len(c.Handles))
	for _, h := range c.Handles {
		if h.in(kind) {
			values = append(values, h.Value)
		}
	}
	return values
}

// CurrentPosition returns the first position that is still held, or an empty one.
func (c *Connection) CurrentPosition() Position {
	for _, p := range c.Positions {
		if p.Current {
			return p
		}
	}
	return Position{}
}

// Headline returns title and organisation in one line, as far as they are known.
func (p Position) Headline() string {
	switch {
	case p.Title != "" && p.Organization != "":
		return p.Title + " at " + p.Organization
	case p.Title != "":
		return p.Title
	default:
		return p.Organization
	}
}

// clone returns a copy that shares no list with c.
func (c *Connection) clone() *Connection {
	out := *c
	out.Handles, out.Positions, out.Tags = slices.Clone(c.Handles), slices.Clone(c.Positions), slices.Clone(c.Tags)
	out.Dates = slices.Clone(c.Dates)
	return &out
}

// SplitEmail returns the part before the @ and the domain.
func SplitEmail(email string) (local, domain string) {
	at := strings.LastIndexByte(email, '@')
	if at < 0 {
		return email, ""
	}
	return email[:at], email[at+1:]
}

// Draft is a person to be added.
type Draft struct {
	Name, Nickname, Organization, Title, Location, Bio, MetOn, MetHow string
	Emails, Phones, URLs, Tags                                        []string
	Starred                                                           bool
	Dates                                                             []DateDraft
	Jobs                                                              []JobDraft
	Source                                                            string
	// OnDuplicate is one of the OnDuplicate constants; empty means OnDuplicateReturn.
	OnDuplicate string
}

// Patch says what to change of a connection. Nil fields leave their value unchanged.
type Patch struct {
	ID string
	// ExpectedVersion makes the patch fail when the connection has another version.
	ExpectedVersion                                                   *int32
	Name, Nickname, Organization, Title, Location, Bio, MetOn, MetHow *string
	Starred                                                           *bool
	// Emails, Phones, URLs and Tags replace the stored list unless empty.
	Emails, Phones, URLs, Tags Edit
	Dates                      DateEdit
	Jobs                       JobEdit
}

// textField is a text field of a person: its name in the contract, where it is stored, and
// how it is cleaned.
type textField struct {
	name  string
	value *string
	clean func(string) string
}

// texts lists the texts of a person, always in the same order.
func (c *Connection) texts() []textField {
	return []textField{
		{"name", &c.Name, text.Line},
		{"nickname", &c.Nickname, text.Line},
		{"location", &c.Location, text.Line},
		{"bio", &c.Bio, text.Clean},
		{"met_on", &c.MetOn, text.Line},
		{"met_how", &c.MetHow, text.Line},
	}
}

func (c *Connection) cleanTexts() {
	for _, t := range c.texts() {
		*t.value = t.clean(*t.value)
	}
}

// fields returns a connection with the draft's fields, without its lists.
func (d Draft) fields() *Connection {
	c := &Connection{
		Name: d.Name, Nickname: d.Nickname, Location: d.Location, Bio: d.Bio, MetOn: d.MetOn, MetHow: d.MetHow,
		Starred: d.Starred, Source: d.Source,
	}
	c.cleanTexts()
	return c
}

// applyFields sets the fields that the patch has, without its lists.
func (p Patch) applyFields(c *Connection) {
	set := func(field, value *string, clean func(string) string) {
		if value != nil {
			*field = clean(*value)
		}
	}
	set(&c.Name, p.Name, text.Line)
	set(&c.Nickname, p.Nickname, text.Line)
	set(&c.Location, p.Location, text.Line)
	set(&c.Bio, p.Bio, text.Clean)
	set(&c.MetOn, p.MetOn, text.Line)
	set(&c.MetHow, p.MetHow, text.Line)
	if p.Starred != nil {
		c.Starred = *p.Starred
	}
}

// check enforces the rules that concern a record as a whole.
func (c *Connection) check() error {
	if !text.Visible(c.Name) {
		return fault.InvalidField("name", "must hold at least one visible character")
	}
	if err := CheckPartialDate("met_on", c.MetOn); err != nil {
		return err
	}
	return c.checkLimits()
}

func (c *Connection) addTags(tags []string) {
	for _, tag := range tags {
		tag = text.Line(tag)
		if tag != "" && !slices.ContainsFunc(c.Tags, sameTag(tag)) {
			c.Tags = append(c.Tags, tag)
		}
	}
}

func sameTag(tag string) func(string) bool {
	folded := text.Fold(tag)
	return func(other string) bool { return text.Fold(other) == folded }
}

// Limits of one connection.
const (
	maxHandlesOfKind = 20
	maxTags          = 50
)

func (c *Connection) checkLimits() error {
	for _, kind := range []string{KindEmail, KindPhone, KindURL} {
		if len(c.Values(kind)) > maxHandlesOfKind {
			return fault.InvalidField(kind+"s", "one person holds %d at most", maxHandlesOfKind)
		}
	}
	if len(c.Tags) > maxTags {
		return fault.InvalidField("tags", "one person holds %d at most", maxTags)
	}
	if len(c.Positions) > maxPositions {
		return fault.InvalidField("positions", "one person holds %d at most", maxPositions)
	}
	if len(c.Dates) > maxDates {
		return fault.InvalidField("important_dates", "one person holds %d at most", maxDates)
	}
	return nil
}
