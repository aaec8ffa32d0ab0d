package publicapi

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/singleflight"
)

// sharedTimeout bounds a read that several callers wait for.
const sharedTimeout = 10 * time.Second

// shared makes one read for all callers who ask for the same at the same time.
// The zero value is ready to use. It is safe for concurrent use.
type shared struct {
	flights singleflight.Group
}

// do returns what read returns. The read does not end with the caller who started
// it, because others may wait for it too: it has sharedTimeout. Each caller waits
// until its own context ends, and then gets that context's error.
func (s *shared) do(ctx context.Context, key string, read func(context.Context) (any, error)) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start a shared read: %w", err)
	}
	done := s.flights.DoChan(key, func() (value any, err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedTimeout)
		defer cancel()
		defer func() { // nobody above this goroutine would catch it
			if cause := recover(); cause != nil {
				err = fmt.Errorf("panic in a shared read: %v\n%s", cause, debug.Stack())
			}
		}()
		return read(ctx)
	})
	select {
	case result := <-done:
		return result.Val, result.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a shared read: %w", ctx.Err())
	}
}
