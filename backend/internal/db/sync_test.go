package db

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kith-crm/kith/backend/internal/fault"
)

func openSynced(t *testing.T) *DB {
	t.Helper()
	c := Config{URL: filepath.Join(t.TempDir(), "kith.db"), SyncEachCommit: true}
	if _, err := Migrate(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func writeOnce(ctx context.Context, s *DB) error {
	return s.Write(ctx, func(ctx context.Context, tx Querier) error {
		_, err := tx.NewRaw("INSERT INTO installation (number) VALUES (1) ON CONFLICT DO NOTHING").Exec(ctx)
		return err
	})
}

// TestSyncEachCommit: a write returns only after an fsync that began after its commit, and writes that
// wait share one.
func TestSyncEachCommit(t *testing.T) {
	t.Parallel()
	s := openSynced(t)
	var begun, flushes atomic.Int64
	const writers = 40
	first := make(chan struct{})
	wal := s.engine.wal
	waiting := func() uint64 {
		wal.mu.Lock()
		defer wal.mu.Unlock()
		return wal.wanted
	}
	flush, before := wal.flush, waiting()
	wal.flush = func() error {
		if begun.Add(1) == 1 {
			close(first)
			for waiting() < before+writers+1 { // the disk is slow: all others commit meanwhile
				runtime.Gosched()
			}
		}
		flushes.Add(1)
		return flush()
	}
	var done sync.WaitGroup
	failures := make(chan error, writers+1)
	done.Go(func() { failures <- writeOnce(t.Context(), s) })
	<-first
	for range writers {
		done.Go(func() {
			err := s.Write(t.Context(), func(context.Context, Querier) error { return nil })
			if flushes.Load() < 2 {
				err = errors.Join(err, errors.New("a write returned before an fsync that began after it"))
			}
			failures <- err
		})
	}
	done.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			t.Error(err)
		}
	}
	if n := flushes.Load(); n != 2 {
		t.Errorf("%d fsyncs for %d writes", n, writers+1)
	}
}

// TestSyncFails: after an fsync that failed, writes are refused and the database is not ready.
func TestSyncFails(t *testing.T) {
	t.Parallel()
	s := openSynced(t)
	working := s.engine.wal.flush
	s.engine.wal.flush = func() error { return fmt.Errorf("%w: input/output error", errNotDurable) }
	for range 2 {
		var coded *fault.Error
		if err := writeOnce(t.Context(), s); !errors.As(err, &coded) || coded.Code != fault.Unavailable {
			t.Errorf("a write: %v", err)
		}
		s.engine.wal.flush = working // the disk says that all is well again
	}
	if err := s.Ready(t.Context()); !errors.Is(err, errNotDurable) {
		t.Errorf("readiness: %v", err)
	}
}
