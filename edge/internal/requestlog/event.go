// Package requestlog carries the data of one HTTP request while it is served: its id, the route
// that matched, and the attributes of its log line.
//
// The outermost handler makes one Event for each request and logs it once at the end; the inner
// handlers fill it in. The package writes no headers, logs or metrics itself.
package requestlog

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
)

// Event is one request and its answer. Only the goroutine that serves the request may use it;
// other goroutines may only read RequestID, which never changes, and call Await.
type Event struct {
	// RequestID is sent back to the caller and forwarded to the backend.
	RequestID string
	// Route is the name of the route that matched, "" if none did.
	Route string
	// Credential is the stable id of the caller's credential, once the backend has returned it.
	// Dead is set if the backend says that the credential is not valid.
	Credential string
	Dead       bool
	// Member is the same opaque text for all credentials of the member, once the backend has returned it.
	Member string
	// Demo is set if the demo account's credential was used, not the caller's.
	Demo bool
	// Proxied is set if the backend answers the request and authenticates the caller.
	Proxied bool

	awaited, suspended atomic.Int64 // nanoseconds
	backend            atomic.Pointer[string]
	attrs              []slog.Attr
	limiter            Limiter
	waited             time.Duration
	writer             http.ResponseWriter
}

// Limiter bounds the number of concurrent requests; it is a
// *middleware.ConcurrencyLimiter.
type Limiter interface {
	AcquireMore(ctx context.Context, n int, waited time.Duration) bool
	ReleaseMore(n int)
	Suspend()
	Resume()
}

// Admit records the limiter that counts the request, how long the request waited to be
// admitted, and the writer of its answer.
func (e *Event) Admit(l Limiter, waited time.Duration, w http.ResponseWriter) {
	e.limiter, e.waited, e.writer = l, waited, w
}

// AcquireMore makes the request count as n more requests until release is called, because n more
// goroutines serve it. It waits for free places, and reports whether it got them.
func (e *Event) AcquireMore(ctx context.Context, n int) (release func(), ok bool) {
	if e.limiter == nil {
		return func() {}, true
	}
	return func() { e.limiter.ReleaseMore(n) }, e.limiter.AcquireMore(ctx, n, e.waited)
}

// Suspend gives back the request's place in the limiter until resume is called, for waits that need
// no processor. The wait may last longer than the server's read timeout.
func (e *Event) Suspend() (resume func()) {
	if e.limiter == nil {
		return func() {}
	}
	// net/http reads from the connection to notice that the caller disconnects. The read
	// deadline, which is for the body, would end that early. Not every writer has one.
	_ = http.NewResponseController(e.writer).SetReadDeadline(time.Time{})
	e.limiter.Suspend()
	began := time.Now()
	return func() {
		e.suspended.Add(int64(time.Since(began)))
		e.limiter.Resume()
	}
}

// Note adds attributes to the request's log line. They must come from closed
// sets or from the service itself: never a query, a body or a credential.
func (e *Event) Note(attrs ...slog.Attr) { e.attrs = append(e.attrs, attrs...) }

// SetCredential records the caller's live credential.
func (e *Event) SetCredential(id string) {
	e.Credential = id
	e.Note(slog.String("credential", id))
}

// The kinds of callers.
const (
	Anonymous  = "anonymous"
	Demo       = "demo"
	Credential = "credential"
)

// Principal returns the kind of caller, or "" if only the backend knows it.
func (e *Event) Principal() string {
	switch {
	case e.Proxied:
		return ""
	case e.Demo:
		return Demo
	case e.Credential != "":
		return Credential
	default:
		return Anonymous
	}
}

// Await adds time that was spent waiting for the backend. Any goroutine may call it; the
// times of concurrent calls are summed.
func (e *Event) Await(d time.Duration) { e.awaited.Add(int64(d)) }

// Awaited returns the time spent waiting for the backend.
func (e *Event) Awaited() time.Duration { return time.Duration(e.awaited.Load()) }

// several is the backend of a request that more than one answered, such as a batch.
var several = "several"

// SetBackend records the backend that answered. Any goroutine may call it.
func (e *Event) SetBackend(host string) {
	if !e.backend.CompareAndSwap(nil, &host) && *e.backend.Load() != host {
		e.backend.Store(&several)
	}
}

// Backend returns the backend that answered, "several", or "" if it is the only one or none answered.
func (e *Event) Backend() string {
	if host := e.backend.Load(); host != nil {
		return *host
	}
	return ""
}

// Suspended returns how long the request was suspended.
func (e *Event) Suspended() time.Duration { return time.Duration(e.suspended.Load()) }

// Attrs returns the attributes that Note added.
func (e *Event) Attrs() []slog.Attr { return e.attrs }

type contextKey struct{}

// NewContext returns a context that carries e.
func NewContext(ctx context.Context, e *Event) context.Context {
	return context.WithValue(ctx, contextKey{}, e)
}

// FromContext returns the event that ctx carries. Without one, as in the test
// of a single handler, it returns a new one that is not logged.
func FromContext(ctx context.Context) *Event {
	if e, ok := ctx.Value(contextKey{}).(*Event); ok {
		return e
	}
	return &Event{}
}

// RequestID returns the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string { return FromContext(ctx).RequestID }
