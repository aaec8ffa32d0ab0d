package dav

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/calendar"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// eventEnding ends the names of events.
const eventEnding = ".ics"

// eventList is the calendar of a feed. events is nil until it is read.
type eventList struct {
	feed   account.PersonalToken
	events []event
	// names are the places of the events, by their names.
	names map[string]int
}

// event is an event of a calendar.
type event struct {
	calendar.Entry

	// written is its text, once it was needed.
	written string
}

// text returns the event as a calendar of its own.
func (e *event) text() string {
	if e.written == "" {
		e.written = e.Text()
	}
	return e.written
}

func (e *event) name() string { return e.UID + eventEnding }

func (e *event) etag() string {
	sum := sha256.Sum256([]byte(e.text()))
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// at returns the resource of the event with a name; false if there is none.
func (l *eventList) at(name string) (resource, bool) {
	i, ok := l.names[name]
	if !ok {
		return resource{}, false
	}
	return l.resourceOf(&l.events[i]), true
}

func (l *eventList) resourceOf(e *event) resource {
	return resource{kind: eventKind, feed: l.feed.ID, name: e.name(), events: l, event: e}
}

// ctag returns a tag that differs if an event does.
func (l *eventList) ctag() string {
	sum := sha256.New()
	for i := range l.events {
		_, _ = io.WriteString(sum, l.events[i].etag()) // a hash takes everything
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// calendars returns the calendars of the member, without their events.
func (v *request) calendars() ([]*eventList, error) {
	feeds, err := account.ListFeeds(v.ctx, v.Store, v.who.Tenant)
	lists := make([]*eventList, len(feeds))
	for i, feed := range feeds {
		lists[i] = &eventList{feed: feed}
	}
	return lists, err
}

// calendar returns the calendar that the path names, or that of the event that it names, without its events.
func (v *request) calendar() (*eventList, error) {
	lists, err := v.calendars()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(lists, func(l *eventList) bool { return l.feed.ID == v.to.feed })
	if i < 0 {
		return nil, errNotFound
	}
	return lists[i], nil
}

// readCalendar reads the events of the calendar that the path names.
func (v *request) readCalendar() (*eventList, error) {
	l, err := v.calendar()
	if err == nil {
		err = v.readEvents(l)
	}
	return l, err
}

// readEvents reads the events of a calendar as its feed has them.
func (v *request) readEvents(l *eventList) error {
	who := *v.who
	who.Credential = tenant.Credential{ID: l.feed.ID, Kind: account.KindFeed, Name: l.feed.Name, Scopes: strings.Fields(l.feed.Scopes)}
	entries, err := v.Feed(tenant.WithPrincipal(v.ctx, &who), &who)
	if err != nil {
		return err
	}
	l.events, l.names = make([]event, len(entries)), make(map[string]int, len(entries))
	for i, e := range entries {
		l.events[i] = event{Entry: e}
		l.names[l.events[i].name()] = i
	}
	return nil
}

// getEvent answers with an event.
func (v *request) getEvent() error {
	if v.to.kind != eventKind {
		return &refusal{status: http.StatusMethodNotAllowed, text: "This is a calendar. Open it with a program for calendars, not in a browser."}
	}
	l, err := v.readCalendar()
	if err != nil {
		return err
	}
	found, ok := l.at(v.to.name)
	if !ok {
		return errNotFound
	}
	v.w.Header().Set("ETag", found.event.etag())
	v.w.Header().Set("Content-Type", eventType)
	http.ServeContent(v.w, v.r, "", found.event.ChangedAt, strings.NewReader(found.event.text()))
	return nil
}

const eventType = "text/calendar; charset=utf-8"

// propfindCalendars answers with properties of calendars and events.
func (v *request) propfindCalendars(w wanted, depth string) error {
	withEvents := depth == "1" && v.to.kind == calendarKind || v.to.kind == eventKind || w.all || slices.Contains(w.names, nameIn(spaceServer, "getctag"))
	var lists []*eventList
	var err error
	switch {
	case v.to.kind != calendarHomeKind:
		lists = make([]*eventList, 1)
		lists[0], err = v.calendar()
	case depth == "1":
		lists, err = v.calendars()
	}
	for i := 0; err == nil && withEvents && i < len(lists); i++ {
		err = v.readEvents(lists[i])
	}
	if err != nil {
		return err
	}
	var found []resource
	if v.to.kind == calendarHomeKind {
		found = append(found, v.to)
	}
	for _, l := range lists {
		if v.to.kind == eventKind {
			to, ok := l.at(v.to.name)
			if !ok {
				return errNotFound
			}
			found = append(found, to)
			continue
		}
		found = append(found, resource{kind: calendarKind, feed: l.feed.ID, events: l})
		for i := 0; i < len(l.events) && v.to.kind == calendarKind && depth == "1"; i++ {
			found = append(found, l.resourceOf(&l.events[i]))
		}
	}
	return v.answerCalendars(w, found, nil)
}

// answerCalendars answers with calendars and events, and with addresses of events that do not exist.
func (v *request) answerCalendars(w wanted, found []resource, missing []string) error {
	a := v.begin(w, state{})
	for _, href := range missing {
		a.missing(href)
	}
	for _, to := range found {
		a.add(to, nil)
	}
	return a.end()
}

// multigetEvents answers with the events of some addresses.
func (v *request) multigetEvents(root *element) error {
	w, err := wantedOf(root)
	if err != nil {
		return err
	}
	l, err := v.readCalendar()
	if err != nil {
		return err
	}
	var found []resource
	var missing []string
	answered := map[string]bool{}
	for _, c := range root.children {
		if !c.is(spaceDAV, "href") {
			continue
		}
		href := strings.TrimSpace(c.text)
		to, ok := l.at(v.eventName(href))
		switch {
		case !ok:
			missing = append(missing, href)
		case !answered[to.name]:
			answered[to.name] = true
			found = append(found, to)
		}
	}
	return v.answerCalendars(w, found, missing)
}

// eventName returns the name of the event at an address of the calendar that the path names; empty for any other.
func (v *request) eventName(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	to, err := v.find(u.Path, v.who.Username)
	if err != nil || to.kind != eventKind || to.feed != v.to.feed || !strings.HasPrefix(u.Path, Root) {
		return ""
	}
	return to.name
}

// queryEvents answers with the events that a filter finds.
func (v *request) queryEvents(root *element) error {
	w, err := wantedOf(root)
	if err != nil {
		return err
	}
	f, err := v.eventFilterOf(root.child(spaceCalDAV, "filter"))
	if err != nil {
		return err
	}
	l, err := v.readCalendar()
	if err != nil {
		return err
	}
	var found []resource
	for i := range l.events {
		if !f.none && l.events[i].Within(f.from, f.until) {
			found = append(found, l.resourceOf(&l.events[i]))
		}
	}
	return v.answerCalendars(w, found, nil)
}

// eventFilter is the filter of a calendar-query (RFC 4791, section 9.7): a span of time, without an end where it is zero. none finds nothing.
type eventFilter struct {
	from, until time.Time
	none        bool
}

// eventFilterOf reads a filter. It may ask for events by their time; a filter by a property of an event is refused.
func (v *request) eventFilterOf(e *element) (f eventFilter, err error) {
	if e == nil {
		return f, nil
	}
	whole := e.child(spaceCalDAV, "comp-filter")
	if whole == nil || len(e.children) != 1 || !strings.EqualFold(whole.attribute("name"), "VCALENDAR") {
		return f, badEventFilter()
	}
	for _, part := range whole.children {
		absent := part.child(spaceCalDAV, "is-not-defined") != nil
		switch {
		case !part.is(spaceCalDAV, "comp-filter"):
			return f, badEventFilter()
		case !strings.EqualFold(part.attribute("name"), "VEVENT"):
			f.none = f.none || !absent
			continue
		case absent:
			f.none = true
			continue
		}
		for _, condition := range part.children {
			if !condition.is(spaceCalDAV, "time-range") {
				return f, badEventFilter()
			}
			if f.from, err = v.moment(condition.attribute("start")); err == nil {
				f.until, err = v.moment(condition.attribute("end"))
			}
			if err != nil {
				return f, err
			}
		}
	}
	return f, nil
}

func badEventFilter() error {
	return refuse(http.StatusForbidden, spaceCalDAV, "supported-filter", "Events are found by the time at which they are, and by nothing else.")
}

// moment reads a bound of a span of time, and returns what the clock of the member shows then, in UTC: events are whole days of the member. It is
// zero for an empty text.
func (v *request) moment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse("20060102T150405Z", text)
	if err != nil {
		return at, refuse(http.StatusForbidden, spaceCalDAV, "valid-filter", "A time looks like 20260131T235959Z.")
	}
	at = at.In(civil.Zone(v.who.Timezone))
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC), nil
}

// calendarProperty returns the value of a property of a calendar, an event or the home of the calendars that others do not have, or have
// otherwise.
func (v *request) calendarProperty(to resource, name xml.Name) (value string, ok bool) {
	if to.event != nil {
		switch name {
		case davName("resourcetype"):
			return "", true
		case davName("displayname"):
			return escapeXML(to.event.Title), true
		case davName("getetag"):
			return escapeXML(to.event.etag()), true
		case davName("getcontenttype"):
			return eventType, true
		case davName("getlastmodified"):
			return to.event.ChangedAt.UTC().Format(http.TimeFormat), true
		case calendarName("calendar-data"):
			return escapeXML(to.event.text()), v.r.Method == "REPORT"
		}
		return "", false
	}
	if to.kind != calendarKind {
		return "", false
	}
	switch name {
	case davName("resourcetype"):
		return "<d:collection/><cal:calendar/>", true
	case davName("displayname"):
		return escapeXML(to.events.feed.Name), true
	case davName("supported-report-set"):
		return reportSet(calendarName("calendar-query"), calendarName("calendar-multiget")), true
	case nameIn(spaceServer, "getctag"):
		return to.events.ctag(), to.events.events != nil
	case calendarName("supported-calendar-component-set"):
		return `<cal:comp name="VEVENT"/>`, true
	case calendarName("supported-calendar-data"):
		return `<cal:calendar-data content-type="text/calendar" version="2.0"/>`, true
	}
	return "", false
}
