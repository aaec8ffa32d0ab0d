package integration_test

import (
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/sunset"
)

const days = 24 * time.Hour

// The first announcement is kept, no matter what is announced later; a refused one changes
// nothing.
func TestAnnounceSunset(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		begin := time.Date(2027, 1, 1, 9, 0, 0, 0, time.UTC)
		clock := newClock(begin)
		s := dbtest.Open(t, url, clock.Now)
		var first time.Time
		for _, step := range []struct {
			after, at time.Duration // since begin
			refused   bool
		}{
			{0, 179 * days, true},
			{days, 181 * days, false}, // the refused one does not count as the first
			{30 * days, 181 * days, false},
			{30 * days, 180 * days, true},
			{40 * days, 300 * days, false},
			{40 * days, 181 * days, true},
			{301 * days, 300 * days, false},
			{302 * days, 400 * days, false},
		} {
			clock.Advance(begin.Add(step.after).Sub(clock.Now()))
			got, err := sunset.Announce(t.Context(), s, "mcp", begin.Add(step.at))
			if step.refused {
				if !fault.Is(err, fault.Invalid) {
					t.Errorf("%+v: %v", step, err)
				}
				continue
			}
			if first.IsZero() {
				first = clock.Now()
			}
			if err != nil || !got.Equal(first) {
				t.Errorf("%+v: first announced %s, want %s: %v", step, got, first, err)
			}
		}
		if other, err := sunset.Announce(t.Context(), s, "old", begin.Add(600*days)); err != nil || !other.Equal(clock.Now()) {
			t.Errorf("another route: %s, %v", other, err)
		}
	})
}

// Edges that announce at once get the same time of the first announcement.
func TestAnnounceSunsetAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		var wg sync.WaitGroup
		var told [8]time.Time
		at := time.Now().Add(200 * days)
		for i := range told {
			wg.Go(func() {
				var err error
				if told[i], err = sunset.Announce(t.Context(), s, "mcp", at); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, each := range told {
			if each.IsZero() || !each.Equal(told[0]) {
				t.Errorf("they were told %v", told)
				break
			}
		}
	})
}
