package exchange

import (
	"context"
	"log/slog"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// Exchange is one request and its answer. It belongs to the goroutine that
// serves the request; only RequestID, which never changes, may be read elsewhere.
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

	attrs []slog.Attr
}

// Note adds attributes to the request's log line. They must come from closed
// sets or from the service itself: never a query, a body or a credential.
func (e *Exchange) Note(attrs ...slog.Attr) { e.attrs = append(e.attrs, attrs...) }

// Recognise notes the caller's live credential.
func (e *Exchange) Recognise(credentialID string) {
	e.Credential = credentialID
	e.Note(slog.String("credential", credentialID))
}

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
