package tracing

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// failureInterval is the shortest time between two log lines about failures.
	failureInterval = time.Minute
	// maxFailureText bounds an error in the log, in bytes: a collector may answer with
	// a whole page.
	maxFailureText = 300
)

// failures logs failed exports, at most one in failureInterval.
type failures struct {
	logger *slog.Logger

	mu      sync.Mutex
	next    time.Time
	skipped int
}

func (f *failures) log(ctx context.Context, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Before(f.next) {
		f.skipped++
		return
	}
	f.logger.WarnContext(ctx, "traces cannot be sent", "error", shorten(err), "failures_not_logged", f.skipped)
	f.next, f.skipped = now.Add(failureInterval), 0
}

func shorten(err error) string {
	text := err.Error()
	return text[:min(len(text), maxFailureText)]
}
