package manners

import "net/http"

// securityHeaders are the defaults for answers that are data. A handler that
// answers with a page sets a content security policy of its own.
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

func (s securityHeaders) mark(h http.Header) {
	h["X-Content-Type-Options"] = s.sniff
	h["Referrer-Policy"] = s.referrer
	h["Content-Security-Policy"] = s.policy
}
