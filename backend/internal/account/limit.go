package account

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
)

// RatePolicy limits password attempts in fixed windows. Its zero value means no limit.
type RatePolicy struct {
	// Quota is how many attempts a window allows; 0 means no limit.
	Quota  int
	Window time.Duration
}

// DefaultLogin is the login policy unless the operator sets another.
func DefaultLogin() RatePolicy { return RatePolicy{Quota: 10, Window: 300 * time.Second} }

// Limit is a policy for one subject.
type Limit struct {
	// Subject is the key under which attempts are counted; see the function Subject.
	Subject string
	Policy  RatePolicy
	// Quiet hides this limit from the caller. If its window is full, the attempt is still
	// counted under the other limits, and the decision is Closed instead of refused. The
	// rate-limit headers are then the same as for any other attempt.
	Quiet bool
}

// Decision is the result of the limits for one attempt.
type Decision struct {
	// Allowed is set if the attempt is within the quota.
	Allowed bool
	// Remaining is the number of attempts left in the window after this one.
	Remaining int
	// Reset is the time until the window ends.
	Reset time.Duration
	// Closed is true when a quiet limit is full. Allowed, Remaining and Reset leave
	// quiet limits out.
	Closed bool
}

// Decide returns the decision on the count-th attempt of a window.
func (p RatePolicy) Decide(count int, resetAt, now time.Time) Decision {
	return Decision{
		Allowed: count <= p.Quota, Remaining: max(0, p.Quota-count), Reset: max(0, resetAt.Sub(now)),
	}
}

// Stricter returns the stricter decision: a refusal before a pass, then the one with
// fewer attempts, then the one with the longer wait.
func (d Decision) Stricter(other Decision) Decision {
	switch {
	case d.Allowed != other.Allowed && other.Allowed, d.Allowed == other.Allowed && d.Remaining < other.Remaining:
		return d
	case d.Allowed == other.Allowed && d.Remaining == other.Remaining && d.Reset > other.Reset:
		return d
	}
	return other
}

// With returns d combined with the decision of one more limit.
func (d Decision) With(l Limit, one Decision) Decision {
	if l.Quiet {
		d.Closed = d.Closed || !one.Allowed
		return d
	}
	one.Closed = d.Closed
	return one.Stricter(d)
}

// Subject returns the key under which attempts are counted. It is a hash, because people
// sometimes type their password into the username field.
func Subject(kind, value string) string {
	return HashSecret(HashSecret(kind) + strings.ToLower(value))
}

// AddressBucket returns the key that distinguishes clients: an IPv4 address, or the /64 of an
// IPv6 address, which a household or server typically has. It returns an invalid address
// unchanged.
func AddressBucket(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if prefix, err := ip.Prefix(64); ip.Is6() && err == nil {
		return prefix.String()
	}
	return ip.String()
}

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
