package store_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/session"
	"github.com/kith-crm/kith/backend/internal/storetest"
)

// Attempts at the same time spend a quota exactly, and what one limit refuses is
// counted on none.
func TestSpendAttemptsTogether(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		now := time.Now().UTC()
		s := storetest.Open(t, url, func() time.Time { return now })
		policy := session.RatePolicy{Quota: 10, Window: time.Minute}
		shared := session.Limit{Subject: "m", Policy: policy}
		var allowed atomic.Int64
		for _, err := range together(60, func(n int) error {
			// Subjects on both sides of the shared one, in either order.
			own := session.Limit{Subject: fmt.Sprintf("%c%d", "az"[n%2], n), Policy: policy}
			limits := []session.Limit{own, shared}
			if n%3 == 0 {
				limits = []session.Limit{shared, own}
			}
			d, err := s.SpendAttempts(context.WithoutCancel(t.Context()), limits...)
			if d.Allowed {
				allowed.Add(1)
			}
			return err
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		var rows, count int
		row := storetest.OpenSQL(t, url).QueryRow("SELECT count(*), sum(count) FROM login_attempts")
		if err := row.Scan(&rows, &count); err != nil {
			t.Fatal(err)
		}
		if allowed.Load() != 10 || rows != 11 || count != 20 {
			t.Errorf("%d were allowed: %d rows that count %d", allowed.Load(), rows, count)
		}
		now = now.Add(time.Minute)
		if d, err := s.SpendAttempts(t.Context(), shared); err != nil || d != (session.Decision{Allowed: true, Remaining: 9, Reset: time.Minute}) {
			t.Errorf("the next window: %+v, %v", d, err)
		}
	})
}

func TestSpendAttemptsTellsTheStrictest(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		now := time.Now().UTC().Truncate(time.Second)
		s := storetest.Open(t, url, func() time.Time { return now })
		narrow := session.Limit{Subject: "narrow", Policy: session.RatePolicy{Quota: 1, Window: time.Minute}}
		wide := session.Limit{Subject: "wide", Policy: session.RatePolicy{Quota: 5, Window: time.Hour}}
		spend := func(want session.Decision, limits ...session.Limit) {
			t.Helper()
			if d, err := s.SpendAttempts(t.Context(), limits...); err != nil || d != want {
				t.Errorf("got %+v, %v", d, err)
			}
		}
		spend(session.Decision{Allowed: true, Reset: time.Minute}, wide, narrow)
		spend(session.Decision{Reset: time.Minute}, wide, narrow)
		spend(session.Decision{Allowed: true, Remaining: 3, Reset: time.Hour}, wide)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SpendAttempts(t.Context(), wide); err == nil || fault.Is(err, fault.NotFound) {
			t.Errorf("an outage: %v", err)
		}
	})
}
