package tracing

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// complaintEvery is how often it is told that spans cannot be sent.
const complaintEvery = time.Minute

// maxComplaint bounds an error in the log: a collector's answer may be a page.
const maxComplaint = 300

// complaints tells of failures, a few of many.
type complaints struct {
	logger *slog.Logger
	now    func() time.Time

	mu     sync.Mutex
	next   time.Time
	untold int
}

func newComplaints(logger *slog.Logger) *complaints {
	return &complaints{logger: logger, now: time.Now}
}

// hear tells of the failure, unless one was told of a moment ago.
func (c *complaints) hear(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Before(c.next) {
		c.untold++
		return
	}
	c.logger.WarnContext(context.Background(), "traces cannot be sent", "error", shorten(err), "failures_untold", c.untold)
	c.next, c.untold = now.Add(complaintEvery), 0
}

func shorten(err error) string {
	text := err.Error()
	return text[:min(len(text), maxComplaint)]
}
