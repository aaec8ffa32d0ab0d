package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/calendar"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// makeFeed makes a calendar feed with all parts, unless values say otherwise, and returns the page that shows its address.
func makeFeed(b *webtest.Browser, values url.Values) *webtest.Page {
	return b.Follow(b.Submit(b.Get("/settings/devices"), "/settings/devices/feeds", values))
}

// feedPath returns the path of the feed whose address a page shows.
func feedPath(t *testing.T, s *webtest.Site, made *webtest.Page) string {
	t.Helper()
	path, ok := strings.CutPrefix(webtest.TextOf(made.ByID("feed-address")), s.URL)
	if !ok || !strings.HasPrefix(path, "/calendar/kith_cal_") || !strings.HasSuffix(path, ".ics") {
		t.Fatalf("the address is %q: %s", path, made.Text())
	}
	return path
}

// feedDays returns the titles of a feed by their days, in some years, each as "2027-02-28 title".
func feedDays(t *testing.T, text, from, until string) (out []string) {
	t.Helper()
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	c, err := calendar.Read([]byte(text), calendar.Options{From: day(from).Add(time.Second), Until: day(until), Zone: time.UTC})
	if err != nil || c.Skipped > 0 || len(c.Warnings) > 0 {
		t.Fatalf("%v %+v\n%s", err, c, text)
	}
	for _, m := range c.Meetings {
		if !m.AllDay || m.End.Sub(m.Start) != 24*time.Hour {
			t.Errorf("%s does not last a day", m.Title)
		}
		out = append(out, m.Start.Format(time.DateOnly)+" "+m.Title)
	}
	return out
}

// feedNetwork gives a member people, one of whom is in the group Family, with dates, reminders and intervals. Today is 29 November 2026.
func feedNetwork(t *testing.T, s *webtest.Site, owner tenant.ID) (ids map[string]string, group string) {
	t.Helper()
	ids = map[string]string{}
	today := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	every := 30
	writeAs(t, s, owner, db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		for _, p := range []people.Draft{
			{Name: "Leap Year", Dates: []people.DateDraft{{Kind: people.DateBirthday, Date: "--02-29"}}},
			{Name: "Ada, Countess; Lovelace", Dates: []people.DateDraft{{Kind: people.DateBirthday, Date: "1815-12-10"}, {Kind: people.DateAnniversary, Date: "2024-02-29"}, {Kind: people.DateOther, Label: "Name day", Date: "--07-07"}, {Kind: people.DateOther, Label: "Moved", Date: "2020-05"}}},
			{Name: "Gone", DeceasedOn: "2020", Dates: []people.DateDraft{{Kind: people.DateBirthday, Date: "1950-12-11"}}},
			{Name: "Away", Dates: []people.DateDraft{{Kind: people.DateBirthday, Date: "1950-12-12"}}},
		} {
			made, err := people.Create(ctx, tx, p)
			if err != nil {
				return err
			}
			ids[p.Name] = made.Connection.ID
		}
		for _, r := range []reminders.Reminder{
			{Text: "Pay the rent", DueOn: "2026-12-31", Recurrence: reminders.RecursMonthly},
			{Text: "Water", DueOn: "2026-12-30", Recurrence: reminders.RecursMonthly},
			{Text: "Call\nBEGIN:VEVENT", DueOn: "2026-11-29", ConnectionIDs: []string{ids["Leap Year"]}},
			{Text: "About somebody away", DueOn: "2026-12-01", ConnectionIDs: []string{ids["Away"]}},
		} {
			if _, _, err := reminders.Create(ctx, tx, r, today); err != nil {
				return err
			}
		}
		if _, err := people.SetCadence(ctx, tx, people.CadencePatch{IDs: []string{ids["Ada, Countess; Lovelace"], ids["Away"]}, Days: &every}); err != nil {
			return err
		}
		name := "Family"
		saved, err := groups.Save(ctx, tx, groups.Patch{Name: &name})
		if err != nil {
			return err
		}
		group = saved.Group.ID
		if _, err := people.Archive(ctx, tx, []string{ids["Away"]}, true, false); err != nil {
			return err
		}
		_, err = groups.UpdateMembership(ctx, tx, groups.MembershipPatch{ConnectionIDs: []string{ids["Leap Year"]}, AddGroups: []string{group}})
		return err
	})
	return ids, group
}

// withUse are options for sites that record when feeds are read at once.
func withUse() webtest.Options {
	return webtest.Options{Web: func(c *web.Config) {
		store := c.Store
		c.Used = func(id string, at time.Time) { _ = oauth.MarkUsed(context.Background(), store, id, at) }
	}}
}

// TestFeed: a member makes calendar feeds, whose addresses are shown once and answer with their dates, and removes them.
func TestFeed(t *testing.T) {
	t.Parallel()
	webtest.Each(t, withUse(), func(t *testing.T, s *webtest.Site) {
		until(t, s, "2026-11-29T12:00:00Z")
		b := s.SignedIn(t, "maria")
		confirmed(t, s, b.Owner, "Europe/Berlin", "en-GB")
		ids, group := feedNetwork(t, s, b.Owner)
		made := makeFeed(b, webtest.Values("feed_name", "Everything"))
		want(t, made, http.StatusOK, "The calendar feed “Everything” is made", "Birthdays, Anniversaries and other dates, Reminders and Days to get in touch", "not read yet")
		path := feedPath(t, s, made)
		if link := webtest.LinkTo(made, "Subscribe on this device"); link != "webcal:"+strings.TrimPrefix(s.URL, "http:")+path {
			t.Errorf("the link to subscribe is %q", link)
		}
		if again := b.Get("/settings/devices"); strings.Contains(again.Body, path) {
			t.Error("the address is shown again")
		}
		want(t, b.Get("/settings/security"), http.StatusOK, "Made the calendar feed “Everything”")

		anyone := s.Browser(t)
		read := anyone.Get(path)
		if read.Status != http.StatusOK || read.Header.Get("Content-Type") != "text/calendar; charset=utf-8" || read.Header.Get("Cache-Control") != "private, no-cache" {
			t.Fatalf("%d %v", read.Status, read.Header)
		}
		wanted := []string{
			"2026-11-29 Call BEGIN:VEVENT (Leap Year)", "2026-12-10 Birthday of Ada, Countess; Lovelace (1815)", "2026-12-29 Get in touch with Ada, Countess; Lovelace",
			"2026-12-31 Pay the rent", "2027-01-31 Pay the rent", "2027-02-28 Anniversary of Ada, Countess; Lovelace (2024)", "2027-02-28 Birthday of Leap Year", "2027-02-28 Pay the rent",
			"2027-03-31 Pay the rent", "2026-12-30 Water", "2027-01-30 Water", "2027-02-28 Water", "2027-03-30 Water",
		}
		got := feedDays(t, read.Body, "2026-11-29", "2027-04-01")
		if diff := cmp.Diff(sortedDays(wanted), sortedDays(got)); diff != "" {
			t.Errorf("-want +got:\n%s\n%s", diff, read.Body)
		}
		for _, at := range []string{"2028-02-29", "2032-02-29", "2045-02-28"} { // over 20 years
			day, _ := time.Parse(time.DateOnly, at)
			got := feedDays(t, read.Body, at, day.AddDate(0, 0, 1).Format(time.DateOnly))
			if len(got) != 4 || !strings.Contains(strings.Join(got, "\n"), at+" Birthday of Leap Year") {
				t.Errorf("%s has %q", at, got)
			}
		}
		if !strings.Contains(strings.ReplaceAll(read.Body, "\r\n ", ""), "URL:"+s.URL+"/people/"+ids["Leap Year"]+"\r\n") {
			t.Errorf("no link to the person in\n%s", read.Body)
		}
		want(t, b.Get("/settings/devices"), http.StatusOK, "last read on")

		checkConditional(t, anyone, path, read)

		family := makeFeed(b, url.Values{"feed_name": {"Family"}, "feed_group": {group}})
		want(t, family, http.StatusOK, "only Family")
		got = feedDays(t, anyone.Get(feedPath(t, s, family)).Body, "2026-11-29", "2027-04-01")
		if diff := cmp.Diff([]string{"2026-11-29 Call BEGIN:VEVENT (Leap Year)", "2027-02-28 Birthday of Leap Year"}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		birthdays := makeFeed(b, url.Values{"feed_name": {"Birthdays"}, "part": {"birthdays"}})
		got = feedDays(t, anyone.Get(feedPath(t, s, birthdays)).Body, "2026-11-29", "2027-04-01")
		if diff := cmp.Diff([]string{"2026-12-10 Birthday of Ada, Countess; Lovelace (1815)", "2027-02-28 Birthday of Leap Year"}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}

		// The next day, what was due yesterday is on today; a completed reminder and a deleted person are gone.
		s.Clock.Advance(24 * time.Hour)
		if got := feedDays(t, anyone.Get(path).Body, "2026-11-29", "2026-12-05"); !cmp.Equal(got, []string{"2026-11-30 Call BEGIN:VEVENT (Leap Year)"}) {
			t.Errorf("the next day has %q", got)
		}
		webtest.Deleted(t, s, b.Owner, ids["Leap Year"])
		if left := anyone.Get(path).Body; strings.Contains(left, "Leap Year") {
			t.Errorf("a deleted person is still in\n%s", left)
		}
		writeAs(t, s, b.Owner, db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
			_, err := groups.Delete(ctx, tx, group)
			return err
		})
		want(t, b.Get("/settings/devices"), http.StatusOK, "its group is gone, so it is empty")
		if got := feedDays(t, anyone.Get(feedPath(t, s, family)).Body, "2026-01-01", "2030-01-01"); len(got) > 0 {
			t.Errorf("the feed of a deleted group has %q", got)
		}
	})
}

func sortedDays(days []string) map[string]bool {
	out := map[string]bool{}
	for _, d := range days {
		out[d] = true
	}
	return out
}

// checkConditional checks the answers to a program that has the calendar, and to HEAD.
func checkConditional(t *testing.T, b *webtest.Browser, path string, read *webtest.Page) {
	t.Helper()
	tag := read.Header.Get("ETag")
	request := b.Request(http.MethodGet, path, nil)
	request.Header.Set("If-None-Match", tag)
	if same := b.Do(request); tag == "" || same.Status != http.StatusNotModified || same.Body != "" || same.Header.Get("ETag") != tag {
		t.Errorf("If-None-Match %s: %d %v", tag, same.Status, same.Header)
	}
	head := b.Do(b.Request(http.MethodHead, path, nil))
	if head.Status != http.StatusOK || head.Body != "" || head.Header.Get("ETag") != tag || head.Header.Get("Content-Length") != fmt.Sprint(len(read.Body)) {
		t.Errorf("HEAD: %d %v", head.Status, head.Header)
	}
	request = b.Request(http.MethodGet, path, nil)
	request.Header.Set("If-None-Match", `"other"`)
	if other := b.Do(request); other.Status != http.StatusOK || other.Body != read.Body {
		t.Errorf("another tag: %d", other.Status)
	}
}

// TestFeedIsSecret: only the address of a live feed of a live member is answered, and it does nothing else.
func TestFeedIsSecret(t *testing.T) {
	t.Parallel()
	webtest.Each(t, withUse(), func(t *testing.T, s *webtest.Site) {
		b, anyone := s.SignedIn(t, "maria"), s.Browser(t)
		made := makeFeed(b, webtest.Values("feed_name", "Mine"))
		path := feedPath(t, s, made)
		secret := strings.TrimSuffix(strings.TrimPrefix(path, "/calendar/"), ".ics")
		var stored string
		err := s.Store.NewRaw("SELECT hash FROM personal_tokens WHERE member_id = ? AND kind = 'feed'", b.Owner).Scan(t.Context(), &stored)
		if err != nil || stored != account.HashFeedSecret(secret) {
			t.Fatalf("stored: %q, %v", stored, err)
		}
		missing := func(what, path string) {
			t.Helper()
			if p := anyone.Get(path); p.Status != http.StatusNotFound || strings.Contains(p.Body, "VCALENDAR") || strings.Contains(p.Body, secret) {
				t.Errorf("%s: %d %s", what, p.Status, p.Body)
			}
		}
		for what, p := range map[string]string{
			"another secret": "/calendar/kith_cal_x.ics", "no suffix": "/calendar/" + secret, "the hash": "/calendar/" + stored + ".ics", "no secret": "/calendar/.ics",
			"below": path + "/x", "a device": "/calendar/" + webtest.TextOf(makeDevice(b, "phone").ByID("app-password")) + ".ics",
		} {
			missing(what, p)
		}
		if _, err := oauth.Authenticate(t.Context(), s.Store, secret); err == nil {
			t.Error("the secret is a bearer token")
		}
		if _, err := oauth.AuthenticateDevice(t.Context(), s.Store, "maria", secret); err == nil {
			t.Error("the secret is an app password")
		}
		if p := anyone.Post(path, nil); p.Status < http.StatusBadRequest {
			t.Errorf("POST: %d", p.Status)
		}

		other := s.SignedIn(t, "other")
		theirs := webtest.Values("form_token", tokenOf(other.Get("/settings/devices")), "id", made.Form("/settings/devices/feeds/remove").Get("id"))
		want(t, other.Post("/settings/devices/feeds/remove", theirs), http.StatusNotFound)
		want(t, other.Post("/settings/devices/remove", theirs), http.StatusNotFound)
		if p := anyone.Get(path); p.Status != http.StatusOK {
			t.Fatalf("after an attempt of another member: %d", p.Status)
		}
		if _, err := account.SuspendMember(t.Context(), s.Store, "maria"); err != nil {
			t.Fatal(err)
		}
		missing("suspended", path)
		if _, err := account.ResumeMember(t.Context(), s.Store, "maria"); err != nil {
			t.Fatal(err)
		}
		if p := anyone.Get(path); p.Status != http.StatusOK {
			t.Errorf("resumed: %d", p.Status)
		}
		b = s.BrowserOf(t, b.Owner)
		wantRedirect(t, b.Submit(b.Get("/settings/devices"), "/settings/devices/feeds/remove", nil), "/settings/devices?done=feed-removed")
		missing("removed", path)
		want(t, b.Get("/settings/devices?done=feed-removed"), http.StatusOK, "The calendar feed is removed")
	})
}

// TestFeedChoices: a feed has a name, a part, and a group that exists; and there are only so many.
func TestFeedChoices(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		for what, c := range map[string]struct {
			values url.Values
			say    string
		}{
			"no name":       {webtest.Values("feed_name", " "), "use 1 to 100 characters"},
			"no part":       {url.Values{"feed_name": {"x"}, "part": nil}, "Choose at least one."},
			"unknown part":  {url.Values{"feed_name": {"x"}, "part": {"write"}}, "Choose at least one."},
			"unknown group": {url.Values{"feed_name": {"x"}, "feed_group": {"grp_0"}}, "This group does not exist any more."},
		} {
			if p := b.Submit(b.Get("/settings/devices"), "/settings/devices/feeds", c.values); p.Status != http.StatusUnprocessableEntity || !strings.Contains(strings.ToLower(p.Text()), strings.ToLower(c.say)) {
				t.Errorf("%s: %d %s", what, p.Status, p.Text())
			}
		}
		for range account.MaxTokens {
			makeFeed(b, webtest.Values("feed_name", "x"))
		}
		want(t, b.Submit(b.Get("/settings/devices"), "/settings/devices/feeds", webtest.Values("feed_name", "x")), http.StatusUnprocessableEntity, "You have 50 tokens, devices and calendar feeds")
	})
}

// TestFeedInGerman: a feed is in the language of its member.
func TestFeedInGerman(t *testing.T) {
	t.Parallel()
	webtest.Each(t, withUse(), func(t *testing.T, s *webtest.Site) {
		until(t, s, "2026-11-29T12:00:00Z")
		b := s.SignedIn(t, "maria")
		confirmed(t, s, b.Owner, "Europe/Berlin", "de-DE")
		feedNetwork(t, s, b.Owner)
		got := strings.Join(feedDays(t, s.Browser(t).Get(feedPath(t, s, makeFeed(b, webtest.Values("feed_name", "Alles")))).Body, "2026-11-29", "2027-04-01"), "\n")
		for _, line := range []string{"2027-02-28 Geburtstag von Leap Year", "2027-02-28 Jahrestag von Ada, Countess; Lovelace (2024)"} {
			if !strings.Contains(got, line) {
				t.Errorf("no %q in\n%s", line, got)
			}
		}
	})
}

// TestFeedIsOff: without DAV, feeds are neither served nor made.
func TestFeedIsOff(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{Web: func(c *web.Config) { c.DAV = false }}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		p := b.Get("/settings/devices")
		want(t, p, http.StatusOK, "This server does not serve calendars.")
		want(t, b.Post("/settings/devices/feeds", webtest.Values("form_token", tokenOf(p), "feed_name", "x", "part", "birthdays")), http.StatusNotFound)
		m, err := account.GetMemberByID(t.Context(), s.Store, b.Owner)
		if err != nil {
			t.Fatal(err)
		}
		feed, secret, err := account.NewFeed(m.Access(), "x", account.FeedParts(), "")
		if err == nil {
			err = account.CreatePersonalToken(t.Context(), s.Store, feed)
		}
		if err != nil {
			t.Fatal(err)
		}
		want(t, s.Browser(t).Get("/calendar/"+secret+".ics"), http.StatusNotFound)
	})
}

// TestFeedIsBounded: a feed of more entries than it may have says so, and stays small.
func TestFeedIsBounded(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		until(t, s, "2026-11-29T12:00:00Z")
		b := s.SignedIn(t, "maria")
		confirmed(t, s, b.Owner, "Europe/Berlin", "en-GB")
		const size = 5_000
		add := func(from, to int) {
			rows := make([]reminders.Reminder, to-from)
			for i := range rows {
				rows[i] = reminders.Reminder{
					TenantID: b.Owner, ID: fmt.Sprintf("rem_%06d", from+i), Text: strings.Repeat("long ", 100), DueOn: "2027-03-01", StartsOn: "2027-03-01",
					Recurrence: reminders.RecursNever, State: reminders.Open, Version: 1, CreatedAt: s.Store.Now(), UpdatedAt: s.Store.Now(),
				}
			}
			writeAs(t, s, b.Owner, db.Actor{}, func(ctx context.Context, tx *db.Tx) error { return tx.InsertAll(ctx, &rows, len(rows)) })
		}
		add(0, size)
		path := feedPath(t, s, makeFeed(b, webtest.Values("feed_name", "Everything")))
		const says = "2026-11-29 This calendar has only 5,000 entries of each kind: limit it to a group in Kith"
		if got := feedDays(t, s.Browser(t).Get(path).Body, "2026-11-29", "2028-01-01"); len(got) != size || got[0] == says {
			t.Errorf("a full calendar has %d entries, the first of which is %s", len(got), got[0])
		}
		add(size, size+1)
		read := s.Browser(t).Get(path)
		if got := feedDays(t, read.Body, "2026-11-29", "2028-01-01"); len(got) != size+1 || got[0] != says {
			t.Errorf("a calendar that is too large has %d entries, the first of which is %s", len(got), got[0])
		}
		if n := len(read.Body); n > 4<<20 {
			t.Errorf("it has %d bytes", n)
		}
	})
}
