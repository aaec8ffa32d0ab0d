package calendars_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/books"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/outbound/outboundtest"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// calendar is a calendar at an address that a member may add.
type calendar struct {
	host *outboundtest.Host
	mu   sync.Mutex
	feed string
}

func (c *calendar) publish(events ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.feed = "BEGIN:VCALENDAR\r\nX-WR-CALNAME:Work\r\n"
	for _, e := range events {
		c.feed += "BEGIN:VEVENT\r\n" + strings.ReplaceAll(e, "\n", "\r\n") + "\r\nEND:VEVENT\r\n"
	}
	c.feed += "END:VCALENDAR\r\n"
}

// newCalendar returns a calendar, and the options of a site whose members can add it.
func newCalendar(t *testing.T) (*calendar, webtest.Options) {
	t.Helper()
	c := &calendar{}
	c.host = outboundtest.Start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, _ = w.Write([]byte(c.feed))
	}))
	return c, webtest.Options{Web: func(o *web.Config) {
		o.Sources.Fetcher = sources.NewFetcher(c.host.Options(), false)
	}}
}

// worked runs the member's jobs until the last of a kind has ended.
func worked(t *testing.T, s *webtest.Site, b *webtest.Browser, kind string) {
	t.Helper()
	changed := make(chan struct{}, 1)
	runner := job.NewRunner(job.Config{
		Queue: dbtest.Queue(t, s.Store), Kinds: []job.Kind{s.Sources.Kind(), importer.Undo(s.Store, kinds.All())}, Workers: 1, Poll: time.Millisecond, Now: s.Clock.Now,
		Logger: slog.New(slog.DiscardHandler), Changed: func(job.Job) {
			select {
			case changed <- struct{}{}:
			default:
			}
		},
	})
	runner.Start(t.Context())
	defer runner.Stop(context.Background())
	for {
		jobs, err := job.ListJobs(t.Context(), s.Store.Tenant(b.Owner, true), kind, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs) == 0 || jobs[0].Terminal() {
			return
		}
		<-changed
	}
}

func want(t *testing.T, p *webtest.Page, status int, words ...string) {
	t.Helper()
	if p.Status != status {
		t.Fatalf("status %d, not %d:\n%s", p.Status, status, p.Text())
	}
	for _, word := range words {
		if !strings.Contains(p.Text(), word) {
			t.Errorf("no %q in:\n%s", word, p.Text())
		}
	}
}

// meeting is an event an hour long, with Vera and a stranger, so many hours from now.
func meeting(s *webtest.Site, uid, title string, hours int) string {
	at := s.Clock.Now().Add(time.Duration(hours) * time.Hour).UTC().Format("20060102T150405Z")
	return "UID:" + uid + "\nSUMMARY:" + title + "\nDTSTART:" + at + "\nDURATION:PT1H\nATTENDEE;CN=Vera Holm:mailto:vera@example.com\nATTENDEE;CN=Kofi Mensah:mailto:kofi@example.com"
}

// TestCalendar adds a calendar, checks the preview, starts it, adds somebody whom it names, sees what is ahead on Today, and removes it with
// everything that it logged.
func TestCalendar(t *testing.T) {
	t.Parallel()
	c, options := newCalendar(t)
	webtest.Each(t, options, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		webtest.By(t, s, b.Owner, "create_connection", func(ctx context.Context, tx *db.Tx) (people.Written, error) {
			return people.Create(ctx, tx, people.Draft{Name: "Vera Holm", Emails: []string{"vera@example.com"}})
		})
		c.publish(meeting(s, "a", "Budget", -48), meeting(s, "b", "Coffee", -24), meeting(s, "c", "Plans", 1))

		p := b.Get("/settings/sources")
		want(t, p, http.StatusOK, "A calendar", "An address book")
		want(t, b.Submit(p, "/settings/sources", webtest.Values("address", "http://agent.example.com/a.ics")), http.StatusUnprocessableEntity, "The address must begin with https://.")
		to := b.Submit(p, "/settings/sources", webtest.Values("address", c.host.URL+"/secret-77.ics", "words", "dentist"))
		path, _, _ := strings.Cut(to.Header.Get("Location"), "?")
		p = b.Follow(to)
		want(t, p, http.StatusOK, "Nothing is logged until you start it.", "3 events in the calendar. 2 meetings with people on file", "1 ahead", "Coffee with Vera Holm")
		if strings.Contains(p.Body, "secret-77") {
			t.Error("the page has the secret address")
		}
		want(t, b.Submit(p, path+"/choices", webtest.Values("max_people", "many")), http.StatusUnprocessableEntity, "Write a number from 1 to 1000")
		p = b.Follow(b.Submit(p, path+"/choices", webtest.Values("words", "coffee\nplans")))
		want(t, p, http.StatusOK, "Saved.", "1 meeting with people on file", "0 ahead")
		p = b.Follow(b.Submit(p, path+"/choices", webtest.Values("words", "")))
		want(t, p, http.StatusOK, "2 meetings with people on file", "Coffee with Vera Holm")
		p = b.Follow(b.Submit(p, path, webtest.Values("act", "start")))
		want(t, p, http.StatusOK, "Started.", "It is read for the first time.")
		worked(t, s, b, sources.JobKind)
		p = b.Get(path)
		want(t, p, http.StatusOK, "2 logged", "You met people who are not on file", "Kofi Mensah", "kofi@example.com, 2 meetings")
		want(t, b.Get("/"), http.StatusOK, "Meetings", ": Plans", "Vera Holm")
		want(t, b.Get(webtest.LinkTo(p, "See what it did")), http.StatusOK, "From the calendar Work: 2 logged", "Calendar Work")

		want(t, b.Follow(b.Submit(p, path+"/people", webtest.Values("act", "add"))), http.StatusOK, "nobody was chosen")
		p = b.Follow(b.Submit(p, path+"/people", webtest.Values("act", "add", "email", "kofi@example.com")))
		want(t, p, http.StatusOK, "The people are added.")
		worked(t, s, b, sources.JobKind)
		p = b.Get(path)
		want(t, p, http.StatusOK, "2 changed")
		if strings.Contains(p.Text(), "not on file") {
			t.Errorf("Kofi is still offered:\n%s", p.Text())
		}
		want(t, b.Get("/people"), http.StatusOK, "Kofi Mensah")

		want(t, b.Follow(b.Submit(p, path+"/choices", webtest.Values("words", "coffee", "since", "365"))), http.StatusOK, "Saved.")
		worked(t, s, b, sources.JobKind)
		p = b.Get(path)
		want(t, p, http.StatusOK, "1 removed, 1 left out by your choices")
		p = b.Follow(b.Submit(p, path, webtest.Values("act", "pause")))
		want(t, p, http.StatusOK, "Paused. It is not read until you go on.")
		p = b.Follow(b.Submit(p, path, webtest.Values("act", "remove-all")))
		want(t, p, http.StatusOK, "The calendar is removed.")
		worked(t, s, b, importer.UndoKind)
		if p := b.Get("/people?query=Vera"); strings.Contains(p.Text(), "yesterday") {
			t.Errorf("meetings stayed:\n%s", p.Text())
		}
		want(t, b.Get(path), http.StatusNotFound)
	})
}

// TestCalendarsOfOthers checks that a member neither sees nor changes the calendars of another one.
func TestCalendarsOfOthers(t *testing.T) {
	t.Parallel()
	c, options := newCalendar(t)
	webtest.Each(t, options, func(t *testing.T, s *webtest.Site) {
		maria, ben := s.SignedIn(t, "maria"), s.SignedIn(t, "ben")
		c.publish()
		to := maria.Submit(maria.Get("/settings/sources"), "/settings/sources", webtest.Values("address", c.host.URL+"/a.ics"))
		path, _, _ := strings.Cut(to.Header.Get("Location"), "?")
		want(t, maria.Get(path), http.StatusOK, "What would be logged")
		want(t, ben.Get(path), http.StatusNotFound)
		token := ""
		for _, input := range ben.Get("/settings/sources").All("input") {
			if webtest.Attr(input, "name") == "form_token" {
				token = webtest.Attr(input, "value")
			}
		}
		for _, act := range []string{"start", "pause", "remove", "remove-all", "change", "add", "dismiss"} {
			if p := ben.Post(path+map[string]string{"add": "/people", "dismiss": "/people", "change": "/choices"}[act], webtest.Values("form_token", token, "act", act, "email", "x@example.com")); p.Status != http.StatusNotFound {
				t.Errorf("%s: status %d", act, p.Status)
			}
		}
		want(t, maria.Get(path), http.StatusOK, "What would be logged")
	})
}

// TestAddressBook adds an address book, checks the preview, starts it, and removes it with whom it added.
func TestAddressBook(t *testing.T) {
	t.Parallel()
	host := outboundtest.Start(t, http.HandlerFunc(serveBook))
	options := webtest.Options{Web: func(o *web.Config) {
		fetcher := sources.NewFetcher(host.Options(), false)
		o.Sources.Fetcher, o.Sources.Books = fetcher, &books.Reader{Store: o.Sources.Store, Fetcher: fetcher}
	}}
	webtest.Each(t, options, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		p := b.Get("/settings/sources")
		add := func(password string) *webtest.Page {
			return b.Submit(p, "/settings/sources?kind=book", webtest.Values("server", host.URL+"/book/", "account", "maria", "app_password", password))
		}
		wrong := add("app-78")
		want(t, wrong, http.StatusUnprocessableEntity, "most want an app password")
		if strings.Contains(wrong.Body, "app-78") {
			t.Error("the page has the password")
		}
		old := p.Fill("/settings/sources?kind=book", webtest.Values("server", host.URL+"/book/", "account", "maria", "app_password", "app-79"))
		old.Set(page.TokenField, "of another session")
		outdated := b.Post("/settings/sources?kind=book", old)
		want(t, outdated, http.StatusForbidden, "This form is out of date", host.URL+"/book/")
		if strings.Contains(outdated.Body, "app-79") {
			t.Error("the page of the form that is out of date has the password")
		}
		to := add("app-77")
		path, _, _ := strings.Cut(to.Header.Get("Location"), "?")
		p = b.Follow(to)
		want(t, p, http.StatusOK, "Nobody is added until you start it.", "Friends", "What would be added", "New people: 1")
		want(t, b.Follow(b.Submit(p, path, webtest.Values("act", "start"))), http.StatusOK, "Started. The people are being added.")
		worked(t, s, b, sources.JobKind)
		want(t, b.Get("/people"), http.StatusOK, "Kofi Mensah")
		p = b.Get(path)
		want(t, p, http.StatusOK, "New people: 1", "Last read")
		want(t, b.Get(webtest.LinkTo(p, "See what it did")), http.StatusOK, "Added Kofi Mensah", "Address book Friends")
		want(t, b.Get("/settings/sources"), http.StatusOK, "1 card")
		want(t, b.Follow(b.Submit(p, path, webtest.Values("act", "remove-all"))), http.StatusOK, "The address book is removed.")
		worked(t, s, b, importer.UndoKind)
		if strings.Contains(b.Get("/people").Text(), "Kofi Mensah") {
			t.Error("the person stayed")
		}
	})
}

// serveBook answers as an address book with one card.
func serveBook(w http.ResponseWriter, r *http.Request) {
	if _, password, _ := r.BasicAuth(); password != "app-77" {
		w.Header().Set("WWW-Authenticate", "Basic")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	const of = "<d:response><d:href>%s</d:href><d:propstat><d:prop>%s</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
	answer := fmt.Sprintf(of, "/book/", "<d:resourcetype><d:collection/><c:addressbook/></d:resourcetype><d:displayname>Friends</d:displayname>")
	if r.Header.Get("Depth") == "1" {
		answer += fmt.Sprintf(of, "/book/1.vcf", "<d:getetag>1</d:getetag>")
	}
	if r.Method == "REPORT" {
		answer = fmt.Sprintf(of, "/book/1.vcf", "<c:address-data>BEGIN:VCARD\nVERSION:3.0\nUID:1\nFN:Kofi Mensah\nEND:VCARD\n</c:address-data>")
	}
	w.WriteHeader(http.StatusMultiStatus)
	_, _ = fmt.Fprintf(w, `<d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav">%s</d:multistatus>`, answer)
}
