package periodic_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kith-crm/kith/backend/internal/periodic"
)

func TestWorkerRunsUntilStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w periodic.Worker
		runs := 0
		count := func(context.Context) { runs++ }
		w.Start(t.Context(), time.Minute, count)
		w.Start(t.Context(), time.Second, count) // does nothing
		time.Sleep(3*time.Minute + time.Second)
		synctest.Wait()
		for range 2 {
			if !w.Stop() {
				t.Error("a started worker says that it was not")
			}
		}
		if runs != 3 {
			t.Errorf("ran %d times in three minutes", runs)
		}
		time.Sleep(time.Hour)
		if runs != 3 {
			t.Errorf("ran after it was stopped: %d times", runs)
		}
	})
}

func TestStopEndsTheContextOfARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w periodic.Worker
		w.Start(t.Context(), time.Minute, func(ctx context.Context) { <-ctx.Done() })
		time.Sleep(2 * time.Minute)
		w.Stop()
	})
}

func TestStopWithoutStart(t *testing.T) {
	t.Parallel()
	if new(periodic.Worker).Stop() {
		t.Error("a worker that was never started says that it was")
	}
}
