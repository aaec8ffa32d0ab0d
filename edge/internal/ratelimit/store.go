package ratelimit

import (
	"context"
	"errors"
	"time"
)

// ErrTake is the error of Take for invalid arguments; see Store.
var ErrTake = errors.New("cannot count")

// Store counts hits in windows. A window is identified by its key and by the policy's name,
// window length and kind (fixed or sliding). So a policy keeps its counts when its quota
// changes. Stores are safe for concurrent use.
type Store interface {
	// Take counts n hits of key under p, n ≥ 1. It admits as many as the window has room for
	// and refuses the others, in one atomic step: concurrent calls never admit more than
	// p.Quota.
	//
	// The key is a short, stable name that its owner cannot choose: an address
	// bucket or a credential id.
	//
	// The error is ErrTake for an n below 1 or a policy without a quota or a
	// window, before anything is counted. Memory and Fallback have no other. After
	// an error of Redis it is unknown whether the hits were counted.
	Take(ctx context.Context, p Policy, key string, n int) (Taken, error)
	// Close ends what the store runs in the background. Call it once, after the
	// last Take.
	Close() error
}

// Taken is the result of one Take.
type Taken struct {
	// Admitted is how many of the hits were admitted: from 0 to n.
	Admitted int
	// Remaining is how many hits the window has room for after these, at least 0.
	Remaining int
	// Reset is the time in which no more than Remaining hits will be admitted: until the end
	// of a fixed window, or until the oldest hit leaves a sliding one.
	// It is above 0.
	Reset time.Duration
}
