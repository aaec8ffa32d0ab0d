// Package limiter applies the rate policies to requests: it finds out whom to
// count, asks the store, and has the answer tell of the decision.
//
// Limits by credential are keyed by the stable id that the backend gives a
// grant or a token, never by the bearer: an hourly refresh must buy no new
// budget. Which bearer has which id is learned from the backend's answers; until
// then, and for a bearer that is dead, the caller's address is counted.
package limiter

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/clientip"
	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// Observer counts decisions; *metrics.RateLimits is one.
type Observer interface {
	// Observe is called for each decision, with the number of hits refused.
	Observe(policy string, admitted, refused int)
}

// Options are what a limiter works with. All but Observer are required.
type Options struct {
	// Policies are those in force; a policy that is off limits nothing.
	Policies []ratelimit.Policy
	Store    ratelimit.Store
	Clients  *clientip.Resolver
	Logger   *slog.Logger
	Observer Observer
}

// Limiter counts requests. It is safe for concurrent use.
type Limiter struct {
	options     Options
	policies    map[string]ratelimit.Policy
	credentials *credentials
}

// New returns a limiter. It fails if a policy cannot be enforced.
func New(o Options) (*Limiter, error) {
	l := &Limiter{options: o, policies: make(map[string]ratelimit.Policy, len(o.Policies)), credentials: newCredentials()}
	for _, p := range o.Policies {
		if err := p.Validate(); err != nil {
			return nil, err
		}
		l.policies[p.Name] = p
	}
	return l, nil
}

// Check fails if there is no such policy.
func (l *Limiter) Check(policy string) error {
	if _, ok := l.policies[policy]; !ok {
		return fmt.Errorf("there is no rate policy %q", policy)
	}
	return nil
}

// Limit counts a request under a policy, writes the headers that tell of it and
// reports whether the request may go on.
func (l *Limiter) Limit(w http.ResponseWriter, r *http.Request, policy string) bool {
	if p := l.policies[policy]; !p.Enabled() {
		return true
	}
	d := l.decide(r, policy, 1)
	l.announce(w, r, d)
	return d.Allowed
}

// TakeN counts n parts of a request under a policy. It returns how many of them,
// from the first, are admitted, and when the window ends. The answer tells of the
// decision, but is not refused for it.
func (l *Limiter) TakeN(w http.ResponseWriter, r *http.Request, policy string, n int) (admitted int, reset time.Duration) {
	d := l.decide(r, policy, n)
	admitted = d.Admitted
	d.Allowed = true
	l.announce(w, r, d)
	return admitted, time.Duration(d.Reset) * time.Second
}

func (l *Limiter) announce(w http.ResponseWriter, r *http.Request, d ratelimit.Decision) {
	e := exchange.FromContext(r.Context())
	e.Decisions = append(e.Decisions, d)
	ratelimit.WriteHeaders(w.Header(), e.Decisions...)
}

func (l *Limiter) decide(r *http.Request, name string, n int) ratelimit.Decision {
	p := l.policies[name]
	d, err := ratelimit.Decide(r.Context(), l.options.Store, p, l.key(r, p), n)
	if err != nil { // a bare Redis without a fallback is down: an outage of ours refuses nobody
		l.options.Logger.LogAttrs(r.Context(), slog.LevelError, "rate limit not counted",
			slog.String("request_id", exchange.RequestID(r.Context())), slog.String("policy", name), slog.String("error", err.Error()))
		return ratelimit.Decision{Allowed: true, Admitted: n}
	}
	if l.options.Observer != nil && p.Enabled() {
		l.options.Observer.Observe(name, d.Admitted, n-d.Admitted)
	}
	return d
}

// key is whom the policy counts.
func (l *Limiter) key(r *http.Request, p ratelimit.Policy) string {
	if p.By == ratelimit.Credential {
		if id, ok := l.credentials.find(bearer.Read(r.Header).Token); ok {
			return id
		}
	}
	return l.options.Clients.Resolve(r).Bucket
}

// Learn takes from an answered request whose credential it carried.
func (l *Limiter) Learn(r *http.Request) {
	e := exchange.FromContext(r.Context())
	switch {
	case e.Dead:
		l.credentials.forget(bearer.Read(r.Header).Token)
	case e.Credential != "":
		l.credentials.keep(bearer.Read(r.Header).Token, e.Credential)
	}
}
