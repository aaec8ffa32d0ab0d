package tracing

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/kith-crm/kith/observability/logging"
)

// maxFailureText bounds an error in the log, in bytes: a collector may answer with
// a whole page.
const maxFailureText = 300

// failures logs failed exports, at most one a minute.
type failures struct {
	logger  *slog.Logger
	lines   logging.Seldom
	skipped atomic.Int64
}

func (f *failures) log(ctx context.Context, err error) {
	if !f.lines.Now() {
		f.skipped.Add(1)
		return
	}
	f.logger.WarnContext(ctx, "traces cannot be sent", "error", shorten(err), "failures_not_logged", f.skipped.Swap(0))
}

func shorten(err error) string {
	text := err.Error()
	return text[:min(len(text), maxFailureText)]
}
