package logging

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// delay is how long a line may wait for others.
	delay = 20 * time.Millisecond
	// enough is how many bytes do not wait.
	enough = 32 << 10
)

// Buffer has the lines of busy moments written together: writing each by itself
// costs as much again as making it, and whoever answers requests would wait for it.
//
// A line of the level warn or above is written before the logger's call returns, and
// so is what came before it. Others wait for 20 ms at most; a process that is killed
// loses those. A writer that cannot keep up is waited for. A Buffer is safe for
// concurrent use.
type Buffer struct {
	next io.Writer
	// writing is held during a write, and taken before mu: batches stay in order.
	writing sync.Mutex
	spare   []byte

	mu    sync.Mutex
	lines []byte
	timer *time.Timer
}

// NewBuffer returns a Buffer in front of a writer. Flush it before the end.
func NewBuffer(next io.Writer) *Buffer {
	b := &Buffer{next: next}
	b.timer = time.AfterFunc(time.Hour, func() { _ = b.Flush() }) // nobody is left to tell
	b.timer.Stop()
	return b
}

// Write takes lines, whole ones. It fails only where it is the one to write what
// was gathered.
func (b *Buffer) Write(lines []byte) (int, error) {
	b.mu.Lock()
	if len(b.lines) == 0 {
		b.timer.Reset(delay)
	}
	b.lines = append(b.lines, lines...)
	full := len(b.lines) >= enough
	b.mu.Unlock()
	if full {
		return len(lines), b.Flush()
	}
	return len(lines), nil
}

// Flush writes what was gathered. What the writer does not take is lost.
func (b *Buffer) Flush() error {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	b.timer.Stop()
	lines := b.lines
	b.lines = b.spare[:0]
	b.mu.Unlock()
	b.spare = lines
	if len(lines) == 0 {
		return nil
	}
	_, err := b.next.Write(lines)
	return err
}

// prompt flushes after records that should not wait.
type prompt struct {
	slog.Handler

	buffer *Buffer
}

// Handle implements slog.Handler.
func (p prompt) Handle(ctx context.Context, r slog.Record) error {
	err := p.Handler.Handle(ctx, r)
	if err == nil && r.Level >= slog.LevelWarn {
		err = p.buffer.Flush()
	}
	return err
}

// WithAttrs implements slog.Handler.
func (p prompt) WithAttrs(attrs []slog.Attr) slog.Handler {
	return prompt{Handler: p.Handler.WithAttrs(attrs), buffer: p.buffer}
}

// WithGroup implements slog.Handler.
func (p prompt) WithGroup(name string) slog.Handler {
	return prompt{Handler: p.Handler.WithGroup(name), buffer: p.buffer}
}
