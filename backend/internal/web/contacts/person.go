package contacts

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

// personContent is the content of a person's page.
type personContent struct {
	Avatar

	*connectionsv1.Connection

	Positions     []*connectionsv1.Position
	Phones        []contactLink
	Emails        []contactLink
	Links         []contactLink
	Dates         []dateRow
	Relationships []relationRow
	TagLinks      []contactLink
	GroupLinks    []contactLink
	CompanyPath   string
	Due           []*remindersv1.DueItem
	LastContact   time.Time
	Added         time.Time
	Archived      time.Time
	Entries       []entryRow
	// Older and Latest are addresses of pages of the timeline; empty if there is no such
	// page.
	Older, Latest string
}

// contactLink is a text with the address that it leads to; no address if it is not safe
// to follow. Templates do not check the address again: they would refuse tel: addresses.
type contactLink struct {
	Text string
	Path template.URL
}

type dateRow struct{ Label, Date string }

type relationRow struct{ Name, Type, Path string }

// entryRow is a note, an interaction or an import in the timeline.
type entryRow struct {
	Kind, Text string
	At         time.Time
	Pinned     bool
	With       []contactLink
}

func (v *request) showPerson() error {
	connectionID := v.R.PathValue("id")
	if !id.Valid(id.Connection, connectionID) {
		return fault.New(fault.NotFound, "there is no such person")
	}
	history := &timelinev1.ListTimelineRequest{ConnectionId: &connectionID, Limit: new(int32(timelineSize))}
	page.Fill(history, url.Values{cursorParameter: v.R.URL.Query()[cursorParameter]})
	found, err := v.Insights.GetConnection(v.Ctx, &connectionsv1.GetConnectionRequest{Id: &connectionID, Include: []string{"positions"}})
	if err != nil {
		return err
	}
	entries, err := v.Timeline.ListTimeline(v.Ctx, history)
	if err != nil {
		return err
	}
	due, err := v.Reminders.ListDue(v.Ctx, &remindersv1.ListDueRequest{ConnectionId: &connectionID, Days: new(int32(dueDays))})
	if err != nil {
		return err
	}
	content := v.personContent(found)
	content.Due = due.GetItems()
	v.addEntries(&content, entries, history.Cursor != nil)
	v.Render(http.StatusOK, "person", page.Page{Title: content.GetName(), Area: page.PathPeople, Content: content})
	return nil
}

// timelineSize is how many entries one page of the timeline has, dueDays how far ahead a
// person's page looks.
const (
	timelineSize = 20
	dueDays      = 366
)

func (v *request) personContent(found *connectionsv1.GetConnectionResponse) personContent {
	c := found.GetConnection()
	content := personContent{
		Connection: c, Avatar: avatarOf(c.GetId(), c.GetName()), Positions: found.GetPositions(), CompanyPath: v.listWith("company", c.GetOrganization()),
		Added: c.GetCreatedAt().AsTime().In(v.Zone),
	}
	if c.LastInteractionAt != nil {
		content.LastContact = c.GetLastInteractionAt().AsTime().In(v.Zone)
	}
	if c.ArchivedAt != nil {
		content.Archived = c.GetArchivedAt().AsTime().In(v.Zone)
	}
	for _, value := range c.GetEmails() {
		content.Emails = append(content.Emails, contactLink{value, template.URL("mailto:" + url.PathEscape(value))})
	}
	for _, value := range c.GetPhones() {
		content.Phones = append(content.Phones, contactLink{value, template.URL("tel:" + strings.Map(dialled, value))})
	}
	for _, value := range c.GetUrls() {
		content.Links = append(content.Links, contactLink{value, template.URL(webAddress(value))})
	}
	for _, d := range c.GetImportantDates() {
		label := d.GetLabel()
		if label == "" {
			label = d.GetKind()
		}
		content.Dates = append(content.Dates, dateRow{page.Sentence(label), d.GetDate()})
	}
	for _, r := range c.GetRelationships() {
		content.Relationships = append(content.Relationships, relationRow{r.GetName(), strings.ReplaceAll(r.GetType(), "_", " "), v.To(page.PathPeople + "/" + r.GetConnectionId())})
	}
	for _, tag := range c.GetTags() {
		content.TagLinks = append(content.TagLinks, contactLink{tag, template.URL(v.listWith("tag", tag))})
	}
	for _, group := range c.GetGroups() {
		content.GroupLinks = append(content.GroupLinks, contactLink{group, template.URL(v.listWith("group", group))})
	}
	return content
}

func (v *request) addEntries(content *personContent, entries *timelinev1.ListTimelineResponse, paged bool) {
	path := v.To(page.PathPeople + "/" + content.GetId())
	for _, e := range entries.GetEntries() {
		row := entryRow{Kind: e.GetKind(), Text: e.GetText(), At: e.GetOccurredAt().AsTime().In(v.Zone), Pinned: e.GetPinned()}
		for _, with := range e.GetParticipants() {
			if with.GetId() != content.GetId() {
				row.With = append(row.With, contactLink{with.GetName(), v.personPath(with.GetId())})
			}
		}
		content.Entries = append(content.Entries, row)
	}
	if entries.GetHasMore() {
		content.Older = withCursor(path, nil, entries.GetNextCursor())
	}
	if paged {
		content.Latest = path
	}
}

// personPath returns the address of the page of a person.
func (v *request) personPath(connectionID string) template.URL {
	return template.URL(v.To(page.PathPeople + "/" + url.PathEscape(connectionID)))
}

// listWith returns the address of the list of people with one filter.
func (v *request) listWith(name, value string) string {
	return join(v.To(page.PathPeople), url.Values{name: {value}})
}

// dialled keeps what a tel: address may hold (RFC 3966, section 5.1.1).
func dialled(r rune) rune {
	if r >= '0' && r <= '9' || r == '+' {
		return r
	}
	return -1
}

// webAddress returns the address that a stored link leads to; empty unless it is http or
// https.
func webAddress(value string) string {
	if !strings.Contains(value, "://") {
		value = "https://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	return u.String()
}
