// Package periodic runs work repeatedly in the background until it is stopped.
package periodic

import (
	"context"
	"sync"
	"time"
)

// Worker calls a function at an interval. Its zero value has never been started.
type Worker struct {
	mu   sync.Mutex
	stop context.CancelFunc
	done sync.WaitGroup
}

// Start starts to call run, first after one interval. The calls continue when ctx ends:
// Stop ends them, and cancels the context they get. A second Start does nothing.
func (w *Worker) Start(ctx context.Context, every time.Duration, run func(context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		return
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.done.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				run(ctx)
			}
		}
	})
}

// Stop ends the calls and waits for a running one. It may be called twice, or without
// Start; it reports whether the worker was ever started.
func (w *Worker) Stop() (started bool) {
	w.mu.Lock()
	stop := w.stop
	w.mu.Unlock()
	if stop == nil {
		return false
	}
	stop()
	w.done.Wait()
	return true
}
