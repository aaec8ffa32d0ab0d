package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/wordindex"
	"github.com/uptrace/bun"
)

// MergeConflict is a single value that a merge replaces or leaves out. A note about the person who
// stays keeps it.
type MergeConflict struct{ Field, Kept, Dropped string }

// MergeField is a field of which a merge keeps one of two values. If Both is set, the caller can choose to keep both.
type MergeField struct {
	Name, Label string
	Both        bool
}

// MergeFields returns the values of which a merge keeps one, and of which a caller can choose the
// merged person's.
func MergeFields() []MergeField {
	fields := []MergeField{
		{"name", "Name", true}, {"nickname", "Nickname", true}, {"location", "Place", false}, {"met_how", "How you met", true}, {"met_on", "When you met", false},
		{"deceased_on", "Died", false}, {DateBirthday, "Birthday", false}, {"cadence_days", "Days between contacts", false}, {"snoozed_until", "Snoozed until", false},
	}
	for _, part := range new(NameParts).All() {
		fields = append(fields, MergeField{Name: part.Name, Label: part.Label})
	}
	return fields
}

// customField begins the name of the conflict of a custom field, before the field's own name.
const customField = "field "

// StoreNote stores a note about a person, without recording a change, and returns its effect.
type StoreNote func(ctx context.Context, tx *db.Tx, connectionID, body string) (history.EffectDraft, error)

// MergeInto says which people are merged into one.
type MergeInto struct {
	Into string
	From []string

	MergeChoices
}

// MergeChoices say which values stay where both people have one; without a choice, the value of the
// person who stays. The fields are named as conflicts name them.
type MergeChoices struct {
	// Take are the fields of which a merged person's value stays.
	Take []string
	// Both are the fields of which both values stay: nicknames and how you met are joined, and a second
	// name becomes a nickname. A value for which there is no room goes to the note.
	Both []string
}

// MergedPerson is a person who stays, as merged.
type MergedPerson struct {
	Connection *Connection
	// From are the names of those merged into them.
	From      []string
	Conflicts []MergeConflict
}

// Merged is what merges changed or, with a dry run, would change.
type Merged struct {
	// People are in the order of the merges.
	People []MergedPerson
	// Moved is how many notes, interactions, reminders and relationships moved.
	Moved int
	// ChangeID is empty when nothing was written.
	ChangeID string
}

// Merge merges people, as one change. Each person that stays gets the data of the others,
// and the others are archived. What is not kept because only one value can stay becomes a note.
// No one may be in two merges. With dryRun it writes nothing and only reports. show is called with
// the people who stay while the merges are in place.
func Merge(ctx context.Context, w *db.Tx, merges []MergeInto, dryRun bool, note StoreNote, show func(context.Context, []MergedPerson) error) (Merged, error) {
	var out Merged
	err := w.Attempt(ctx, func(ctx context.Context) (bool, error) {
		m := merge{w: w, note: note}
		for _, one := range merges {
			if err := m.run(ctx, one); err != nil {
				return false, err
			}
		}
		out = m.out
		if err := show(ctx, out.People); err != nil {
			return false, err
		}
		if dryRun {
			return false, nil
		}
		var err error
		out.ChangeID, err = history.Record(ctx, w, history.Draft{Summary: m.summary(), Effects: m.effects})
		return err == nil, err
	})
	return out, err
}

// merge is a list of merges in progress.
type merge struct {
	w       *db.Tx
	note    StoreNote
	effects []history.EffectDraft
	out     Merged
}

// summary names who was merged into whom in the first merges.
func (m *merge) summary() string {
	const named = 3
	var parts []string
	for _, p := range m.out.People[:min(len(m.out.People), named)] {
		parts = append(parts, namesIn(p.From)+" into "+p.Connection.Name)
	}
	if more := len(m.out.People) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and others into %d more people", more))
	}
	return "Merged " + strings.Join(parts, ", ")
}

// run does one merge. It empties and archives the others first: only then can their values be
// given to the person that stays.
func (m *merge) run(ctx context.Context, one MergeInto) error {
	intoID, fromIDs := one.Into, one.From
	before, err := live(ctx, m.w, intoID)
	if err != nil {
		return err
	}
	into, person := before.clone(), MergedPerson{}
	var left []string // the bodies of the notes
	for _, id := range fromIDs {
		from, err := live(ctx, m.w, id)
		if err != nil {
			return err
		}
		person.From = append(person.From, from.Name)
		conflicts := into.absorb(from, one.MergeChoices)
		person.Conflicts = append(person.Conflicts, conflicts...)
		if len(conflicts) > 0 {
			left = append(left, leftOver(from.Name, conflicts))
		}
		if into.Photo == "" && from.Photo != "" {
			into.Photo = from.Photo
			if err := copyPhoto(ctx, m.w, from, intoID); err != nil {
				return err
			}
		}
		if err := m.archiveMerged(ctx, from, intoID); err != nil {
			return err
		}
	}
	if err := into.check(); err != nil {
		return err
	}
	if err := m.replace(ctx, before, into); err != nil {
		return err
	}
	for _, id := range fromIDs {
		effects, moved, err := MoveBelongings(ctx, m.w, id, intoID)
		if err != nil {
			return err
		}
		m.effects = append(m.effects, effects...)
		m.out.Moved += moved
	}
	for _, body := range left {
		effect, err := m.note(ctx, m.w, intoID, body)
		if err != nil {
			return err
		}
		m.effects = append(m.effects, effect)
	}
	person.Connection, err = GetConnection(ctx, m.w, intoID)
	m.out.People = append(m.out.People, person)
	return err
}

// leftOver returns the note that keeps the values that a merge with a person left out.
func leftOver(name string, conflicts []MergeConflict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Not kept when the record of %s was merged:", name)
	for _, c := range conflicts {
		fmt.Fprintf(&b, "\n%s: %s", c.Label(), c.Dropped)
	}
	return b.String()
}

// MergeConflicts returns the single values on which two records differ, as a merge of other into c without
// choices reports them.
func (c *Connection) MergeConflicts(other *Connection) []MergeConflict {
	return c.clone().absorb(other, MergeChoices{})
}

// Choice returns the field of a conflict of which a caller can choose the value, and false for other conflicts.
func (c MergeConflict) Choice() (MergeField, bool) {
	for _, f := range MergeFields() {
		if f.Name == c.Field {
			return f, true
		}
	}
	name, custom := strings.CutPrefix(c.Field, customField)
	return MergeField{Name: c.Field, Label: name}, custom
}

// Label returns the label of the field, for people.
func (c MergeConflict) Label() string {
	if f, ok := c.Choice(); ok {
		return f.Label
	}
	labels := map[string]string{"bio": "About", "label": "Label", "kept": "Property of a card", "related": "Relation"}
	return cmp.Or(labels[c.Field], c.Field)
}

func (m *merge) archiveMerged(ctx context.Context, from *Connection, into string) error {
	away := *from
	away.Handles, away.Positions, away.Tags, away.Dates, away.Addresses, away.Accounts, away.Kept = nil, nil, nil, nil, nil, nil, nil
	away.NameParts, away.Fields, away.Related = NameParts{}, nil, nil
	away.ArchivedAt, away.MergedInto, away.LastInteractionAt = m.w.Now(), into, time.Time{}
	return m.replace(ctx, from, &away)
}

func (m *merge) replace(ctx context.Context, before, after *Connection) error {
	effect, err := revise(ctx, m.w, before, after)
	m.effects = append(m.effects, effect)
	return err
}

// maxBio is the contract's bound on a bio, in characters.
const maxBio = 2000

// The contract's bounds on texts of which a merge can keep both, in characters.
const (
	maxNickname = 100
	maxMetHow   = 500
)

// joinTexts returns both texts with the separator between them, or the one that has the other between
// its separators. It returns false when they are longer than most characters.
func joinTexts(a, b, separator string, most int) (string, bool) {
	bounded := func(s string) string { return separator + s + separator }
	switch {
	case b == "" || strings.Contains(bounded(a), bounded(b)):
		return a, true
	case a == "" || strings.Contains(bounded(b), bounded(a)):
		return b, true
	}
	both := a + separator + b
	return both, utf8.RuneCountInString(both) <= most
}

// joinBios returns both texts, or the one that includes the other. It returns false when they are
// too long for one bio.
func joinBios(a, b string) (string, bool) {
	switch {
	case strings.Contains(a, b):
		return a, true
	case strings.Contains(b, a):
		return b, true
	}
	both := a + "\n\n" + b
	return both, utf8.RuneCountInString(both) <= maxBio
}

// absorb adds what other has to c. Bios are joined. Where both have a single value, c's stays unless
// the choices say otherwise, and the one that does not stay is reported as a conflict.
func (c *Connection) absorb(other *Connection, choose MergeChoices) []MergeConflict {
	var conflicts []MergeConflict
	conflict := func(field, kept, dropped string) {
		if kept != dropped && dropped != "" {
			conflicts = append(conflicts, MergeConflict{Field: field, Kept: kept, Dropped: dropped})
		}
	}
	typed := c.absorbTexts(other, choose, conflict)
	c.absorbNameParts(other.NameParts, choose, conflict)
	dropped := other.CadenceDays
	if c.CadenceDays == 0 || dropped != 0 && choose.takes("cadence_days") {
		c.CadenceDays, dropped = dropped, c.CadenceDays
	}
	if dropped != 0 {
		conflict("cadence_days", strconv.Itoa(c.CadenceDays), strconv.Itoa(dropped))
	}
	snoozed := other.SnoozedUntil
	if c.SnoozedUntil.IsZero() || !snoozed.IsZero() && choose.takes("snoozed_until") {
		c.SnoozedUntil, snoozed = snoozed, c.SnoozedUntil
	}
	if !snoozed.IsZero() {
		conflict("snoozed_until", c.SnoozedUntil.Format(time.DateOnly), snoozed.Format(time.DateOnly))
	}
	c.LastInteractionAt = latest(c.LastInteractionAt, other.LastInteractionAt)
	c.Starred = c.Starred || other.Starred
	c.addTags(other.Tags)
	for _, h := range other.Handles {
		at := slices.IndexFunc(c.Handles, h.same)
		if at < 0 {
			c.Handles = append(c.Handles, h)
			continue
		}
		mine := &c.Handles[at]
		if mine.Label == "" {
			mine.Label = h.Label
		}
		if h.Label != "" && mine.Label != h.Label {
			conflict("label", mine.Value+": "+mine.Label, h.Value+": "+h.Label)
		}
	}
	c.absorbCard(other, choose, conflict)
	if !typed {
		c.Location = cmp.Or(c.derivedPlace(), c.Location)
	}
	for _, p := range other.Positions {
		c.absorbPosition(p)
	}
	for _, d := range other.Dates {
		kept, dropped := c.absorbDate(d, choose.takes(DateBirthday))
		conflict(DateBirthday, kept, dropped)
	}
	return conflicts
}

func (m MergeChoices) takes(field string) bool { return slices.Contains(m.Take, field) }

func (m MergeChoices) keepsBoth(field string) bool { return slices.Contains(m.Both, field) }

// absorbTexts adds the single texts, and reports whether the place is a typed one.
func (c *Connection) absorbTexts(other *Connection, choose MergeChoices, conflict func(field, kept, dropped string)) (typed bool) {
	typed = c.HasTypedLocation()
	name, its := c.Name, other.texts()
	for i, mine := range c.texts() {
		dropped := *its[i].value
		taken := dropped != "" && choose.takes(mine.name)
		if mine.name == "location" && (!typed || !other.HasTypedLocation()) {
			if typed && taken {
				conflict("location", dropped, c.Location)
			}
			if taken || !typed && other.HasTypedLocation() {
				c.Location, typed = dropped, true
			}
			continue // any other place that is dropped is in the addresses
		}
		both, fits := "", false
		switch {
		case mine.name == "bio":
			both, fits = joinBios(*mine.value, dropped)
		case mine.name == "nickname" && choose.keepsBoth("nickname"):
			both, fits = joinTexts(*mine.value, dropped, ", ", maxNickname)
		case mine.name == "met_how" && choose.keepsBoth("met_how"):
			both, fits = joinTexts(*mine.value, dropped, "; ", maxMetHow)
		case mine.name == "name" && choose.keepsBoth("name"):
			both, fits = name, true // the other one follows below
		}
		if fits {
			*mine.value = both
			continue
		}
		if *mine.value == "" || taken {
			*mine.value, dropped = dropped, *mine.value
		}
		conflict(mine.name, *mine.value, dropped)
	}
	if choose.keepsBoth("name") && other.Name != name {
		if both, fits := joinTexts(c.Nickname, other.Name, ", ", maxNickname); fits {
			c.Nickname = both
		} else {
			conflict("name", name, other.Name)
		}
	}
	return typed
}

// absorbCard adds what only a card holds: the columns with JSON.
func (c *Connection) absorbCard(other *Connection, choose MergeChoices, conflict func(field, kept, dropped string)) {
	for _, a := range other.Addresses {
		c.absorbAddress(a)
	}
	for _, a := range other.Accounts {
		if mine := c.absorbAccount(a); a.Label != "" && a.Label != mine.Label {
			conflict("label", mine.Handle+": "+mine.Label, a.Handle+": "+a.Label)
		}
	}
	for _, v := range other.Fields {
		kept, dropped := c.absorbField(v, choose.takes(customField+v.Name))
		conflict(customField+v.Name, kept, dropped)
	}
	for _, r := range other.Related {
		if !c.absorbRelated(r) {
			conflict("related", "", r.Word()+": "+r.Name)
		}
	}
	for _, k := range other.Kept {
		if !c.absorbKept(k) {
			conflict("kept", "", k.Name+": "+k.Text)
		}
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// same reports whether both are the same address; social addresses count as web addresses.
func (h Handle) same(other Handle) bool {
	return h.NormalValue == other.NormalValue && (other.in(h.Kind) || h.in(other.Kind))
}

// absorbPosition adds a position, or adds its details to an existing one.
func (c *Connection) absorbPosition(p Position) {
	at := slices.IndexFunc(c.Positions, p.sameJob)
	if at < 0 {
		c.Positions = append(c.Positions, p)
		return
	}
	mine := &c.Positions[at]
	for _, f := range []struct {
		mine *string
		its  string
	}{{&mine.Title, p.Title}, {&mine.StartedOn, p.StartedOn}, {&mine.EndedOn, p.EndedOn}} {
		if *f.mine == "" {
			*f.mine = f.its
		}
	}
}

// sameJob reports whether two positions may be one: at the same organisation, both current
// or both ended, and with no known value that differs.
func (p Position) sameJob(other Position) bool {
	apart := func(a, b string) bool { return a != "" && b != "" && a != b }
	return NormalOrganization(p.Organization) == NormalOrganization(other.Organization) && p.Current == other.Current &&
		!apart(p.Title, other.Title) && !apart(p.StartedOn, other.StartedOn) && !apart(p.EndedOn, other.EndedOn)
}

// absorbDate adds a date. A person has one birthday: when there is another one already, that one
// stays, or with take the new one. absorbDate returns which one stays and which one does not; both
// are empty when nothing is lost.
func (c *Connection) absorbDate(d ImportantDate, take bool) (kept, dropped string) {
	at := slices.IndexFunc(c.Dates, d.same)
	if at < 0 && d.Kind == DateBirthday {
		at = slices.IndexFunc(c.Dates, func(other ImportantDate) bool { return other.Kind == DateBirthday })
	}
	if at < 0 {
		c.Dates = append(c.Dates, d)
		return "", ""
	}
	mine := &c.Dates[at]
	had := *mine
	if fuller, ok := mine.with(d); ok {
		mine.Year, mine.Month, mine.Day, mine.About = fuller.Year, fuller.Month, fuller.Day, fuller.About
		return "", ""
	}
	if take {
		mine.Year, mine.Month, mine.Day, mine.About = d.Year, d.Month, d.Day, d.About
		return d.String(), had.String()
	}
	return had.String(), d.String()
}

// with returns a date that combines what both know, and false when they contradict each
// other.
func (d ImportantDate) with(other ImportantDate) (ImportantDate, bool) {
	if (d.About || other.About) && d.Year != other.Year {
		return d, false
	}
	d.About = d.About && other.About
	for _, part := range []struct {
		mine *int
		its  int
	}{{&d.Year, other.Year}, {&d.Month, other.Month}, {&d.Day, other.Day}} {
		if *part.mine != 0 && part.its != 0 && *part.mine != part.its {
			return d, false
		}
		if *part.mine == 0 {
			*part.mine = part.its
		}
	}
	return d, true
}

// MergePair asks for one record to be merged into another.
type MergePair struct{ Keep, Merge string }

// MergesOf returns the merges of the pairs. It resolves chains: if b is merged into a, and c into
// b, both are merged into a. It fails with fault.Invalid if a person would be merged into
// themselves, if pairs form a cycle, or if a person would be merged into two people who are not
// merged with each other.
func MergesOf(pairs []MergePair) ([]MergeInto, error) {
	merged, into := map[string]bool{}, map[string][]string{}
	for i, p := range pairs {
		if p.Keep == p.Merge {
			return nil, fault.InvalidField("pairs", "[%d] has the same person twice: a person cannot be merged into themselves", i)
		}
		merged[p.Merge] = true
		into[p.Keep] = append(into[p.Keep], p.Merge)
	}
	var out []MergeInto
	stays := map[string]string{} // the person that each is merged into in the end
	for _, p := range pairs {
		if merged[p.Keep] || stays[p.Keep] != "" {
			continue
		}
		stays[p.Keep] = p.Keep
		one := MergeInto{Into: p.Keep}
		for next := slices.Clone(into[p.Keep]); len(next) > 0; next = next[1:] {
			id := next[0]
			if other := stays[id]; other == p.Keep {
				continue
			} else if other != "" {
				return nil, fault.InvalidField("pairs", "would merge %s into both %s and %s: leave one of them out, or merge these two as well", id, other, p.Keep)
			}
			stays[id] = p.Keep
			one.From = append(one.From, id)
			next = append(next, into[id]...)
		}
		out = append(out, one)
	}
	for _, p := range pairs {
		if stays[p.Merge] == "" {
			return nil, fault.InvalidField("pairs", "would merge %s and %s into each other: leave one of the pairs out", p.Merge, p.Keep)
		}
	}
	return out, nil
}

// The parts of states that a merge changes.
type (
	about struct {
		ConnectionIDs []string `json:"connection_ids"`
	}
	moveFunc func(ctx context.Context, from, into string) ([]history.EffectDraft, error)
	linked   struct{ table, column, kind string }
)

// MoveBelongings moves the entries of a connection to another one: notes, interactions,
// reminders, relationships and group memberships. It returns the effects, and how many
// entries of the first four kinds moved.
func MoveBelongings(ctx context.Context, tx *db.Tx, from, into string) (effects []history.EffectDraft, moved int, err error) {
	for _, move := range []moveFunc{
		mover(tx, linked{"note_connections", "note_id", history.Note}),
		mover(tx, linked{"interaction_connections", "interaction_id", history.Interaction}),
		mover(tx, linked{"reminder_connections", "reminder_id", history.Reminder}),
		func(ctx context.Context, a1 string, a2 string) ([]history.EffectDraft, error) {
			return moveRelationships(ctx, tx, a1, a2)
		},
	} {
		done, err := move(ctx, from, into)
		if err != nil {
			return nil, 0, fmt.Errorf("move belongings: %w", err)
		}
		effects, moved = append(effects, done...), moved+len(done)
	}
	done, err := moveMemberships(ctx, tx, from, into)
	if err != nil {
		return nil, 0, fmt.Errorf("move belongings: %w", err)
	}
	tx.MarkDirty(from, into)
	return append(effects, done...), moved, nil
}

// mover moves the entries of one kind that a connection takes part in.
func mover(tx *db.Tx, l linked) moveFunc {
	return func(ctx context.Context, from, into string) ([]history.EffectDraft, error) {
		table, column := bun.Ident(l.table), bun.Ident(l.column)
		var entries []string
		err := tx.NewRaw("SELECT ? FROM ? WHERE tenant_id = ? AND connection_id = ? ORDER BY 1", column, table, tx.TenantID(), from).Scan(ctx, &entries)
		if err != nil || len(entries) == 0 {
			return nil, err
		}
		wordindex.Mark(tx, entries...)
		before, err := People(ctx, tx, l.table, l.column, entries)
		if err != nil {
			return nil, err
		}
		_, err = tx.NewRaw("DELETE FROM ? WHERE tenant_id = ? AND connection_id = ? AND ? IN (SELECT ? FROM ? WHERE tenant_id = ? AND connection_id = ?)",
			table, tx.TenantID(), from, column, column, table, tx.TenantID(), into).Exec(ctx)
		if err != nil {
			return nil, err
		}
		_, err = tx.NewRaw("UPDATE ? SET connection_id = ? WHERE tenant_id = ? AND connection_id = ?", table, into, tx.TenantID(), from).Exec(ctx)
		if err != nil {
			return nil, err
		}
		after, err := People(ctx, tx, l.table, l.column, entries)
		effects := make([]history.EffectDraft, len(entries))
		for i, id := range entries {
			effects[i] = history.EffectDraft{Kind: l.kind, ID: id, Before: about{before[id]}, After: about{after[id]}}
		}
		return effects, err
	}
}

// moveRelationships moves relationships. It deletes a relationship between the two people, and one that the other person already
// has, which gets the labels that it lacks.
func moveRelationships(ctx context.Context, tx *db.Tx, from, into string) ([]history.EffectDraft, error) {
	var rows, held []Relationship
	if err := tx.From(&rows).Where("from_id = ? OR to_id = ?", from, from).Order("id").Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	if err := tx.From(&held).Where("(from_id = ? OR to_id = ?) AND from_id <> ? AND to_id <> ?", into, into, from, from).Scan(ctx); err != nil {
		return nil, err
	}
	type relation struct{ from, to, kind string }
	known := map[relation]Relationship{}
	for _, r := range held {
		known[relation{r.FromID, r.ToID, r.Type}] = r
	}
	var effects []history.EffectDraft
	var moved []Relationship
	for _, before := range rows {
		after := before
		if after.FromID == from {
			after.FromID = into
		}
		if after.ToID == from {
			after.ToID = into
		}
		after = after.Normal()
		effect := history.EffectDraft{Kind: history.Relationship, ID: before.ID, Before: before}
		kept, twice := known[relation{after.FromID, after.ToID, after.Type}]
		labelled := kept.With(after, false)
		switch {
		case after.FromID == after.ToID:
		case !twice:
			effect.After = after
			moved = append(moved, after)
		case labelled != kept:
			if err := ReplaceRelationship(ctx, tx, labelled); err != nil {
				return nil, err
			}
			effects = append(effects, history.EffectDraft{Kind: history.Relationship, ID: kept.ID, Before: kept, After: labelled})
		}
		effects = append(effects, effect)
	}
	ids := IDs(rows, func(r Relationship) string { return r.ID })
	if err := tx.Delete(ctx, (*Relationship)(nil), "id IN (?)", bun.List(ids)); err != nil {
		return nil, err
	}
	return effects, tx.InsertAll(ctx, &moved, len(moved))
}

func moveMemberships(ctx context.Context, tx *db.Tx, from, into string) ([]history.EffectDraft, error) {
	theirs, err := groupsOf(ctx, tx, from)
	if err != nil || len(theirs) == 0 {
		return nil, err
	}
	own, err := groupsOf(ctx, tx, into)
	if err != nil {
		return nil, err
	}
	both := slices.Concat(own, theirs)
	slices.Sort(both)
	both = slices.Compact(both)
	if err := errors.Join(setGroups(ctx, tx, from, nil), setGroups(ctx, tx, into, both)); err != nil {
		return nil, err
	}
	return []history.EffectDraft{
		{Kind: history.Membership, ID: from, Before: Groups{Groups: theirs}, After: Groups{Groups: []string{}}},
		{Kind: history.Membership, ID: into, Before: Groups{Groups: own}, After: Groups{Groups: both}},
	}, nil
}

// copyPhoto copies a person's photo to another person. Each person has their own copy, which stays
// when the other person is permanently deleted.
func copyPhoto(ctx context.Context, tx *db.Tx, from *Connection, into string) error {
	_, err := tx.NewRaw(`INSERT INTO photos (tenant_id, connection_id, id, size, media, data)
SELECT tenant_id, ?, id, size, media, data FROM photos WHERE tenant_id = ? AND connection_id = ? AND id = ?
ON CONFLICT (tenant_id, connection_id, id, size) DO UPDATE SET unused_at = NULL`, into, tx.TenantID(), from.ID, from.Photo).Exec(ctx)
	return err
}

// keepPhotos keeps the photos of people who are being restored. A photo that is no longer stored is
// left out: the rest of the person is restored.
func keepPhotos(ctx context.Context, tx *db.Tx, people map[string]*Connection) error {
	var ids []string
	for id, c := range people {
		if c.Photo != "" {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var kept []struct{ ConnectionID, ID string }
	err := tx.NewRaw("UPDATE photos SET unused_at = NULL WHERE tenant_id = ? AND connection_id IN (?) RETURNING connection_id, id",
		tx.TenantID(), bun.List(ids)).Scan(ctx, &kept)
	if err != nil {
		return err
	}
	for _, id := range ids {
		c := people[id]
		if !slices.ContainsFunc(kept, func(k struct{ ConnectionID, ID string }) bool { return k.ConnectionID == id && k.ID == c.Photo }) {
			c.Photo = ""
		}
	}
	return nil
}
