package account

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/periodic"
)

// Recorder notes when tokens were last used, without a write for each call: it
// gathers for a while and writes the latest time of each token.
type UseRecorder struct {
	mark   func(ctx context.Context, id string, at time.Time) error
	every  time.Duration
	logger *slog.Logger

	mu   sync.Mutex
	used map[string]time.Time

	worker periodic.Worker
}

// NewUseRecorder returns a UseRecorder that hands gathered times to mark.
func NewUseRecorder(mark func(ctx context.Context, id string, at time.Time) error, every time.Duration, logger *slog.Logger) *UseRecorder {
	return &UseRecorder{mark: mark, every: every, logger: logger, used: map[string]time.Time{}}
}

// Used notes that a token was used. It does not block on the store. Calls that
// overtake each other do not set the time back.
func (r *UseRecorder) Used(id string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.After(r.used[id]) {
		r.used[id] = at
	}
}

// Flush writes what was gathered. A token that could not be written is dropped:
// the time is a courtesy, the next use brings it again.
func (r *UseRecorder) Flush(ctx context.Context) {
	r.mu.Lock()
	used := r.used
	r.used = map[string]time.Time{}
	r.mu.Unlock()
	for id, at := range used {
		if err := r.mark(ctx, id, at); err != nil {
			r.logger.WarnContext(ctx, "note the use of a token", "error", err)
		}
	}
}

// Start flushes in the background until Stop.
func (r *UseRecorder) Start(ctx context.Context) { r.worker.Start(ctx, r.every, r.Flush) }

// Stop ends the background work and writes what is left.
func (r *UseRecorder) Stop(ctx context.Context) {
	if r.worker.Stop() {
		r.Flush(ctx)
	}
}
