package route

import (
	"context"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/edge/internal/cors"
	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/problem"
)

// Handler serves the requests of a row. argument is the value of the path's
// parameter, "" if the pattern has none. HEAD arrives as it is.
type Handler func(w http.ResponseWriter, r *http.Request, argument string)

// Refuser writes the answer to a request that the router refuses.
type Refuser interface {
	Refuse(w http.ResponseWriter, r *http.Request, code problem.Code, detail string, fields ...problem.Field)
}

// Limiter counts requests under the rate policies that the rows name.
type Limiter interface {
	// Check fails if there is no such policy.
	Check(policy string) error
	// Limit counts a request, has the answer tell of it, and reports whether the
	// request may go on.
	Limit(w http.ResponseWriter, r *http.Request, policy string) bool
	// Learn takes from an answered request whose credential it carried.
	Learn(r *http.Request)
}

// Concurrency bounds how many requests are worked on at once; *concurrency.Limiter
// is one.
type Concurrency interface {
	// Acquire waits for a request's turn and reports whether it may go on. One that
	// may must Release.
	Acquire(ctx context.Context) bool
	Release()
	exchange.Limiter
	// Body returns a body whose reader does not count while it waits for bytes.
	Body(body io.ReadCloser) io.ReadCloser
}

// Options are what a router needs besides its rows. All but Limiter, Concurrency
// and Now are required.
type Options struct {
	// BaseURL is the public address, without a slash at the end.
	BaseURL string
	// Host is the host of BaseURL, without its port.
	Host string
	// Handlers has a handler for each row, by Route.HandlerName, and no other.
	Handlers map[string]Handler
	// Refusers write the errors of each protocol in use.
	Refusers map[Protocol]Refuser
	// CORS marks answers to OPTIONS.
	CORS *cors.Policy
	// Limiter and Concurrency refuse requests; nil lets all of them through.
	Limiter     Limiter
	Concurrency Concurrency
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Router is the http.Handler of the table. It is immutable.
type Router struct {
	host    string
	entries []entry
	matcher *matcher
	areas   areas
	http    Refuser
	page    Refuser // nil when there are no pages
	cors    *cors.Policy
	limiter Limiter
	working Concurrency
	now     func() time.Time
}

// entry is a row, made ready.
type entry struct {
	name      string
	methods   []string
	allow     []string
	handle    Handler
	refuser   Refuser
	page      bool
	policy    string // "" for none
	lifecycle lifecycle
}

// ServeHTTP routes the request, or refuses it.
func (rt *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, ok := parseTarget(r)
	switch {
	case headerBytes(r) > MaxHeaderBytes:
		rt.refuse(w, r, t.path, problem.HeadersTooLarge, "The request line and the headers take 16 KiB at most.")
	case !knownMethod(r.Method):
		rt.refuse(w, r, t.path, problem.NotImplemented, "This method is implemented nowhere on this server.")
	case !ok:
		rt.refuse(w, r, t.path, problem.MalformedRequest, "The request target is not well-formed.", illFormed("target"))
	case t.authority != "" && !sameHost(t.authority, rt.host):
		rt.refuse(w, r, t.path, problem.MisdirectedRequest, "The request target names another host.")
	case t.path == "*":
		rt.serveAsterisk(w, r)
	default:
		rt.servePath(w, r, t)
	}
}

// FieldQuery names the query string where a fault of the request is told.
const FieldQuery = "query"

func illFormed(part string) problem.Field {
	return problem.Field{Field: part, Message: "is not well-formed"}
}

// MaxHeaderBytes bounds a request's line and headers together. net/http's own bound
// is for what it reads, which is up to 4 KiB more.
const MaxHeaderBytes = 16 << 10

// headerBytes is what the request's line and headers take in HTTP/1.1.
func headerBytes(r *http.Request) int {
	n := len(r.Method) + len(" ") + len(r.RequestURI) + len(" HTTP/1.1\r\n") + len("Host: \r\n") + len(r.Host) + len("\r\n")
	for name, lines := range r.Header {
		for _, line := range lines {
			n += len(name) + len(": ") + len(line) + len("\r\n")
		}
	}
	return n
}

// serveAsterisk answers OPTIONS * (RFC 9110, section 9.3.7); no other method goes with it.
func (rt *Router) serveAsterisk(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodOptions {
		rt.http.Refuse(w, r, problem.MalformedRequest, "Only OPTIONS can ask about the whole server.",
			problem.Field{Field: "target", Message: "is * and the method is not OPTIONS"})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (rt *Router) servePath(w http.ResponseWriter, r *http.Request, t target) {
	switch judgePath(t.path) {
	case malformed:
		rt.refuse(w, r, t.path, problem.MalformedRequest, "The path is not well-formed.", illFormed("path"))
		return
	case unknown:
		rt.refuseUnknown(w, r, t.path)
		return
	}
	row, argument, ok := rt.matcher.match(t.path)
	if !ok {
		rt.refuseUnknown(w, r, t.path)
		return
	}
	rt.serveRow(w, r, &rt.entries[row], argument, t.query)
}

// refuse answers a request that is no row's. Below a limited path it counts as a
// request for that path does, so that the answer tells of the limit.
func (rt *Router) refuse(w http.ResponseWriter, r *http.Request, path string, code problem.Code, detail string, fields ...problem.Field) {
	if rt.withinLimit(w, r, rt.areas.policy(path), rt.http) {
		rt.http.Refuse(w, r, code, detail, fields...)
	}
}

// withinLimit counts a request under a policy, "" for none, and has the answer tell
// of it. A request over the limit is refused. A preflight does not count: browsers
// send it, and the caller cannot tell.
func (rt *Router) withinLimit(w http.ResponseWriter, r *http.Request, policy string, refuser Refuser) bool {
	if policy == "" || rt.limiter == nil || r.Method == http.MethodOptions || rt.limiter.Limit(w, r, policy) {
		return true
	}
	refuser.Refuse(w, r, problem.RateLimited, "Too many requests: Retry-After says for how many seconds to wait.")
	return false
}

// refuseUnknown answers a path that is no row's. Among the settings there are
// pages only, so that a browser that asks there is answered with one.
func (rt *Router) refuseUnknown(w http.ResponseWriter, r *http.Request, path string) {
	if rt.page == nil || !strings.HasPrefix(path, settingsPrefix) {
		rt.refuse(w, r, path, problem.NotFound, "No resource has this path.")
		return
	}
	w.Header().Add("Vary", "Accept")
	if !takesPage(r) {
		rt.refuse(w, r, path, problem.NotFound, "No resource has this path.")
		return
	}
	rt.cors.Clear(w.Header())
	if rt.withinLimit(w, r, rt.areas.policy(path), rt.page) {
		rt.page.Refuse(w, r, problem.NotFound, "There is no such page. It may have moved, or the link to it is broken.")
	}
}

// settingsPrefix begins the paths of the member's settings.
const settingsPrefix = "/settings/"

// takesPage tells whether a caller asks for HTML by name, as browsers do. Whoever
// takes anything gets what programs read.
func takesPage(r *http.Request) bool {
	for _, line := range r.Header["Accept"] {
		for item := range strings.SplitSeq(line, ",") {
			media, parameters, err := mime.ParseMediaType(item)
			if err == nil && media == "text/html" && !isZero(parameters["q"]) {
				return true
			}
		}
	}
	return false
}

// isZero tells whether a weight says that a form is not wanted (RFC 9110, section 12.4.2).
func isZero(weight string) bool {
	q, err := strconv.ParseFloat(weight, 64)
	return err == nil && q == 0
}

func (rt *Router) serveRow(w http.ResponseWriter, r *http.Request, e *entry, argument, query string) {
	exchange.FromContext(r.Context()).Route = e.name
	if e.page {
		rt.cors.Clear(w.Header())
	}
	gone := e.lifecycle.mark(w.Header(), rt.now)
	if !rt.withinLimit(w, r, e.policy, e.refuser) {
		return
	}
	if gone {
		e.refuser.Refuse(w, r, problem.Gone, "This path was removed; the Link header names its successor.")
		return
	}
	if r.Method == http.MethodOptions {
		rt.serveOptions(w, e)
		return
	}
	if !e.serves(r.Method) {
		w.Header()["Allow"] = e.allow
		e.refuser.Refuse(w, r, problem.MethodNotAllowed, "This path serves "+e.allow[0]+".")
		return
	}
	if query != "" && !rt.acceptQuery(w, r, e, query) {
		return
	}
	rt.admit(w, r, e, argument)
}

// admit has the handler serve a request while there is room for it.
func (rt *Router) admit(w http.ResponseWriter, r *http.Request, e *entry, argument string) {
	if e.policy != "" && rt.limiter != nil {
		defer rt.limiter.Learn(r)
	}
	if rt.working != nil {
		arrived := time.Now()
		if !rt.working.Acquire(r.Context()) {
			w.Header()["Retry-After"] = []string{"1"}
			e.refuser.Refuse(w, r, problem.Unavailable, problem.BusyDetail)
			return
		}
		defer rt.working.Release()
		exchange.FromContext(r.Context()).Admit(rt.working, time.Since(arrived), w)
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = rt.working.Body(r.Body)
		}
	}
	e.handle(w, r, argument)
}

func (rt *Router) serveOptions(w http.ResponseWriter, e *entry) {
	w.Header()["Allow"] = e.allow
	if !e.page {
		rt.cors.Preflight(w.Header(), e.allow)
	}
	w.WriteHeader(http.StatusNoContent)
}

// acceptQuery refuses a query that is not well-formed or that holds a credential.
func (rt *Router) acceptQuery(w http.ResponseWriter, r *http.Request, e *entry, query string) bool {
	values, err := ParseQuery(query)
	if err != nil {
		e.refuser.Refuse(w, r, problem.MalformedRequest, "The query string is not well-formed.", illFormed(FieldQuery))
		return false
	}
	if CarriesCredential(values) {
		e.refuser.Refuse(w, r, problem.CredentialInQuery,
			"A credential in the query string is never accepted; send it in the Authorization header.",
			problem.Field{Field: FieldQuery, Message: "holds a credential"})
		return false
	}
	return true
}

// serves says whether the row has the method; GET brings HEAD.
func (e *entry) serves(method string) bool {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return slices.Contains(e.methods, method)
}

// allowed is the value of Allow: the methods that do something here.
func allowed(methods []string) string {
	var list []string
	for _, m := range methods {
		list = append(list, m)
		if m == http.MethodGet {
			list = append(list, http.MethodHead)
		}
	}
	return strings.Join(list, ", ")
}

// knownMethod says whether some server might serve the method on a resource.
// TRACE and CONNECT are served on none of ours; methods are case-sensitive (RFC
// 9110, section 9.1).
func knownMethod(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return true
	default:
		return false
	}
}
