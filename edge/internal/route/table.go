package route

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/edge/internal/httpapi"
)

// Table finds the routes of requests. It is immutable.
type Table struct {
	options  Options
	matcher  *Matcher
	entries  map[string]*entry // by the route's name
	policies []areaPolicy
	session  string // the name of the cookie with a login session
}

// entry is a route with its prepared handlers and headers.
type entry struct {
	Route

	allow     []string
	lifecycle lifecycle
	handlers  []periodHandler
}

// lifecycle has the deprecation headers of a route, ready to send.
type lifecycle struct {
	deprecation []string // nil for a current path
	successor   []string
	sunset      []string // nil without a date
	at          time.Time
}

// periodHandler is the handler from a start time until the start of the next periodHandler.
type periodHandler struct {
	from   time.Time
	handle Handler
}

// areaPolicy is the part of a pattern before its parameter, with the route's rate policy.
type areaPolicy struct {
	base   string // without a slash at the end
	policy string // "" for none
}

// Match is the result of looking up a request in the table.
type Match struct {
	// Name is the route's name; "" if no route matched, and then Error says why.
	Name  string
	Error *httpapi.Error
	// Errors writes the errors of the request. Page is set if the route is a page, and then its errors
	// are pages too.
	Errors httpapi.ErrorWriter
	Page   bool
	// DAV is set for a route of WebDAV, whose handler answers OPTIONS.
	DAV bool
	// RatePolicy is the policy that counts the request; "" for none. A request that matches
	// no route is counted by the policy of the route with the longest matching prefix.
	RatePolicy string
	// WholeServer is set if the target is "*", which no route has.
	WholeServer bool
	// Compressible is set if answers may be compressed. Pages may not: the length of a compressed
	// page could leak its secrets to another site (BREACH). The files that pages load have no secrets.
	Compressible bool

	query, argument string
	entry           *entry
	now             func() time.Time
}

// MaxHeaderBytes is the maximum size of a request's line and headers together. net/http's own
// limit is on the bytes that it reads, which can be 4 KiB more.
const MaxHeaderBytes = 16 << 10

// Match finds the route of a request. If there is none, Match.Error says why.
func (t *Table) Match(r *http.Request) *Match {
	target, ok := parseTarget(r)
	switch {
	case headerBytes(r) > MaxHeaderBytes:
		return t.unmatched(target.path, httpapi.HeadersTooLarge, "The request line and the headers take 16 KiB at most.")
	case !knownMethod(r.Method) && (!davMethod(r.Method) || !t.inTree(target.path)):
		return t.unmatched(target.path, httpapi.NotImplemented, "No path of this server has this method.")
	case !ok:
		return t.unmatched(target.path, httpapi.MalformedRequest, "The request target is not well-formed.", malformedPart("target"))
	case target.authority != "" && !sameHost(target.authority, t.options.Host):
		return t.unmatched(target.path, httpapi.MisdirectedRequest, "The request target names another host.")
	case target.path == "*":
		m := t.unmatched("", httpapi.MalformedRequest, "The target * is only valid with OPTIONS.",
			httpapi.Field{Field: "target", Message: "is * and the method is not OPTIONS"})
		m.WholeServer = true
		return m
	case judgePath(target.path) == malformed:
		return t.unmatched(target.path, httpapi.MalformedRequest, "The path is not well-formed.", malformedPart("path"))
	}
	found, argument, ok := t.matcher.Find(target.path)
	if !ok {
		found, argument, ok = t.findServer(target.path)
	}
	if !ok {
		return t.unmatched(target.path, httpapi.NotFound, httpapi.NoPathDetail)
	}
	e := t.entries[found.Name]
	if members := t.entries[e.SignedIn]; members != nil && hasCookie(r, t.session) {
		e = members
	}
	return &Match{
		Name: e.Name, Errors: t.options.ErrorWriters[e.Protocol], Page: e.Protocol == Page, DAV: e.Protocol == DAV, RatePolicy: e.RatePolicy,
		Compressible: !e.Proxied || strings.HasPrefix(e.Pattern, AssetPrefix), query: target.query, argument: argument, entry: e, now: t.options.Now,
	}
}

// findServer finds the MCP server, or its metadata, for a path with a slash at the end, which some clients
// add to the address that they were given.
func (t *Table) findServer(path string) (found Route, argument string, ok bool) {
	if path, ok = strings.CutSuffix(path, "/"); ok {
		found, argument, ok = t.matcher.Find(path)
	}
	return found, argument, ok && (found.Protocol == MCP || strings.HasPrefix(found.Pattern, ResourcePrefix))
}

// inTree reports whether a path belongs to a route of WebDAV.
func (t *Table) inTree(path string) bool {
	found, _, ok := t.matcher.Find(path)
	return ok && found.Protocol == DAV
}

// hasCookie reports whether a request has a cookie with a value.
func hasCookie(r *http.Request, name string) bool {
	c, err := r.Cookie(name)
	return err == nil && c.Value != ""
}

func (t *Table) unmatched(path string, code httpapi.Code, detail string, fields ...httpapi.Field) *Match {
	m := &Match{Errors: t.options.ErrorWriters[HTTP], Error: &httpapi.Error{Code: code, Detail: detail, Fields: fields}}
	for _, a := range t.policies {
		if below, found := strings.CutPrefix(path, a.base); found && (below == "" || below[0] == '/' || strings.HasSuffix(a.base, "@")) {
			m.RatePolicy = a.policy
			break
		}
	}
	return m
}

// NeedsMember reports whether a path is below the pages that need a member: those of the
// areas of the site.
func NeedsMember(path string) bool {
	return slices.ContainsFunc([]string{"/settings/", "/people/", "/today/", "/activity/", "/decide/", "/groups/", "/network/", "/connect/", "/import/"}, func(area string) bool { return strings.HasPrefix(path, area) })
}

func malformedPart(part string) httpapi.Field {
	return httpapi.Field{Field: part, Message: "is not well-formed"}
}

// headerBytes returns the size of the request's line and headers in HTTP/1.1.
func headerBytes(r *http.Request) int {
	n := len(r.Method) + len(" ") + len(r.RequestURI) + len(" HTTP/1.1\r\n") + len("Host: \r\n") + len(r.Host) + len("\r\n")
	for name, lines := range r.Header {
		for _, line := range lines {
			n += len(name) + len(": ") + len(line) + len("\r\n")
		}
	}
	return n
}

// Serve calls the route's handler.
func (m *Match) Serve(w http.ResponseWriter, r *http.Request) {
	handlers := m.entry.handlers
	handle := handlers[0].handle
	if len(handlers) > 1 {
		now := m.now()
		for _, period := range handlers[1:] {
			if !now.Before(period.from) {
				handle = period.handle
			}
		}
	}
	handle(w, r, m.argument)
}

// Allow returns the value of the Allow header: the methods of the route.
func (m *Match) Allow() []string { return m.entry.allow }

// Allows reports whether the route has the method; GET includes HEAD, and a route of WebDAV has OPTIONS.
func (m *Match) Allows(method string) bool {
	if method == http.MethodOptions {
		return m.DAV
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return slices.Contains(m.entry.Methods, method)
}

// Guard answers a request without the credential that every method of the path needs, and reports whether
// it did.
func (m *Match) Guard(w http.ResponseWriter, r *http.Request) bool {
	return m.entry.Guard != nil && m.entry.Guard(w, r)
}

// MarkLifecycle adds the headers of a deprecated route.
func (m *Match) MarkLifecycle(h http.Header) {
	if m.entry != nil {
		m.entry.lifecycle.mark(h)
	}
}

// Gone reports whether the route is past its sunset.
func (m *Match) Gone() bool { return m.entry.lifecycle.gone(m.now()) }

// mark adds the deprecation headers.
func (l lifecycle) mark(h http.Header) {
	if l.deprecation == nil {
		return
	}
	h["Deprecation"], h["Link"] = l.deprecation, l.successor
	if l.sunset != nil {
		h["Sunset"] = l.sunset
	}
}

func (l lifecycle) gone(now time.Time) bool { return l.sunset != nil && !now.Before(l.at) }

// FieldQuery names the query string in an error's fields.
const FieldQuery = "query"

// CheckQuery refuses a query that is not well-formed or that holds a credential.
func (m *Match) CheckQuery() *httpapi.Error {
	if m.query == "" {
		return nil
	}
	values, err := ParseQuery(m.query)
	if err != nil {
		return &httpapi.Error{
			Code: httpapi.MalformedRequest, Detail: "The query string is not well-formed.",
			Fields: []httpapi.Field{malformedPart(FieldQuery)},
		}
	}
	if CarriesCredential(values) {
		return &httpapi.Error{
			Code:   httpapi.CredentialInQuery,
			Detail: "A credential in the query string is never accepted; send it in the Authorization header.",
			Fields: []httpapi.Field{{Field: FieldQuery, Message: "holds a credential"}},
		}
	}
	return nil
}

// knownMethod reports whether the method is a standard one that a resource could support. It is
// false for TRACE and CONNECT, which no path supports. Methods are case-sensitive (RFC 9110,
// section 9.1).
func knownMethod(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return true
	default:
		return false
	}
}

// davMethod reports whether a method is one of WebDAV that routes can have.
func davMethod(method string) bool {
	return method == "PROPFIND" || method == "PROPPATCH" || method == "REPORT"
}
