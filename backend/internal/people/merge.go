package people

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
)

// MergeConflict is a single value that a merge replaces or leaves out. A note about the person who
// stays keeps it.
type MergeConflict struct{ Field, Kept, Dropped string }

// MergeField is a value of a person of which a merge keeps one.
type MergeField struct{ Name, Label string }

// MergeFields returns the values of which a merge keeps one, and of which a caller can choose the
// merged person's.
func MergeFields() []MergeField {
	return []MergeField{
		{"name", "Name"}, {"nickname", "Nickname"}, {"location", "Place"}, {"met_how", "How you met"}, {"met_on", "When you met"},
		{DateBirthday, "Birthday"}, {"cadence_days", "Days between contacts"},
	}
}

// StoreNote stores a note about a person, without recording a change, and returns its effect.
type StoreNote func(ctx context.Context, tx *db.Tx, connectionID, body string) (history.EffectDraft, error)

// MergeInto says which people are merged into one.
type MergeInto struct {
	Into string
	From []string
	// Take are the names of the MergeFields of which a merged person's value stays if there is
	// one.
	Take []string
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
		conflicts := into.absorb(from, one.Take)
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
	labels := map[string]string{"bio": "About", "snoozed_until": "Snoozed until", "label": "Label"}
	for _, f := range MergeFields() {
		labels[f.Name] = f.Label
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Not kept when the record of %s was merged:", name)
	for _, c := range conflicts {
		fmt.Fprintf(&b, "\n%s: %s", labels[c.Field], c.Dropped)
	}
	return b.String()
}

func (m *merge) archiveMerged(ctx context.Context, from *Connection, into string) error {
	away := *from
	away.Handles, away.Positions, away.Tags, away.Dates = nil, nil, nil, nil
	away.ArchivedAt, away.MergedInto, away.LastInteractionAt = m.w.Now(), into, time.Time{}
	return m.replace(ctx, from, &away)
}

func (m *merge) replace(ctx context.Context, before, after *Connection) error {
	after.Version++
	after.UpdatedAt = m.w.Now()
	if err := ReplaceConnection(ctx, m.w, after); err != nil {
		return err
	}
	m.effects = append(m.effects, history.EffectDraft{Kind: history.Connection, ID: after.ID, Before: before, After: after})
	return nil
}

// maxBio is the contract's bound on a bio, in characters.
const maxBio = 2000

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

// absorb adds what other has to c. Bios are joined. Where both have a single value, c's stays,
// and other's is reported as a conflict; of the fields named in take it is the other way round.
func (c *Connection) absorb(other *Connection, take []string) []MergeConflict {
	var conflicts []MergeConflict
	conflict := func(field, kept, dropped string) {
		if kept != dropped && dropped != "" {
			conflicts = append(conflicts, MergeConflict{Field: field, Kept: kept, Dropped: dropped})
		}
	}
	its := other.texts()
	for i, mine := range c.texts() {
		dropped := *its[i].value
		if mine.name == "bio" {
			if both, fits := joinBios(*mine.value, dropped); fits {
				*mine.value = both
				continue
			}
		}
		if *mine.value == "" || dropped != "" && slices.Contains(take, mine.name) {
			*mine.value, dropped = dropped, *mine.value
		}
		conflict(mine.name, *mine.value, dropped)
	}
	dropped := other.CadenceDays
	if c.CadenceDays == 0 || dropped != 0 && slices.Contains(take, "cadence_days") {
		c.CadenceDays, dropped = dropped, c.CadenceDays
	}
	if dropped != 0 {
		conflict("cadence_days", strconv.Itoa(c.CadenceDays), strconv.Itoa(dropped))
	}
	if c.SnoozedUntil.IsZero() {
		c.SnoozedUntil = other.SnoozedUntil
	} else if !other.SnoozedUntil.IsZero() {
		conflict("snoozed_until", c.SnoozedUntil.Format(time.DateOnly), other.SnoozedUntil.Format(time.DateOnly))
	}
	if other.LastInteractionAt.After(c.LastInteractionAt) {
		c.LastInteractionAt = other.LastInteractionAt
	}
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
	for _, p := range other.Positions {
		c.absorbPosition(p)
	}
	for _, d := range other.Dates {
		kept, dropped := c.absorbDate(d, slices.Contains(take, DateBirthday))
		conflict(DateBirthday, kept, dropped)
	}
	return conflicts
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
		mine.Year, mine.Month, mine.Day = fuller.Year, fuller.Month, fuller.Day
		return "", ""
	}
	if take {
		mine.Year, mine.Month, mine.Day = d.Year, d.Month, d.Day
		return d.String(), had.String()
	}
	return had.String(), d.String()
}

// with returns a date that combines what both know, and false when they contradict each
// other.
func (d ImportantDate) with(other ImportantDate) (ImportantDate, bool) {
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
