package sources_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/sources"
)

// twentyYears returns 5,000 events of 20 years with up to three of 100 people: 3,000 single ones, 1,500 that repeat every week for two months, every
// month for half a year or every year without an end, and 500 occurrences of those that were moved or cancelled.
func twentyYears() (events []string) {
	begin := start.AddDate(-20, 0, 0)
	describe := func(n int, at time.Time) string {
		e := fmt.Sprintf("UID:%d-5b0f6c1e-a04f@calendar.example\nSUMMARY:Meeting %d about the plans of the year\nDTSTART;TZID=Europe/Berlin:%s\nDURATION:PT45M\nDESCRIPTION:%s",
			n, n, at.Format("20060102T150405"), strings.Repeat("Agenda and notes. ", 10))
		for i := range 1 + n%3 {
			e += fmt.Sprintf("\nATTENDEE;CN=Person;PARTSTAT=ACCEPTED;ROLE=REQ-PARTICIPANT:mailto:person%d@example.com", (n*7+i)%100)
		}
		return e
	}
	rules := []string{"FREQ=WEEKLY;COUNT=8", "FREQ=MONTHLY;COUNT=6;BYDAY=1TU", "FREQ=YEARLY"}
	for n := range 4500 {
		at := begin.Add(time.Duration(n) * 20 * 365 * 24 * time.Hour / 4500).Truncate(time.Hour)
		if n%3 != 0 {
			events = append(events, describe(n, at))
			continue
		}
		rule := n / 3 % 3
		events = append(events, describe(n, at)+"\nRRULE:"+rules[rule])
		if n%9 == 0 {
			second := at.AddDate(0, 0, 7)
			e := describe(n, second.Add(time.Hour)) + "\nRECURRENCE-ID;TZID=Europe/Berlin:" + second.Format("20060102T150405")
			if n%2 == 0 {
				e += "\nSTATUS:CANCELLED"
			}
			events = append(events, e)
		}
	}
	return events
}

// heap returns the memory of the heap that is in use.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// growth returns by how many MiB the heap grows at most while a function runs, measured every millisecond.
func growth(run func()) float64 {
	runtime.GC()
	before := heap()
	most := before
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for {
			most = max(most, heap())
			select {
			case <-ticker.C:
			case <-stop:
				return
			}
		}
	})
	run()
	close(stop)
	watching.Wait()
	return float64(most-before) / (1 << 20)
}

// addYears adds the calendar of twentyYears, with all its people on file.
func (w *world) addYears() (src *sources.Source) {
	w.t.Helper()
	w.publish(twentyYears()...)
	for i := range 100 {
		w.person(fmt.Sprint("person", i))
	}
	src, err := w.Add(w.t.Context(), w.data, "", w.address, start.AddDate(-20, 0, 0), sources.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return src
}

// TestMemory checks that reading and comparing a calendar of 5,000 events over 20 years takes no more than 64 MiB. Writing takes little more: it
// goes by hundreds.
//
//nolint:paralleltest // all tests share the heap
func TestMemory(t *testing.T) {
	const limit = 64
	least := math.Inf(1)
	for attempt := 0; attempt < 4 && least > limit; attempt++ { // on a busy machine, much may wait for the collector
		w := newWorld(t, dbtest.SQLite(t))
		least = min(least, growth(func() {
			if r := w.addYears().Report; r.Events != 5000 || r.Meetings < 15_000 {
				t.Errorf("report %+v", r)
			}
		}))
	}
	t.Logf("%.0f MiB", least)
	if least > limit {
		t.Errorf("%.0f MiB", least)
	}
}

// BenchmarkTwentyYears reads a calendar of 5,000 events over 20 years for the first time, and again when nothing has changed.
func BenchmarkTwentyYears(b *testing.B) {
	for name, url := range map[string]func(testing.TB) string{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				w := newWorld(b, url(b))
				src := w.addYears()
				w.write(func(ctx context.Context, tx *db.Tx) error { return sources.Start(ctx, tx, src.ID) })
				for _, run := range []string{"first", "again"} {
					w.pass(2 * time.Hour)
					begun := time.Now()
					b.ReportMetric(growth(w.run), run+"-MiB")
					b.ReportMetric(time.Since(begun).Seconds(), run+"-s")
				}
				if r := w.source(src.ID).Report; r.Meetings < 15_000 || r.Logged != 0 {
					b.Errorf("report %+v", r)
				}
			}
		})
	}
}
