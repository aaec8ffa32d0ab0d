package today

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/web/page"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
)

// content is the content of the page.
type content struct {
	Day time.Time
	// Parts are the lists of due entries, without empty ones.
	Parts []part
	// Overdue is how many entries were due before this day, Later how many are due on it or later.
	Overdue, Later int32
	// Next and First are addresses of pages of due entries; empty if there is no such page.
	Next, First string
	Fading      []fadingRow
	Changes     []changeRow
	// Steps are the first steps of a new member; nil if they are done or hidden.
	Steps *steps
	// Questions says how many calls of agents wait for a decision; empty for none.
	Questions string
	// Empty is set if the member has no people.
	Empty bool
	// Log is the form that was sent with errors; nil if there is none.
	Log *logForm
	// BeginDone is the HTML at the start of the form of each entry.
	BeginDone template.HTML
	// Paths of the forms and of other pages.
	Snooze, LogPath, People, Add, Imports, Agents, Activity, Decide string
}

// part is a list of due entries.
type part struct {
	ID, Title string
	Rows      []dueRow
}

// dueRow is a due entry with its evidence. It has fields where the message has methods, which
// templates call slowly.
type dueRow struct {
	page.Avatar
	Log quick

	Kind, Text, Name, DueOn  string
	ConnectionID, ReminderID string
	// What is the text of a reminder, or the name of a person.
	What string
	// Reminder and Cadence are set if the entry is a reminder, or a person to be in touch with.
	Reminder, Cadence bool
	// When says in words when it is or was due.
	When string
	Path string
	// LastContact is the day's HTML element; empty if there was no contact.
	LastContact template.HTML
}

// quick is a form that logs a contact with a person.
type quick struct {
	ID, Name     string
	Begin, Kinds template.HTML
}

// fadingRow is a person with whom the member was often in touch, but no longer is.
type fadingRow struct {
	page.Avatar
	Log quick

	ID, Name, Path string
	LastContact    template.HTML
	Days           int
}

// changeRow is a change by an agent.
type changeRow struct {
	What, Who string
	At        time.Time
}

const (
	// dueSize is how many due entries one page lists, fadingSize and changesSize how long the
	// other lists are.
	dueSize     = 20
	fadingSize  = 5
	changesSize = 5
	// agentDays is how many days back the work of agents is shown.
	agentDays = 7
)

func (v *request) show() error { return v.render(http.StatusOK, nil, nil) }

// render writes the page, with the form that was sent with errors.
func (v *request) render(status int, form *logForm, wrong []page.FieldError) error {
	c := content{
		Day: v.Today(), Log: form, Snooze: v.To(pathSnooze), LogPath: v.To(pathLog),
		People: v.To(page.PathPeople), Add: v.To(page.PathAdd), Imports: page.PathImport, Agents: v.To(page.PathConnect), Activity: v.To(page.PathActivity), Decide: v.To(page.PathDecide),
	}
	options, err := v.FixedPart("today", "options", kinds(""))
	if err != nil {
		return err
	}
	log := quick{Kinds: options}
	if log.Begin, err = v.startForm(c.LogPath); err != nil {
		return err
	}
	if c.BeginDone, err = v.startForm(v.To(pathDone)); err != nil {
		return err
	}
	ix, err := v.Reminders.Index(v.Ctx)
	if err != nil {
		return err
	}
	if err := v.addDue(&c, ix, log); err != nil {
		return err
	}
	v.addPeople(&c, ix.Summary(), log)
	if err := v.addSteps(&c); err != nil {
		return err
	}
	if err := v.addPhotos(&c); err != nil {
		return err
	}
	if err := v.addChanges(&c); err != nil {
		return err
	}
	waiting, err := decision.Count(v.Ctx, v.Data())
	if err != nil {
		return err
	}
	c.Questions = decision.Questions(waiting)
	v.Render(status, "today", page.Page{Title: "Today", Area: page.PathStart, Errors: wrong, Content: c})
	return nil
}

// startForm returns the beginning of forms that stand on the page for each entry.
func (v *request) startForm(path string) (template.HTML, error) {
	return v.Part("today", "form-start", struct{ Path, FormToken string }{path, v.FormToken()})
}

// addDue adds the overdue entries, and those of this day and the next seven: first those of the
// member's week, which ends where their locale says.
func (v *request) addDue(c *content, ix *index.Index, log quick) error {
	req := &remindersv1.ListDueRequest{Limit: new(int32(dueSize))}
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
		row := v.dueRow(item, log)
		at := &parts[3]
		switch {
		case item.GetDueOn() < found.GetToday(): // list_due calls a person overdue only after one and a half intervals
			at = &parts[0]
		case item.GetDueOn() == found.GetToday():
			at = &parts[1]
		case item.GetDueOn() <= weekEnd:
			at = &parts[2]
		}
		at.Rows = append(at.Rows, row)
	}
	for _, p := range parts {
		if len(p.Rows) > 0 {
			c.Parts = append(c.Parts, p)
		}
	}
	if c.Overdue, err = v.countPast(ix); err != nil {
		return err
	}
	counts := found.GetCounts()
	c.Later = counts.GetReminders() + counts.GetDates() + counts.GetCadences() - c.Overdue
	if found.GetHasMore() {
		c.Next = v.To(page.PathStart) + "?" + url.Values{"cursor": {found.GetNextCursor()}}.Encode()
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

func (v *request) dueRow(item *remindersv1.DueItem, log quick) dueRow {
	row := dueRow{
		Avatar: page.AvatarOf(item.GetConnectionId(), item.GetConnectionName()), Log: log.with(item.GetConnectionId(), item.GetConnectionName()),
		Kind: item.GetKind(), Text: item.GetText(), Name: item.GetConnectionName(), DueOn: item.GetDueOn(),
		ConnectionID: item.GetConnectionId(), ReminderID: item.GetReminderId(),
		Reminder: item.GetKind() == reminders.KindReminder, Cadence: item.GetKind() == reminders.KindCadence,
	}
	if row.What = row.Name; row.Reminder {
		row.What = row.Text
	}
	if row.ConnectionID != "" {
		row.Path = v.To(page.PathPeople + "/" + row.ConnectionID)
	}
	last, _ := time.Parse(time.DateOnly, item.GetLastContactOn()) // zero if there was none
	row.LastContact = v.Format().DayElement(last)
	if due, err := time.Parse(time.DateOnly, item.GetDueOn()); err == nil {
		row.When = when(v.Format(), due, v.Today())
	}
	return row
}

// with returns the form for a person.
func (q quick) with(id, name string) quick {
	q.ID, q.Name = id, name
	return q
}

// when says in words when something is due or was due.
func when(f page.Format, due, today time.Time) string {
	switch days := civil.Between(today, due); {
	case days == 0:
		return "Today"
	case days == 1:
		return "Tomorrow"
	case days == -1:
		return "Yesterday"
	case days < 0:
		return fmt.Sprintf("%s, %d days ago", f.Day(due), -days)
	default:
		return f.Weekday(due)
	}
}

// addPeople adds the people with whom the member is losing touch.
func (v *request) addPeople(c *content, s *index.Summary, log quick) {
	c.Empty = s.People+s.Archived == 0
	for _, d := range s.Fading(people.Sum(insights.FadingScore), v.At.Add(-insights.FadingAfter), fadingSize) {
		last := civil.Of(d.LastInteractionAt, v.Zone)
		c.Fading = append(c.Fading, fadingRow{
			ID: d.ID, Name: d.Name, Avatar: page.AvatarOf(d.ID, d.Name), Log: log.with(d.ID, d.Name), Path: v.To(page.PathPeople + "/" + d.ID), LastContact: v.Format().DayElement(last), Days: civil.Between(last, v.Today()),
		})
	}
}

// addPhotos adds the photos of the people on the page.
func (v *request) addPhotos(c *content) error {
	avatars := map[string][]*page.Avatar{}
	for _, p := range c.Parts {
		for i := range p.Rows {
			if r := &p.Rows[i]; r.ConnectionID != "" {
				avatars[r.ConnectionID] = append(avatars[r.ConnectionID], &r.Avatar)
			}
		}
	}
	for i := range c.Fading {
		avatars[c.Fading[i].ID] = append(avatars[c.Fading[i].ID], &c.Fading[i].Avatar)
	}
	return v.AddPhotos(avatars)
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
