package ratelimit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/clientip"
	"github.com/kith-crm/kith/edge/internal/requestlog"
)

// knownCredentials is how many bearers are remembered with their credentials.
const knownCredentials = 8192

// Options configure a limiter. All but Observe are required.
type Options struct {
	// Policies are the policies in force; a policy that is off limits nothing.
	Policies []Policy
	Store    Store
	Clients  *clientip.Resolver
	Logger   *slog.Logger
	// Observe is called for each decision with the number of hits admitted and refused.
	Observe func(policy string, admitted, refused int)
}

// Limiter applies the rate policies to requests. It is safe for concurrent use.
//
// Policies that count credentials use the stable id that the backend gives a
// grant or a token, never the bearer itself: a refreshed token must not start a
// new window. The limiter learns the id of a bearer from the backend's answers. Until
// then a bearer counts for itself, so that the address of a caller never refuses the first request of
// a live token; once learned, these requests count for the credential as well. A bearer that is not
// valid counts on the caller's address. The credentials of one member share membersShare times the
// quota.
type Limiter struct {
	options  Options
	policies map[string]Policy
	callers  *lru.Cache[[sha256.Size]byte, caller] // by the hashes of bearers
}

// caller is what the backend said about a bearer: its credential and its member. Both are empty for a
// bearer that is not valid.
type caller struct{ credential, member string }

// membersShare is how many times a credential's quota all credentials of a member have together.
const membersShare = 5

// New returns a limiter. It fails if a policy cannot be enforced.
func New(o Options) (*Limiter, error) {
	callers, err := lru.New[[sha256.Size]byte, caller](knownCredentials)
	if err != nil {
		return nil, fmt.Errorf("remember credentials: %w", err)
	}
	l := &Limiter{options: o, policies: make(map[string]Policy, len(o.Policies)), callers: callers}
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

// Limit counts a request under a policy, writes the RateLimit headers and reports
// whether the request may go on. The request's context comes from NewContext.
func (l *Limiter) Limit(w http.ResponseWriter, r *http.Request, policy string) bool {
	if p := l.policies[policy]; !p.Enabled() {
		return true
	}
	d := l.decide(r, policy, 1)
	announce(w, r, d)
	return d.Allowed
}

// TakeN counts n parts of a request under a policy. It returns how many parts are
// admitted, starting with the first, and when the window ends. It writes the RateLimit
// headers, but does not refuse the request as a whole.
func (l *Limiter) TakeN(w http.ResponseWriter, r *http.Request, policy string, n int) (admitted int, reset time.Duration) {
	d := l.decide(r, policy, n)
	admitted = d.Admitted
	d.Allowed, d.Part = true, true
	announce(w, r, d)
	return admitted, time.Duration(d.Reset) * time.Second
}

func announce(w http.ResponseWriter, r *http.Request, d Decision) {
	state := fromContext(r.Context())
	state.decisions = append(state.decisions, d)
	WriteHeaders(w.Header(), state.decisions...)
}

func (l *Limiter) decide(r *http.Request, name string, n int) Decision {
	p := l.policies[name]
	key, who := l.key(r, p)
	if who == nil && p.Enabled() {
		state := fromContext(r.Context())
		state.unknown = append(state.unknown, hits{p, n})
	}
	d, err := Decide(r.Context(), l.options.Store, p, key, n)
	if err == nil && who != nil && who.member != "" && d.Admitted > 0 {
		var all Decision
		all, err = Decide(r.Context(), l.options.Store, ofMember(p), who.member, d.Admitted)
		if err == nil && (all.Remaining < d.Remaining || all.Admitted < d.Admitted) { // only the tighter one is told
			all.Allowed = all.Admitted == n
			d = all
		}
	}
	if err != nil { // Redis is down and there is no fallback: do not refuse requests for that
		l.logUncounted(r, name, err)
		return Decision{Allowed: true, Admitted: n}
	}
	if l.options.Observe != nil && p.Enabled() {
		l.options.Observe(name, d.Admitted, n-d.Admitted)
	}
	return d
}

// ofMember returns the policy for the sum of the calls with any credential of a member.
func ofMember(p Policy) Policy {
	p.Name, p.Quota = p.Name+"-member", min(membersShare*p.Quota, MaxQuota)
	return p
}

// key is the credential id, the bearer or the address that the policy counts, and who the caller is:
// nil for a bearer that is not known yet.
func (l *Limiter) key(r *http.Request, p Policy) (string, *caller) {
	var who caller
	if token := bearer.Read(r.Header).Token; p.By == Credential && token != "" {
		sum := sha256.Sum256([]byte(token))
		var known bool
		if who, known = l.callers.Get(sum); !known {
			return "bearer " + string(sum[:]), nil
		}
	}
	return cmp.Or(who.credential, l.options.Clients.Resolve(r).Bucket), &who
}

// Learn stores what the backend has returned about the request's bearer, and counts the request for
// its credential, or for its address if the bearer is not valid, unless Limit has done so.
func (l *Limiter) Learn(r *http.Request) {
	e, token := requestlog.FromContext(r.Context()), bearer.Read(r.Header).Token
	if token == "" || e.Demo || !e.Dead && e.Credential == "" { // of the demo account's calls, the caller's bearer is ignored
		return
	}
	var who caller
	if !e.Dead {
		who = caller{e.Credential, e.Member}
	}
	l.callers.Add(sha256.Sum256([]byte(token)), who)
	for _, h := range fromContext(r.Context()).unknown {
		_, err := Decide(r.Context(), l.options.Store, h.policy, cmp.Or(who.credential, l.options.Clients.Resolve(r).Bucket), h.n)
		if err == nil && who.member != "" {
			_, err = Decide(r.Context(), l.options.Store, ofMember(h.policy), who.member, h.n)
		}
		if err != nil {
			l.logUncounted(r, h.policy.Name, err)
		}
	}
}

func (l *Limiter) logUncounted(r *http.Request, policy string, err error) {
	l.options.Logger.LogAttrs(r.Context(), slog.LevelError, "rate limit not counted",
		slog.String("request_id", requestlog.RequestID(r.Context())), slog.String("policy", policy), slog.String("error", err.Error()))
}

// requestState is shared by all decisions of one request.
type requestState struct {
	decisions []Decision
	unknown   []hits       // counted for a bearer that was not known
	spent     atomic.Int64 // nanoseconds that were spent waiting for Redis
}

// hits are n hits under a policy.
type hits struct {
	policy Policy
	n      int
}

type contextKey struct{}

// NewContext returns a context for one request. The headers of its answer show all
// decisions that were made with it, and all calls of Fallback.Take with it together
// wait for Redis no longer than one call may.
func NewContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, &requestState{})
}

// fromContext returns the state that ctx carries, a new one if there is none.
func fromContext(ctx context.Context) *requestState {
	if s, ok := ctx.Value(contextKey{}).(*requestState); ok {
		return s
	}
	return &requestState{}
}

// Violated returns the names of the policies that refused the request of ctx.
func Violated(ctx context.Context) []string {
	var names []string
	for _, d := range fromContext(ctx).decisions {
		if !d.Allowed {
			names = append(names, d.Policy.Name)
		}
	}
	return names
}

// Decision says whether a policy admits a request now. The headers are made from decisions only.
// WriteHeaders ignores the zero value.
type Decision struct {
	// Policy is the policy of the decision.
	Policy Policy
	// Allowed is false if this policy refuses the request with a 429. The handler sets it to true
	// if the answer has another status, as for a batch of which only some items were refused.
	Allowed bool
	// Part is set if the hits are parts of the request, such as the items of a batch. The headers about
	// a single policy are about the request as a whole.
	Part bool
	// Admitted is how many of the hits were admitted, starting with the first.
	Admitted int
	// Remaining is how many more hits the window admits, at least 0.
	Remaining int
	// Reset is in seconds, rounded up, at least 1: the time in which no more than Remaining
	// hits will be admitted. A refused caller should wait that long.
	Reset int
}

// Decide takes n hits of key under p from the store; it is allowed when all of
// them are admitted. A policy that is off admits everything, and its decision
// has no headers. The error is the store's.
func Decide(ctx context.Context, s Store, p Policy, key string, n int) (Decision, error) {
	if !p.Enabled() {
		return Decision{Policy: p, Allowed: true, Admitted: n}, nil
	}
	taken, err := s.Take(ctx, p, key, n)
	if err != nil {
		return Decision{}, err
	}
	return Decision{
		Policy:    p,
		Allowed:   taken.Admitted == n,
		Admitted:  taken.Admitted,
		Remaining: max(0, taken.Remaining),
		Reset:     seconds(taken.Reset),
	}, nil
}

// seconds rounds up, and never to 0: "r=0;t=0" would tell a refused caller to
// come back at once.
func seconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}

// The headers, spelt as in the specification. Go's own canonical form would be
// "Ratelimit"; see WriteHeaders.
const (
	HeaderLimits    = "RateLimit"
	HeaderPolicies  = "RateLimit-Policy"
	headerLimit     = "RateLimit-Limit"
	headerRemaining = "RateLimit-Remaining"
	headerReset     = "RateLimit-Reset"
	headerRetry     = "Retry-After"
)

// Headers returns the names of the headers that every answer of a limited path has.
func Headers() []string {
	return []string{HeaderLimits, HeaderPolicies, headerLimit, headerRemaining, headerReset}
}

// WriteHeaders writes the decisions of a request to the headers of its answer:
//
//	RateLimit: "mcp-sandbox";r=0;t=17
//	RateLimit-Policy: "mcp-sandbox";q=60;w=60
//	RateLimit-Limit: 60
//	RateLimit-Remaining: 0
//	RateLimit-Reset: 17
//	Retry-After: 17                              (only if one is not Allowed)
//
// The first two are lists with a member for each decision, in the order given;
// the next three show the tightest, of parts only if there are no others. A caller that waits for Retry-After is not refused
// by any of the others either. Policies that are off are left out; with no other,
// nothing is written. A later call replaces what an earlier one wrote, but never
// takes back a Retry-After.
//
// The bytes are those of draft-ietf-httpapi-ratelimit-headers. The names have the
// specification's spelling in h, which Get, Set and Del do not find: read them
// with h["RateLimit"].
func WriteHeaders(h http.Header, decisions ...Decision) {
	tightest, refused := summarise(decisions)
	if !tightest.Policy.Enabled() {
		return
	}
	var room [256]byte
	b := appendLimits(room[:0], decisions)
	limits := len(b)
	b = appendPolicies(b, decisions)
	policies := len(b)
	b = strconv.AppendInt(b, int64(tightest.Policy.Quota), 10)
	limit := len(b)
	b = strconv.AppendInt(b, int64(tightest.Remaining), 10)
	remaining := len(b)
	b = strconv.AppendInt(b, int64(tightest.Reset), 10)

	// All values are parts of one string and of one array.
	s := string(b)
	values := [...]string{s[:limits], s[limits:policies], s[policies:limit], s[limit:remaining], s[remaining:], s[remaining:]}
	h[HeaderLimits] = values[0:1:1]
	h[HeaderPolicies] = values[1:2:2]
	h[headerLimit] = values[2:3:3]
	h[headerRemaining] = values[3:4:4]
	h[headerReset] = values[4:5:5]
	if refused {
		h[headerRetry] = values[5:6:6]
	}
}

// summarise returns the tightest decision, which has the least remaining and, of equal ones, the
// longest reset; any other is tighter than that of a part. It also reports whether any decision refuses. A decision that refuses has none
// remaining, so its reset is at most that of the tightest.
func summarise(decisions []Decision) (tightest Decision, refused bool) {
	for i := range decisions {
		d := &decisions[i]
		if !d.Policy.Enabled() {
			continue
		}
		refused = refused || !d.Allowed
		tighter := d.Remaining < tightest.Remaining || d.Remaining == tightest.Remaining && d.Reset > tightest.Reset
		if d.Part != tightest.Part {
			tighter = tightest.Part
		}
		if tighter || !tightest.Policy.Enabled() {
			tightest = *d
		}
	}
	return tightest, refused
}

func appendLimits(b []byte, decisions []Decision) []byte {
	start := len(b)
	for i := range decisions {
		if d := &decisions[i]; d.Policy.Enabled() {
			b = appendName(b, start, d.Policy.Name)
			b = append(b, ";r="...)
			b = strconv.AppendInt(b, int64(d.Remaining), 10)
			b = append(b, ";t="...)
			b = strconv.AppendInt(b, int64(d.Reset), 10)
		}
	}
	return b
}

func appendPolicies(b []byte, decisions []Decision) []byte {
	start := len(b)
	for i := range decisions {
		if d := &decisions[i]; d.Policy.Enabled() {
			b = appendName(b, start, d.Policy.Name)
			b = append(b, ";q="...)
			b = strconv.AppendInt(b, int64(d.Policy.Quota), 10)
			b = append(b, ";w="...)
			b = strconv.AppendInt(b, int64(d.Policy.Window/time.Second), 10)
		}
	}
	return b
}

// appendName begins a list member with the quoted name, which Policy.Validate
// has found to need no escapes.
func appendName(b []byte, start int, name string) []byte {
	if len(b) > start {
		b = append(b, ", "...)
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"')
}

// Enabled reports whether the policy limits anything.
func (p Policy) Enabled() bool { return p.Quota > 0 }
