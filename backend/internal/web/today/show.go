package today

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/web/page"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

// content is the content of the page.
type content struct {
	page.Avatars

	Day time.Time
	// Parts are the lists of due entries, without empty ones.
	Parts []part
	// Overdue is how many entries were due before this day, Later how many are due on it or later.
	Overdue, Later int32
	// Next and First are addresses of pages of due entries; empty if there is no such page.
	Next, First string
	// Ahead are the meetings of this day and the next one.
	Ahead  []meetingRow
	Fading []fadingRow
	// Memories are what the member did and noted on this day a year ago.
	Memories []memory
	// Month is the address of the current month.
	Month   string
	Changes []changeRow
	// Steps are the first steps of a new member; nil if they are done or hidden.
	Steps []step
	// Asked are the calls of agents that wait for a decision: the first ones, and how many more there are.
	Asked     []asked
	MoreAsked int
	// Cards is how many cards of devices wait for a decision.
	Cards int
	// Empty is set if the member has no people.
	Empty bool
	// Log is the form that was sent with errors; nil if there is none.
	Log *logForm
	// Kinds are the kinds of contact to log.
	Kinds []page.Option
	// Snoozes are the days to which an entry can be put off.
	Snoozes []page.Option

	format page.Format
}

// asked is a call that waits for a decision.
type asked struct{ ID, Who, What string }

// part is a list of due entries.
type part struct {
	ID, Title string
	Items     []*remindersv1.DueItem
}

// person is whom a form logs a contact with.
type person struct{ ID, Name string }

// Person returns the person of a due entry.
func (content) Person(item *remindersv1.DueItem) person {
	return person{item.GetConnectionId(), item.GetConnectionName()}
}

// meetingRow is a meeting that is ahead. Tomorrow is set if it is not on this day, and At is empty if it takes all day.
type meetingRow struct {
	Tomorrow  bool
	At, Title string
	People    []person
}

// fadingRow is a person with whom the member was often in touch, but no longer is.
type fadingRow struct {
	person

	LastContact time.Time
	Days        int
}

// changeRow is a change by an agent.
// memory is an entry of the timeline. Kind is what it was.
type memory struct {
	Kind, Text string
	People     []*timelinev1.Participant
}

type changeRow struct {
	What, Who string
	At        time.Time
}

const (
	// dueSize is how many due entries one page lists, fadingSize and changesSize how long the
	// other lists are.
	dueSize    = 20
	fadingSize = 5
	// memoriesSize is how many entries of a year ago are shown.
	memoriesSize = 5
	changesSize  = 5
	// askedSize is how many waiting decisions are shown.
	askedSize = 3
	// agentDays is how many days back the work of agents is shown.
	agentDays = 7
)

func (v *request) show() error {
	if month := v.R.URL.Query().Get(monthParameter); month != "" {
		return v.showMonth(month)
	}
	return v.render(http.StatusOK, nil, nil)
}

// render writes the page, with the form that was sent with errors.
func (v *request) render(status int, form *logForm, wrong []page.FieldError) error {
	c := content{Day: v.Today(), Log: form, Kinds: kinds(""), Snoozes: page.Later(v.Today()), Month: v.month(v.Today()), format: v.Format()}
	ix, err := v.Reminders.Index(v.Ctx)
	if err != nil {
		return err
	}
	if err := v.addDue(&c, ix); err != nil {
		return err
	}
	v.addPeople(&c, ix.Summary())
	if err := v.addMeetings(&c); err != nil {
		return err
	}
	if err := v.addMemories(&c); err != nil {
		return err
	}
	if err := v.addSteps(&c); err != nil {
		return err
	}
	if err := v.addPhotos(&c); err != nil {
		return err
	}
	if err := v.addChanges(&c); err != nil {
		return err
	}
	if err := v.addAsked(&c); err != nil {
		return err
	}
	return v.Render(status, "today", page.Page{Title: "Today", Area: page.PathStart, Errors: wrong, Content: c})
}

// addAsked adds what agents ask, and how many cards of devices wait.
func (v *request) addAsked(c *content) error {
	waiting, err := decision.ListWaiting(v.Ctx, v.Data())
	for i, d := range waiting {
		if i == askedSize {
			c.MoreAsked = len(waiting) - i
			break
		}
		c.Asked = append(c.Asked, asked{d.ID, cmp.Or(oauth.ShownName(d.CredentialName), "An application without a name"), v.Format().Summary(d.Preview.Summary)})
	}
	if err == nil {
		c.Cards, err = dav.CountWaiting(v.Ctx, v.Data())
	}
	return err
}

// addDue adds the overdue entries, and those of this day and the next seven: first those of the
// member's week, which ends where their locale says.
func (v *request) addDue(c *content, ix *index.Index) error {
	req := &remindersv1.ListDueRequest{Limit: new(int32(dueSize)), Kinds: []string{reminders.KindReminder, reminders.KindDate, reminders.KindCadence}}
	if v.R.Method == http.MethodGet {
		page.Fill(req, url.Values{"cursor": v.R.URL.Query()["cursor"]})
	}
	found, err := v.Reminders.ListDue(v.Ctx, req)
	if err != nil {
		return err
	}
	parts := []part{{ID: "overdue", Title: "Overdue"}, {ID: "now", Title: "Due today"}, {ID: "week", Title: "This week"}, {ID: "next", Title: "Next week"}}
	weekEnd := v.Format().WeekEnd(v.Today()).Format(time.DateOnly)
	for _, item := range found.GetItems() {
		at := &parts[3]
		switch {
		case item.GetDueOn() < found.GetToday(): // list_due calls a person overdue only after one and a half intervals
			at = &parts[0]
		case item.GetDueOn() == found.GetToday():
			at = &parts[1]
		case item.GetDueOn() <= weekEnd:
			at = &parts[2]
		}
		at.Items = append(at.Items, item)
	}
	parts[0], parts[1] = parts[1], parts[0] // this day comes first
	for _, p := range parts {
		if len(p.Items) > 0 {
			c.Parts = append(c.Parts, p)
		}
	}
	if c.Overdue, err = v.countPast(ix); err != nil {
		return err
	}
	counts := found.GetCounts()
	c.Later = counts.GetReminders() + counts.GetDates() + counts.GetCadences() - c.Overdue
	if found.GetHasMore() {
		c.Next = v.Link(page.PathStart, "cursor", found.GetNextCursor())
	}
	if req.Cursor != nil {
		c.First = v.To(page.PathStart)
	}
	return nil
}

// countPast returns how many entries were due before this day.
func (v *request) countPast(ix *index.Index) (int32, error) {
	_, counts, err := reminders.List(v.Ctx, v.Data(), ix, reminders.DueQuery{
		Today: v.Today(), Zone: v.Zone, Until: v.Today().AddDate(0, 0, -1), Kinds: []string{reminders.KindReminder, reminders.KindCadence}, Limit: 1,
	})
	return int32(counts.Reminders + counts.Cadences), err
}

// When says in words when an entry is due or was due.
func (c content) When(item *remindersv1.DueItem) string {
	due, err := time.Parse(time.DateOnly, item.GetDueOn())
	if err != nil {
		return ""
	}
	switch days := civil.Between(c.Day, due); {
	case days > 1:
		return c.format.Weekday(due)
	default:
		return c.format.Ago(c.Day, due)
	}
}

// addPeople adds the people with whom the member is losing touch.
func (v *request) addPeople(c *content, s *index.Summary) {
	c.Empty = s.People+s.Archived == 0
	for _, d := range s.Fading(people.Sum(insights.FadingScore), v.At.Add(-insights.FadingAfter), fadingSize) {
		last := civil.Of(d.LastInteractionAt, v.Zone)
		c.Fading = append(c.Fading, fadingRow{person{d.ID, d.Name}, last, civil.Between(last, v.Today())})
	}
}

// addMeetings adds the meetings of calendars that are ahead.
func (v *request) addMeetings(c *content) error {
	meetings, err := sources.Ahead(v.Ctx, v.Data(), v.At, civil.Start(c.Day.AddDate(0, 0, 2), v.Zone))
	if err != nil {
		return err
	}
	var ids []string
	for _, m := range meetings {
		ids = append(ids, m.ConnectionIDs...)
	}
	names, err := people.ListNames(v.Ctx, v.Data(), people.DistinctIDs(ids))
	for _, m := range meetings {
		row := meetingRow{Title: m.Title, Tomorrow: civil.Of(m.StartsAt, v.Zone).After(c.Day)}
		if !m.AllDay {
			row.At = m.StartsAt.In(v.Zone).Format("15:04")
		}
		for _, id := range m.ConnectionIDs {
			if names[id] != "" { // otherwise deleted since
				row.People = append(row.People, person{id, names[id]})
			}
		}
		c.Ahead = append(c.Ahead, row)
	}
	return err
}

// addMemories adds the entries of the timeline of this day a year ago.
func (v *request) addMemories(c *content) error {
	day := c.Day.AddDate(-1, 0, 0)
	found, _, err := page.Read(v.Member, &timelinev1.ListTimelineRequest{
		Since: new(day.Format(time.DateOnly)), Until: new(day.AddDate(0, 0, 1).Format(time.DateOnly)), Limit: new(int32(memoriesSize)),
	}, v.Timeline.ListTimeline)
	for _, e := range found.GetEntries() {
		kind := "Note"
		for _, k := range kinds("") {
			if k.Value == e.GetKind() {
				kind = k.Label
			}
		}
		c.Memories = append(c.Memories, memory{kind, e.GetText(), e.GetParticipants()})
	}
	return err
}

// addPhotos adds the photos of the people on the page.
func (v *request) addPhotos(c *content) (err error) {
	var ids []string
	for _, p := range c.Parts {
		for _, item := range p.Items {
			ids = append(ids, item.GetConnectionId())
		}
	}
	for _, f := range c.Fading {
		ids = append(ids, f.ID)
	}
	c.Avatars, err = v.Avatars(ids)
	return err
}

// addChanges adds what agents changed lately.
func (v *request) addChanges(c *content) error {
	changes, err := history.ListChanges(v.Ctx, v.Data(), history.Query{
		ByAgents: true, Lines: true, Since: v.At.AddDate(0, 0, -agentDays), Limit: changesSize,
	})
	for _, change := range changes {
		c.Changes = append(c.Changes, changeRow{
			What: change.Summary, Who: cmp.Or(oauth.ShownName(change.CredentialName), "an application without a name"), At: change.CreatedAt.In(v.Zone),
		})
	}
	return err
}
