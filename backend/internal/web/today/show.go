package today

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
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
	// Overdue and Later are how many entries there are in all.
	Overdue, Later int32
	// Next and First are addresses of pages of due entries; empty if there is no such page.
	Next, First string
	Fading      []fadingRow
	Changes     []changeRow
	// Steps are the first steps of a new member; nil if they are done or hidden.
	Steps *steps
	// Empty is set if the member has no people.
	Empty bool
	// Log is the form that was sent with errors; nil if there is none.
	Log *logForm
	// Kinds are the kinds of contact that can be logged.
	Kinds []option
	// Paths of the forms and of other pages.
	Done, Snooze, LogPath, People, Add, Imports, Agents, Activity string
}

// part is a list of due entries.
type part struct {
	ID, Title string
	Rows      []dueRow
}

// dueRow is a due entry with its evidence.
type dueRow struct {
	*remindersv1.DueItem
	page.Avatar

	// When says in words when it is or was due.
	When        string
	Path        string
	LastContact time.Time
}

// quick is the person of a form that logs a contact.
type quick struct{ ID, Name string }

// Quick returns the person of the entry.
func (r dueRow) Quick() quick { return quick{r.GetConnectionId(), r.GetConnectionName()} }

// Reminder reports whether the entry is a reminder.
func (r dueRow) Reminder() bool { return r.GetKind() == reminders.KindReminder }

// Cadence reports whether the entry is a person to be in touch with.
func (r dueRow) Cadence() bool { return r.GetKind() == reminders.KindCadence }

// fadingRow is a person with whom the member was often in touch, and no more.
type fadingRow struct {
	quick
	page.Avatar

	Path        string
	LastContact time.Time
	Days        int
}

// Quick returns the person.
func (r fadingRow) Quick() quick { return r.quick }

// changeRow is a change by an agent.
type changeRow struct {
	What, Who string
	At        time.Time
}

const (
	// dueSize is how many due entries one page lists, fadingSize and changesSize how long the
	// other lists are.
	dueSize     = 30
	fadingSize  = 5
	changesSize = 5
	// agentDays is how many days back the work of agents is shown.
	agentDays = 7
)

func (v *request) show() error { return v.render(http.StatusOK, nil, nil) }

// render writes the page, with the form that was sent with errors.
func (v *request) render(status int, form *logForm, wrong []page.FieldError) error {
	c := content{
		Day: v.Today(), Log: form, Kinds: kinds(""), Done: v.To(pathDone), Snooze: v.To(pathSnooze), LogPath: v.To(pathLog),
		People: v.To(page.PathPeople), Add: v.To(page.PathAdd), Imports: page.PathImports, Agents: v.To(page.PathConnect), Activity: v.To(page.PathActivity),
	}
	if err := v.addDue(&c); err != nil {
		return err
	}
	ix, err := v.Reminders.Index(v.Ctx)
	if err != nil {
		return err
	}
	v.addPeople(&c, ix.Summary())
	if err := v.addSteps(&c); err != nil {
		return err
	}
	if err := v.addPhotos(&c); err != nil {
		return err
	}
	if err := v.addChanges(&c); err != nil {
		return err
	}
	v.Render(status, "today", page.Page{Title: "Today", Area: page.PathStart, Errors: wrong, Content: c})
	return nil
}

// addDue adds the overdue entries, and those of this day and the next seven: first those of the
// member's week, which ends where their locale says.
func (v *request) addDue(c *content) error {
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
		row := v.dueRow(item)
		at := &parts[3]
		switch {
		case item.GetOverdue():
			at = &parts[0]
		case item.GetDueOn() <= found.GetToday():
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
	counts := found.GetCounts()
	c.Overdue = counts.GetOverdue()
	c.Later = counts.GetReminders() + counts.GetDates() + counts.GetCadences() - c.Overdue
	if found.GetHasMore() {
		c.Next = v.To(page.PathStart) + "?" + url.Values{"cursor": {found.GetNextCursor()}}.Encode()
	}
	if req.Cursor != nil {
		c.First = v.To(page.PathStart)
	}
	return nil
}

func (v *request) dueRow(item *remindersv1.DueItem) dueRow {
	row := dueRow{DueItem: item, Avatar: page.AvatarOf(item.GetConnectionId(), item.GetConnectionName())}
	if item.GetConnectionId() != "" {
		row.Path = v.To(page.PathPeople + "/" + item.GetConnectionId())
	}
	row.LastContact, _ = time.Parse(time.DateOnly, item.GetLastContactOn()) // zero if there was none
	if due, err := time.Parse(time.DateOnly, item.GetDueOn()); err == nil {
		row.When = when(v.Format(), due, v.Today())
	}
	return row
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
func (v *request) addPeople(c *content, s *index.Summary) {
	c.Empty = s.People+s.Archived == 0
	for _, d := range s.Fading(people.Sum(insights.FadingScore), v.At.Add(-insights.FadingAfter), fadingSize) {
		last := civil.Of(d.LastInteractionAt, v.Zone)
		c.Fading = append(c.Fading, fadingRow{
			quick: quick{d.ID, d.Name}, Avatar: page.AvatarOf(d.ID, d.Name), Path: v.To(page.PathPeople + "/" + d.ID), LastContact: last, Days: civil.Between(last, v.Today()),
		})
	}
}

// addPhotos adds the photos of the people on the page.
func (v *request) addPhotos(c *content) error {
	avatars := map[string][]*page.Avatar{}
	for _, p := range c.Parts {
		for i := range p.Rows {
			if r := &p.Rows[i]; r.GetConnectionId() != "" {
				avatars[r.GetConnectionId()] = append(avatars[r.GetConnectionId()], &r.Avatar)
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
