package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/calendar"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/observability/logging"
)

// pathFeeds is where feeds are made.
const pathFeeds = page.PathDevices + "/feeds"

const (
	// feedSize is how many entries of each kind a feed has: programs read some megabytes.
	feedSize = 5_000
	// maxFeedTitle limits the title of an entry, in characters.
	maxFeedTitle = 300
)

// serveFeed answers with the calendar of a feed. Whoever has the address can read it. One that is unknown or removed, or of a member who
// is suspended, is not found.
func (web *Web) serveFeed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("X-Robots-Tag", "noindex")
	secret, found := strings.CutSuffix(r.PathValue("file"), account.FeedSuffix)
	if !found {
		writeFeedError(w, r, http.StatusNotFound, "There is no calendar at this address.")
		return
	}
	who, err := oauth.AuthenticateFeed(r.Context(), web.Store, secret)
	if fault.Is(err, fault.Unauthenticated) {
		writeFeedError(w, r, http.StatusNotFound, "There is no calendar at this address. It may have been removed.")
		return
	}
	var body []byte
	if err == nil {
		if web.Used != nil {
			web.Used(who.Credential.ID, web.Now())
		}
		body, err = web.feed(r.WithContext(tenant.WithPrincipal(r.Context(), who)), who)
	}
	if err != nil {
		if web.Logger != nil {
			logging.Fail(r.Context(), web.Logger, slog.LevelError, "calendar feed", err.Error())
		}
		w.Header().Set("Retry-After", "60")
		writeFeedError(w, r, http.StatusServiceUnavailable, "Kith cannot answer right now. Try again in a moment.")
		return
	}
	sum := sha256.Sum256(body)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	w.Header().Set("Content-Type", "text/calendar; charset=utf-8")
	w.Header().Set("Content-Disposition", `inline; filename="kith.ics"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func writeFeedError(w http.ResponseWriter, r *http.Request, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, text+"\n")
	}
}

// feed returns the calendar of a feed.
func (web *Web) feed(r *http.Request, who *tenant.Principal) ([]byte, error) {
	entries, err := web.FeedEntries(r.Context(), who)
	if err != nil {
		return nil, err
	}
	return calendar.Write(who.Credential.Name, who.Timezone, entries), nil
}

// FeedEntries returns the entries of a calendar feed, which is the credential of the caller.
func (web *Web) FeedEntries(ctx context.Context, who *tenant.Principal) ([]calendar.Entry, error) {
	zone := civil.Zone(who.Timezone)
	q := reminders.FeedQuery{Today: civil.Of(web.Now(), zone), Zone: zone, Limit: feedSize, GroupID: feedGroup(who.Credential.Scopes)}
	for _, part := range who.Credential.Scopes {
		switch part {
		case account.FeedBirthdays:
			q.Dates = append(q.Dates, people.DateBirthday)
		case account.FeedDates:
			q.Dates = append(q.Dates, people.DateAnniversary, people.DateOther)
		case account.FeedReminders:
			q.Reminders = true
		case account.FeedCadences:
			q.Cadences = true
		}
	}
	ix, err := web.Handlers.Reminders.Index(ctx)
	if err != nil {
		return nil, err
	}
	found, more, err := reminders.ListFeed(ctx, web.Store.Tenant(who.Tenant, who.ReadOnly), ix, q)
	if err != nil {
		return nil, err
	}
	f := page.FormatOf(who.Locale)
	entries := make([]calendar.Entry, 0, len(found)+1)
	for i := range found {
		entries = append(entries, web.feedEntry(f, who.Tenant, &found[i]))
	}
	if more {
		entries = append(entries, calendar.Entry{
			UID: who.Credential.ID + "@kith", Day: q.Today, ChangedAt: civil.Start(q.Today, zone), URL: web.BaseURL + page.PathDevices,
			Title: f.Text("This calendar has only %s entries of each kind: limit it to a group in Kith", f.Number(feedSize)),
		})
	}
	return entries, nil
}

// feedGroup returns the id of the group to which a feed is limited; empty for none.
func feedGroup(scopes []string) string {
	i := slices.IndexFunc(scopes, func(scope string) bool { return id.Valid(id.Group, scope) })
	if i < 0 {
		return ""
	}
	return scopes[i]
}

// feedEntry writes an entry of a feed in the member's language.
func (web *Web) feedEntry(f page.Format, owner tenant.ID, e *reminders.FeedEntry) calendar.Entry {
	out := calendar.Entry{UID: e.ID + "." + string(owner) + "@kith", Day: e.Day, Rule: e.Rule, ChangedAt: e.ChangedAt, URL: web.BaseURL + page.PathStart}
	var names []string
	for _, p := range e.People {
		names = append(names, p.Name)
	}
	if len(e.People) > 0 {
		out.URL = web.BaseURL + page.PathPeople + "/" + e.People[0].ID
	}
	who := f.And(names)
	switch {
	case e.Kind == reminders.KindCadence:
		out.Title = f.Text("Get in touch with %s", who)
	case e.Kind == reminders.KindReminder && who != "":
		out.Title = e.Text + " (" + who + ")"
	case e.Kind == reminders.KindReminder:
		out.Title = e.Text
	case e.Date.Kind == people.DateBirthday:
		out.Title = f.Text("Birthday of %s", who)
	case e.Date.Label != "":
		out.Title = who + ": " + e.Date.Label
	case e.Date.Kind == people.DateAnniversary:
		out.Title = f.Text("Anniversary of %s", who)
	default:
		out.Title = f.Text("Important date of %s", who)
	}
	if e.Date.Year > 0 {
		out.Title += " (" + strconv.Itoa(e.Date.Year) + ")"
	}
	out.Title = text.Truncate(out.Title, maxFeedTitle)
	return out
}

// feedForm is the form that makes a feed.
type feedForm struct {
	Name  page.Field
	Parts []page.Option
	// PartError says why the parts are refused.
	PartError string
	Group     page.Select
}

// feedRow is a feed. Its times are in UTC.
type feedRow struct {
	ID, Name string
	// Parts lists what it has, in words.
	Parts string
	// Limited is set if it has only the people of one group. Group is its name; empty if the group was deleted.
	Limited               bool
	Group                 string
	CreatedAt, LastUsedAt time.Time
}

// feedChoice is what a member chose for a new feed.
type feedChoice struct {
	name, group string
	parts       []string
}

// The fields of the form.
const (
	fieldFeedName  = "feed_name"
	fieldFeedPart  = "part"
	fieldFeedGroup = "feed_group"
)

func feedParts() []page.Option {
	return []page.Option{
		{Value: account.FeedBirthdays, Label: "Birthdays"}, {Value: account.FeedDates, Label: "Anniversaries and other dates"},
		{Value: account.FeedReminders, Label: "Reminders"}, {Value: account.FeedCadences, Label: "Days to get in touch"},
	}
}

// listFeeds returns the feeds of the member, and the form that makes one.
func (v *request) listFeeds(c feedChoice, m *page.Mistakes) (rows []feedRow, form feedForm, err error) {
	feeds, err := account.ListFeeds(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return nil, form, err
	}
	all, err := groups.ListGroups(v.R.Context(), v.data())
	if err != nil {
		return nil, form, err
	}
	options, names := []page.Option{{Label: "Everybody"}}, map[string]string{}
	for _, g := range all {
		options, names[g.ID] = append(options, page.Option{Value: g.ID, Label: g.Name, Own: true}), g.Name
	}
	for _, f := range feeds {
		row := feedRow{ID: f.ID, Name: f.Name, CreatedAt: f.CreatedAt, LastUsedAt: f.LastUsedAt}
		scopes := strings.Fields(f.Scopes)
		var parts []string
		for _, part := range feedParts() {
			if slices.Contains(scopes, part.Value) {
				parts = append(parts, v.Text(part.Label))
			}
		}
		row.Parts = v.Format().And(parts)
		group := feedGroup(scopes)
		row.Limited, row.Group = group != "", names[group]
		rows = append(rows, row)
	}
	form = feedForm{
		Name: page.Field{
			Name: fieldFeedName, Label: "Name", Value: c.name, Required: true, Error: m.Of(fieldFeedName), Autocomplete: "off",
			Hint: "Your calendar program shows it, for example: birthdays.",
		},
		Parts: feedParts(), PartError: m.Of(fieldFeedPart),
		Group: page.Select{Name: fieldFeedGroup, Label: "Whom it is about", Error: m.Of(fieldFeedGroup), Options: page.Choose(c.group, options...)},
	}
	for i := range form.Parts {
		form.Parts[i].Selected = slices.Contains(c.parts, form.Parts[i].Value)
	}
	return rows, form, nil
}

// addFeed makes a feed and sends the browser to the page that shows its address, once.
func (v *request) addFeed() error {
	if !v.DAV {
		return fault.New(fault.NotFound, "this server serves no calendars")
	}
	m := &page.Mistakes{}
	c := feedChoice{name: v.Line(fieldFeedName), group: v.Line(fieldFeedGroup), parts: v.R.PostForm[fieldFeedPart]}
	if err := m.Take(fieldFeedName, account.CheckName(c.name)); err != nil {
		return err
	}
	if account.CheckFeedParts(c.parts) != nil {
		m.Add(fieldFeedPart, "Choose at least one.")
	}
	all, err := groups.ListGroups(v.R.Context(), v.data())
	if err != nil {
		return err
	}
	if c.group != "" && !slices.ContainsFunc(all, func(g groups.Group) bool { return g.ID == c.group }) {
		m.Add(fieldFeedGroup, "This group does not exist any more.")
	}
	if len(m.List) > 0 {
		return v.renderDevices(http.StatusUnprocessableEntity, v.newDevice(), c, m)
	}
	feed, secret, err := account.NewFeed(v.Login.Access(), c.name, c.parts, c.group)
	if err == nil {
		err = account.CreatePersonalToken(v.R.Context(), v.Store, feed)
	}
	if fault.Is(err, fault.Exhausted) {
		m.Add(fieldFeedName, v.tooManyTokens())
		return v.renderDevices(http.StatusUnprocessableEntity, v.newDevice(), c, m)
	}
	if err != nil {
		return err
	}
	v.record(account.FeedAdded, v.Login.MemberID, feed.ID)
	if err := v.handOver(feedCookie, madeToken{Name: c.name, Bearer: v.BaseURL + account.FeedPath(secret)}); err != nil {
		return err
	}
	return v.Redirect(page.PathDevices)
}

func (v *request) removeFeed() error {
	if err := account.RemoveFeed(v.R.Context(), v.Store, v.Login.MemberID, v.Line("id")); err != nil {
		return err
	}
	v.record(account.AccessRevoked, v.Login.MemberID, v.Line("id"))
	return v.RedirectDone(page.PathDevices, "feed-removed")
}
