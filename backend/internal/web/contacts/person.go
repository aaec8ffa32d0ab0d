package contacts

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

// personContent is the content of a person's page.
type personContent struct {
	page.Avatar
	*connectionsv1.Connection

	// Strength is in words, and Reach what calls and writes to the person.
	Strength string
	Reach    []contactLink
	// History is the address of what was changed about the person, and who changed it.
	History string
	// AskPhoto is set while the form of the photo is open; PhotoError says what is wrong with the photo that
	// was chosen.
	AskPhoto   bool
	PhotoError string
	// Path is the address of the page, Keep the parameters with the part of the timeline that
	// it shows.
	Path, Keep  string
	LastContact time.Time
	Archived    time.Time
	Parts       []part
	Bar         []Form
	Later       []page.Option
	Due         []dueRow
	Kinds       []kindLink
	// Filtered is set if the timeline shows one kind of entries.
	Filtered bool
	Entries  []entryRow
	// Apart is the form of an entry or a reminder that the page does not list; nil for none.
	Apart *Form
	// Older and Latest are addresses of pages of the timeline; empty if there is no such
	// page.
	Older, Latest string
}

// part is a section of what is known about a person.
type part struct {
	Name, Title string
	Rows        []partRow
	// Form is the open form; nil if the part is only shown.
	Form *Form
	// Linked are the relations, which can be ended while the form is open.
	Linked []relationRow
}

// partRow is a line of a part.
type partRow struct {
	Label string
	// Own is set if the label is of the member.
	Own    bool
	Values []contactLink
	// Long keeps the line breaks of a text.
	Long bool
}

// Labelling implements page.Labelled.
func (r partRow) Labelling() (label string, own bool) { return r.Label, r.Own }

// contactLink is a text with the address that it leads to; no address if it is not safe
// to follow. Templates do not check the address again: they would refuse tel: addresses.
type contactLink struct {
	Text string
	Path template.URL
	// Note follows the text.
	Note string
}

// relationRow is a relation. Its ID is empty for somebody who is not on file; Offer is then the id of the only person on file with
// that name.
type relationRow struct{ ID, Name, Type, Words, Offer string }

// dueRow is what is due with a person.
type dueRow struct {
	*remindersv1.DueItem

	Form *Form
}

// kindLink leads to the entries of one kind.
type kindLink struct {
	Label, Path string
	Current     bool
}

// entryRow is a note or an interaction in the timeline.
type entryRow struct {
	ID, Kind, Text string
	At             time.Time
	Note, Pinned   bool
	// Under is the heading that begins with the entry: its month, or that it is pinned; empty for none.
	Under string
	With  []withRow
	// EditPath is the address of the page with the form of the entry.
	EditPath string
	Form     *Form
}

// withRow is another person of an entry.
type withRow struct {
	contactLink

	ID string
}

// showPerson shows the page, with the form open that the address names.
func (v *request) showPerson() error {
	p, err := v.person()
	if err != nil {
		return v.followMerge(err)
	}
	var form Form
	asked := v.R.URL.Query()
	live := p.GetConnection().GetArchivedAt() == nil
	switch {
	case !live:
	case asked.Get("edit") == photoField:
		form.Name = photoField
	case asked.Has("edit"):
		form, err = v.openSection(p, asked.Get("edit"))
	case asked.Has(reminderField):
		form, err = v.openReminder(asked.Get(reminderField))
	}
	if err != nil {
		return err
	}
	return v.showForm(http.StatusOK, p, form)
}

// followMerge leads to the person that this one was merged into, or shows that this one is in the bin.
// Otherwise it returns the error.
func (v *request) followMerge(reason error) error {
	if !fault.Is(reason, fault.NotFound) && !fault.Is(reason, fault.Conflict) {
		return reason
	}
	if err := v.checkedID(); err != nil {
		return err
	}
	found, err := v.Insights.GetConnection(v.Ctx, &connectionsv1.GetConnectionRequest{Ids: []string{v.personID()}})
	if err != nil {
		return err
	}
	for _, m := range found.GetMissing() {
		if m.GetMergedInto() != "" {
			return v.Redirect(v.To(page.PathPeople + "/" + m.GetMergedInto()))
		}
	}
	return v.showBinned(http.StatusOK, reason)
}

// timelineSize is how many entries one page of the timeline has, dueDays how far ahead a
// person's page looks, and dueSize how much of that it shows.
const (
	timelineSize = 20
	dueDays      = 366
	dueSize      = 50
)

const kindsParameter = "kinds"

// shownTimeline returns the parameters that select the part of the timeline.
func shownTimeline(address url.Values) url.Values {
	kept := url.Values{}
	for _, name := range []string{kindsParameter, cursorParameter} {
		if value := address.Get(name); value != "" {
			kept.Set(name, value)
		}
	}
	return kept
}

// showForm shows the page of a person with a form open. With the zero form, no form is open.
func (v *request) showForm(status int, p *person, form Form) error {
	entries, due, err := v.entriesOf(p.GetConnection())
	if err != nil {
		return err
	}
	content := v.personContent(p, due)
	if err := v.addEntries(&content, entries, &form); err != nil {
		return err
	}
	content.open(&form)
	if err := v.offerLinks(&content); err != nil {
		return err
	}
	avatars, err := v.Avatars([]string{content.GetId()})
	if err != nil {
		return err
	}
	content.Avatar = avatars.Of(content.GetId(), content.GetName())
	return v.Render(status, "person", page.Page{Title: content.GetName(), Area: page.PathPeople, Errors: form.Errors, Script: page.ScriptPerson, Content: content})
}

// entriesOf returns a page of the timeline, and what is due. Of an archived person it returns
// the latest entries: they have no timeline, and nothing is due.
func (v *request) entriesOf(c *connectionsv1.Connection) (*timelinev1.ListTimelineResponse, []*remindersv1.DueItem, error) {
	if c.ArchivedAt != nil {
		entries, err := v.latestEntries(c.GetId())
		return entries, nil, err
	}
	history := &timelinev1.ListTimelineRequest{ConnectionId: new(c.GetId()), Limit: new(int32(timelineSize))}
	page.Fill(history, shownTimeline(v.R.URL.Query()))
	entries, wrong, err := page.Read(v.Member, history, v.Timeline.ListTimeline)
	if err == nil && len(wrong) > 0 {
		err = fault.New(fault.Invalid, "there is no such part of the timeline")
	}
	if err != nil {
		return nil, nil, err
	}
	if err := v.pinnedFirst(c.GetId(), entries); err != nil {
		return nil, nil, err
	}
	due, err := v.Reminders.ListDue(v.Ctx, &remindersv1.ListDueRequest{
		ConnectionId: new(c.GetId()), Kinds: []string{reminders.KindReminder, reminders.KindDate, reminders.KindCadence}, Days: new(int32(dueDays)), Limit: new(int32(dueSize)),
	})
	return entries, due.GetItems(), err
}

// pinnedFirst puts the pinned notes before the other entries of the first page of the timeline, unless
// it shows only interactions. They are not repeated on later pages.
func (v *request) pinnedFirst(connectionID string, entries *timelinev1.ListTimelineResponse) error {
	shown := shownTimeline(v.R.URL.Query())
	if kind := shown.Get(kindsParameter); kind != "" && kind != timeline.KindNote {
		return nil
	}
	pinned, err := v.Timeline.Pinned(v.Ctx, connectionID)
	if err != nil {
		return err
	}
	entries.Entries = slices.DeleteFunc(entries.Entries, func(e *timelinev1.TimelineEntry) bool {
		return slices.ContainsFunc(pinned, func(p *timelinev1.TimelineEntry) bool { return p.GetId() == e.GetId() })
	})
	if !shown.Has(cursorParameter) {
		entries.Entries = append(pinned, entries.Entries...)
	}
	return nil
}

// latestEntries returns the latest notes and interactions that get_connection includes, pinned notes
// first.
func (v *request) latestEntries(connectionID string) (*timelinev1.ListTimelineResponse, error) {
	found, err := v.Insights.GetConnection(v.Ctx, &connectionsv1.GetConnectionRequest{Id: &connectionID, Include: []string{"notes", "interactions"}})
	out := &timelinev1.ListTimelineResponse{}
	for _, n := range found.GetNotes() {
		out.Entries = append(out.Entries, &timelinev1.TimelineEntry{Id: n.GetId(), Kind: timeline.KindNote, On: n.GetOn(), At: n.GetAt(), Text: n.GetBody(), Pinned: n.GetPinned()})
	}
	for _, i := range found.GetInteractions() {
		out.Entries = append(out.Entries, &timelinev1.TimelineEntry{Id: i.GetId(), Kind: i.GetKind(), On: i.GetOn(), At: i.GetAt(), Text: i.GetSummary()})
	}
	slices.SortFunc(out.Entries, func(a, b *timelinev1.TimelineEntry) int {
		if a.GetPinned() != b.GetPinned() {
			return map[bool]int{true: -1, false: 1}[a.GetPinned()]
		}
		return v.occurred(b).Compare(v.occurred(a))
	})
	return out, err
}

// occurred returns the time of an entry, whose day is the one to show.
func (v *request) occurred(entry interface {
	GetOn() string
	GetAt() string
}) time.Time {
	at, err := civil.ParseLocal(entry.GetOn(), v.Zone)
	if err != nil { // it has a time
		at, _ = civil.ParseTime(entry.GetAt(), v.Zone) // Kith wrote it
	}
	return at
}

func (v *request) personContent(p *person, due []*remindersv1.DueItem) personContent {
	c := p.GetConnection()
	content := personContent{
		Connection: c, Path: v.path(), Keep: page.Address("", shownTimeline(v.R.URL.Query())), Bar: v.barForms(), Later: page.Later(v.Today()), Parts: v.parts(p),
		Strength: strengthWord(c.GetStrength()), Reach: reach(c), History: v.Link(page.PathActivity, "connection_id", c.GetId()),
	}
	if c.LastInteractionAt != nil {
		content.LastContact = c.GetLastInteractionAt().AsTime().In(v.Zone)
	}
	if c.ArchivedAt != nil {
		content.Archived = c.GetArchivedAt().AsTime().In(v.Zone)
	}
	for _, item := range due {
		content.Due = append(content.Due, dueRow{DueItem: item})
	}
	return content
}

// addEntries adds the timeline. It opens the form of the entry that the address names, unless
// another form is open.
func (v *request) addEntries(content *personContent, entries *timelinev1.ListTimelineResponse, form *Form) error {
	asked := v.R.URL.Query()
	last := ""
	for _, e := range entries.GetEntries() {
		row := entryRow{ID: e.GetId(), Kind: kindWord(e.GetKind()), Text: e.GetText(), At: v.occurred(e), Note: isNote(e.GetId()), Pinned: e.GetPinned()}
		for _, with := range e.GetParticipants() {
			if with.GetId() != content.GetId() {
				row.With = append(row.With, withRow{contactLink{Text: with.GetName(), Path: v.personPath(with.GetId())}, with.GetId()})
			}
		}
		edit := shownTimeline(asked)
		edit.Set(entryField, row.ID)
		row.EditPath = page.Address(content.Path, edit) + "#" + row.ID
		under := v.Format().Month(row.At)
		if row.Pinned {
			under = "Pinned"
		}
		if under != last {
			row.Under, last = under, under
		}
		content.Entries = append(content.Entries, row)
		if form.Name == "" && e.GetId() == asked.Get(entryField) && content.Archived.IsZero() {
			var err error
			if *form, err = v.entryForm(e); err != nil {
				return err
			}
		}
	}
	kept := shownTimeline(asked)
	if entries.GetHasMore() {
		content.Older = withCursor(content.Path, kept, entries.GetNextCursor())
	}
	if kept.Has(cursorParameter) {
		content.Latest = withCursor(content.Path, kept, "")
	}
	kinds := []kindLink{{Label: "All", Path: content.Path + "#timeline", Current: !kept.Has(kindsParameter)}, {Label: "Notes", Path: "note"}}
	for _, kind := range interactionKinds() {
		kinds = append(kinds, kindLink{Label: kind.Label, Path: kind.Value})
	}
	for i := range kinds[1:] {
		link := &kinds[i+1]
		link.Current = kept.Get(kindsParameter) == link.Path
		link.Path = page.Address(content.Path, url.Values{kindsParameter: {link.Path}}) + "#timeline"
	}
	content.Kinds, content.Filtered = kinds, kept.Has(kindsParameter)
	return nil
}

// kindWord returns the word for a kind of entry.
func kindWord(kind string) string {
	for _, k := range interactionKinds() {
		if k.Value == kind {
			return k.Label
		}
	}
	return page.Sentence(kind)[:len(kind)]
}

// open puts a form at its place on the page.
func (c *personContent) open(form *Form) {
	switch form.Name {
	case "":
		return
	case photoField:
		c.AskPhoto = true
		if len(form.Errors) > 0 {
			c.PhotoError = form.Errors[0].Message
		}
		return
	}
	for i := range c.Parts {
		if c.Parts[i].Name == form.Name {
			if form.Name == sectionRelations && form.Fields == nil {
				form.Fields = linkFields()
			}
			c.Parts[i].Form = form
			return
		}
	}
	for i := range c.Bar {
		if c.Bar[i].Name == form.Name {
			c.Bar[i] = *form
			return
		}
	}
	for i := range c.Entries {
		if c.Entries[i].ID == form.Name {
			c.Entries[i].Form = form
			return
		}
	}
	for i := range c.Due {
		if c.Due[i].GetReminderId() == form.Name {
			c.Due[i].Form = form
			return
		}
	}
	if len(form.Fields) > 0 {
		c.Apart = form
	}
}

// personPath returns the address of the page of a person.
func (v *request) personPath(connectionID string) template.URL {
	return template.URL(v.To(page.PathPeople + "/" + url.PathEscape(connectionID)))
}
