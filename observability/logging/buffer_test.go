package logging_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kith-crm/kith/observability/logging"
)

// sink is a writer that stores the lines of each call.
type sink struct {
	mu     sync.Mutex
	writes []string
	err    error
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, string(p))
	return len(p), s.err
}

// written returns the messages written so far, and the number of writes.
func (s *sink) written() (messages []string, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(strings.Join(s.writes, "")) {
		_, rest, _ := strings.Cut(line, `"msg":"`)
		message, _, _ := strings.Cut(rest, `"`)
		messages = append(messages, message)
	}
	return messages, len(s.writes)
}

func buffered(t *testing.T, out *sink) (*slog.Logger, *logging.Buffer) {
	t.Helper()
	buffer := logging.NewBuffer(out)
	logger, err := logging.New(buffer, "info", "json")
	if err != nil {
		t.Fatal(err)
	}
	return logger, buffer
}

func (s *sink) expect(t *testing.T, calls int, messages ...string) {
	t.Helper()
	if got, n := s.written(); n != calls || strings.Join(got, " ") != strings.Join(messages, " ") {
		t.Errorf("%d writes of %q, want %d of %q", n, got, calls, messages)
	}
}

func TestLinesAreWrittenTogetherWithin20ms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		logger, _ := buffered(t, out)
		for range 2 {
			logger.Info("a")
			logger.Info("b")
		}
		out.expect(t, 0)
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		out.expect(t, 1, "a", "b", "a", "b")
		logger.Info("c")
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		out.expect(t, 2, "a", "b", "a", "b", "c")
	})
}

func TestWarningsFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		logger, _ := buffered(t, out)
		logger.Info("a")
		logger.With("of", "one").WithGroup("g").Warn("b", "x", 1)
		out.expect(t, 1, "a", "b")
		logger.Error("c")
		out.expect(t, 2, "a", "b", "c")
		logger.Debug("below the level")
		time.Sleep(time.Second)
		synctest.Wait()
		out.expect(t, 2, "a", "b", "c")
	})
}

func TestFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &sink{err: errors.New("the disk is full")}
		logger, buffer := buffered(t, out)
		if err := buffer.Flush(); err != nil {
			t.Errorf("Flush of an empty buffer = %v", err)
		}
		logger.Info("a")
		if err := buffer.Flush(); !errors.Is(err, out.err) {
			t.Errorf("Flush = %v, want %v", err, out.err)
		}
		out.expect(t, 1, "a")
	})
}

// TestFullBufferIsWritten: a buffer of 32 KiB is written without delay.
func TestFullBufferIsWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		buffer := logging.NewBuffer(out)
		line := bytes.Repeat([]byte("x"), 1000)
		for range 33 {
			if n, err := buffer.Write(line); n != len(line) || err != nil {
				t.Fatal(n, err)
			}
		}
		if _, calls := out.written(); calls != 1 {
			t.Errorf("%d writes", calls)
		}
	})
}

// TestConcurrentWriters: lines stay whole, and those of one writer stay in order.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	const many, each = 16, 500
	out := &sink{}
	logger, buffer := buffered(t, out)
	var group sync.WaitGroup
	for i := range many {
		group.Go(func() {
			for n := range each {
				level := slog.LevelInfo
				if n%97 == 0 {
					level = slog.LevelWarn
				}
				logger.Log(t.Context(), level, fmt.Sprint(i, " ", n))
			}
		})
	}
	group.Wait()
	if err := buffer.Flush(); err != nil {
		t.Fatal(err)
	}
	messages, _ := out.written()
	next := [many]int{}
	for _, message := range messages {
		var i, n int
		if _, err := fmt.Sscan(message, &i, &n); err != nil || n != next[i] {
			t.Fatalf("%q after %d: %v", message, next[i]-1, err)
		}
		next[i]++
	}
	if len(messages) != many*each {
		t.Errorf("%d lines of %d", len(messages), many*each)
	}
}
