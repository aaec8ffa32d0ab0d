package tracing

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestComplaintsAreFew(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := newComplaints(slog.New(slog.NewTextHandler(&log, nil)))
	now := time.Unix(0, 0)
	c.now = func() time.Time { return now }
	for range 5 {
		c.hear(errors.New("refused"))
	}
	now = now.Add(complaintEvery)
	c.hear(errors.New("refused"))
	if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "failures_untold=4") {
		t.Errorf("got %s", got)
	}
}
