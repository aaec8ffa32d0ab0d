package manners

import "net/http"

// securityHeaders are the defaults for answers that are data. A handler that
// answers with a page sets headers of its own, which stay.
type securityHeaders struct {
	sniff, referrer, policy []string
	transport               []string // none without https
}

// newSecurityHeaders returns the headers of a service whose public address is https
// or not. A browser that was there once keeps to https for a year (RFC 6797); other
// names below the host are not ours to bind.
func newSecurityHeaders(https bool) securityHeaders {
	var transport []string
	if https {
		transport = []string{"max-age=31536000"}
	}
	return securityHeaders{
		transport: transport,
		sniff:     []string{"nosniff"},
		referrer:  []string{"no-referrer"},
		policy:    []string{"default-src 'none'; frame-ancestors 'none'"},
	}
}

func (s *securityHeaders) complete(h http.Header) {
	if s.transport != nil {
		h["Strict-Transport-Security"] = s.transport
	}
	add(h, "X-Content-Type-Options", s.sniff)
	add(h, "Referrer-Policy", s.referrer)
	add(h, "Content-Security-Policy", s.policy)
}

func add(h http.Header, name string, line []string) {
	if len(h[name]) == 0 {
		h[name] = line
	}
}
