package billing_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/fault"
)

func TestMonthOf(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 14*3600)
	for _, c := range []struct {
		at             time.Time
		period, resets string
	}{
		{time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), "2026-11", "2026-12-01T00:00:00Z"},
		{time.Date(2026, 12, 31, 23, 59, 59, 999, time.UTC), "2026-12", "2027-01-01T00:00:00Z"},
		{time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), "2027-01", "2027-02-01T00:00:00Z"},
		{time.Date(2027, 1, 1, 13, 0, 0, 0, east), "2026-12", "2027-01-01T00:00:00Z"},
		{time.Date(2028, 2, 29, 1, 0, 0, 0, time.UTC), "2028-02", "2028-03-01T00:00:00Z"},
	} {
		m := billing.MonthOf(c.at)
		if m.Period != c.period || m.ResetsAt.Format(time.RFC3339) != c.resets {
			t.Errorf("%s: %+v", c.at, m)
		}
	}
}

func TestNewPlans(t *testing.T) {
	t.Parallel()
	plans, err := billing.NewPlans(map[string]int{"free": 7})
	if err != nil || plans.Allowance("free") != 7 || plans.Allowance("pro") != 20_000 || plans.Allowance("unheard of") != 7 {
		t.Errorf("%v, %v", plans, err)
	}
	for _, given := range []map[string]int{{"gold": 1}, {"free": -1}, {"pro": 2_000_000_000}} {
		if _, err := billing.NewPlans(given); err == nil {
			t.Errorf("%v is taken", given)
		}
	}
}

func TestShortage(t *testing.T) {
	t.Parallel()
	month := billing.MonthOf(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		allowance, remaining, price int
		want                        string
	}{
		{1000, 0, 1, "This month's 1,000 credits are used up; 1,000 new ones come on 2026-12-01T00:00:00Z."},
		{20000, 2, 3, "This call costs 3 credits, and of this month's 20,000 only 2 are left; 20,000 new ones come on 2026-12-01T00:00:00Z."},
		{1234567, 0, 1, "This month's 1,234,567 credits are used up; 1,234,567 new ones come on 2026-12-01T00:00:00Z."},
		{0, 0, 1, "This month's 0 credits are used up; 0 new ones come on 2026-12-01T00:00:00Z."},
	} {
		short := billing.Balance{Month: month, Allowance: c.allowance, Remaining: c.remaining}.Shortage(c.price)
		if short.Error() != c.want || !fault.Is(short, fault.Exhausted) || short.Receipt.Remaining != c.remaining {
			t.Errorf("%q %+v", short.Error(), short.Receipt)
		}
	}
}

// gated is a ledger that blocks until the test opens it, and records its groups.
type gated struct {
	open   chan struct{}
	begun  chan int
	mu     sync.Mutex
	groups []int
	err    error
}

func (g *gated) Charge(_ context.Context, charges []billing.Charge) ([]billing.Outcome, error) {
	g.mu.Lock()
	g.groups = append(g.groups, len(charges))
	g.mu.Unlock()
	g.begun <- len(charges)
	<-g.open
	outcomes := make([]billing.Outcome, len(charges))
	for i, c := range charges {
		outcomes[i].Receipt.Charged = c.Price
	}
	return outcomes, g.err
}

// Charges that arrive during a commit are committed together after it, and each caller
// gets its own outcome.
func TestMeterGroups(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		g := &gated{open: make(chan struct{}), begun: make(chan int, 8)}
		m := billing.NewMeter(g.Charge)
		var wg sync.WaitGroup
		charge := func(price int) {
			wg.Go(func() {
				got, err := m.Charge(t.Context(), billing.Charge{Price: price})
				if err != nil || got.Charged != price {
					t.Errorf("price %d: %+v, %v", price, got, err)
				}
			})
		}
		charge(1)
		<-g.begun
		for price := 2; price <= 30; price++ {
			charge(price)
		}
		synctest.Wait() // all of them wait
		close(g.open)
		wg.Wait()
		if !slices.Equal(g.groups, []int{1, 29}) {
			t.Errorf("the commits were of %v", g.groups)
		}
	})
}

// inBubble runs a test with a fake clock, until its meter is idle.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t)
		time.Sleep(time.Second)
	})
}

// slow is a ledger that takes a millisecond, and records its groups.
type slow struct{ groups []int }

func (s *slow) Charge(_ context.Context, charges []billing.Charge) ([]billing.Outcome, error) {
	time.Sleep(time.Millisecond)
	s.groups = append(s.groups, len(charges))
	return make([]billing.Outcome, len(charges)), nil
}

func TestMeterNeverKeepsALoneCallerWaiting(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		ledger := &slow{}
		m := billing.NewMeter(ledger.Charge)
		for range 5 {
			start := time.Now()
			if _, err := m.Charge(t.Context(), billing.Charge{Price: 1}); err != nil || time.Since(start) != time.Millisecond {
				t.Errorf("a charge took %s: %v", time.Since(start), err)
			}
			time.Sleep(500 * time.Microsecond)
		}
		if !slices.Equal(ledger.groups, []int{1, 1, 1, 1, 1}) {
			t.Errorf("groups %v", ledger.groups)
		}
	})
}

// Callers that charge repeatedly end up in one group, although each pauses between its
// charges for longer than a commit takes.
func TestMeterWaitsForThoseWhoCameLast(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const callers, calls = 8, 20
		ledger := &slow{}
		m := billing.NewMeter(ledger.Charge)
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 300 * time.Microsecond)
				for range calls {
					if _, err := m.Charge(t.Context(), billing.Charge{Price: 1}); err != nil {
						t.Error(err)
					}
					time.Sleep(1500 * time.Microsecond)
				}
			})
		}
		group.Wait()
		if n := len(ledger.groups); n > calls+5 || ledger.groups[n/2] != callers {
			t.Errorf("groups %v", ledger.groups)
		}
	})
}

// When the previous callers don't return, the meter waits for them once, for 4 ms.
func TestMeterDoesNotWaitLong(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		m := billing.NewMeter((&slow{}).Charge)
		charge := func() (took time.Duration) {
			start := time.Now()
			if _, err := m.Charge(t.Context(), billing.Charge{Price: 1}); err != nil {
				t.Error(err)
			}
			return time.Since(start)
		}
		var group sync.WaitGroup
		group.Go(func() { charge() })
		synctest.Wait()
		for range 3 { // they arrive during the first one's commit
			group.Go(func() { charge() })
		}
		group.Wait()
		if took := charge(); took != 5*time.Millisecond {
			t.Errorf("the first call alone took %s", took)
		}
		if took := charge(); took != time.Millisecond {
			t.Errorf("the second took %s", took)
		}
	})
}

// No group is larger than MaxGroup.
func TestMeterBoundsItsGroups(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		ledger := &slow{}
		m := billing.NewMeter(ledger.Charge)
		var group sync.WaitGroup
		for range 3*billing.MaxGroup + 1 {
			group.Go(func() {
				for range 3 {
					if _, err := m.Charge(t.Context(), billing.Charge{Price: 1}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if n := slices.Max(ledger.groups); n != billing.MaxGroup {
			t.Errorf("the largest of %v", ledger.groups)
		}
	})
}

func TestMeterTellsEveryoneOfAnOutage(t *testing.T) {
	t.Parallel()
	outage := errors.New("the store is down")
	g := &gated{open: make(chan struct{}), begun: make(chan int, 100), err: outage}
	close(g.open)
	m := billing.NewMeter(g.Charge)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := m.Charge(t.Context(), billing.Charge{Price: 1}); !errors.Is(err, outage) {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
}
