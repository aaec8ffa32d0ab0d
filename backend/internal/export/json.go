package export

import (
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// Format is the version of the structure of a JSON document.
const Format = "kith-connections/1"

// Document is the JSON format. Its records are separate from the rows, so that files stay
// the same when rows change. Partial dates are YYYY, YYYY-MM, YYYY-MM-DD, --MM-DD or "about YYYY"; an
// empty text or a missing time means "not known".
type (
	Document struct {
		Format string `json:"format"`
		// LeftOut says in English what the document omits.
		LeftOut      []string            `json:"left_out"`
		People       []PersonRecord      `json:"people"`
		Notes        []NoteRecord        `json:"notes"`
		Interactions []InteractionRecord `json:"interactions"`
		Reminders    []ReminderRecord    `json:"reminders"`
		Groups       []GroupRecord       `json:"groups"`
	}
	PersonRecord struct {
		ID                string               `json:"id"`
		Name              string               `json:"name"`
		Nickname          string               `json:"nickname"`
		Location          string               `json:"location"`
		Bio               string               `json:"bio"`
		Starred           bool                 `json:"starred"`
		MetOn             string               `json:"met_on"`
		MetHow            string               `json:"met_how"`
		NameParts         people.NameParts     `json:"name_parts,omitzero"`
		DeceasedOn        string               `json:"deceased_on,omitempty"`
		Source            string               `json:"source"`
		CadenceDays       int                  `json:"cadence_days"`
		SnoozedUntil      time.Time            `json:"snoozed_until,omitzero"`
		LastInteractionAt time.Time            `json:"last_interaction_at,omitzero"`
		ArchivedAt        time.Time            `json:"archived_at,omitzero"`
		MergedInto        string               `json:"merged_into,omitempty"` // in exports of accounts only
		Handles           []HandleRecord       `json:"handles"`
		Addresses         []people.Address     `json:"addresses,omitempty"`
		Accounts          []people.Account     `json:"accounts,omitempty"`
		Fields            []people.FieldValue  `json:"fields,omitempty"`
		Kept              []people.Kept        `json:"kept,omitempty"` // properties of cards that Kith does not understand
		Positions         []PositionRecord     `json:"positions"`
		ImportantDates    []DateRecord         `json:"important_dates"`
		Photo             string               `json:"photo,omitempty"` // a data: URI; not in account.json
		Tags              []string             `json:"tags"`
		Groups            []string             `json:"groups"`
		Relationships     []RelationshipRecord `json:"relationships,omitzero"` // in account.json those of people who are not on file; it lists the others
		// NotSameAs are the ids of people who look like duplicates of this one but are not. Exports
		// have each pair in the records of both people.
		NotSameAs []string  `json:"not_same_as,omitempty"` // absent in account.json, which lists them
		CreatedAt time.Time `json:"created_at"`
		UpdatedAt time.Time `json:"updated_at"`
	}
	// HandleRecord's kind is email, phone, url or social. The first of a kind is the
	// preferred one.
	HandleRecord struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
		Label string `json:"label"`
	}
	// PositionRecord's OrganizationID is in exports of accounts only.
	PositionRecord struct {
		OrganizationID string `json:"organization_id,omitempty"`
		Organization   string `json:"organization"`
		Title          string `json:"title"`
		StartedOn      string `json:"started_on"`
		EndedOn        string `json:"ended_on"`
		Current        bool   `json:"current"`
	}
	DateRecord struct {
		Kind  string `json:"kind"`
		Date  string `json:"date"`
		Label string `json:"label"`
	}
	// RelationshipRecord's type is what the other person is to this one. Exports have
	// each relationship in the records of both people. Somebody who is not on file has no ConnectionID.
	RelationshipRecord struct {
		ID           string `json:"id,omitempty"` // in the demo account only
		ConnectionID string `json:"connection_id"`
		Name         string `json:"name"`
		Type         string `json:"type"`
		// Label is a word that says more than the type, and InverseLabel one for this person.
		Label        string `json:"label,omitempty"`
		InverseLabel string `json:"inverse_label,omitempty"`
	}
	// NoteRecord may be in several pages; its id identifies it as one note.
	NoteRecord struct {
		ID            string    `json:"id"`
		ConnectionIDs []string  `json:"connection_ids"`
		Body          string    `json:"body"`
		Pinned        bool      `json:"pinned"`
		CreatedAt     time.Time `json:"created_at"`
		UpdatedAt     time.Time `json:"updated_at"`
		// Day is the day that the note is about, and NotedAt its noon in the zone of the member; both are
		// left out for a note without one.
		Day     string    `json:"day,omitempty"`
		NotedAt time.Time `json:"noted_at,omitzero"`
	}
	InteractionRecord struct {
		ID            string    `json:"id"`
		ConnectionIDs []string  `json:"connection_ids"`
		Kind          string    `json:"kind"`
		OccurredAt    time.Time `json:"occurred_at"`
		// OccurredLocal is the day, or the time with its offset, that the caller gave; empty for a time in
		// UTC.
		OccurredLocal   string    `json:"occurred_local,omitempty"`
		DurationMinutes int32     `json:"duration_minutes"`
		Summary         string    `json:"summary"`
		ExternalKey     string    `json:"external_key"`
		CreatedAt       time.Time `json:"created_at"`
	}
	// ReminderRecord's ConnectionIDs are empty when it is about no connection. Days are
	// YYYY-MM-DD; a recurring reminder counts its periods from StartsOn.
	ReminderRecord struct {
		ID            string    `json:"id"`
		ConnectionIDs []string  `json:"connection_ids"`
		Text          string    `json:"text"`
		DueOn         string    `json:"due_on"`
		StartsOn      string    `json:"starts_on"`
		Recurrence    string    `json:"recurrence"`
		State         string    `json:"state"`
		CreatedAt     time.Time `json:"created_at"`
		UpdatedAt     time.Time `json:"updated_at"`
		// ConnectionID is the one person of a reminder in files of earlier versions.
		ConnectionID string `json:"connection_id,omitempty"`
	}
	// GroupRecord is identified by its name, which people have in their groups. Its id and
	// times are in exports of accounts only; the demo account has ids, too.
	GroupRecord struct {
		ID          string    `json:"id,omitempty"`
		Name        string    `json:"name"`
		Description string    `json:"description"`
		CadenceDays int       `json:"cadence_days"`
		CreatedAt   time.Time `json:"created_at,omitzero"`
		UpdatedAt   time.Time `json:"updated_at,omitzero"`
	}
)

// LeftOut says in English what a format of other programs cannot hold; empty for JSON, whose
// documents say themselves what they omit.
func LeftOut(format string) string {
	const own = "Past positions and the order of positions; stars, keep-in-touch intervals, when and how they met"
	const others = "; notes, interactions, reminders, and who is not the same person."
	switch format {
	case CSV:
		return "Labels; the parts of postal addresses but the preferred one; positions but the current one; dates but the birthday; relationships; photos; properties of cards that Kith keeps" + others
	case VCard, VCard3:
		return own + ", and when they were added; which categories are tags and which are groups" + others
	case JSContact:
		return own + "; photos; which keywords are tags and which are groups" + others
	}
	return ""
}

// leftOut lists what a document omits. archived and photos say whether it has archived people
// and photos.
func leftOut(archived, photos bool) []string {
	out := []string{
		"Ids and versions: an import gives new ones.",
		"The history of changes, and people in the bin.",
		"People who were merged into others: what they had is with those.",
		"When relationships, groups and organisations were made, when people were archived, and who said when that two are not the same.",
		"Websites, addresses and notes of organisations.",
		"Vectors of the similarity search.",
		"Custom fields of which nobody has a value, and choices that nobody has.",
		"The account: profile, settings, agents, tokens, credits and jobs.",
	}
	if !photos {
		out = append(out, "Photos: files have them, answers do not.")
	}
	if !archived {
		out = append(out, "Archived people, and what is about nobody else.")
	}
	return out
}

func recordOf(p *Person) PersonRecord {
	r := newPersonRecord(&p.Connection)
	for i := range r.Positions {
		r.Positions[i].OrganizationID = ""
	}
	if len(p.Picture.Data) > 0 {
		r.Photo = p.Picture.URI()
	}
	r.Relationships = relationshipRecords(slices.Concat(p.Relations, p.Related))
	r.NotSameAs = p.NotSameAs
	return r
}

func relationshipRecords(relations []people.Relation) []RelationshipRecord {
	out := []RelationshipRecord{}
	for _, r := range relations {
		out = append(out, RelationshipRecord{ConnectionID: r.ConnectionID, Name: r.Name, Type: r.Type, Label: r.Label, InverseLabel: r.InverseLabel})
	}
	return out
}

// newPersonRecord returns the record of a connection, of its relationships with those of people who are not on file.
func newPersonRecord(c *people.Connection) PersonRecord {
	r := PersonRecord{
		ID: c.ID, Name: c.Name, Nickname: c.Nickname, Location: c.Location, Bio: c.Bio, Starred: c.Starred, MetOn: c.MetOn,
		MetHow: c.MetHow, DeceasedOn: c.DeceasedOn, NameParts: c.NameParts, Source: c.Source, CadenceDays: c.CadenceDays, SnoozedUntil: c.SnoozedUntil.UTC(),
		LastInteractionAt: c.LastInteractionAt.UTC(), Handles: []HandleRecord{}, Positions: []PositionRecord{},
		ImportantDates: []DateRecord{}, Tags: list(c.Tags), Groups: list(c.Groups), ArchivedAt: c.ArchivedAt.UTC(), MergedInto: c.MergedInto,
		CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(), Addresses: c.Addresses, Accounts: c.Accounts, Fields: c.Fields, Kept: c.Kept,
	}
	if len(c.Related) > 0 {
		r.Relationships = relationshipRecords(c.Related)
	}
	for _, h := range c.Handles {
		r.Handles = append(r.Handles, HandleRecord{h.Kind, h.Value, h.Label})
	}
	for _, o := range c.Positions {
		r.Positions = append(r.Positions, PositionRecord{o.OrganizationID, o.Organization, o.Title, o.StartedOn, o.EndedOn, o.Current})
	}
	for _, d := range c.Dates {
		r.ImportantDates = append(r.ImportantDates, DateRecord{d.Kind, d.String(), d.Label})
	}
	return r
}

// Connection returns the person in the record: handles and positions of the lists, and no
// id, source or time.
func (p *PersonRecord) Connection() people.Connection {
	c := people.Connection{
		Name: p.Name, Nickname: p.Nickname, Location: p.Location, Bio: p.Bio, Starred: p.Starred, MetOn: p.MetOn, MetHow: p.MetHow, DeceasedOn: p.DeceasedOn, NameParts: p.NameParts, CadenceDays: p.CadenceDays,
		Addresses: p.Addresses, Accounts: p.Accounts, Fields: p.Fields, Kept: p.Kept,
	}
	for _, h := range p.Handles {
		c.Handles = append(c.Handles, people.Handle{Kind: h.Kind, Value: h.Value, Label: h.Label})
	}
	for _, o := range p.Positions {
		c.Positions = append(c.Positions, people.Position{
			Organization: o.Organization, Title: o.Title, StartedOn: o.StartedOn, EndedOn: o.EndedOn, Current: o.Current,
		})
	}
	return c
}

// newNoteRecord returns the record of a note.
func newNoteRecord(n *timeline.Note) NoteRecord {
	r := NoteRecord{ID: n.ID, ConnectionIDs: list(n.ConnectionIDs), Body: n.Body, Pinned: n.Pinned, CreatedAt: n.CreatedAt.UTC(), UpdatedAt: n.UpdatedAt.UTC()}
	if n.Day != "" {
		r.Day, r.NotedAt = n.Day, n.NotedAt.UTC()
	}
	return r
}

// newInteractionRecord returns the record of an interaction.
func newInteractionRecord(i *timeline.Interaction) InteractionRecord {
	return InteractionRecord{
		i.ID, list(i.ConnectionIDs), i.Kind, i.OccurredAt.UTC(), i.OccurredLocal, i.DurationMinutes, i.Summary, i.ExternalKey, i.CreatedAt.UTC(),
	}
}

// newReminderRecord returns the record of a reminder.
func newReminderRecord(r *reminders.Reminder) ReminderRecord {
	return ReminderRecord{
		ID: r.ID, ConnectionIDs: list(r.ConnectionIDs), Text: r.Text, DueOn: r.DueOn, StartsOn: r.StartsOn, Recurrence: r.Recurrence,
		State: r.State, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
}

// list returns an empty list for nil, so that documents have no null.
func list(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}
