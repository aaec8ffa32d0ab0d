package sources_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/outbound/outboundtest"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/secretkey"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// world is a member with a calendar that changes.
type world struct {
	*sources.Sources

	t       testing.TB
	data    *db.Tenant
	host    *outboundtest.Host
	address string
	breaker dbtest.Breaker
	names   map[string]string // of people, by id
	mu      sync.Mutex
	now     time.Time
	events  []string
	broken  int // the status of the server; 0 for 200
}

// start is a Tuesday.
var start = time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)

func newWorld(t testing.TB, url string) *world {
	t.Helper()
	w := &world{t: t, now: start, names: map[string]string{}}
	w.host = outboundtest.Start(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.broken != 0 {
			rw.WriteHeader(w.broken)
			return
		}
		_, _ = rw.Write([]byte("BEGIN:VCALENDAR\r\nX-WR-CALNAME:Work\r\n"))
		for _, e := range w.events {
			_, _ = rw.Write([]byte("BEGIN:VEVENT\r\n" + strings.ReplaceAll(e, "\n", "\r\n") + "\r\nEND:VEVENT\r\n"))
		}
		_, _ = rw.Write([]byte("END:VCALENDAR\r\n"))
	}))
	w.address = w.host.URL + "/secret-3f2a/basic.ics"
	secrets, err := secretkey.Create(filepath.Join(t.TempDir(), "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	store := dbtest.OpenBreakable(t, url, w.clock, w.breaker.Fault)
	w.Sources = &sources.Sources{Store: store, Secrets: secrets, Fetcher: sources.NewFetcher(w.host.Options(), false)}
	w.data = store.Tenant(dbtest.Member(t, store, "ada"), false)
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// pass moves the clock.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// publish replaces the events of the calendar.
func (w *world) publish(events ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = events
}

func (w *world) answer(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = status
}

// meeting is an event with attendees; at is "10 09:00" in UTC.
func meeting(uid, at, title string, who ...string) string {
	when, err := time.Parse("2006-01-02 15:04", "2026-11-"+at)
	if err != nil {
		panic(err)
	}
	e := fmt.Sprintf("UID:%s\nSUMMARY:%s\nDTSTART:%s\nDURATION:PT1H", uid, title, when.Format("20060102T150405Z"))
	for _, one := range who {
		e += fmt.Sprintf("\nATTENDEE;CN=%s:mailto:%s@example.com", strings.ToUpper(one[:1])+one[1:], one)
	}
	return e
}

// person adds a person with an address.
func (w *world) person(name string) string {
	w.t.Helper()
	var id string
	w.write(func(ctx context.Context, tx *db.Tx) error {
		made, err := people.Create(ctx, tx, people.Draft{Name: strings.ToUpper(name[:1]) + name[1:], Emails: []string{name + "@example.com"}})
		id = made.Connection.ID
		return err
	})
	w.names[id] = strings.ToUpper(name[:1]) + name[1:]
	return id
}

func (w *world) write(fn func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.data.Write(w.t.Context(), db.Actor{Tool: "test"}, fn); err != nil {
		w.t.Fatal(err)
	}
}

// add adds the calendar and starts it.
func (w *world) add(o sources.Options) *sources.Source {
	w.t.Helper()
	src, err := w.Add(w.t.Context(), w.data, "", w.address, start.AddDate(-1, 0, 0), o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(func(ctx context.Context, tx *db.Tx) error { return sources.Start(ctx, tx, src.ID) })
	return src
}

// run runs the member's jobs until all have ended.
func (w *world) run() {
	w.t.Helper()
	w.write(sources.StartJob)
	w.work()
}

func (w *world) work() {
	w.t.Helper()
	w.workUntil(nil)
}

// workUntil runs the member's jobs until all have ended, or the process is killed. It reports whether they have ended.
func (w *world) workUntil(killed <-chan struct{}) (ended bool) {
	w.t.Helper()
	changed := make(chan struct{}, 1)
	runner := job.NewRunner(job.Config{
		Queue: dbtest.Queue(w.t, w.Store), Kinds: []job.Kind{w.Kind(), importer.Undo(w.Store, kinds.All())}, Workers: 1, Poll: time.Millisecond, Now: w.clock,
		Logger: slog.New(slog.DiscardHandler), Changed: func(job.Job) {
			select {
			case changed <- struct{}{}:
			default:
			}
		},
	})
	runner.Start(w.t.Context())
	defer runner.Stop(context.Background())
	for _, kind := range []string{sources.JobKind, importer.UndoKind} {
		for {
			jobs, err := job.ListJobs(w.t.Context(), w.data, kind, 1)
			switch {
			case err != nil && killed != nil:
				return false
			case err != nil:
				w.t.Fatal(err)
			}
			if len(jobs) == 0 || jobs[0].Terminal() {
				break
			}
			select {
			case <-changed:
			case <-killed:
				return false
			}
		}
	}
	return true
}

// logged returns the interactions, the latest first, as "10 09:00 60 Title: Kofi, Vera".
func (w *world) logged() (out []string) {
	w.t.Helper()
	entries, err := timeline.ListTimeline(w.t.Context(), w.data, timeline.Query{Limit: 500})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		var names []string
		for _, p := range e.Participants {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		out = append(out, fmt.Sprintf("%s %d %s: %s", e.OccurredAt.UTC().Format("02 15:04"), e.DurationMinutes, e.Text, strings.Join(names, ", ")))
	}
	return out
}

func (w *world) wantLogged(when string, want ...string) {
	w.t.Helper()
	if got := w.logged(); !slices.Equal(got, want) {
		w.t.Errorf("%s: logged\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// source returns the source as it is stored.
func (w *world) source(id string) *sources.Source {
	w.t.Helper()
	src, err := sources.Get(w.t.Context(), w.data, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return src
}

// ahead returns the meetings of the next days.
func (w *world) ahead() (out []string) {
	w.t.Helper()
	meetings, err := sources.Ahead(w.t.Context(), w.data, w.clock(), w.clock().AddDate(0, 0, 30))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range meetings {
		out = append(out, m.StartsAt.UTC().Format("02 15:04 ")+m.Title)
	}
	return out
}

// TestMeetings follows a calendar: what is over is logged once, with those on file; what is ahead is known; what moves, is renamed or
// cancelled is followed.
func TestMeetings(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.person("vera")
		w.person("kofi")
		w.publish(
			meeting("a", "09 09:00", "Budget", "vera", "kofi", "stranger"), meeting("b", "09 15:00", "Coffee", "vera"), meeting("c", "11 08:00", "Plans", "kofi"),
			meeting("d", "09 11:00", "Nobody on file", "stranger"),
		)
		src, err := w.Add(t.Context(), w.data, "", "webcal"+strings.TrimPrefix(w.address, "https"), start.AddDate(0, -1, 0), sources.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if src.Name != "Work" || src.State != sources.Preview || src.Report.Meetings != 2 || src.Report.Ahead != 1 || len(src.Report.Sample) != 2 || src.Report.Sample[0].Title != "Coffee" {
			t.Errorf("added %+v", src)
		}
		w.run()
		w.wantLogged("a preview")
		w.write(func(ctx context.Context, tx *db.Tx) error { return sources.Start(ctx, tx, src.ID) })
		w.run()
		budget, coffee := "09 09:00 60 Budget: Kofi, Vera", "09 15:00 60 Coffee: Vera"
		w.wantLogged("first run", coffee, budget)
		if r := w.source(src.ID).Report; r.Logged != 2 || r.Events != 4 {
			t.Errorf("report %+v", r)
		}
		if got := w.ahead(); !slices.Equal(got, []string{"11 08:00 Plans"}) {
			t.Errorf("ahead is %v", got)
		}

		w.pass(time.Hour)
		w.run()
		w.wantLogged("nothing new", coffee, budget)
		if r := w.source(src.ID).Report; r.Logged+r.Changed+r.Removed != 0 {
			t.Errorf("report %+v", r)
		}

		w.pass(24 * time.Hour)
		w.publish(meeting("a", "09 10:00", "Budget 2027", "vera", "kofi"), meeting("b", "09 15:00", "Coffee", "vera")+"\nSTATUS:CANCELLED", meeting("c", "11 08:30", "Plans", "kofi", "vera"))
		w.run()
		w.wantLogged("changes", "11 08:30 60 Plans: Kofi, Vera", "09 10:00 60 Budget 2027: Kofi, Vera")
		if r := w.source(src.ID).Report; r.Logged != 1 || r.Changed != 1 || r.Removed != 1 {
			t.Errorf("report %+v", r)
		}

		w.pass(time.Hour)
		w.publish(meeting("x", "20 08:00", "Far", "vera"))
		w.run()
		w.wantLogged("a calendar of the next weeks only", "11 08:30 60 Plans: Kofi, Vera", "09 10:00 60 Budget 2027: Kofi, Vera")
		w.pass(time.Hour)
		w.publish()
		w.run()
		if got := w.ahead(); len(got) != 0 {
			t.Errorf("ahead is %v after it was deleted", got)
		}
	})
}

// TestMemberEdits checks that what the member changes of a meeting stays, and that what the member deletes stays deleted.
func TestMemberEdits(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.person("vera")
		kofi := w.person("kofi")
		w.publish(meeting("a", "09 09:00", "Budget", "vera"), meeting("b", "09 15:00", "Coffee", "vera"), meeting("c", "08 15:00", "Talk", "vera"))
		w.add(sources.Options{})
		w.run()
		entries, err := timeline.ListTimeline(t.Context(), w.data, timeline.Query{Limit: 10})
		if err != nil || len(entries) != 3 {
			t.Fatal(entries, err)
		}
		w.write(func(ctx context.Context, tx *db.Tx) error {
			summary := "Vera wants a raise"
			if _, err := timeline.UpdateInteraction(ctx, tx, timeline.InteractionPatch{ID: entries[1].ID, Summary: &summary, Add: []string{kofi}}); err != nil {
				return err
			}
			if _, err := timeline.UpdateInteraction(ctx, tx, timeline.InteractionPatch{ID: entries[2].ID, Summary: &summary}); err != nil {
				return err
			}
			_, _, err := timeline.DeleteEntry(ctx, tx, entries[0].ID)
			return err
		})
		w.pass(time.Hour)
		w.publish(meeting("a", "09 10:00", "Budget 2", "vera"), meeting("b", "09 16:00", "Coffee 2", "vera"), meeting("c", "08 15:00", "Talk", "vera")+"\nSTATUS:CANCELLED")
		w.run()
		w.wantLogged("the time follows, the words and the added person stay", "09 10:00 60 Vera wants a raise: Kofi, Vera", "08 15:00 60 Vera wants a raise: Vera")
	})
}

// TestNextWith checks that the next meeting with each person is found, and none that is over, cancelled, or with others.
func TestNextWith(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		vera, kofi, ida := w.person("vera"), w.person("kofi"), w.person("ida")
		w.publish(
			meeting("a", "09 09:00", "Over", "vera"), meeting("b", "12 09:00", "Later", "vera", "kofi"), meeting("c", "11 09:00", "Next", "vera", "stranger"),
			meeting("d", "10 15:00", "Cancelled", "vera", "kofi")+"\nSTATUS:CANCELLED",
		)
		w.add(sources.Options{})
		w.run()
		next, err := sources.NextWith(t.Context(), w.data, w.clock(), []string{vera, kofi, ida})
		if err != nil || next[vera] == nil || next[vera].Title != "Next" || next[kofi] == nil || next[kofi].Title != "Later" || next[ida] != nil {
			t.Errorf("%v, %v", next, err)
		}
	})
}

// TestAllDayIsAhead checks that a meeting of the whole day is ahead until the day is over.
func TestAllDayIsAhead(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		vera := w.person("vera")
		w.publish(meeting("a", "10 09:00", "Over", "vera"), "UID:b\nSUMMARY:Fair\nDTSTART;VALUE=DATE:20261110\nATTENDEE:mailto:vera@example.com")
		w.add(sources.Options{})
		w.run()
		titles := func() (out []string) {
			for _, one := range w.ahead() {
				out = append(out, one[len("10 09:00 "):])
			}
			return out
		}
		next, err := sources.NextWith(t.Context(), w.data, w.clock(), []string{vera})
		if err != nil || next[vera] == nil || next[vera].Title != "Fair" || !slices.Equal(titles(), []string{"Fair"}) {
			t.Errorf("next is %v, %v, and ahead are %q", next, err, titles())
		}
		if n, err := sources.CountAhead(t.Context(), w.data, w.clock(), w.clock().AddDate(0, 0, 1)); err != nil || n != 1 {
			t.Errorf("%d are ahead, %v", n, err)
		}
		after, err := sources.ListAhead(t.Context(), w.data, sources.AheadQuery{Now: w.clock(), Until: w.clock().AddDate(0, 0, 1), From: w.clock()})
		if err != nil || len(after) != 0 {
			t.Errorf("%v begin later, %v", after, err)
		}
		w.pass(24 * time.Hour)
		if got := titles(); len(got) != 0 {
			t.Errorf("a day later %q are ahead", got)
		}
	})
}

// TestPostponed checks that a logged meeting that is moved ahead is no longer logged, but for what the member has changed of it or deleted.
func TestPostponed(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.person("vera")
		w.publish(meeting("a", "09 09:00", "Budget", "vera"), meeting("b", "09 15:00", "Coffee", "vera"), meeting("c", "08 15:00", "Talk", "vera"))
		w.add(sources.Options{})
		w.run()
		entries, err := timeline.ListTimeline(t.Context(), w.data, timeline.Query{Limit: 10})
		if err != nil || len(entries) != 3 {
			t.Fatal(entries, err)
		}
		w.write(func(ctx context.Context, tx *db.Tx) error {
			summary := "Vera was ill"
			if _, err := timeline.UpdateInteraction(ctx, tx, timeline.InteractionPatch{ID: entries[1].ID, Summary: &summary}); err != nil {
				return err
			}
			_, _, err := timeline.DeleteEntry(ctx, tx, entries[0].ID)
			return err
		})
		w.publish(meeting("a", "12 09:00", "Budget", "vera"), meeting("b", "12 15:00", "Coffee", "vera"), meeting("c", "12 16:00", "Talk", "vera"))
		for range 2 {
			w.pass(time.Hour)
			w.run()
			w.wantLogged("postponed", "09 09:00 60 Vera was ill: Vera")
			if got := w.ahead(); !slices.Equal(got, []string{"12 16:00 Talk"}) {
				t.Errorf("ahead is %v", got)
			}
		}
		w.pass(72 * time.Hour)
		w.run()
		w.wantLogged("over", "12 16:00 60 Talk: Vera", "12 09:00 60 Vera was ill: Vera")
	})
}

// TestSeriesMoved checks that a meeting that repeats from now on, and a series that is moved as a whole, which change the keys of all
// occurrences, are not logged again, and keep what the member has changed.
func TestSeriesMoved(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.person("vera")
		w.publish(meeting("a", "02 09:00", "Coffee", "vera"))
		w.add(sources.Options{})
		w.run()
		w.pass(time.Hour)
		w.publish(meeting("a", "02 09:00", "Coffee", "vera") + "\nRRULE:FREQ=WEEKLY")
		w.run()
		w.wantLogged("weekly", "09 09:00 60 Coffee: Vera", "02 09:00 60 Coffee: Vera")
		entries, err := timeline.ListTimeline(t.Context(), w.data, timeline.Query{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		w.write(func(ctx context.Context, tx *db.Tx) error {
			summary := "Espresso"
			_, err := timeline.UpdateInteraction(ctx, tx, timeline.InteractionPatch{ID: entries[0].ID, Summary: &summary})
			return err
		})
		w.pass(time.Hour)
		w.publish(meeting("a", "03 11:00", "Coffee", "vera") + "\nRRULE:FREQ=WEEKLY")
		w.run()
		w.wantLogged("moved", "10 11:00 60 Espresso: Vera", "03 11:00 60 Coffee: Vera")
	})
}

// TestUndoOfSource checks that the undo of a source's import removes all that it logged, and that it is not logged again.
func TestUndoOfSource(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.person("vera")
		events := make([]string, 250)
		for i := range events {
			events[i] = meeting(fmt.Sprint("m", i), fmt.Sprintf("%02d 09:%02d", 1+i%9, i%60), fmt.Sprint("Meeting ", i), "vera")
		}
		w.publish(events...)
		src := w.add(sources.Options{})
		w.run()
		if n := len(w.logged()); n != 250 {
			t.Fatalf("%d logged", n)
		}
		w.write(func(ctx context.Context, tx *db.Tx) error {
			_, _, err := importer.StartUndo(ctx, tx, src.ImportID)
			return err
		})
		w.work()
		w.wantLogged("undone")
		w.pass(2 * time.Hour)
		w.run()
		w.wantLogged("undone, and read again")
		w.write(func(ctx context.Context, tx *db.Tx) error { return sources.Remove(ctx, tx, src.ID) })
		if left, err := sources.List(t.Context(), w.data); err != nil || len(left) != 0 {
			t.Errorf("%v, %v", left, err)
		}
	})
}

// TestStrangers checks who is offered as a new person: those of meetings that are over, not colleagues, and not those who were dismissed.
func TestStrangers(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.person("vera")
		w.publish(
			meeting("a", "09 09:00", "Budget", "vera", "kofi", "ove"), meeting("b", "09 15:00", "Coffee", "kofi"), meeting("c", "11 08:00", "Plans", "ida"),
			meeting("d", "09 11:00", "Lunch", "kofi")+"\nATTENDEE;CN=Boss:mailto:boss@work.example", meeting("e", "09 12:00", "Dentist", "mo"),
		)
		src := w.add(sources.Options{Domains: []string{"@Work.example"}, Words: []string{"dentist"}})
		w.run()
		offered := func() (out []string) {
			found, err := sources.Strangers(t.Context(), w.data, src.ID, 50)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range found {
				out = append(out, fmt.Sprintf("%s %s %d", s.Email, s.Name, s.Meetings))
			}
			return out
		}
		if got := offered(); !slices.Equal(got, []string{"kofi@example.com Kofi 3", "ove@example.com Ove 1"}) {
			t.Errorf("offered %v", got)
		}
		w.write(func(ctx context.Context, tx *db.Tx) error {
			return sources.Dismiss(ctx, tx, src.ID, []string{"ove@example.com"})
		})
		w.person("kofi")
		w.pass(time.Hour)
		w.run()
		if got := offered(); len(got) != 0 {
			t.Errorf("offered %v", got)
		}
		w.wantLogged("with the new person", "09 15:00 60 Coffee: Kofi", "09 11:00 60 Lunch: Kofi", "09 09:00 60 Budget: Kofi, Vera")
	})
}

// TestChange checks that other choices apply to what was logged: what they leave out is removed unless the member changed it, and what they add
// is logged, once.
func TestChange(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.person("vera")
		w.publish(meeting("a", "09 09:00", "Budget", "vera"), meeting("b", "09 15:00", "Coffee", "vera"), meeting("c", "11 08:00", "Coffee again", "vera"), meeting("d", "02 08:00", "Before", "vera"))
		src := w.add(sources.Options{})
		change := func(days int, o sources.Options) {
			t.Helper()
			if err := w.Change(t.Context(), w.data, src.ID, w.clock().AddDate(0, 0, -days), o); err != nil {
				t.Fatal(err)
			}
			w.work()
		}
		coffee := sources.Options{Words: []string{"coffee"}}
		w.run()
		w.wantLogged("at first", "09 15:00 60 Coffee: Vera", "09 09:00 60 Budget: Vera", "02 08:00 60 Before: Vera")
		change(5, coffee)
		w.wantLogged("without coffee", "09 09:00 60 Budget: Vera", "02 08:00 60 Before: Vera")
		if got := w.ahead(); len(got) != 0 {
			t.Errorf("ahead is %v", got)
		}
		exported, err := export.ReadAccount(t.Context(), w.Store, w.data, w.data.TenantID())
		if err != nil || len(exported.Calendars) != 1 || exported.Calendars[0].Name != "Work" || !slices.Equal(exported.Calendars[0].Options.Words, coffee.Words) {
			t.Errorf("the export has %+v, %v", exported.Calendars, err)
		}
		change(5, sources.Options{})
		w.wantLogged("with coffee again", "09 15:00 60 Coffee: Vera", "09 09:00 60 Budget: Vera", "02 08:00 60 Before: Vera")
		if got := w.ahead(); len(got) != 1 {
			t.Errorf("ahead is %v", got)
		}
		entries, err := timeline.ListTimeline(t.Context(), w.data, timeline.Query{Limit: 1})
		if err != nil || len(entries) != 1 {
			t.Fatal(entries, err)
		}
		w.write(func(ctx context.Context, tx *db.Tx) error {
			summary := "Coffee with cake"
			_, err := timeline.UpdateInteraction(ctx, tx, timeline.InteractionPatch{ID: entries[0].ID, Summary: &summary})
			return err
		})
		change(5, coffee)
		change(5, sources.Options{})
		w.wantLogged("after the member changed it", "09 15:00 60 Coffee with cake: Vera", "09 09:00 60 Budget: Vera", "02 08:00 60 Before: Vera")
		if err := w.Change(t.Context(), w.data, "src_none", w.clock(), coffee); !fault.Is(err, fault.NotFound) {
			t.Errorf("of no source: %v", err)
		}
	})
}

// TestOnlyAhead checks that a calendar which no longer has what is over is understood: a meeting that was ahead is logged when it is over, unless
// the calendar still has earlier ones.
func TestOnlyAhead(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.person("vera")
		before, soon, later := meeting("a", "09 09:00", "Budget", "vera"), meeting("b", "10 13:00", "Coffee", "vera"), meeting("c", "11 08:00", "Plans", "vera")
		w.publish(before, soon, later)
		w.add(sources.Options{})
		w.run()
		w.pass(3 * time.Hour)
		w.publish(before, later)
		w.run()
		w.wantLogged("after it was taken out", "09 09:00 60 Budget: Vera")
		w.publish(later)
		w.run()
		w.pass(24 * time.Hour)
		w.publish(meeting("d", "13 08:00", "Next", "vera"))
		w.run()
		w.wantLogged("when the calendar has only what is ahead", "11 08:00 60 Plans: Vera", "09 09:00 60 Budget: Vera")
		w.run()
		w.wantLogged("once more", "11 08:00 60 Plans: Vera", "09 09:00 60 Budget: Vera")
	})
}

// TestForgottenPeople checks that the rows of a source keep nothing of people who were deleted, and that their meetings are not logged again.
func TestForgottenPeople(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		vera := w.person("vera")
		w.publish(meeting("a", "09 09:00", "Budget with Vera", "vera"), meeting("b", "12 09:00", "Plans with Vera", "vera"))
		src := w.add(sources.Options{})
		w.run()
		w.write(func(ctx context.Context, tx *db.Tx) error {
			_, err := people.Delete(ctx, tx, kinds.All(), vera, "Vera")
			return err
		})
		w.pass(time.Hour)
		w.run()
		w.pass(time.Hour)
		w.run()
		var rows []sources.Meeting
		if err := w.data.From(&rows).Where("source_id = ?", src.ID).Scan(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1 || rows[0].Title != "" || len(rows[0].ConnectionIDs) > 0 {
			t.Errorf("rows %+v", rows)
		}
		w.wantLogged("after the deletion")
		w.person("vera")
		w.pass(time.Hour)
		w.run()
		w.wantLogged("added again")
		if got := w.ahead(); !slices.Equal(got, []string{"12 09:00 Plans with Vera"}) {
			t.Errorf("ahead is %v", got)
		}
	})
}

// TestSharedAddress checks that nobody is taken by an address that two people have.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.SQLite(t))
	w.person("vera")
	w.write(func(ctx context.Context, tx *db.Tx) error {
		_, err := people.Create(ctx, tx, people.Draft{Name: "Olaf Holm", OnDuplicate: people.OnDuplicateCreate, Emails: []string{"vera@example.com"}})
		return err
	})
	w.publish(meeting("a", "09 09:00", "Dinner", "vera"))
	src := w.add(sources.Options{})
	w.run()
	w.wantLogged("shared address")
	if r := w.source(src.ID).Report; r.Shared != 1 {
		t.Errorf("report %+v", r)
	}
}

// TestFailures checks that a failure is told with its beginning and its cause, loses nothing, and ends.
func TestFailures(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.person("vera")
		w.publish(meeting("a", "09 09:00", "Budget", "vera"))
		src := w.add(sources.Options{})
		w.run()
		w.wantOverdue(-time.Hour, 0)
		w.answer(http.StatusNotFound)
		w.pass(2 * time.Hour)
		w.wantOverdue(time.Hour, 0)
		observed := map[string]int{}
		w.Observe = func(outcome string) { observed[outcome]++ }
		w.run()
		w.wantOverdue(-15*time.Minute, 1)
		failed := w.source(src.ID)
		if failed.FailedSince.IsZero() || failed.Problem != "there is no calendar at this address any more" || failed.SucceededAt.Equal(failed.TriedAt) || !failed.NextAt.Equal(w.clock().Add(15*time.Minute)) {
			t.Errorf("failed: %+v", failed)
		}
		w.pass(2 * time.Hour)
		w.run()
		if again := w.source(src.ID); !again.FailedSince.Equal(failed.FailedSince) || !again.NextAt.Equal(w.clock().Add(time.Hour)) {
			t.Errorf("failed again: %+v", again)
		}
		w.wantLogged("failed", "09 09:00 60 Budget: Vera")
		w.answer(0)
		w.pass(2 * time.Hour)
		w.run()
		if !maps.Equal(observed, map[string]int{"failed": 2, "read": 1}) {
			t.Errorf("observed %v", observed)
		}
		if well := w.source(src.ID); !well.FailedSince.IsZero() || well.Problem != "" || !well.SucceededAt.Equal(well.TriedAt) {
			t.Errorf("well again: %+v", well)
		}
		w.write(func(ctx context.Context, tx *db.Tx) error { return sources.Pause(ctx, tx, src.ID) })
		before := w.host.Requests()
		w.pass(24 * time.Hour)
		w.run()
		if w.host.Requests() != before {
			t.Error("a paused source was read")
		}
	})
}

// wantOverdue checks what Overdue returns.
func (w *world) wantOverdue(overdue time.Duration, failing int) {
	w.t.Helper()
	if got, n, err := sources.Overdue(w.t.Context(), w.Store); got != overdue || n != failing || err != nil {
		w.t.Errorf("overdue %v, %d failing, %v; want %v and %d", got, n, err, overdue, failing)
	}
}

// TestFullAccount checks that a source whose meetings have no room in the account says so, and is not read all the time.
func TestFullAccount(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.person("vera")
		w.publish(meeting("a", "09 09:00", "Budget", "vera"))
		src := w.add(sources.Options{})
		small, err := db.Open(t.Context(), db.Config{URL: url, Now: w.clock, MemberBytes: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = small.Close() })
		w.Store = small
		if _, err := w.Schedule().Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		w.work()
		if full := w.source(src.ID); !strings.HasPrefix(full.Problem, "nothing can be stored: The account is full") || !full.NextAt.After(w.clock()) {
			t.Errorf("%q, next at %v", full.Problem, full.NextAt)
		}
		w.wantLogged("full")
	})
}

// TestSchedule checks that the members whose sources are due get a job, and others none.
func TestSchedule(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.add(sources.Options{})
		jobs := func() int {
			if _, err := w.Schedule().Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			found, err := job.ListJobs(t.Context(), w.data, sources.JobKind, 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(found)
		}
		if n := jobs(); n != 1 {
			t.Errorf("%d jobs of a new source", n)
		}
		if n := jobs(); n != 1 {
			t.Errorf("%d jobs although one is live", n)
		}
		w.work()
		if n := jobs(); n != 1 {
			t.Errorf("%d jobs although none is due", n)
		}
		w.pass(2 * time.Hour)
		if n := jobs(); n != 2 {
			t.Errorf("%d jobs after two hours", n)
		}

		// What is asked for while the job runs is read by another one, which waits until it has ended.
		queue := dbtest.Queue(t, w.Store)
		claim := func() *job.Job {
			claimed, err := queue.ClaimJob(t.Context(), []string{sources.JobKind}, w.clock().Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			return claimed
		}
		running := claim()
		w.write(sources.StartJob)
		w.write(sources.StartJob)
		if n := jobs(); n != 3 || claim() != nil {
			t.Errorf("%d jobs while one runs, want it and one that waits", n)
		}
		if err := queue.EndJob(t.Context(), job.Lease{ID: running.ID, Fence: running.Fence}, job.End{State: job.Succeeded}); err != nil {
			t.Fatal(err)
		}
		if claim() == nil {
			t.Error("nothing reads the source again")
		}
	})
}

// TestWrongAddresses checks the answers to addresses that are no calendar, and that none tells what is behind a private address.
func TestWrongAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.SQLite(t))
	for address, want := range map[string]string{
		"":                                     "this is no address",
		"calendar":                             "this is no address",
		"ftp://agent.example.com/a.ics":        "must begin with https:// or webcal://",
		"file:///etc/passwd":                   "this is no address",
		"http://agent.example.com/a.ics":       "must begin with https://",
		"https://" + strings.Repeat("a", 2000): "this is no address",
		"https://agent.example.com:1/a.ics":    "can't be reached",
	} {
		_, err := w.Add(t.Context(), w.data, "", address, start, sources.Options{})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v", address, err)
		}
	}
	w.answer(http.StatusForbidden)
	if _, err := w.Add(t.Context(), w.data, "", w.address, start, sources.Options{}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "secret address") {
		t.Errorf("a sign-in: %v", err)
	}
	w.answer(0)
	w.add(sources.Options{})
	if _, err := w.Add(t.Context(), w.data, "", w.address, start, sources.Options{}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "is a source already: Work") {
		t.Errorf("twice: %v", err)
	}
	w.Fetcher = sources.NewFetcher(w.host.Production(), false)
	for _, private := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "64:ff9b::7f00:1"} {
		w.host.Resolve(private)
		_, err := w.Add(t.Context(), w.data, "", w.host.URL+"/other.ics", start, sources.Options{})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "private network") || strings.Contains(err.Error(), "other.ics") {
			t.Errorf("%s: %v", private, err)
		}
	}
}

// TestRedirects checks that a redirect is followed to an address that could be chosen, and to no other.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var to string
	host := outboundtest.Start(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/calendar.ics" {
			_, _ = rw.Write([]byte("BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"))
			return
		}
		http.Redirect(rw, r, to, http.StatusFound)
	}))
	fetcher := sources.NewFetcher(host.Options(), false)
	for target, want := range map[string]string{
		host.URL + "/calendar.ics": "", "http://agent.example.com/calendar.ics": "must begin with https://", "file:///etc/passwd": "this is no address", "/again": "can't be reached",
	} {
		to = target
		_, err := fetcher.Fetch(t.Context(), host.URL+"/start")
		if (err == nil) != (want == "") || err != nil && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want)) {
			t.Errorf("to %s: %v", target, err)
		}
	}
}

// TestAddressIsSealed checks that the database does not have the address of a calendar, which is a secret.
func TestAddressIsSealed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.SQLite(t))
	src := w.add(sources.Options{})
	if stored := w.source(src.ID); strings.Contains(fmt.Sprintf("%+v", stored), "secret-3f2a") || stored.Host != "agent.example.com" {
		t.Errorf("stored %+v", stored)
	}
}
