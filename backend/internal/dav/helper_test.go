package dav_test

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/calendar"
	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const book = "/dav/vera/books/people/"

// site is a server with the member vera.
type site struct {
	*testing.T

	store  *db.DB
	owner  tenant.ID
	server http.Handler
	used   *seen
}

// seen are the devices that were seen.
type seen struct {
	sync.Mutex

	devices []string
}

func (s *seen) note(id string, _ time.Time) {
	s.Lock()
	defer s.Unlock()
	s.devices = append(s.devices, id)
}

func each(t *testing.T, run func(s *site)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, store *db.DB) {
		s := &site{T: t, store: store, owner: dbtest.Member(t, store, "vera"), used: &seen{}}
		mux := http.NewServeMux()
		dav.New(dav.Config{
			BaseURL: "https://kith.example", Store: store, Kinds: kinds.All(), Logger: slog.New(slog.DiscardHandler),
			Used: s.used.note, Feed: dates, ClientAddress: func(r *http.Request) string { return r.Header.Get("Test-Address") },
		}).Mount(mux)
		s.server = mux
		run(s)
	})
}

// dates are the entries of every calendar feed: a birthday, a weekly reminder and a day.
func dates(_ context.Context, who *tenant.Principal) ([]calendar.Entry, error) {
	day := func(text string) time.Time {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			panic(err)
		}
		return at
	}
	if who.Credential.Kind != account.KindFeed || !slices.Equal(who.Credential.Scopes, []string{"birthdays"}) {
		return nil, fmt.Errorf("the feed is %+v", who.Credential)
	}
	changed := day("2026-11-01")
	return []calendar.Entry{
		{UID: "dat_1.vera@kith", Day: day("1984-02-29"), Rule: "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1", Title: "Birthday of Ada & Co; <1984>", ChangedAt: changed},
		{UID: "rem_1.vera@kith", Day: day("2026-12-07"), Rule: "FREQ=WEEKLY", Title: "Ask", ChangedAt: changed},
		{UID: "con_1.vera@kith", Day: day("2026-12-24"), Title: "Get in touch", URL: "https://kith.example/people/con_1", ChangedAt: changed},
	}, nil
}

// feedOf makes a calendar feed of a member and returns its id.
func (s *site) feedOf(owner tenant.ID, name string) string {
	s.Helper()
	feed, _, err := account.NewFeed(account.Access{Owner: owner, Epoch: dbtest.Epoch(s.T, s.store, owner)}, name, []string{account.FeedBirthdays}, "")
	if err == nil {
		err = account.CreatePersonalToken(s.Context(), s.store, feed)
	}
	if err != nil {
		s.Fatal(err)
	}
	return feed.ID
}

func (s *site) data() *db.Tenant { return s.store.Tenant(s.owner, false) }

// device is a device of a member.
type device struct {
	*site

	id, username, password string
}

func (s *site) device(readOnly bool) device { return s.deviceOf(s.owner, "vera", readOnly) }

func (s *site) deviceOf(owner tenant.ID, username string, readOnly bool) device {
	s.Helper()
	row, password := account.NewDevice(account.Access{Owner: owner, Epoch: dbtest.Epoch(s.T, s.store, owner)}, "Phone", readOnly)
	if err := account.CreatePersonalToken(s.Context(), s.store, row); err != nil {
		s.Fatal(err)
	}
	return device{s, row.ID, username, password}
}

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request; headers are names and values in turn.
func (d device) send(method, path, body string, headers ...string) answer {
	d.Helper()
	r := httptest.NewRequestWithContext(d.Context(), method, path, strings.NewReader(body))
	r.SetBasicAuth(d.username, d.password)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.server.ServeHTTP(w, r)
	res := w.Result()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		d.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// want is send for a status.
func (d device) want(status int, method, path, body string, headers ...string) answer {
	d.Helper()
	a := d.send(method, path, body, headers...)
	if a.status != status {
		d.Fatalf("%s %s: %d, not %d: %s", method, path, a.status, status, a.body)
	}
	return a
}

// multistatus is the answer to PROPFIND and REPORT.
type multistatus struct {
	Responses []struct {
		Href     string `xml:"href"`
		Status   string `xml:"status"`
		PropStat []struct {
			Status string `xml:"status"`
			Prop   struct {
				ETag  string `xml:"getetag"`
				Data  string `xml:"address-data"`
				Inner string `xml:",innerxml"`
			} `xml:"prop"`
		} `xml:"propstat"`
	} `xml:"response"`
	Token string `xml:"sync-token"`
}

func (d device) multi(method, path, body string, headers ...string) (m multistatus) {
	d.Helper()
	a := d.want(http.StatusMultiStatus, method, path, body, headers...)
	if err := xml.Unmarshal([]byte(a.body), &m); err != nil {
		d.Fatalf("%v: %s", err, a.body)
	}
	return m
}

// etags returns the entity tags of the cards by their addresses, and an empty one for those that are gone.
func (m multistatus) etags() map[string]string {
	out := map[string]string{}
	for _, r := range m.Responses {
		out[r.Href] = ""
		for _, p := range r.PropStat {
			if strings.Contains(p.Status, "200") && p.Prop.ETag != "" {
				out[r.Href] = p.Prop.ETag
			}
		}
	}
	return out
}

// sync synchronises since a token.
func (d device) sync(token string, headers ...string) (map[string]string, string) {
	d.Helper()
	m := d.multi("REPORT", book, `<d:sync-collection xmlns:d="DAV:"><d:sync-token>`+token+`</d:sync-token><d:sync-level>1</d:sync-level><d:prop><d:getetag/></d:prop></d:sync-collection>`, headers...)
	return m.etags(), m.Token
}

// write runs fn in a transaction, as the member.
func (s *site) write(fn func(ctx context.Context, tx *db.Tx) error) {
	s.Helper()
	if err := s.data().Write(s.Context(), db.Actor{}, fn); err != nil {
		s.Fatal(err)
	}
}

// person adds a person and returns the id.
func (s *site) person(d people.Draft) (id string) {
	s.Helper()
	s.write(func(ctx context.Context, tx *db.Tx) error {
		written, err := people.Create(ctx, tx, d)
		if err == nil {
			id = written.Connection.ID
		}
		return err
	})
	return id
}

// one returns the only person who is not archived.
func (s *site) one() *people.Connection {
	s.Helper()
	all := s.all()
	if len(all) != 1 {
		s.Fatalf("there are %d people", len(all))
	}
	return &all[0]
}

func (s *site) all() (all []people.Connection) {
	s.Helper()
	if err := s.data().From(&all).Where("archived_at IS NULL").Order("name").Scan(s.Context()); err != nil {
		s.Fatal(err)
	}
	if err := people.FillConnections(s.Context(), s.data(), all); err != nil && len(all) > 0 {
		s.Fatal(err)
	}
	return all
}

// undo undoes the last change.
func (s *site) undo() {
	s.Helper()
	changes, err := history.ListChanges(s.Context(), s.data(), history.Query{Limit: 1})
	if err != nil || len(changes) == 0 {
		s.Fatal(changes, err)
	}
	out, err := history.UndoChange(s.Context(), s.data(), kinds.All(), "", changes[0].ID, false)
	if err != nil || len(out.Conflicts) > 0 {
		s.Fatal(out, err)
	}
}

func archive(id string) func(context.Context, *db.Tx) error {
	return func(ctx context.Context, tx *db.Tx) error {
		_, err := people.Archive(ctx, tx, []string{id}, true, false)
		return err
	}
}
