package parting

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// DefaultPatience is how long a server waits for callers who do not ask again.
const DefaultPatience = 500 * time.Millisecond

// interval is how often it looks whether they have gone.
const interval = 5 * time.Millisecond

// Parting is how a server leaves.
type Parting struct {
	// Patience is how long Leave waits at most. Defaults to DefaultPatience.
	Patience time.Duration
	// MaxAge is how old a connection becomes, and up to a tenth more, so that not all
	// end together: the first answer after that is its last one. Callers connect anew,
	// and so reach processes that were added since. 0 is no bound. It is set before
	// the server serves.
	MaxAge time.Duration

	server  *http.Server
	leaving atomic.Bool
	open    atomic.Int64 // connections
}

// New prepares a server that does not serve yet. It takes the server's ConnState and
// ConnContext.
func New(s *http.Server) *Parting {
	p := &Parting{Patience: DefaultPatience, server: s}
	next := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.leaving.Load() || p.isOld(r.Context()) {
			w.Header().Set("Connection", "close") // HTTP/2 sends a GOAWAY for it
		}
		next.ServeHTTP(w, r)
	})
	s.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		if p.MaxAge <= 0 {
			return ctx
		}
		return context.WithValue(ctx, oldKey{}, time.Now().Add(p.MaxAge+rand.N(p.MaxAge/10+1))) //nolint:gosec // no secret
	}
	s.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			p.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			p.open.Add(-1)
		case http.StateActive, http.StateIdle:
		}
	}
	return p
}

// oldKey is the key of the time from which a connection is old.
type oldKey struct{}

// isOld tells whether the connection of a request is older than MaxAge.
func (p *Parting) isOld(ctx context.Context) bool {
	old, bounded := ctx.Value(oldKey{}).(time.Time)
	return bounded && time.Now().After(old)
}

// Leave closes the listener, so that Serve returns net.ErrClosed, waits until all
// callers have gone or Patience is at its end, and shuts the server down: requests
// under way are finished. Those that are not when ctx ends are cut off, and the error
// is ctx's.
func (p *Parting) Leave(ctx context.Context, listener net.Listener) error {
	p.leaving.Store(true)
	_ = listener.Close() // nobody comes any more, whatever it says
	p.wait(ctx)
	err := p.server.Shutdown(ctx)
	if err == nil || errors.Is(err, net.ErrClosed) { // Serve may not have noticed yet that its listener is
		return nil
	}
	_ = p.server.Close() // the error that counts is the one above
	return err
}

func (p *Parting) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.Patience)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for p.open.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
