package account

import (
	"net/netip"
	"strings"
	"time"
)

// RatePolicy limits password attempts in fixed windows. Its zero value means no limit.
type RatePolicy struct {
	// Quota is how many attempts a window allows; 0 means no limit.
	Quota  int
	Window time.Duration
}

// DefaultLogin is the login policy unless the operator sets another.
func DefaultLogin() RatePolicy { return RatePolicy{Quota: 10, Window: 300 * time.Second} }

// Limit is a policy for one subject.
type Limit struct {
	// Subject is the key under which attempts are counted; see the function Subject.
	Subject string
	Policy  RatePolicy
	// Quiet hides this limit from the caller. If its window is full, the attempt is still
	// counted under the other limits, and the decision is Closed instead of refused. The
	// rate-limit headers are then the same as for any other attempt.
	Quiet bool
}

// Decision is the result of the limits for one attempt.
type Decision struct {
	// Allowed is set if the attempt is within the quota.
	Allowed bool
	// Remaining is the number of attempts left in the window after this one.
	Remaining int
	// Reset is the time until the window ends.
	Reset time.Duration
	// Closed is true when a quiet limit is full. Allowed, Remaining and Reset leave
	// quiet limits out.
	Closed bool
}

// Decide returns the decision on the count-th attempt of a window.
func (p RatePolicy) Decide(count int, resetAt, now time.Time) Decision {
	return Decision{
		Allowed: count <= p.Quota, Remaining: max(0, p.Quota-count), Reset: max(0, resetAt.Sub(now)),
	}
}

// Stricter returns the stricter decision: a refusal before a pass, then the one with
// fewer attempts, then the one with the longer wait.
func (d Decision) Stricter(other Decision) Decision {
	switch {
	case d.Allowed != other.Allowed && other.Allowed, d.Allowed == other.Allowed && d.Remaining < other.Remaining:
		return d
	case d.Allowed == other.Allowed && d.Remaining == other.Remaining && d.Reset > other.Reset:
		return d
	}
	return other
}

// With returns d combined with the decision of one more limit.
func (d Decision) With(l Limit, one Decision) Decision {
	if l.Quiet {
		d.Closed = d.Closed || !one.Allowed
		return d
	}
	one.Closed = d.Closed
	return one.Stricter(d)
}

// Subject returns the key under which attempts are counted. It is a hash, because people
// sometimes type their password into the username field.
func Subject(kind, value string) string {
	return HashSecret(HashSecret(kind) + strings.ToLower(value))
}

// AddressBucket returns the key that distinguishes clients: an IPv4 address, or the /64 of an
// IPv6 address, which a household or server typically has. It returns an invalid address
// unchanged.
func AddressBucket(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if prefix, err := ip.Prefix(64); ip.Is6() && err == nil {
		return prefix.String()
	}
	return ip.String()
}
