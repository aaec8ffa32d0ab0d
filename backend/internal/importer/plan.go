package importer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/text"
)

// plan holds the decisions about entries. It writes nothing.
type plan struct {
	onMatch string
	report  *Report
	// fileKeys are the hashed keys of the file's people with ids of ours.
	fileKeys map[string]bool
	found    Found
	groups   *groupSet
	// people are the people of this plan by the keys of their records; existing are the
	// stored ones by id; order is their order in the file.
	people   map[string]*person
	existing map[string]*person
	order    []*person
	// overwritten are the stored people whom a record has overwritten.
	overwritten map[string]bool
	// see, if set, is called with the decision about each entry.
	see func(Row)
}

// person is a person of the plan.
type person struct {
	// before is the stored record, nil for a new person; after is the planned one.
	before, after *people.Connection
	changed       bool
	// groupsBefore and groups are names.
	groupsBefore, groups []string
	notes, newNotes      []string
	keys                 []people.SourceKey
	archived             bool // archived in the file, and not stored yet
	photo                *photos.Photo
}

// decide plans and reports what happens to each entry.
func (p *plan) decide(entries []*entry) {
	for _, e := range entries {
		p.report.UnreadDates += e.UnreadDates
		p.report.countValues(e.Values)
		for _, warning := range e.Warnings {
			p.report.warn("row %d: %s", e.Row, warning)
		}
	}
	for _, e := range entries {
		m, o := p.decideOne(e)
		p.report.count(o)
		if p.see != nil {
			p.see(p.row(e, m, o))
		}
	}
}

// decideOne plans what happens to an entry.
func (p *plan) decideOne(e *entry) (match, outcome) {
	switch {
	case e.Err != nil:
		return match{}, p.report.fail(e.Row, e.Err)
	case e.choice.Do == DoSkip:
		return p.found.find(e, p.fileKeys), skipped
	case e.archived():
		return match{}, p.decideArchived(e)
	}
	who, m := p.match(e)
	if who == nil {
		p.add(e)
		p.warnOfNamesake(e, m)
		return m, created
	}
	p.recordKey(e, who)
	if p.onMatch == OnMatchSkip {
		return m, skipped
	}
	if m.by != byChoice && !names.Compatible(names.Names{Full: who.after.Name, Nickname: who.after.Nickname}, e.names) {
		p.report.warn("row %d: %s was taken for %s, who has the same key", e.Row, text.Quote(e.connection.Name), text.Quote(who.after.Name))
	}
	return m, p.mergeInto(e, who)
}

// mergeInto adds what an entry says to a person. The day on which a stored person was added does not change.
func (p *plan) mergeInto(e *entry, who *person) outcome {
	if told := e.connection.CreatedAt; who.before != nil && !told.IsZero() && !sameDay(told, who.before.CreatedAt) {
		e.warn(p.report, "the day on which the person was added stays %s; in the file it is %s",
			who.before.CreatedAt.UTC().Format(time.DateOnly), told.UTC().Format(time.DateOnly))
	}
	overwrite := p.onMatch == OnMatchOverwrite && e.leader.key == "" && who.before != nil && !p.overwritten[who.before.ID]
	after, changed, unused, err := who.after.MergeFrom(e.connection, overwrite)
	if err != nil {
		e.misfit = err
		return p.report.fail(e.Row, err)
	}
	for _, u := range unused {
		e.warn(p.report, "the %s stays %s; in the file it is %s", u.Field, text.Quote(u.Stored), text.Quote(u.Said))
	}
	if overwrite {
		p.overwritten[who.before.ID] = true
	}
	who.after, who.changed = after, who.changed || changed
	who.setPhoto(e.photo)
	changed = p.joinGroups(who, e.Person.Groups) || changed
	if who.addNotes(e.Notes) || changed {
		return updated
	}
	return skipped
}

// decideArchived adds an archived person, unless the person is already stored, archived or
// not. The record is never blended with another one.
func (p *plan) decideArchived(e *entry) outcome {
	if known, _ := p.found.keyed(e); known != "" || p.people[e.key] != nil || p.found.archived(e.identity, e.id) != "" {
		return skipped
	}
	p.add(e)
	return created
}

// match returns the person of an entry, from the plan or the store; nil for a new person.
func (p *plan) match(e *entry) (*person, match) {
	for _, key := range []string{e.leader.key, e.key} {
		if who := p.people[key]; who != nil {
			return who, match{by: e.repeatedBy()}
		}
	}
	m := p.found.find(e, p.fileKeys)
	if m.id == "" && e.choice.Person != "" {
		e.dropChoice()
		p.report.warn("row %d: %s", e.Row, e.Warnings[len(e.Warnings)-1])
		m = p.found.find(e, p.fileKeys)
	}
	if m.id == "" {
		return nil, m
	}
	if p.existing[m.id] == nil {
		c := p.found.People[m.id]
		who := &person{before: c, after: c, groupsBefore: c.Groups, groups: slices.Clone(c.Groups), notes: p.found.Notes[m.id]}
		p.existing[m.id] = who
		p.order = append(p.order, who)
	}
	return p.existing[m.id], m
}

// repeatedBy returns why an entry is the same person as an earlier one of the file.
func (e *entry) repeatedBy() string {
	if e.choice.Do == DoSame && e.repeats.By != byKey {
		return byChoice
	}
	return cmp.Or(e.repeats.By, byKey)
}

// add plans a new person.
func (p *plan) add(e *entry) {
	who := &person{after: e.connection, archived: e.archived(), photo: e.photo}
	p.joinGroups(who, e.Person.Groups)
	who.addNotes(e.Notes)
	p.order = append(p.order, who)
	p.recordKey(e, who)
}

// recordKey adds the key of a record to a person's keys; the hash of the whole record, if another
// person has the key.
func (p *plan) recordKey(e *entry, who *person) {
	if p.people[e.key] == nil {
		key := e.key
		if holders := p.found.IDs[MatchKey{By: byKey, Value: key}]; len(holders) > 0 && (who.before == nil || holders[0] != who.before.ID) {
			key = e.content
		}
		if key == e.key && len(p.found.IDs[MatchKey{By: byKey, Value: key}]) > 0 && !p.found.confirms(e.identity, MatchKey{By: byKey, Value: key}) {
			key = e.content // the person was renamed
		}
		if len(p.found.IDs[MatchKey{By: byKey, Value: key}]) == 0 {
			who.keys = append(who.keys, people.SourceKey{Key: key, Name: e.names.Full})
		}
	}
	p.people[e.key] = who
}

// warnOfNamesake warns that a new person has the key or the address of another one, unless the
// member chose to add a new person.
func (p *plan) warnOfNamesake(e *entry, m match) {
	what := map[string]string{byEmail: "e-mail address", byPhone: "phone number", byAddress: "web address"}
	for _, other := range append(slices.Clip(m.others), e.namesake) {
		if e.choice.Do == "" && other.By == byID {
			p.report.warn("row %d: %s is a new person, but %s has the same id in that program; merge_connections merges them if they are one person",
				e.Row, text.Quote(e.connection.Name), text.Quote(other.Name))
			return
		}
		if e.choice.Do == "" && what[other.By] != "" {
			p.report.warn("row %d: %s is a new person, but %s has the same %s; find_duplicates has the pair (with a min_score of 0.4 if three or more people have it)",
				e.Row, text.Quote(e.connection.Name), text.Quote(other.Name), what[other.By])
			return
		}
	}
}

func sameDay(a, b time.Time) bool {
	return a.UTC().Format(time.DateOnly) == b.UTC().Format(time.DateOnly)
}

// joinGroups adds a person to groups, and reports whether that changed anything.
func (p *plan) joinGroups(who *person, names []string) (changed bool) {
	for _, name := range names {
		same := func(other string) bool { return text.Fold(other) == text.Fold(name) }
		if slices.ContainsFunc(who.groups, same) || len(who.groups) >= groups.MaxGroupsOfPerson {
			continue
		}
		if p.groups.get(name) == nil {
			p.report.warn("the group %q was left out: there are %d groups already", name, groups.MaxGroups)
			continue
		}
		who.groups = append(who.groups, name)
		changed = true
	}
	return changed
}

// setPhoto stores the photo that the planned record refers to.
func (w *person) setPhoto(photo *photos.Photo) {
	if photo != nil && w.after.Photo == photo.ID {
		w.photo = photo
	}
}

// addNotes adds notes whose texts are new.
func (w *person) addNotes(texts []string) (changed bool) {
	for _, body := range texts {
		if !slices.Contains(w.notes, body) {
			w.notes, w.newNotes = append(slices.Clip(w.notes), body), append(w.newNotes, body)
			changed = true
		}
	}
	return changed
}

// maxChanged limits the changed stored people that a dry run remembers. They are for
// records that match only values that the dry run would have added.
const maxChanged = 5000

// forget drops, after a step of a dry run, the people whom later records cannot match.
func (p *plan) forget(entries []*entry, repeated map[string]bool) {
	for _, e := range entries {
		if !repeated[e.key] {
			delete(p.people, e.key)
		}
	}
	for _, who := range p.order {
		if who.before != nil && (!who.changed || len(p.existing) > maxChanged) {
			delete(p.existing, who.before.ID)
		}
	}
	p.order, p.found = nil, Found{}
}

// groupSet are the stored groups and those that an import adds, which get their ids when
// they are written.
type groupSet struct {
	byName map[string]*groups.Group
	added  []*groups.Group
	// details are the file's records of groups. Both are by folded names.
	details map[string]export.GroupRecord
}

func readGroups(ctx context.Context, on db.Reader, details map[string]export.GroupRecord) (*groupSet, error) {
	existing, err := groups.ListGroups(ctx, on)
	s := &groupSet{byName: map[string]*groups.Group{}, details: details}
	for i := range existing {
		s.byName[existing[i].FoldedName] = &existing[i]
	}
	return s, err
}

// get returns the group with a name. It adds the group if necessary, and returns nil when
// there are too many.
func (s *groupSet) get(name string) *groups.Group {
	folded := text.Fold(name)
	if g := s.byName[folded]; g != nil || len(s.byName) >= groups.MaxGroups {
		return g
	}
	details := s.details[folded]
	g := &groups.Group{Name: text.Line(name), FoldedName: folded, Description: details.Description, CadenceDays: details.CadenceDays, Version: 1}
	s.byName[folded] = g
	s.added = append(s.added, g)
	return g
}

// ids returns the sorted ids of groups.
func (s *groupSet) ids(names []string) []string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		if g := s.byName[text.Fold(name)]; g != nil {
			out = append(out, g.ID)
		}
	}
	slices.Sort(out)
	return out
}

// Bounds of a report.
const (
	maxErrors   = 50
	maxWarnings = 50
	maxMessage  = 300 // characters
)

// Report is the result of an import: Created, Updated, Skipped and Failed sum up
// to Total.
type Report struct {
	Total   int `json:"total"`
	Created int `json:"created"`
	Updated int `json:"updated"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
	// UnreadDates is how many dates could not be read; they are kept in notes.
	UnreadDates int `json:"unread_dates,omitempty"`
	// Columns count the values of each column of a table, or of each property of cards, by what became of them. The first
	// MaxColumns are named; one more entry, without a name, counts the values of all others.
	Columns []ColumnReport `json:"columns,omitempty"`
	// Rows are the first rows of a dry run, and the first doubtful ones; maxShown at most.
	Rows []RowReport `json:"rows,omitempty"`
	// Errors are the errors of the first rows that failed.
	Errors   []RowError `json:"errors"`
	Format   string     `json:"format"`
	Charset  string     `json:"charset"`
	Warnings []string   `json:"warnings"`
	// MoreWarnings is how many warnings there are beside the first, which are in Warnings.
	MoreWarnings int    `json:"more_warnings,omitempty"`
	ImportID     string `json:"import_id"`
	DryRun       bool   `json:"dry_run"`
}

// RowError says what is wrong with a row.
type RowError struct {
	Row     int    `json:"row"`
	Message string `json:"message"`
}

// MaxColumns is how many columns of a file a report names.
const MaxColumns = 200

// ColumnReport says what became of the values of a column of a table, or of a property of cards.
type ColumnReport struct {
	Name string `json:"name"`
	// Field is where values are stored: the name of one of source.Fields, or source.FieldKept.
	Field string `json:"field,omitempty"`
	// Stored values are in the field, Noted ones in a note, and Unread ones too, because they cannot be read. Dropped ones say
	// nothing of the person, are too large, or were left out by choice.
	Stored  int `json:"stored,omitempty"`
	Noted   int `json:"noted,omitempty"`
	Unread  int `json:"unread,omitempty"`
	Dropped int `json:"left_out,omitempty"`
}

// Label returns the label of the field on pages; empty for none.
func (c ColumnReport) Label() string { return source.FieldLabel(c.Field) }

// countValues counts what became of the values of a record. They come in the order of the columns, so the search for each
// begins where the one before ended.
func (r *Report) countValues(values []source.Value) {
	at := 0
	for _, v := range values {
		for n := 0; ; n++ {
			if n == len(r.Columns) {
				at = n
				r.Columns = append(r.Columns, ColumnReport{Name: v.Name, Field: v.Field})
				break
			}
			if at %= len(r.Columns); r.Columns[at].Name == v.Name && r.Columns[at].Field == v.Field {
				break
			}
			at++
		}
		if at >= MaxColumns {
			at, r.Columns = MaxColumns, r.Columns[:MaxColumns+1]
			r.Columns[at].Name, r.Columns[at].Field = "", ""
		}
		c := &r.Columns[at]
		*[]*int{source.Stored: &c.Stored, source.Noted: &c.Noted, source.Unread: &c.Unread, source.Dropped: &c.Dropped}[v.Outcome]++
	}
}

// outcome is what happened to a record.
type outcome int

const (
	created outcome = iota
	updated
	skipped
	failed
)

// count counts a record.
func (r *Report) count(o outcome) {
	r.Total++
	*map[outcome]*int{created: &r.Created, updated: &r.Updated, skipped: &r.Skipped, failed: &r.Failed}[o]++
}

// fail adds the error of a record that cannot be imported.
func (r *Report) fail(row int, err error) outcome {
	if len(r.Errors) < maxErrors {
		r.Errors = append(r.Errors, RowError{Row: row, Message: text.Truncate(err.Error(), maxMessage)})
	}
	return failed
}

// warn adds a warning, unless it was added before. If there are too many, it only counts it.
func (r *Report) warn(format string, args ...any) {
	warning := text.Truncate(fmt.Sprintf(format, args...), maxMessage)
	switch {
	case slices.Contains(r.Warnings, warning):
	case len(r.Warnings) >= maxWarnings:
		r.MoreWarnings++
	default:
		r.Warnings = append(r.Warnings, warning)
	}
}

// clone returns a report that shares no list with r, so that a step that is rolled
// back does not change r.
func (r *Report) clone() Report {
	out := *r
	out.Errors, out.Warnings, out.Columns = slices.Clip(r.Errors), slices.Clip(r.Warnings), slices.Clone(r.Columns)
	return out
}
