package ratelimit

import (
	"context"
	"time"
)

// Decision is the answer to "may this be done now". The headers are made from it
// and from nothing else. The zero value says nothing: WriteHeaders leaves it out.
type Decision struct {
	// Policy is the one that was asked, as its clients know it.
	Policy Policy
	// Allowed is false when the answer is a 429 for this policy's sake. An answer
	// that is sent all the same, as that of a batch of which only some items were
	// refused, has it set to true by its handler.
	Allowed bool
	// Admitted is how many of the hits were let in, the first ones.
	Admitted int
	// Remaining is how many more hits the window takes, 0 at least.
	Remaining int
	// Reset is in seconds, rounded up, 1 at least: the time in which no more than
	// Remaining hits will be admitted. A refused caller waits that long.
	Reset int
}

// Decide takes n hits of key under p from the store; it is allowed when all of
// them are admitted. A policy that is off admits everything, and its decision
// has no headers. The error is the store's.
func Decide(ctx context.Context, s Store, p Policy, key string, n int) (Decision, error) {
	if !p.Enabled() {
		return Decision{Policy: p, Allowed: true, Admitted: n}, nil
	}
	taken, err := s.Take(ctx, p, key, n)
	if err != nil {
		return Decision{}, err
	}
	return Decision{
		Policy:    p,
		Allowed:   taken.Admitted == n,
		Admitted:  taken.Admitted,
		Remaining: max(0, taken.Remaining),
		Reset:     seconds(taken.Reset),
	}, nil
}

// seconds rounds up, and never to 0: "r=0;t=0" would tell a refused caller to
// come back at once.
func seconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}
