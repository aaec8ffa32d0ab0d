package integration_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// Concurrent attempts spend a quota exactly, and an attempt that one limit refuses counts
// towards no limit.
func TestSpendAttemptsTogether(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Now().UTC()
		s := dbtest.Open(t, url, func() time.Time { return now })
		policy := account.RatePolicy{Quota: 10, Window: time.Minute}
		shared := account.Limit{Subject: "m", Policy: policy}
		var allowed atomic.Int64
		for _, err := range together(60, func(n int) error {
			// Subjects on both sides of the shared one, in either order.
			own := account.Limit{Subject: fmt.Sprintf("%c%d", "az"[n%2], n), Policy: policy}
			limits := []account.Limit{own, shared}
			if n%3 == 0 {
				limits = []account.Limit{shared, own}
			}
			d, err := account.SpendAttempts(context.WithoutCancel(t.Context()), s, limits...)
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
		row := dbtest.OpenSQL(t, url).QueryRow("SELECT count(*), sum(count) FROM login_attempts")
		if err := row.Scan(&rows, &count); err != nil {
			t.Fatal(err)
		}
		if allowed.Load() != 10 || rows != 11 || count != 20 {
			t.Errorf("%d were allowed: %d rows that count %d", allowed.Load(), rows, count)
		}
		now = now.Add(time.Minute)
		if d, err := account.SpendAttempts(t.Context(), s, shared); err != nil || d != (account.Decision{Allowed: true, Remaining: 9, Reset: time.Minute}) {
			t.Errorf("the next window: %+v, %v", d, err)
		}
	})
}

func TestSpendAttemptsTellsTheStrictest(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Now().UTC().Truncate(time.Second)
		s := dbtest.Open(t, url, func() time.Time { return now })
		narrow := account.Limit{Subject: "narrow", Policy: account.RatePolicy{Quota: 1, Window: time.Minute}}
		wide := account.Limit{Subject: "wide", Policy: account.RatePolicy{Quota: 5, Window: time.Hour}}
		spend := func(want account.Decision, limits ...account.Limit) {
			t.Helper()
			if d, err := account.SpendAttempts(t.Context(), s, limits...); err != nil || d != want {
				t.Errorf("got %+v, %v", d, err)
			}
		}
		spend(account.Decision{Allowed: true, Reset: time.Minute}, wide, narrow)
		spend(account.Decision{Reset: time.Minute}, wide, narrow)
		spend(account.Decision{Allowed: true, Remaining: 3, Reset: time.Hour}, wide)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := account.SpendAttempts(t.Context(), s, wide); err == nil || fault.Is(err, fault.NotFound) {
			t.Errorf("an outage: %v", err)
		}
	})
}

// A full quiet limit closes the decision and stays as it is; what a limit refuses is
// not counted on a quiet one either.
func TestSpendAttemptsQuietly(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Now().UTC().Truncate(time.Second)
		s := dbtest.Open(t, url, func() time.Time { return now })
		quiet := account.Limit{Subject: "b", Policy: account.RatePolicy{Quota: 2, Window: time.Hour}, Quiet: true}
		for n, want := range []account.Decision{
			{Allowed: true, Remaining: 2, Reset: time.Minute}, {Allowed: true, Remaining: 1, Reset: time.Minute},
			{Allowed: true, Reset: time.Minute, Closed: true}, {Reset: time.Minute, Closed: true},
		} {
			loud := account.Limit{Subject: fmt.Sprintf("%c", "ac"[n%2]), Policy: account.RatePolicy{Quota: 3, Window: time.Minute}}
			other := account.Limit{Subject: fmt.Sprintf("%c", "ca"[n%2]), Policy: loud.Policy}
			if d, err := account.SpendAttempts(t.Context(), s, loud, quiet, other); err != nil || d != want {
				t.Errorf("attempt %d: got %+v, %v", n, d, err)
			}
		}
		var counts [3]int
		row := dbtest.OpenSQL(t, url).QueryRow(`SELECT (SELECT count FROM login_attempts WHERE subject = 'a'),
(SELECT count FROM login_attempts WHERE subject = 'b'), (SELECT count FROM login_attempts WHERE subject = 'c')`)
		if err := row.Scan(&counts[0], &counts[1], &counts[2]); err != nil {
			t.Fatal(err)
		}
		if counts != [3]int{3, 2, 3} {
			t.Errorf("counted %v", counts)
		}
		full := account.Limit{Subject: "a", Policy: account.RatePolicy{Quota: 3, Window: time.Minute}}
		fresh := account.Limit{Subject: "fresh", Policy: full.Policy, Quiet: true}
		if d, err := account.SpendAttempts(t.Context(), s, fresh, full); err != nil || d.Allowed || d.Closed {
			t.Errorf("beside a full one: %+v, %v", d, err)
		}
		var rows int
		if err := dbtest.OpenSQL(t, url).QueryRow("SELECT count(*) FROM login_attempts").Scan(&rows); err != nil || rows != 3 {
			t.Errorf("%d rows, %v", rows, err)
		}
	})
}
