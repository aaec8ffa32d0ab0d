package account_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
)

// marks is a fake store of the times at which tokens were last used.
type marks struct {
	mu     sync.Mutex
	at     map[string]time.Time
	writes int
	err    error
}

func (m *marks) mark(_ context.Context, id string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	if m.err != nil {
		return m.err
	}
	if m.at == nil {
		m.at = map[string]time.Time{}
	}
	m.at[id] = at
	return nil
}

func (m *marks) want(t *testing.T, writes int, at map[string]time.Time) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writes != writes || !maps.EqualFunc(m.at, at, time.Time.Equal) {
		t.Errorf("%d writes of %v, want %d of %v", m.writes, m.at, writes, at)
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestFlushWritesTheLatestTimeOfEachToken(t *testing.T) {
	t.Parallel()
	var m marks
	r := account.NewUseRecorder(m.mark, time.Minute, quiet())
	r.Used("pat_1", noon)
	r.Used("pat_1", noon.Add(2*time.Second))
	r.Used("pat_1", noon.Add(time.Second)) // an earlier call that arrives late
	r.Used("pat_2", noon)
	m.want(t, 0, nil)
	want := map[string]time.Time{"pat_1": noon.Add(2 * time.Second), "pat_2": noon}
	r.Flush(t.Context())
	m.want(t, 2, want)
	r.Flush(t.Context())
	m.want(t, 2, want) // no new use, no write
}

func TestUseFromManyGoroutines(t *testing.T) {
	t.Parallel()
	var m marks
	r := account.NewUseRecorder(m.mark, time.Minute, quiet())
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			r.Used("pat_1", noon.Add(time.Duration(i)*time.Second))
			r.Flush(t.Context())
		})
	}
	wg.Wait()
	if _, ok := m.at["pat_1"]; !ok || m.writes > 50 {
		t.Errorf("%d writes of %v", m.writes, m.at)
	}
}

func TestFailedWritesAreDroppedAndLogged(t *testing.T) {
	t.Parallel()
	m := marks{err: errors.New("no database")}
	var log bytes.Buffer
	r := account.NewUseRecorder(m.mark, time.Minute, slog.New(slog.NewTextHandler(&log, nil)))
	r.Used("pat_1", noon)
	r.Flush(t.Context())
	if !strings.Contains(log.String(), "no database") {
		t.Errorf("logged %q", log.String())
	}
	m.err = nil
	r.Flush(t.Context())
	m.want(t, 1, nil)
	r.Used("pat_1", noon.Add(time.Hour))
	r.Flush(t.Context())
	m.want(t, 2, map[string]time.Time{"pat_1": noon.Add(time.Hour)})
}

func TestStartFlushesAtItsInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m marks
		r := account.NewUseRecorder(m.mark, time.Minute, quiet())
		ctx, cancel := context.WithCancel(t.Context())
		r.Start(ctx)
		cancel() // the caller's context starts it; Stop ends it
		var written map[string]time.Time
		for minute := range 3 {
			at := time.Now()
			r.Used("pat_1", at.Add(-time.Second))
			r.Used("pat_1", at)
			time.Sleep(time.Minute - time.Nanosecond)
			synctest.Wait()
			m.want(t, minute, written)
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			written = map[string]time.Time{"pat_1": at}
			m.want(t, minute+1, written)
		}
		r.Stop(t.Context())
		m.want(t, 3, written)
	})
}

func TestStopWritesTheRemainingTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m marks
		r := account.NewUseRecorder(m.mark, time.Minute, quiet())
		r.Start(t.Context())
		r.Used("pat_1", noon)
		r.Stop(t.Context())
		want := map[string]time.Time{"pat_1": noon}
		m.want(t, 1, want)
		r.Used("pat_1", noon.Add(time.Hour))
		time.Sleep(time.Hour)
		m.want(t, 1, want) // no background work after Stop
	})
}

func TestStopIsHarmless(t *testing.T) {
	t.Parallel()
	var m marks
	r := account.NewUseRecorder(m.mark, time.Minute, quiet())
	r.Stop(t.Context()) // never started
	r.Start(t.Context())
	r.Stop(t.Context())
	r.Stop(t.Context()) // twice
	m.want(t, 0, nil)
}
