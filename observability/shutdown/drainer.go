package shutdown

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// DefaultTimeout is the default of Drainer.Timeout.
const DefaultTimeout = 500 * time.Millisecond

// pollInterval is how often Drain checks whether all connections are closed.
const pollInterval = 5 * time.Millisecond

// Drainer shuts down one HTTP server.
type Drainer struct {
	// Timeout bounds how long Drain waits for idle connections. Defaults to DefaultTimeout.
	Timeout time.Duration
	// MaxAge is the maximum age of a connection; a random tenth of it is added, so that
	// connections do not all close together. The first response after that closes the
	// connection. Clients then connect again, also to processes that were added since.
	// 0 means no limit. Set it before the server starts.
	MaxAge time.Duration

	server   *http.Server
	draining atomic.Bool
	open     atomic.Int64 // connections
}

// New returns a Drainer of a server that has not started. It wraps the server's
// Handler, and sets its ConnState and ConnContext.
func New(s *http.Server) *Drainer {
	d := &Drainer{Timeout: DefaultTimeout, server: s}
	next := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.draining.Load() || expired(r.Context()) {
			w.Header().Set("Connection", "close") // HTTP/2 sends GOAWAY for it
		}
		next.ServeHTTP(w, r)
	})
	s.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		if d.MaxAge <= 0 {
			return ctx
		}
		return context.WithValue(ctx, expiryKey{}, time.Now().Add(d.MaxAge+rand.N(d.MaxAge/10+1))) //nolint:gosec // no secret
	}
	s.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			d.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			d.open.Add(-1)
		case http.StateActive, http.StateIdle:
		}
	}
	return d
}

// expiryKey is the context key of the time at which a connection reaches its maximum age.
type expiryKey struct{}

// expired reports whether the connection of a request has reached its maximum age.
func expired(ctx context.Context) bool {
	at, ok := ctx.Value(expiryKey{}).(time.Time)
	return ok && time.Now().After(at)
}

// Drain shuts the server down in three steps. It closes the listener, after which Serve
// returns net.ErrClosed. It waits until all connections are closed, for Timeout at most.
// Then it calls Shutdown, which lets requests in progress finish. If ctx ends first, Drain
// closes the remaining connections and returns ctx's error.
func (d *Drainer) Drain(ctx context.Context, listener net.Listener) error {
	d.draining.Store(true)
	_ = listener.Close() // even on an error, no more connections are accepted
	d.wait(ctx)
	err := d.server.Shutdown(ctx)
	if err == nil || errors.Is(err, net.ErrClosed) { // Serve may not have noticed yet that the listener is closed
		return nil
	}
	_ = d.server.Close() // the error above is the one to return
	return err
}

// wait returns when no connection is open, after Timeout, or when ctx ends.
func (d *Drainer) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for d.open.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
