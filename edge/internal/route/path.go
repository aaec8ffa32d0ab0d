package route

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// target is a request target (RFC 9112, section 3.2), as sent.
type target struct {
	authority string // of the absolute form, else ""
	path      string // "*" for the asterisk form
	query     string
}

// parseTarget parses a request target. It reports false for an invalid one: disallowed bytes, a
// fragment, userinfo or another scheme. Even then the path is the part before the query.
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

// notInTarget reports whether r is never allowed in a request target: everything except visible
// ASCII, and also "#" and the backslash.
func notInTarget(r rune) bool {
	return r <= ' ' || r >= 0x7f || r == '#' || r == '\\'
}

// sameHost reports whether authority names host. It ignores ports, because a proxy in front may
// have added or removed one.
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

// verdict is the result of checking a path against the grammar.
type verdict uint8

const (
	plain     verdict = iota // can match a route
	unknown                  // valid, but no route can have it: 404
	malformed                // not a valid path: 400
)

// judgePath checks the path of a request target, exactly as it was sent. Nothing is decoded or
// cleaned: a path that would need it is not found.
func judgePath(path string) verdict {
	if path == "" || path[0] != '/' {
		return malformed
	}
	if text, err := url.PathUnescape(path); err != nil || !cleanText(text) {
		return malformed // a broken escape, or one that hides a control character or is not UTF-8
	}
	result := plain
	for i := range len(path) {
		c := path[i]
		switch {
		case plainByte(c), c == '@' && i == 1: // /@username
			continue
		case c == '/':
			if i+1 < len(path) && (path[i+1] == '/' || path[i+1] == '.') && !wellKnown(path, i) {
				result = unknown
			}
		case c == '%', pathByte(c):
			result = unknown
		default:
			return malformed
		}
	}
	if len(path) > 1 && path[len(path)-1] == '/' {
		return unknown
	}
	return result
}

// wellKnown reports whether RFC 8615's prefix begins at i, at the start of the path or of the
// path below /sandbox. Only there may a segment start with a dot.
func wellKnown(path string, i int) bool {
	const prefix = "/.well-known/"
	below, found := strings.CutPrefix(path[i:], prefix)
	return found && below != "" && (i == 0 || path[:i] == SandboxPrefix)
}

// plainByte reports whether c is an unreserved character (RFC 3986, section 2.3).
func plainByte(c byte) bool {
	return parameterByte(c) || c == '.'
}

// parameterByte reports whether c can be part of a path parameter's value.
func parameterByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '~':
		return true
	default:
		return false
	}
}

// pathByte reports whether c is a byte of a path that is not plain: the sub-delims, ":" and "@"
// of RFC 3986, section 3.3.
func pathByte(c byte) bool {
	switch c {
	case '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=', ':', '@':
		return true
	default:
		return false
	}
}

// Matcher finds routes by their paths, also for the items of a batch. It is immutable.
type Matcher struct {
	routes   []Route
	exact    map[string]int
	patterns []pattern
	trees    []int // the routes of WebDAV
}

// pattern is a path with a parameter in it.
type pattern struct {
	prefix, suffix string // the suffix belongs to the parameter's segment or follows it
	index          int    // in routes
}

// NewMatcher compiles the routes' patterns. It fails for a pattern that is not a plain path, has
// more than one parameter, or is the pattern of another route.
func NewMatcher(routes []Route) (*Matcher, error) {
	m := &Matcher{routes: routes, exact: make(map[string]int, len(routes))}
	for i, r := range routes {
		if err := m.add(r.Pattern, i); err != nil {
			return nil, fmt.Errorf("compile route %q: %w", r.Name, err)
		}
		if r.Protocol == DAV {
			m.trees = append(m.trees, i)
		}
	}
	return m, nil
}

func (m *Matcher) add(text string, index int) error {
	prefix, rest, parametric := strings.Cut(text, "{")
	name, suffix, closed := strings.Cut(rest, "}")
	if parametric && (!closed || name == "" || strings.ContainsAny(suffix, "{}")) {
		return fmt.Errorf("pattern %q: must have at most one {parameter}", text)
	}
	sample := prefix + name + suffix
	if judgePath(sample) != plain {
		return fmt.Errorf("pattern %q: is not a plain path", text)
	}
	if !parametric {
		if _, taken := m.exact[text]; taken {
			return fmt.Errorf("pattern %q: is defined twice", text)
		}
		m.exact[text] = index
		return nil
	}
	for _, p := range m.patterns {
		if p.prefix == prefix && p.suffix == suffix {
			return fmt.Errorf("pattern %q: is defined twice", text)
		}
	}
	m.patterns = append(m.patterns, pattern{prefix: prefix, suffix: suffix, index: index})
	return nil
}

// Find returns the route of a path and the value of its parameter, "" if it has none. The
// path is compared byte for byte: a path that would need decoding or cleaning, or that has a
// query, is not found, except below a route of WebDAV.
func (m *Matcher) Find(path string) (found Route, argument string, ok bool) {
	for _, index := range m.trees {
		if m.routes[index].inTree(path) {
			return m.routes[index], "", true
		}
	}
	if judgePath(path) != plain {
		return Route{}, "", false
	}
	if index, ok := m.exact[path]; ok {
		return m.routes[index], "", true
	}
	for _, p := range m.patterns {
		if argument, ok := p.match(path); ok {
			return m.routes[p.index], argument, true
		}
	}
	return Route{}, "", false
}

// inTree reports whether the route is one of WebDAV, and path is its own or below it. The path must not need cleaning: it has no
// segment that is empty, a dot or two, and no escaped slash.
func (r Route) inTree(path string) bool {
	below, ok := strings.CutPrefix(path, r.Pattern)
	if r.Protocol != DAV || !ok || below != "" && below[0] != '/' {
		return false
	}
	segments := strings.Split(strings.TrimSuffix(strings.TrimPrefix(below, "/"), "/"), "/")
	for i, s := range segments {
		text, err := url.PathUnescape(s)
		if err != nil || !cleanText(text) || strings.Contains(text, "/") || text == "." || text == ".." || text == "" && (i > 0 || strings.HasPrefix(below, "//")) {
			return false
		}
	}
	return true
}

func (p pattern) match(path string) (string, bool) {
	if len(path) <= len(p.prefix)+len(p.suffix) ||
		!strings.HasPrefix(path, p.prefix) || !strings.HasSuffix(path, p.suffix) {
		return "", false
	}
	argument := path[len(p.prefix) : len(path)-len(p.suffix)]
	for i := range len(argument) {
		if !parameterByte(argument[i]) {
			return "", false
		}
	}
	return argument, true
}

// errQuery is the error of ParseQuery. It does not quote the query, which may hold secrets.
var errQuery = errors.New("the query string is not well-formed")

// ParseQuery reads a query string strictly: a broken percent escape, a semicolon as separator, a
// control character or bytes that are not UTF-8 are errors, where URL.Query drops them silently.
func ParseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errQuery
	}
	for name, list := range values {
		if !cleanText(name) {
			return nil, errQuery
		}
		for _, value := range list {
			if !cleanText(value) {
				return nil, errQuery
			}
		}
	}
	return values, nil
}

func cleanText(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

// CarriesCredential reports whether a query parameter looks like a bearer credential. Those are
// never accepted there: RFC 6750, section 2.3, is not implemented.
func CarriesCredential(values url.Values) bool {
	for name := range values {
		switch strings.ToLower(name) {
		case "access_token", "token", "api_key":
			return true
		}
	}
	return false
}
