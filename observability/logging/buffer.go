package logging

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// maxDelay is how long a line stays in the buffer at most.
	maxDelay = 20 * time.Millisecond
	// maxBuffered is the size, in bytes, from which the buffer is written without delay.
	maxBuffered = 32 << 10
)

// Buffer collects log lines and writes them together: one write per line would cost
// as much as formatting it, and the request would wait for it.
//
// A record of the level warn or above flushes the buffer before the logger's call
// returns. Other lines are written within 20 ms; a process that is killed loses them.
// A slow writer blocks the callers. A Buffer is safe for concurrent use.
type Buffer struct {
	next io.Writer

	mu    sync.Mutex
	lines bytes.Buffer
	timer *time.Timer
}

// NewBuffer returns a Buffer that writes to next. Call Flush before the process ends.
func NewBuffer(next io.Writer) *Buffer {
	b := &Buffer{next: next}
	b.mu.Lock() // the timer may fire before it is assigned
	defer b.mu.Unlock()
	b.timer = time.AfterFunc(maxDelay, func() { _ = b.Flush() }) // there is nowhere to report the error
	return b
}

// Write buffers whole lines. It returns an error only if the buffer is full and
// writing it fails.
func (b *Buffer) Write(lines []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lines.Len() == 0 {
		b.timer.Reset(maxDelay)
	}
	b.lines.Write(lines)
	if b.lines.Len() >= maxBuffered {
		return len(lines), b.flush()
	}
	return len(lines), nil
}

// Flush writes the buffered lines. If the write fails, they are lost.
func (b *Buffer) Flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.flush()
}

func (b *Buffer) flush() error {
	b.timer.Stop()
	if b.lines.Len() == 0 {
		return nil
	}
	_, err := b.next.Write(b.lines.Bytes())
	b.lines.Reset()
	return err
}

// flushOnWarn flushes the buffer after each record of the level warn or above.
type flushOnWarn struct {
	slog.Handler

	buffer *Buffer
}

// Handle implements slog.Handler.
func (f flushOnWarn) Handle(ctx context.Context, r slog.Record) error {
	err := f.Handler.Handle(ctx, r)
	if err == nil && r.Level >= slog.LevelWarn {
		err = f.buffer.Flush()
	}
	return err
}

// WithAttrs implements slog.Handler.
func (f flushOnWarn) WithAttrs(attrs []slog.Attr) slog.Handler {
	return flushOnWarn{Handler: f.Handler.WithAttrs(attrs), buffer: f.buffer}
}

// WithGroup implements slog.Handler.
func (f flushOnWarn) WithGroup(name string) slog.Handler {
	return flushOnWarn{Handler: f.Handler.WithGroup(name), buffer: f.buffer}
}
