package account

import (
	"net/netip"
	"strings"
	"time"
)

// RatePolicy bounds attempts at a password in fixed windows. Its zero value
// bounds nothing.
type RatePolicy struct {
	// Quota is how many attempts a window takes; 0 switches the policy off.
	Quota  int
	Window time.Duration
}

// DefaultLogin is the login policy unless the operator sets another.
func DefaultLogin() RatePolicy { return RatePolicy{Quota: 10, Window: 300 * time.Second} }

// Limit is a policy applied to one subject.
type Limit struct {
	// Subject is what attempts are counted on; see Subject.
	Subject string
	Policy  RatePolicy
	// Quiet hides this limit from the caller. When its window is full, the attempt is
	// still counted on the other limits, and the decision is Closed instead of
	// refused. The rate-limit headers are then the same as for any other attempt.
	Quiet bool
}

// Decision is what limits say about one attempt.
type Decision struct {
	// Allowed tells that the attempt is within the quota.
	Allowed bool
	// Remaining attempts of the window, this one counted.
	Remaining int
	// Reset is how long the window still lasts.
	Reset time.Duration
	// Closed is true when a quiet limit is full. Allowed, Remaining and Reset leave
	// quiet limits out.
	Closed bool
}

// Decide judges the attempt that a store counted as the count-th of a window.
func (p RatePolicy) Decide(count int, resetAt, now time.Time) Decision {
	return Decision{
		Allowed: count <= p.Quota, Remaining: max(0, p.Quota-count), Reset: max(0, resetAt.Sub(now)),
	}
}

// Stricter returns the decision that leaves less: a refusal before a pass, then
// fewer attempts, then the longer wait.
func (d Decision) Stricter(other Decision) Decision {
	switch {
	case d.Allowed != other.Allowed && other.Allowed, d.Allowed == other.Allowed && d.Remaining < other.Remaining:
		return d
	case d.Allowed == other.Allowed && d.Remaining == other.Remaining && d.Reset > other.Reset:
		return d
	}
	return other
}

// With returns the decision of d and of what one more limit decided.
func (d Decision) With(l Limit, one Decision) Decision {
	if l.Quiet {
		d.Closed = d.Closed || !one.Allowed
		return d
	}
	one.Closed = d.Closed
	return one.Stricter(d)
}

// Subject names what attempts are counted on. It is a hash, because people type
// their password where the username goes.
func Subject(kind, value string) string {
	return HashSecret(HashSecret(kind) + strings.ToLower(value))
}

// AddressBucket is what clients are told apart by: an IPv4 address, or the /64 of
// an IPv6 one, which is what one household or server has. What is no address is
// returned as it is.
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
