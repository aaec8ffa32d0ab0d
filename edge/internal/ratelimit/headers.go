package ratelimit

import (
	"net/http"
	"strconv"
	"time"
)

// The headers, spelt as in the specification. Go's own canonical form would be
// "Ratelimit"; see WriteHeaders.
const (
	headerLimits    = "RateLimit"
	headerPolicies  = "RateLimit-Policy"
	headerLimit     = "RateLimit-Limit"
	headerRemaining = "RateLimit-Remaining"
	headerReset     = "RateLimit-Reset"
	headerRetry     = "Retry-After"
)

// WriteHeaders tells the caller of the decisions that an answer rests on:
//
//	RateLimit: "mcp-sandbox";r=0;t=17
//	RateLimit-Policy: "mcp-sandbox";q=60;w=60
//	RateLimit-Limit: 60
//	RateLimit-Remaining: 0
//	RateLimit-Reset: 17
//	Retry-After: 17                              (only if one is not Allowed)
//
// The first two are lists with a member for each decision, in the order given;
// the next three show the tightest. Whoever waits for Retry-After is not refused
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
	h[headerLimits] = values[0:1:1]
	h[headerPolicies] = values[1:2:2]
	h[headerLimit] = values[2:3:3]
	h[headerRemaining] = values[3:4:4]
	h[headerReset] = values[4:5:5]
	if refused {
		h[headerRetry] = values[5:6:6]
	}
}

// summarise returns the decision with the least left, of equal ones the one that
// lasts longest, and whether any refuses. A refusing one has nothing left, so
// that its wait is at most the tightest one's.
func summarise(decisions []Decision) (tightest Decision, refused bool) {
	for i := range decisions {
		d := &decisions[i]
		if !d.Policy.Enabled() {
			continue
		}
		refused = refused || !d.Allowed
		tighter := d.Remaining < tightest.Remaining || d.Remaining == tightest.Remaining && d.Reset > tightest.Reset
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
