package manners

import "net/http"

// securityHeaders are the defaults for answers that are data. A handler that
// answers with a page sets headers of its own, which stay.
type securityHeaders struct {
	sniff, referrer, policy []string
}

func newSecurityHeaders() securityHeaders {
	return securityHeaders{
		sniff:    []string{"nosniff"},
		referrer: []string{"no-referrer"},
		policy:   []string{"default-src 'none'; frame-ancestors 'none'"},
	}
}

func (s *securityHeaders) complete(h http.Header) {
	add(h, "X-Content-Type-Options", s.sniff)
	add(h, "Referrer-Policy", s.referrer)
	add(h, "Content-Security-Policy", s.policy)
}

func add(h http.Header, name string, line []string) {
	if len(h[name]) == 0 {
		h[name] = line
	}
}
