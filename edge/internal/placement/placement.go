package placement

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kith-crm/kith/observability/metrics"

	"github.com/kith-crm/kith/proto/connectheader"
)

// knownCredentials is how many credentials are remembered, at about 200 bytes each.
const knownCredentials = 65536

// Options are what a Placement works with. All but TLS and Lookup are required.
type Options struct {
	// URLs are the addresses of the backends: http(s)://host[:port]. A host with several addresses
	// is several backends.
	URLs []string
	// TLS is for https addresses; nil is Go's default.
	TLS *tls.Config
	// NewTransport returns the transport to one of the URLs.
	NewTransport func(*tls.Config) *http.Transport
	// SessionCookie is the name of the cookie with a member's login session.
	SessionCookie string
	// Reads reports whether a path is a procedure that changes nothing, so that its calls can be
	// repeated.
	Reads func(path string) bool
	// Chosen, if not nil, is called with the backend that answered a request, if there are several.
	Chosen func(ctx context.Context, backend string)
	Logger *slog.Logger
	Now    func() time.Time
	// Lookup returns the addresses of a host; the system's resolver if nil.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Placement is the transport to the backends. It is safe for concurrent use.
type Placement struct {
	options  Options
	sites    []site
	backends atomic.Pointer[[]*backend]            // at least one
	members  *lru.Cache[[sha256.Size]byte, string] // values of connectheader.Placement, by credential hash
	next     atomic.Uint64                         // round robin of calls without a member
	stop     context.CancelFunc                    // nil before Start
	stopped  chan struct{}
}

// New returns a Placement. It fails if an address is not http(s)://host[:port]. It does not connect.
func New(o Options) (*Placement, error) {
	members, err := lru.New[[sha256.Size]byte, string](knownCredentials)
	if err != nil {
		return nil, fmt.Errorf("remember credentials: %w", err)
	}
	if o.Lookup == nil {
		o.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	p := &Placement{options: o, members: members, stopped: make(chan struct{})}
	var backends []*backend
	for _, text := range o.URLs {
		s, err := newSite(text, o)
		if err != nil {
			return nil, err
		}
		p.sites = append(p.sites, s)
		backends = append(backends, &backend{site: s, host: s.base.Host})
	}
	if len(backends) == 0 {
		return nil, errors.New("place calls: there is no address of a backend")
	}
	p.backends.Store(&backends)
	return p, nil
}

// Knows reports whether the calls of a bearer already go to the backend of its member. If not, the
// answer to the bearer's next call identifies the member.
func (p *Placement) Knows(bearer string) bool {
	return len(*p.backends.Load()) < 2 || p.members.Contains(sha256.Sum256([]byte("Bearer "+bearer)))
}

// RoundTrip implements http.RoundTripper. The scheme and the host of the request's address are
// replaced by those of a backend.
func (p *Placement) RoundTrip(r *http.Request) (*http.Response, error) {
	credential, key := p.caller(r)
	order := p.order(key)
	var last error
	repeated := false
	for i, b := range order.tried {
		out, err := b.aim(r, i > 0)
		if err != nil {
			return nil, err
		}
		b.calls.Add(1)
		response, err := b.site.transport.RoundTrip(out)
		if err == nil {
			order.served(b)
			if p.options.Chosen != nil && len(*p.backends.Load()) > 1 {
				p.options.Chosen(r.Context(), b.host)
			}
			p.learn(credential, response)
			return response, nil
		}
		last = err
		if r.Context().Err() != nil {
			break // cancelled, or past the deadline
		}
		refused := failedIn(err, "dial")
		if refused {
			b.leaveOut(p.options.Logger, err)
		}
		// A backend does nothing before it has read the whole request.
		unsent := refused || failedIn(err, "write", "readfrom")
		if !replayable(r) || !unsent && (repeated || !p.repeatable(r)) {
			break
		}
		repeated = repeated || !unsent
	}
	return nil, last
}

// caller returns the hash of the request's credential, nil if there is none, and the key for
// rendezvous hashing: the member's, if a backend has sent it, or else the hash.
func (p *Placement) caller(r *http.Request) (credential *[sha256.Size]byte, key string) {
	if r.Header.Get(connectheader.SandboxVisitor) != "" {
		return nil, "" // all visitors of the sandbox share one small account
	}
	secret := r.Header.Get("Authorization")
	if secret == "" {
		cookie, err := r.Cookie(p.options.SessionCookie)
		if err != nil {
			return nil, ""
		}
		secret = cookie.Value
	}
	sum := sha256.Sum256([]byte(secret))
	if member, ok := p.members.Get(sum); ok {
		return &sum, member
	}
	return &sum, string(sum[:])
}

// learn remembers the member of an answered request's credential, and of a session that the answer
// begins.
func (p *Placement) learn(credential *[sha256.Size]byte, response *http.Response) {
	member := response.Header.Get(connectheader.Placement)
	if member == "" {
		return
	}
	if credential != nil {
		p.members.Add(*credential, member)
	}
	for _, cookie := range response.Cookies() {
		if cookie.Name == p.options.SessionCookie && cookie.Value != "" {
			p.members.Add(sha256.Sum256([]byte(cookie.Value)), member)
		}
	}
}

// repeatable reports whether a request may be sent again although a backend may have served it: a
// read, or a call that the backend recognises by its idempotency key.
func (p *Placement) repeatable(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead || p.options.Reads(r.URL.Path) || r.Header.Get(connectheader.IdempotencyKey) != ""
}

// replayable reports whether the request's body can be sent again.
func replayable(r *http.Request) bool {
	return r.Body == nil || r.Body == http.NoBody || r.GetBody != nil
}

// failedIn reports whether one of the operations of [net.OpError] failed.
func failedIn(err error, operations ...string) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && slices.Contains(operations, failed.Op)
}

// States returns the state of each backend, for metrics.
func (p *Placement) States() []metrics.BackendState {
	var states []metrics.BackendState
	for _, b := range *p.backends.Load() {
		states = append(states, metrics.BackendState{
			Backend: b.host, Up: !b.down.Load(), Calls: b.calls.Load(), Fallbacks: b.fallbacks.Load(),
		})
	}
	return states
}
