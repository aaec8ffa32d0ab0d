package server

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/middleware"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/route"
)

// handler serves a request. m is nil before the route lookup.
type handler func(w http.ResponseWriter, r *http.Request, m *route.Match)

// step answers a request itself, or passes it on to next.
type step func(next handler) handler

// pipeline returns the handler of all requests. It has the steps in their order, each with the
// statuses with which it refuses requests.
func (p *parts) pipeline(table *route.Table) http.Handler {
	var serve handler = func(w http.ResponseWriter, r *http.Request, m *route.Match) { m.Serve(w, r) }
	for _, s := range slices.Backward([]step{
		p.commonHeaders,    // CORS and security headers
		p.log,              // request id, span, metrics and log line; a panic is a 500
		match(table),       // finds the route, or why there is none
		routeHeaders,       // Deprecation, Sunset and Link; pages and address books get no CORS
		p.limitRate,        // 429
		refuseUnmatched,    // 400, 404, 421, 431, 501
		refuseGone,         // 410
		answerOptions,      // 204
		refuseMethod,       // 405, or 401 where every method needs a credential
		checkQuery,         // 400
		p.limitConcurrency, // 503
		p.compressAnswer,   // gzip
	}) {
		serve = s(serve)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, nil) })
}

func (p *parts) commonHeaders(next handler) handler {
	return before(middleware.Headers(strings.HasPrefix(p.BaseURL, "https:"), unmatched(next)))
}

func (p *parts) log(next handler) handler {
	return before(middleware.Log(middleware.LogOptions{
		Logger: p.Logger, Problems: p.problems, Observer: p.Requests, Tracer: p.Tracer, Now: p.Now,
		Context: ratelimit.NewContext, // here, because each WithContext copies the request
	}, unmatched(next)))
}

// before and unmatched convert steps that run before the route lookup into handlers of net/http,
// and back.
func before(h http.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request, _ *route.Match) { h.ServeHTTP(w, r) }
}

func unmatched(next handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next(w, r, nil) })
}

func match(table *route.Table) step {
	return func(next handler) handler {
		return func(w http.ResponseWriter, r *http.Request, _ *route.Match) {
			m := table.Match(r)
			requestlog.FromContext(r.Context()).Route = m.Name
			next(w, r, m)
		}
	}
}

func routeHeaders(next handler) handler {
	return func(w http.ResponseWriter, r *http.Request, m *route.Match) {
		m.MarkLifecycle(w.Header())
		if m.Page || m.DAV {
			middleware.ClearCORS(w.Header())
		}
		next(w, r, m)
	}
}

// limitRate counts the request under its rate policy. It does not count preflights, which browsers
// send on their own.
func (p *parts) limitRate(next handler) handler {
	return func(w http.ResponseWriter, r *http.Request, m *route.Match) {
		if m.RatePolicy == "" || r.Method == http.MethodOptions {
			next(w, r, m)
			return
		}
		if !p.limiter.Limit(w, r, m.RatePolicy) {
			m.Errors.WriteError(w, r, httpapi.Error{
				Code: httpapi.RateLimited, Detail: "Too many requests: wait for the number of seconds in Retry-After.",
			})
			return
		}
		if m.Error == nil {
			defer p.limiter.Learn(r)
		}
		next(w, r, m)
	}
}

// refuseUnmatched answers a request that has no route. OPTIONS with the target "*" is about the
// whole server (RFC 9110, section 9.3.7).
func refuseUnmatched(next handler) handler {
	return func(w http.ResponseWriter, r *http.Request, m *route.Match) {
		switch {
		case m.WholeServer && r.Method == http.MethodOptions:
			w.WriteHeader(http.StatusNoContent)
		case m.Error != nil:
			m.Errors.WriteError(w, r, *m.Error)
		default:
			next(w, r, m)
		}
	}
}

func refuseGone(next handler) handler {
	return func(w http.ResponseWriter, r *http.Request, m *route.Match) {
		if m.Gone() {
			m.Errors.WriteError(w, r, httpapi.Error{Code: httpapi.Gone, Detail: "This path was removed; the Link header names its successor."})
			return
		}
		next(w, r, m)
	}
}

func answerOptions(next handler) handler {
	return func(w http.ResponseWriter, r *http.Request, m *route.Match) {
		if r.Method != http.MethodOptions || m.DAV {
			next(w, r, m)
			return
		}
		w.Header()["Allow"] = m.Allow()
		if !m.Page {
			middleware.Preflight(w.Header(), m.Allow())
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func refuseMethod(next handler) handler {
	return func(w http.ResponseWriter, r *http.Request, m *route.Match) {
		if !m.Allows(r.Method) {
			if m.Guard(w, r) {
				return
			}
			w.Header()["Allow"] = m.Allow()
			m.Errors.WriteError(w, r, httpapi.Error{Code: httpapi.MethodNotAllowed, Detail: "This path serves " + m.Allow()[0] + "."})
			return
		}
		next(w, r, m)
	}
}

func checkQuery(next handler) handler {
	return func(w http.ResponseWriter, r *http.Request, m *route.Match) {
		if err := m.CheckQuery(); err != nil {
			m.Errors.WriteError(w, r, *err)
			return
		}
		next(w, r, m)
	}
}

// limitConcurrency serves the request when there is a place for it. A request does not count while
// it waits for bytes of its body, so that slow clients do not block others.
func (p *parts) limitConcurrency(next handler) handler {
	return func(w http.ResponseWriter, r *http.Request, m *route.Match) {
		arrived := time.Now()
		if !p.concurrency.Acquire(r.Context()) {
			w.Header()["Retry-After"] = []string{httpapi.RetryAfter}
			m.Errors.WriteError(w, r, httpapi.Error{Code: httpapi.Unavailable, Detail: httpapi.BusyDetail})
			return
		}
		defer p.concurrency.Release()
		requestlog.FromContext(r.Context()).Admit(p.concurrency, time.Since(arrived), w)
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = p.concurrency.Body(r.Body)
		}
		next(w, r, m)
	}
}

// compressAnswer compresses large answers. If a page contains a secret and an attacker's input, the
// compressed length can leak the secret to an attacker who makes the browser request the page many
// times (BREACH). So a page is compressed only if Fetch Metadata says that a page of this origin or
// the person made the request, which other sites cannot forge.
func (p *parts) compressAnswer(next handler) handler {
	return func(w http.ResponseWriter, r *http.Request, m *route.Match) {
		compressible := m.Compressible || m.Page && askedByUs(r)
		if !compressible || len(r.Header["Accept-Encoding"]) == 0 {
			next(w, r, m)
			return
		}
		p.compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next(w, r, m) })).ServeHTTP(w, r)
	}
}

// askedByUs reports whether Fetch Metadata says that a page of this origin, or the person (for
// example with a bookmark), made the request.
func askedByUs(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "same-origin" || site == "none"
}
