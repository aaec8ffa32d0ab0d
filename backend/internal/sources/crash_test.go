package sources_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// random is a calendar that changes at random, and what it should have been logged.
type random struct {
	*rand.Rand

	events        []*randomEvent
	made, crashes int
	// gone are the events that the calendar no longer has.
	gone []*randomEvent
}

// randomEvent is an event of a random calendar. It repeats every week if there is more than one occurrence.
type randomEvent struct {
	uid, title  string
	who         []string
	start       time.Time
	occurrences []randomOccurrence
	// logged is what a run to the end has logged of it; nil if it has changed since.
	logged []string
}

type randomOccurrence struct {
	moved     time.Duration
	cancelled bool
}

// at returns when an occurrence begins.
func (e *randomEvent) at(n int) time.Time {
	return e.start.AddDate(0, 0, 7*n).Add(e.occurrences[n].moved)
}

// over returns the occurrences that should be logged at a time.
func (e *randomEvent) over(now time.Time) (out []string) {
	for n, o := range e.occurrences {
		if at := e.at(n); !o.cancelled && !at.Add(time.Hour).After(now) {
			out = append(out, at.Format("2006-01-02 15:04 ")+e.title+": "+strings.Join(e.who, ", "))
		}
	}
	return out
}

// lines returns the event as lines of the calendar: its rule, the occurrences that are cancelled, and those that were moved.
func (e *randomEvent) lines() (out []string) {
	const form = "20060102T150405Z"
	describe := func(start time.Time) string {
		s := fmt.Sprintf("UID:%s\nSUMMARY:%s\nDTSTART:%s\nDURATION:PT1H", e.uid, e.title, start.Format(form))
		for _, one := range e.who {
			s += "\nATTENDEE:mailto:" + strings.ToLower(one) + "@example.com"
		}
		return s
	}
	if len(e.occurrences) == 1 {
		s := describe(e.at(0))
		if e.occurrences[0].cancelled {
			s += "\nSTATUS:CANCELLED"
		}
		return []string{s}
	}
	whole := describe(e.start) + fmt.Sprintf("\nRRULE:FREQ=WEEKLY;COUNT=%d", len(e.occurrences))
	for n, o := range e.occurrences {
		first := e.start.AddDate(0, 0, 7*n).Format(form)
		switch {
		case o.cancelled:
			out = append(out, describe(e.at(n))+"\nSTATUS:CANCELLED\nRECURRENCE-ID:"+first)
		case o.moved != 0:
			out = append(out, describe(e.at(n))+"\nRECURRENCE-ID:"+first)
		}
	}
	return append(out, whole)
}

// add adds an event that began in the last weeks, or begins in the next days.
func (r *random) add(now time.Time) {
	r.made++
	e := &randomEvent{
		uid: fmt.Sprint("event-", r.made), title: fmt.Sprintf("E%d.0", r.made), who: [][]string{{"Kofi"}, {"Vera"}, {"Kofi", "Vera"}}[r.IntN(3)],
		start: now.Truncate(time.Hour).Add(time.Duration(r.IntN(12*24)-10*24) * time.Hour), occurrences: make([]randomOccurrence, 1),
	}
	if r.IntN(2) == 0 {
		e.start = e.start.AddDate(0, 0, -7*r.IntN(35))
		e.occurrences = make([]randomOccurrence, 2+r.IntN(36))
	}
	r.events = append(r.events, e)
}

// change changes one event.
func (r *random) change() {
	if len(r.events) == 0 {
		return
	}
	n := r.IntN(len(r.events))
	e := r.events[n]
	one := &e.occurrences[r.IntN(len(e.occurrences))]
	switch r.IntN(7) {
	case 0, 1:
		one.moved = time.Duration(r.IntN(48)-24) * time.Hour
	case 2:
		one.cancelled = !one.cancelled
	case 3:
		e.title = fmt.Sprint(strings.Split(e.title, ".")[0], ".", r.IntN(1000))
	case 4: // a series is moved as a whole
		e.start = e.start.Add(time.Duration(1+r.IntN(5)) * time.Hour)
	case 5: // a meeting repeats from now on, or a series has more occurrences
		e.start, e.occurrences[0].moved = e.at(0), 0
		e.occurrences = append(e.occurrences, make([]randomOccurrence, 2)...)
	case 6:
		r.events, r.gone = slices.Delete(r.events, n, n+1), append(r.gone, e)
		return
	}
	e.logged = nil
}

// feed returns the events of the calendar.
func (r *random) feed() (out []string) {
	for _, e := range r.events {
		out = append(out, e.lines()...)
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// runUntil runs the member's jobs as run does, until the process is killed before the n-th statement or transaction: none succeeds any more. A kill
// within a transaction does the same as one before it. It reports whether the jobs ended before that.
func (w *world) runUntil(n int) (ended bool) {
	w.t.Helper()
	killed := make(chan struct{})
	w.write(sources.StartJob)
	left := make(chan struct{}, n)
	for range n {
		left <- struct{}{}
	}
	close(left)
	kill := sync.OnceFunc(func() { close(killed) })
	w.breaker.Set(func(string) error {
		if _, more := <-left; more {
			return nil
		}
		kill()
		return errors.New("the process was killed")
	})
	ended = w.workUntil(killed)
	w.breaker.Set(nil)
	return ended
}

// crash runs the member's jobs until some statement, and lets the lease of the one that was killed expire. It reports whether they ended before.
func (r *random) crash(w *world) (ended bool) {
	if w.runUntil(r.IntN(20)) {
		return true
	}
	r.crashes++
	w.pass(time.Minute)
	return false
}

// TestCrashes reads calendars that change at random, and kills the process before any statement of a run. Then a run to the end logs what is over
// once, and nothing else, and the undo of all that the calendar did leaves nothing.
func TestCrashes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			dbtest.Databases(t, func(t *testing.T, url string) { testCrashes(t, url, seed) })
		})
	}
}

func testCrashes(t *testing.T, url string, seed uint64) {
	w := newWorld(t, url)
	w.person("vera")
	w.person("kofi")
	src := w.add(sources.Options{})
	r := &random{Rand: rand.New(rand.NewPCG(seed, 0))}
	for range 5 {
		for range r.IntN(6) {
			r.add(w.clock())
		}
		for range r.IntN(8) {
			r.change()
		}
		w.publish(r.feed()...)
		w.pass(2 * time.Hour)
		for range 1 + r.IntN(3) {
			if r.crash(w) {
				break
			}
		}
		if r.IntN(2) == 0 {
			r.check(w)
		}
	}
	r.check(w)
	w.write(func(ctx context.Context, tx *db.Tx) error {
		_, _, err := importer.StartUndo(ctx, tx, src.ImportID)
		return err
	})
	for !r.crash(w) {
	}
	w.work()
	if r.crashes == 0 {
		t.Errorf("no crash")
	}
	w.wantLogged("undone")
	if n, err := w.data.From((*timeline.InteractionConnection)(nil)).Count(t.Context()); n != 0 || err != nil {
		t.Errorf("%d people of interactions are left, %v", n, err)
	}
	if n, err := w.data.From((*people.Connection)(nil)).Where("last_interaction_at IS NOT NULL").Count(t.Context()); n != 0 || err != nil {
		t.Errorf("%d people have a last contact, %v", n, err)
	}
}

// check reads the calendar to the end, and compares what is logged with it.
func (r *random) check(w *world) {
	w.t.Helper()
	w.pass(2 * time.Hour)
	w.run()
	w.run() // in case the first was the last attempt of a job that was killed too often
	logged := w.interactions()
	take := func(one string) (found bool) {
		n := slices.Index(logged, one)
		if n >= 0 {
			logged = slices.Delete(logged, n, n+1)
		}
		return n >= 0
	}
	for _, e := range r.events {
		e.logged = append([]string{}, e.over(w.clock())...)
		for _, one := range e.logged {
			if !take(one) {
				w.t.Errorf("lost: %s", one)
			}
		}
	}
	for _, e := range r.gone {
		for _, one := range e.logged {
			if !take(one) {
				w.t.Errorf("lost, of an event that the calendar no longer has: %s", one)
			}
		}
		// A run that was killed may have logged others, or an older version.
		may := len(e.occurrences) - len(e.logged)
		logged = slices.DeleteFunc(logged, func(one string) bool {
			mine := strings.HasPrefix(one[len("2006-01-02 15:04 "):], strings.Split(e.title, ".")[0]+".")
			if mine {
				may--
			}
			return mine && may >= 0
		})
	}
	for _, one := range logged {
		w.t.Errorf("logged, though it should not: %s", one)
	}
}

// interactions returns what is logged, as over describes it.
func (w *world) interactions() (out []string) {
	w.t.Helper()
	var all []timeline.Interaction
	err := w.data.From(&all).Scan(w.t.Context())
	if err == nil {
		err = timeline.FillInteractions(w.t.Context(), w.data, all)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for _, i := range all {
		var who []string
		for _, id := range i.ConnectionIDs {
			who = append(who, w.names[id])
		}
		slices.Sort(who)
		out = append(out, i.OccurredAt.UTC().Format("2006-01-02 15:04 ")+i.Summary+": "+strings.Join(who, ", "))
	}
	return out
}
