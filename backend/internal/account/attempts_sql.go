package account

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
)

// spendAttempt counts an attempt on a subject unless its window is full; then it
// returns no row.
const spendAttempt = `INSERT INTO login_attempts (subject, count, expires_at) VALUES (?, 1, ?)
ON CONFLICT (subject) DO UPDATE SET
count = CASE WHEN login_attempts.expires_at > ? THEN login_attempts.count + 1 ELSE 1 END,
expires_at = CASE WHEN login_attempts.expires_at > ? THEN login_attempts.expires_at ELSE excluded.expires_at END
WHERE login_attempts.expires_at <= ? OR login_attempts.count < ?
RETURNING count, expires_at`

// errSpent rolls back a transaction that found a full window.
var errSpent = errors.New("the window is full")

// unlimited returns a decision that is less strict than any limit.
func unlimited() Decision { return Decision{Allowed: true, Remaining: math.MaxInt} }

// SpendAttempts counts one attempt on the subject of every limit, each in its own fixed
// window, which starts with its first attempt. If one limit refuses, nothing is counted
// and no row is written. A quiet limit never refuses: if it is full, its count does not
// change and the decision is closed. SpendAttempts returns the strictest decision.
// Concurrent calls never count more than a quota. It reads before it writes, so that a
// refused attempt costs no transaction.
func SpendAttempts(ctx context.Context, s *db.DB, limits ...Limit) (Decision, error) {
	now := s.Now()
	decision, err := readAttempts(ctx, s, limits, now)
	if err != nil || !decision.Allowed {
		return decision, err
	}
	// All calls use the same order, so that two calls cannot deadlock.
	ordered := slices.SortedFunc(slices.Values(limits), func(a, b Limit) int { return strings.Compare(a.Subject, b.Subject) })
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		decision = unlimited()
		for _, l := range ordered {
			one, err := spendOne(ctx, tx, l, now)
			if err != nil {
				return err
			}
			if decision = decision.With(l, one); !decision.Allowed {
				return errSpent
			}
		}
		return nil
	})
	if errors.Is(err, errSpent) {
		err = nil
	}
	return decision, err
}

// spendOne counts an attempt on one subject. If it is refused, the row does not change.
func spendOne(ctx context.Context, tx db.Querier, l Limit, now time.Time) (Decision, error) {
	var count int
	var resetAt time.Time
	err := tx.NewRaw(spendAttempt, l.Subject, now.Add(l.Policy.Window), now, now, now, l.Policy.Quota).Scan(ctx, &count, &resetAt)
	if errors.Is(err, sql.ErrNoRows) {
		return readAttempt(ctx, tx, l, now)
	}
	return l.Policy.Decide(count, resetAt, now), err
}

// readAttempts returns the decision on one more attempt without counting it: the
// strictest of all limits.
func readAttempts(ctx context.Context, db db.Querier, limits []Limit, now time.Time) (Decision, error) {
	strictest := unlimited()
	for _, l := range limits {
		one, err := readAttempt(ctx, db, l, now)
		if err != nil {
			return Decision{}, err
		}
		strictest = strictest.With(l, one)
	}
	return strictest, nil
}

func readAttempt(ctx context.Context, db db.Querier, l Limit, now time.Time) (Decision, error) {
	var count int
	resetAt := now.Add(l.Policy.Window)
	err := db.NewRaw("SELECT count, expires_at FROM login_attempts WHERE subject = ? AND expires_at > ?", l.Subject, now).Scan(ctx, &count, &resetAt)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Decision{}, err
	}
	return l.Policy.Decide(count+1, resetAt, now), nil
}
