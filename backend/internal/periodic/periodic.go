// Package periodic runs work again and again in the background until it is
// stopped.
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

// Start begins to call run, first after one interval. The calls go on when ctx
// ends: Stop ends them, and the context they get. Starting twice does nothing.
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

// Stop ends the calls and waits for one that runs. It may be called twice, or
// without Start; it tells whether the worker was ever started.
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
