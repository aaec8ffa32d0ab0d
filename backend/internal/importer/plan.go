package importer

import (
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

// plan decides what becomes of records, one after the other. It writes nothing.
type plan struct {
	onMatch string
	report  *Report
	// others are the hashed keys of the file's people with ids of ours.
	others map[string]bool
	found  Found
	groups *groupBook
	// people are those of this plan by the keys of their records, onFile by their
	// ids; order is the order in which the file named them.
	people map[string]*person
	onFile map[string]*person
	order  []*person
	// overwritten are people on file for whom a record has spoken already.
	overwritten map[string]bool
}

// person is somebody whom records of the plan are about.
type person struct {
	// before is the record on file, nil for somebody new; after is as it shall be.
	before, after *people.Connection
	changed       bool
	// groupsBefore and groups are names.
	groupsBefore, groups []string
	notes                []string
	newNotes             []string
	keys                 []string
	// archived tells that somebody new is archived.
	archived bool
}

// take decides about a record.
func (p *plan) take(e *entry) {
	if e.archived {
		p.takeArchived(e)
		return
	}
	who, other := p.who(e)
	if who == nil {
		p.add(e)
		p.estranged(e, other)
		p.report.count(created)
		return
	}
	p.know(e, who)
	if p.onMatch == OnMatchSkip {
		p.report.count(skipped)
		return
	}
	p.mistaken(e, who)
	overwrite := p.onMatch == OnMatchOverwrite && e.leader == "" && who.before != nil && !p.overwritten[who.before.ID]
	after, changed, err := who.after.Blend(e.person, overwrite)
	if err != nil {
		p.report.fail(e.row, err)
		return
	}
	if overwrite {
		p.overwritten[who.before.ID] = true
	}
	who.after, who.changed = after, who.changed || changed
	changed = p.join(who, e.groups) || changed
	if who.note(e.notes) || changed {
		p.report.count(updated)
	} else {
		p.report.count(skipped)
	}
}

// takeArchived decides about a record of an archived person: they are added, unless
// they are on file, archived or not. Nothing of them is blended with anybody.
func (p *plan) takeArchived(e *entry) {
	for _, key := range []MatchKey{{By: byID, Value: e.id}, {By: byKey, Value: e.key}} {
		if len(p.found.IDs[key]) > 0 || p.found.Archived[key] != "" || p.people[e.key] != nil {
			p.report.count(skipped)
			return
		}
	}
	p.add(e)
	p.report.count(created)
}

// who returns the person of a record; or nil, and who else has its address.
func (p *plan) who(e *entry) (*person, stranger) {
	for _, key := range []string{e.leader, e.key} {
		if who := p.people[key]; who != nil {
			return who, stranger{}
		}
	}
	found, other := p.found.find(e, p.others)
	if found == "" {
		if other == (stranger{}) {
			other = e.stranger
		}
		return nil, other
	}
	if p.onFile[found] == nil {
		c := p.found.People[found]
		who := &person{before: c, after: c, groupsBefore: c.Groups, groups: slices.Clone(c.Groups), notes: p.found.Notes[found]}
		p.onFile[found] = who
		p.order = append(p.order, who)
	}
	return p.onFile[found], stranger{}
}

// add plans somebody new.
func (p *plan) add(e *entry) {
	who := &person{after: e.person, archived: e.archived}
	p.join(who, e.groups)
	who.note(e.notes)
	p.order = append(p.order, who)
	p.know(e, who)
}

// know remembers by which record somebody is known.
func (p *plan) know(e *entry, who *person) {
	if p.people[e.key] == nil && len(p.found.IDs[MatchKey{By: byKey, Value: e.key}]) == 0 {
		who.keys = append(who.keys, e.key)
	}
	p.people[e.key] = who
}

// mistaken warns of a record that may be about somebody else: it has a key of the
// person, and a name that cannot be theirs.
func (p *plan) mistaken(e *entry, who *person) {
	if names.Compatible(names.Names{Full: who.after.Name, Nickname: who.after.Nickname}, e.names) {
		return
	}
	p.report.warn("row %d: %s was taken for %s, who has the same key", e.row, text.Truncate(e.person.Name, 80), text.Truncate(who.after.Name, 80))
}

// estranged warns of a new person whose address somebody else has.
func (p *plan) estranged(e *entry, other stranger) {
	if other == (stranger{}) {
		return
	}
	what := map[string]string{byEmail: "e-mail address", byPhone: "phone number", byAddress: "web address"}[other.by]
	p.report.warn("row %d: %s is a new person, but %s has the same %s; find_duplicates has the pair (from three people with it on, with a min_score of 0.4)",
		e.row, text.Truncate(e.person.Name, 80), text.Truncate(other.name, 80), what)
}

// maxGroups is how many groups one person is in.
const maxGroups = 50

// join puts a person into groups, and tells whether they are in any that they were
// not in.
func (p *plan) join(who *person, names []string) (changed bool) {
	for _, name := range names {
		same := func(other string) bool { return text.Fold(other) == text.Fold(name) }
		if slices.ContainsFunc(who.groups, same) || len(who.groups) >= maxGroups {
			continue
		}
		if p.groups.named(name) == nil {
			p.report.warn("the group %q was left out: there are %d groups already", name, groups.MaxGroups)
			continue
		}
		who.groups = append(who.groups, name)
		changed = true
	}
	return changed
}

// maxChanged bounds the changed people on file that a dry run keeps in mind, for
// records that share nothing with each other but them.
const maxChanged = 5000

// forget drops, after a step of a dry run, who does not come up again.
func (p *plan) forget(entries []*entry, leaders map[string]bool) {
	for _, e := range entries {
		if !leaders[e.key] {
			delete(p.people, e.key)
		}
	}
	for _, who := range p.order {
		if who.before != nil && (!who.changed || len(p.onFile) > maxChanged) {
			delete(p.onFile, who.before.ID)
		}
	}
	p.order, p.found = nil, Found{}
}

// note adds notes whose texts are not there.
func (w *person) note(texts []string) (changed bool) {
	for _, body := range texts {
		if !slices.Contains(w.notes, body) {
			w.notes, w.newNotes = append(slices.Clip(w.notes), body), append(w.newNotes, body)
			changed = true
		}
	}
	return changed
}

// groupBook knows the groups, and those that are to be made.
type groupBook struct {
	byName map[string]*groups.Group
	made   []*groups.Group
	newID  func() (string, error)
	now    time.Time
	err    error
	// details are what the file says of its groups, by folded names.
	details map[string]export.GroupRecord
}

func newGroupBook(list []groups.Group, now time.Time, newID func() (string, error)) *groupBook {
	b := &groupBook{byName: map[string]*groups.Group{}, newID: newID, now: now}
	for i := range list {
		b.byName[list[i].FoldedName] = &list[i]
	}
	return b
}

// named returns the group with a name, a new one if need be; nil when there are too
// many.
func (b *groupBook) named(name string) *groups.Group {
	folded := text.Fold(name)
	if g := b.byName[folded]; g != nil || len(b.byName) >= groups.MaxGroups {
		return g
	}
	g := &groups.Group{
		ID: b.details[folded].ID, Name: text.Line(name), FoldedName: folded, Description: b.details[folded].Description, CadenceDays: b.details[folded].CadenceDays,
		Version: 1, CreatedAt: b.now, UpdatedAt: b.now,
	}
	if g.ID == "" {
		if g.ID, b.err = b.newID(); b.err != nil {
			return nil
		}
	}
	b.byName[folded] = g
	b.made = append(b.made, g)
	return g
}

// byFolded returns the id of a group that is there.
func (b *groupBook) byFolded(name string) string { return b.byName[text.Fold(name)].ID }

// ids returns the sorted ids of groups.
func (b *groupBook) ids(names []string) []string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		if g := b.byName[text.Fold(name)]; g != nil {
			out = append(out, g.ID)
		}
	}
	slices.Sort(out)
	return out
}
