package embedding

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// pace spreads requests: one for each stretch of time, with room for a few at once
// after a pause.
type pace struct {
	every time.Duration

	mu   sync.Mutex
	next time.Time
}

// burst is how many requests may be made at once after a pause.
const burst = 5

// wait returns when the next request may be made.
func (p *pace) wait(ctx context.Context) error {
	return sleep(ctx, p.turn(time.Now()))
}

// turn takes the next place and returns how far off it is.
func (p *pace) turn(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if earliest := now.Add(-(burst - 1) * p.every); p.next.Before(earliest) {
		p.next = earliest
	}
	wait := p.next.Sub(now)
	p.next = p.next.Add(p.every)
	return max(0, wait)
}

// sleep waits unless ctx ends before that, which it tells at once.
func sleep(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return trouble("the embedding provider takes too long")
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// retryAfter reads the header of that name: seconds, or a time, an hour at most. It
// is 0 when there is none that can be read.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, int(time.Hour/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(0, time.Until(at)), time.Hour)
	}
	return 0
}
