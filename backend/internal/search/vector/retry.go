package vector

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// errTooSlow is returned when a wait would outlast its context.
var errTooSlow = trouble("the embedding provider takes too long")

// sleep waits for d. It fails at once when ctx ends before that.
func sleep(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return errTooSlow
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

// retryAfter reads the Retry-After header: seconds or a time (RFC 9110, section
// 10.2.3). The result is at most an hour, and 0 when there is no valid header.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, int(time.Hour/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(0, time.Until(at)), time.Hour)
	}
	return 0
}
