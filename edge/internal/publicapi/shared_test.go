package publicapi

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
)

// obedient is a backend whose calls take some time and stop when their context ends.
type obedient struct {
	counting

	takes time.Duration
}

func (o *obedient) BatchGetProfiles(ctx context.Context, usernames ...string) ([]*directoryv1.Profile, error) {
	select {
	case <-time.After(o.takes):
		return o.counting.BatchGetProfiles(ctx, usernames...)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A batch starts a read of two profiles and is cancelled. Another caller who waits
// for one of the profiles still gets it, from the same backend call.
func TestACancelledCallerFailsNoOtherCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backend := &obedient{takes: 2 * time.Second}
		api := countingAPI(t, backend, time.Second, nil)
		serve := func(ctx context.Context) <-chan int {
			status := make(chan int, 1)
			go func() {
				w := httptest.NewRecorder()
				api.serveProfile(w, httptest.NewRequest("GET", "/", nil).WithContext(ctx), "amara", asJSON)
				status <- w.Code
			}()
			synctest.Wait()
			return status
		}
		ctx, hangUp := context.WithCancel(t.Context())
		start := time.Now()
		batch := serve(api.Preload(ctx, []string{"amara", "bo"}))
		other := serve(t.Context())
		hangUp()
		if status, waited := <-batch, time.Since(start); status != 503 || waited > 0 {
			t.Errorf("the batch got %d after %s", status, waited)
		}
		if status, calls := <-other, backend.calls.Load(); status != 200 || calls != 1 {
			t.Errorf("the other request got %d from %d calls", status, calls)
		}
	})
}

// A caller who joins a shared read waits at most until their own deadline, with and without the
// cache.
func TestSharedReadsKeepTheCallersDeadline(t *testing.T) {
	t.Parallel()
	for name, ttl := range map[string]time.Duration{"remembered": time.Second, "not cached": 0} {
		synctest.Test(t, func(t *testing.T) {
			backend := &obedient{takes: 8 * time.Second}
			api := countingAPI(t, backend, ttl, nil)
			ctx := api.Preload(t.Context(), []string{"amara", "bo"})
			patient := make(chan int)
			go func() {
				w := httptest.NewRecorder()
				api.serveProfile(w, httptest.NewRequest("GET", "/", nil).WithContext(ctx), "amara", asJSON)
				patient <- w.Code
			}()
			synctest.Wait()
			hurried, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			start := time.Now()
			w := httptest.NewRecorder()
			api.serveProfile(w, httptest.NewRequest("GET", "/", nil).WithContext(hurried), "amara", asJSON)
			if waited := time.Since(start); w.Code != 503 || waited != 5*time.Second {
				t.Errorf("%s: %d after %s", name, w.Code, waited)
			}
			if status := <-patient; status != 200 {
				t.Errorf("%s: who waited longer got %d", name, status)
			}
		})
	}
}

func TestSharedReadsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shared
		_, err := s.do(context.WithoutCancel(t.Context()), "", func(ctx context.Context) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a read without end: %v", err)
		}
		_, err = s.do(t.Context(), "", func(context.Context) (any, error) { panic("boom") })
		if err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("a read that panics: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.do(ended, "", func(context.Context) (any, error) {
			t.Error("read for a caller who has gone")
			return nil, nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who has gone: %v", err)
		}
	})
}
