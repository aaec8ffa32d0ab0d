package exchange

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// Exchange is one request and its answer. It belongs to the goroutine that
// serves the request; only RequestID, which never changes, may be read elsewhere,
// and Await called.
type Exchange struct {
	// RequestID is sent back to the caller and forwarded to the backend.
	RequestID string
	// Route is the name of the route that matched, "" if none did.
	Route string
	// Decisions are those of the rate limits that the request was counted under.
	Decisions []ratelimit.Decision
	// Credential is the stable id of the caller's credential, once the backend has
	// told it; Dead says that the backend called the credential dead.
	Credential string
	Dead       bool
	// Demo says that the demo account's credential was taken, not the caller's.
	Demo bool
	// HandedOn says that the backend answers, and looks who calls.
	HandedOn bool

	awaited atomic.Int64 // nanoseconds
	attrs   []slog.Attr
	limiter Limiter
	waited  time.Duration
	writer  http.ResponseWriter
}

// Limiter bounds the requests that are worked on; *concurrency.Limiter is one.
type Limiter interface {
	AcquireMore(ctx context.Context, n int, waited time.Duration) bool
	ReleaseMore(n int)
	Suspend()
	Resume()
}

// Admit notes the limiter that counts the request, how long the request waited for
// its turn, and the writer of its answer.
func (e *Exchange) Admit(l Limiter, waited time.Duration, w http.ResponseWriter) {
	e.limiter, e.waited, e.writer = l, waited, w
}

// AcquireMore has the request count as n more until release is called, because it
// is worked on in as many places. It waits for room, and reports whether there is.
func (e *Exchange) AcquireMore(ctx context.Context, n int) (release func(), ok bool) {
	if e.limiter == nil {
		return func() {}, true
	}
	return func() { e.limiter.ReleaseMore(n) }, e.limiter.AcquireMore(ctx, n, e.waited)
}

// Suspend has the request not count while it waits for something that takes no
// work, until resume is called. It may take longer than a request has otherwise.
func (e *Exchange) Suspend() (resume func()) {
	if e.limiter == nil {
		return func() {}
	}
	// net/http watches for the end of the connection under the deadline of the
	// request's body, which was read long ago. Not every writer has one.
	_ = http.NewResponseController(e.writer).SetReadDeadline(time.Time{})
	e.limiter.Suspend()
	return e.limiter.Resume
}

// Note adds attributes to the request's log line. They must come from closed
// sets or from the service itself: never a query, a body or a credential.
func (e *Exchange) Note(attrs ...slog.Attr) { e.attrs = append(e.attrs, attrs...) }

// Recognise notes the caller's live credential.
func (e *Exchange) Recognise(credentialID string) {
	e.Credential = credentialID
	e.Note(slog.String("credential", credentialID))
}

// The kinds of principals.
const (
	Anonymous  = "anonymous"
	Demo       = "demo"
	Credential = "credential"
)

// Principal tells what kind of caller it was, or "" where only the backend knows.
func (e *Exchange) Principal() string {
	switch {
	case e.HandedOn:
		return ""
	case e.Demo:
		return Demo
	case e.Credential != "":
		return Credential
	default:
		return Anonymous
	}
}

// Await adds time that was spent waiting for the backend. It may be called from any
// goroutine: what waits at the same time is added up.
func (e *Exchange) Await(d time.Duration) { e.awaited.Add(int64(d)) }

// Awaited is the time spent waiting for the backend.
func (e *Exchange) Awaited() time.Duration { return time.Duration(e.awaited.Load()) }

// Attrs returns what was noted.
func (e *Exchange) Attrs() []slog.Attr { return e.attrs }

type contextKey struct{}

// NewContext returns a context that carries e.
func NewContext(ctx context.Context, e *Exchange) context.Context {
	return context.WithValue(ctx, contextKey{}, e)
}

// FromContext returns the exchange that ctx carries. Without one, as in the test
// of a single handler, it returns a new one that nobody reads.
func FromContext(ctx context.Context) *Exchange {
	if e, ok := ctx.Value(contextKey{}).(*Exchange); ok {
		return e
	}
	return &Exchange{}
}

// RequestID returns the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string { return FromContext(ctx).RequestID }
