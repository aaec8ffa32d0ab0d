package billing_test

import (
	"testing"
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
