package importer

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/uptrace/bun"
)

// The most people that a note and an interaction have.
const (
	maxAbout = 20
	maxMetBy = 50
)

// ofRow is a warning about a record in a list.
const ofRow = "%s, number %d: %v"

// notes imports the notes of a lossless export.
func (im *fileImport) notes(ctx context.Context) error {
	return importList(ctx, im, phaseNotes, im.file.Notes(), func(n source.Note) int { return len(n.Record.Body) }, addNotes)
}

// noteKey identifies a note: two notes with the same key about the same person are one.
type noteKey struct {
	at   time.Time
	body string
}

func addNotes(ctx context.Context, s *step, records []source.Note) error {
	var keys []string
	var at []time.Time
	for i := range records {
		rec := &records[i].Record
		keys = append(keys, rec.ConnectionIDs...)
		rec.CreatedAt = orNow(rec.CreatedAt, s.tx)
		at = append(at, rec.CreatedAt)
	}
	who, err := s.resolve(ctx, keys)
	if err != nil {
		return err
	}
	rows, err := FindNotes(ctx, s.tx, at)
	if err != nil {
		return err
	}
	known := map[noteKey][]*timeline.Note{}
	for i := range rows {
		key := noteKey{moment(rows[i].CreatedAt), rows[i].Body}
		known[key] = append(known[key], &rows[i])
	}
	for _, rec := range records {
		if rec.Err != nil {
			s.report.warn(ofRow, "notes", rec.Row, rec.Err)
			continue
		}
		n := noteOf(&rec.Record, who.people(rec.Record.ConnectionIDs, maxAbout))
		if len(n.ConnectionIDs) == 0 {
			continue
		}
		key := noteKey{n.CreatedAt, n.Body}
		if other := firstAbout(known[key], n.ConnectionIDs, func(n *timeline.Note) []string { return n.ConnectionIDs }); other != nil {
			s.addPeople(&s.rows.NotesAbout, history.Note, other.ID, &other.ConnectionIDs, n.ConnectionIDs, maxAbout)
			continue
		}
		known[key] = append(known[key], n)
		add(s, &s.rows.Notes, history.Note, id.Note, &n.ID, n)
	}
	return nil
}

// noteOf returns the row of a note about people.
func noteOf(rec *export.NoteRecord, about []string) *timeline.Note {
	n := &timeline.Note{Body: rec.Body, Pinned: rec.Pinned, Version: 1, CreatedAt: moment(rec.CreatedAt), ConnectionIDs: about}
	n.UpdatedAt = latest(moment(rec.UpdatedAt), n.CreatedAt)
	if rec.Day != "" {
		n.Day, n.NotedAt = rec.Day, moment(rec.NotedAt)
	}
	n.SetNotedAt()
	return n
}

// orNow returns a time with the precision of the databases, or now if the time is zero.
func orNow(at time.Time, tx *db.Tx) time.Time {
	if at.IsZero() {
		at = tx.Now()
	}
	return moment(at)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// firstAbout returns the first of the objects with one key that is about one of the people. It
// skips objects that are only about other people.
func firstAbout[T any](alike []*T, people []string, of func(*T) []string) *T {
	for _, object := range alike {
		if slices.ContainsFunc(of(object), func(id string) bool { return slices.Contains(people, id) }) {
			return object
		}
	}
	return nil
}

// about is the part of an object's state that says which people it is about.
type about struct {
	ConnectionIDs []string `json:"connection_ids"`
}

// addPeople adds further people to a stored object, most at most.
func (s *step) addPeople(links *[]Link, kind, objectID string, ids *[]string, further []string, most int) {
	before := slices.Clone(*ids)
	after := slices.Clone(*ids)
	for _, id := range further {
		if !slices.Contains(after, id) && len(after) < most {
			after = append(after, id)
			*links = append(*links, Link{ObjectID: objectID, ConnectionID: id})
		}
	}
	if len(after) == len(before) {
		return
	}
	slices.Sort(after)
	*ids = after
	s.effect(kind, objectID, about{before}, about{slices.Clone(after)})
}

// interactions imports the interactions of a lossless export.
func (im *fileImport) interactions(ctx context.Context) error {
	return importList(ctx, im, phaseInteractions, im.file.Interactions(), func(i source.Interaction) int { return len(i.Record.Summary) }, addInteractions)
}

// interactionKey identifies an interaction: by the external key or, without one, by the
// other fields and a person.
type interactionKey struct {
	key, kind, summary string
	at                 time.Time
}

func interactionKeyOf(i *timeline.Interaction) interactionKey {
	if i.ExternalKey != "" {
		return interactionKey{key: i.ExternalKey}
	}
	return interactionKey{kind: i.Kind, summary: i.Summary, at: moment(i.OccurredAt)}
}

func addInteractions(ctx context.Context, s *step, records []source.Interaction) error {
	known, who, err := s.knownInteractions(ctx, records)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if rec.Err != nil {
			s.report.warn(ofRow, "interactions", rec.Row, rec.Err)
			continue
		}
		rec.Record.CreatedAt = orNow(rec.Record.CreatedAt, s.tx)
		i := interactionOf(&rec.Record, who.people(rec.Record.ConnectionIDs, maxMetBy))
		if len(i.ConnectionIDs) == 0 {
			continue
		}
		key := interactionKeyOf(i)
		other := firstAbout(known[key], i.ConnectionIDs, func(i *timeline.Interaction) []string { return i.ConnectionIDs })
		if other == nil && i.ExternalKey != "" && len(known[key]) > 0 {
			other = known[key][0]
		}
		if other != nil {
			s.addPeople(&s.rows.MetBy, history.Interaction, other.ID, &other.ConnectionIDs, i.ConnectionIDs, maxMetBy)
			continue
		}
		known[key] = append(known[key], i)
		add(s, &s.rows.Interactions, history.Interaction, id.Interaction, &i.ID, i)
	}
	return nil
}

// knownInteractions returns stored interactions that may be those of records, and the
// people of the records.
func (s *step) knownInteractions(ctx context.Context, records []source.Interaction) (map[interactionKey][]*timeline.Interaction, *resolved, error) {
	var keys, externalKeys []string
	var at []time.Time
	for i := range records {
		rec := &records[i].Record
		keys = append(keys, rec.ConnectionIDs...)
		at = append(at, moment(rec.OccurredAt))
		if rec.ExternalKey != "" {
			externalKeys = append(externalKeys, rec.ExternalKey)
		}
	}
	who, err := s.resolve(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	rows, err := FindInteractions(ctx, s.tx, externalKeys, at)
	known := map[interactionKey][]*timeline.Interaction{}
	for i := range rows {
		key := interactionKeyOf(&rows[i])
		known[key] = append(known[key], &rows[i])
	}
	return known, who, err
}

// interactionOf returns the row of an interaction with people.
func interactionOf(rec *export.InteractionRecord, people []string) *timeline.Interaction {
	return &timeline.Interaction{
		Kind: rec.Kind, OccurredAt: moment(rec.OccurredAt), OccurredLocal: rec.OccurredLocal, DurationMinutes: rec.DurationMinutes, Summary: rec.Summary,
		ExternalKey: rec.ExternalKey, CreatedAt: moment(rec.CreatedAt), ConnectionIDs: people,
	}
}

// contacts imports the days of last contact of people, after all interactions: for each person who
// had no contact as late as that, an interaction.
func (im *fileImport) contacts(ctx context.Context) error {
	if !im.at.Contacts {
		return nil
	}
	told := func(yield func(*entry) bool) {
		for rec := range im.personRecords {
			if !rec.Person.LastInteractionAt.IsZero() && !yield(rec) {
				return
			}
		}
	}
	return importList(ctx, im, phaseContacts, told, nil, addContacts)
}

// lastContact is the summary of an interaction of which only the day is known.
const lastContact = "Last contact, as an imported file says"

func addContacts(ctx context.Context, s *step, records []*entry) error {
	who, err := s.resolve(ctx, people.IDs(records, func(rec *entry) string { return rec.ref }))
	if err != nil || len(who.ids) == 0 {
		return err
	}
	var rows []struct {
		ID                string
		LastInteractionAt time.Time `bun:",nullzero"`
	}
	err = s.tx.NewRaw("SELECT id, last_interaction_at FROM connections WHERE tenant_id = ? AND id IN (?)",
		s.tx.TenantID(), bun.List(people.DistinctIDs(slices.Collect(maps.Values(who.ids))))).Scan(ctx, &rows)
	if err != nil {
		return err
	}
	settings, err := account.GetSettings(ctx, s.tx)
	if err != nil {
		return err
	}
	zone := civil.Zone(settings.Timezone)
	latest := map[string]time.Time{}
	for _, row := range rows {
		latest[row.ID] = row.LastInteractionAt
	}
	added := map[string]*timeline.Interaction{}
	for _, rec := range records {
		about, at := who.ids[rec.ref], moment(rec.Person.LastInteractionAt)
		if about == "" || !who.mayChange(about) {
			continue
		}
		local := ""
		if day := at.Truncate(24 * time.Hour); at.Equal(day) { // only the day is known
			if civil.Of(latest[about], zone).Equal(day) {
				continue
			}
			at, local = civil.Noon(day, zone), day.Format(time.DateOnly)
		}
		if !at.After(latest[about]) {
			continue
		}
		if moment(rec.Person.LastInteractionAt).After(s.tx.Now()) {
			s.report.warn("row %d: the day of the last contact, %s, is in the future and was left out", rec.Row, at.Format(time.DateOnly))
			continue
		}
		if latest[about] = at; added[about] != nil {
			added[about].OccurredAt, added[about].OccurredLocal = at, local
			continue
		}
		i := &timeline.Interaction{Kind: "other", OccurredAt: at, OccurredLocal: local, Summary: lastContact, CreatedAt: s.tx.Now(), ConnectionIDs: []string{about}}
		added[about] = i // the effect is encoded later, so that a later contact may change it
		add(s, &s.rows.Interactions, history.Interaction, id.Interaction, &i.ID, i)
	}
	return nil
}

// groups adds the groups of a lossless export that have no people. Existing groups get the
// description and the interval that they lack.
func (im *fileImport) groups(ctx context.Context) error {
	return importList(ctx, im, phaseGroups, im.file.Groups(), nil, addGroups)
}

func addGroups(ctx context.Context, s *step, records []source.Group) error {
	set, err := readGroups(ctx, s.tx, s.groupDetails)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if rec.Err != nil {
			s.report.warn(ofRow, "groups", rec.Row, rec.Err)
			continue
		}
		g := set.get(rec.Record.Name)
		switch {
		case g == nil:
			s.report.warn("the group %q was left out: there are %d groups already", rec.Record.Name, groups.MaxGroups)
		case g.ID != "":
			if err := s.mergeGroup(ctx, g, rec.Record); err != nil {
				return err
			}
		}
	}
	return s.groups(set.added)
}

// mergeGroup gives an existing group the values it lacks or, with overwrite, all values of
// the file.
func (s *step) mergeGroup(ctx context.Context, g *groups.Group, rec export.GroupRecord) error {
	before, after, overwrite := *g, *g, s.params.Options.OnMatch == OnMatchOverwrite
	if rec.Description != "" && (overwrite || g.Description == "") {
		after.Description = rec.Description
	}
	if rec.CadenceDays != 0 && (overwrite || g.CadenceDays == 0) {
		after.CadenceDays = rec.CadenceDays
	}
	if s.params.Options.OnMatch == OnMatchSkip || after == before {
		return nil
	}
	after.Version++
	after.UpdatedAt = s.tx.Now()
	*g = after
	s.effect(history.Group, g.ID, before, after)
	return groups.ReplaceGroup(ctx, s.tx, &after)
}

// reminders imports the reminders of a lossless export.
func (im *fileImport) reminders(ctx context.Context) error {
	return importList(ctx, im, phaseReminders, im.file.Reminders(), func(r source.Reminder) int { return len(r.Record.Text) }, addReminders)
}

// reminderKey identifies a reminder: two reminders with the same key are one if both are about no
// person, or about a person in common.
type reminderKey struct {
	at   time.Time
	text string
}

func addReminders(ctx context.Context, s *step, records []source.Reminder) error {
	var keys []string
	var at []time.Time
	for i := range records {
		rec := &records[i].Record
		keys = append(keys, rec.ConnectionIDs...)
		rec.CreatedAt = orNow(rec.CreatedAt, s.tx)
		at = append(at, rec.CreatedAt)
	}
	who, err := s.resolve(ctx, keys)
	if err != nil {
		return err
	}
	rows, err := FindReminders(ctx, s.tx, at)
	if err != nil {
		return err
	}
	known := map[reminderKey][]*reminders.Reminder{}
	for i := range rows {
		key := reminderKey{moment(rows[i].CreatedAt), rows[i].Text}
		known[key] = append(known[key], &rows[i])
	}
	for _, rec := range records {
		if rec.Err != nil {
			s.report.warn(ofRow, "reminders", rec.Row, rec.Err)
			continue
		}
		r := reminderOf(&rec.Record, who.people(rec.Record.ConnectionIDs, maxAbout))
		if len(rec.Record.ConnectionIDs) > 0 && len(r.ConnectionIDs) == 0 {
			continue
		}
		key := reminderKey{r.CreatedAt, r.Text}
		ofNobody := func(r *reminders.Reminder) bool { return len(r.ConnectionIDs) == 0 }
		if ofNobody(r) && slices.ContainsFunc(known[key], ofNobody) {
			continue
		}
		other := firstAbout(known[key], r.ConnectionIDs, func(r *reminders.Reminder) []string { return r.ConnectionIDs })
		if other != nil {
			s.addPeople(&s.rows.RemindAbout, history.Reminder, other.ID, &other.ConnectionIDs, r.ConnectionIDs, maxAbout)
			continue
		}
		known[key] = append(known[key], r)
		add(s, &s.rows.Reminders, history.Reminder, id.Reminder, &r.ID, r)
	}
	return nil
}

// reminderOf returns the row of a reminder about people.
func reminderOf(rec *export.ReminderRecord, about []string) *reminders.Reminder {
	r := &reminders.Reminder{
		ConnectionIDs: about, Text: rec.Text, DueOn: rec.DueOn, StartsOn: rec.StartsOn, Recurrence: rec.Recurrence, State: rec.State,
		Version: 1, CreatedAt: moment(rec.CreatedAt),
	}
	r.UpdatedAt = latest(moment(rec.UpdatedAt), r.CreatedAt)
	return r
}

// FindNotes returns the notes that were created at one of the times.
func FindNotes(ctx context.Context, tx *db.Tx, at []time.Time) ([]timeline.Note, error) {
	var rows []timeline.Note
	if err := tx.From(&rows).Where("created_at IN (?)", bun.List(at)).Order("id").Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows, timeline.FillNotes(ctx, tx, rows)
}

// FindReminders returns the reminders that were created at one of the times.
func FindReminders(ctx context.Context, tx *db.Tx, at []time.Time) ([]reminders.Reminder, error) {
	var rows []reminders.Reminder
	if err := tx.From(&rows).Where("created_at IN (?)", bun.List(at)).Order("id").Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows, reminders.Fill(ctx, tx, rows)
}

// FindInteractions returns the interactions with one of the external keys, and those that
// took place at one of the times.
func FindInteractions(ctx context.Context, tx *db.Tx, keys []string, at []time.Time) ([]timeline.Interaction, error) {
	var rows []timeline.Interaction
	query := tx.From(&rows).Where("occurred_at IN (?)", bun.List(at)).Order("id")
	if len(keys) > 0 {
		query = query.WhereOr("external_key IN (?)", bun.List(keys))
	}
	if err := query.Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows, timeline.FillInteractions(ctx, tx, rows)
}
