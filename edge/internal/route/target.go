package route

import (
	"net"
	"net/http"
	"strings"
)

// target is a request target (RFC 9112, section 3.2), as sent.
type target struct {
	authority string // of the absolute form, else ""
	path      string // "*" for the asterisk form
	query     string
}

// parseTarget takes the target apart. It reports false for what is none: bytes
// that cannot stand there, a fragment, userinfo, another scheme. Even then the path
// is what stands before the query.
func parseTarget(r *http.Request) (target, bool) {
	raw := r.RequestURI
	if raw == "" { // a request that was made in this process
		raw = r.URL.RequestURI()
	}
	rest, query, _ := strings.Cut(raw, "?")
	if strings.IndexFunc(raw, notInTarget) >= 0 {
		return target{path: rest}, false
	}
	if strings.HasPrefix(rest, "/") || rest == "*" {
		return target{path: rest, query: query}, true
	}
	return absoluteForm(rest, query)
}

func absoluteForm(rest, query string) (target, bool) {
	scheme, rest, found := strings.Cut(rest, "://")
	if !found || (!strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https")) {
		return target{}, false
	}
	authority, path, _ := strings.Cut(rest, "/")
	if authority == "" || strings.Contains(authority, "@") {
		return target{}, false
	}
	return target{authority: authority, path: "/" + path, query: query}, true
}

// notInTarget says whether r can never stand in a request target: all but
// visible ASCII, and of that the fragment's mark and the backslash.
func notInTarget(r rune) bool {
	return r <= ' ' || r >= 0x7f || r == '#' || r == '\\'
}

// sameHost says whether authority names host, ports aside: a proxy in front may
// have added or dropped one.
func sameHost(authority, host string) bool {
	return strings.EqualFold(hostname(authority), host)
}

// hostname returns the host of "host", "host:port" or "[::1]:port".
func hostname(authority string) string {
	if host, _, err := net.SplitHostPort(authority); err == nil {
		return host
	}
	return strings.Trim(authority, "[]")
}
