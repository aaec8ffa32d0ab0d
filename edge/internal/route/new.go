package route

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/edge/internal/httpapi"
)

// Options configure a table. All but RatePolicy and Now are required.
type Options struct {
	// BaseURL is the public address, without a slash at the end, and Host its host
	// without a port.
	BaseURL, Host string
	// ErrorWriters write the errors of each protocol in use.
	ErrorWriters map[Protocol]httpapi.ErrorWriter
	// CheckPolicy fails for the name of a rate policy that does not exist.
	CheckPolicy func(name string) error
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// New returns the table of the routes. It fails if a route is incomplete, has the pattern of
// another route, or has no handler; the error names every such route.
func New(routes []Route, o Options) (*Table, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CheckPolicy == nil {
		o.CheckPolicy = func(string) error { return nil }
	}
	if err := check(routes, o); err != nil {
		return nil, err
	}
	m, err := NewMatcher(routes)
	if err != nil {
		return nil, err
	}
	t := &Table{options: o, matcher: m, entries: make(map[string]*entry, len(routes)), session: SessionCookie(o.BaseURL)}
	for _, r := range routes {
		base, _, _ := strings.Cut(r.Pattern, "{")
		t.policies = append(t.policies, areaPolicy{strings.TrimSuffix(base, "/"), r.RatePolicy})
		t.entries[r.Name] = &entry{Route: r, allow: []string{allowed(r.Methods)}, lifecycle: newLifecycle(r, o.BaseURL)}
	}
	slices.SortStableFunc(t.policies, func(a, b areaPolicy) int { return len(b.base) - len(a.base) })
	return t, t.buildHandlers(routes)
}

// buildHandlers makes the handlers for the period before the first sunset, and for the period that
// starts with each sunset.
func (t *Table) buildHandlers(routes []Route) error {
	times := []time.Time{{}}
	for _, r := range routes {
		times = append(times, r.Sunset)
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, from := range slices.CompactFunc(times, time.Time.Equal) {
		live, built := LiveAt(routes, from), map[string]Handler{}
		for _, r := range routes {
			if r.Build != nil && built[r.Original()] == nil {
				handle, err := r.Build(live)
				if err != nil {
					return fmt.Errorf("build route %q: %w", r.Name, err)
				}
				built[r.Original()] = handle
			}
			if e := t.entries[r.Name]; r.Build != nil {
				e.handlers = append(e.handlers, periodHandler{from, built[r.Original()]})
			} else if e.handlers == nil {
				e.handlers = []periodHandler{{handle: r.Handle}}
			}
		}
	}
	return nil
}

func check(routes []Route, o Options) error {
	var faults []error
	seen := make(map[string]bool, len(routes))
	for _, r := range routes {
		if seen[r.Name] {
			faults = append(faults, fmt.Errorf("route %q: is defined twice", r.Name))
		}
		seen[r.Name] = true
		if r.SignedIn != "" && !slices.ContainsFunc(routes, func(other Route) bool { return other.Name == r.SignedIn }) {
			faults = append(faults, fmt.Errorf("route %q: there is no route %q for signed-in members", r.Name, r.SignedIn))
		}
		if err := checkRoute(r, o); err != nil {
			faults = append(faults, fmt.Errorf("route %q: %w", r.Name, err))
		}
	}
	if o.ErrorWriters[HTTP] == nil {
		faults = append(faults, errors.New("the table needs an error writer for HTTP"))
	}
	return errors.Join(faults...)
}

func checkRoute(r Route, o Options) error {
	switch {
	case r.Name == "" || r.Summary == "":
		return errors.New("needs a name and a summary")
	case len(r.Methods) == 0:
		return errors.New("needs a method")
	case (r.Handle == nil) == (r.Build == nil):
		return errors.New("has no handler")
	case o.ErrorWriters[r.Protocol] == nil:
		return fmt.Errorf("protocol %q has no error writer", r.Protocol)
	}
	for _, m := range r.Methods {
		if !knownMethod(m) && (r.Protocol != DAV || !davMethod(m)) || m == http.MethodHead || m == http.MethodOptions {
			return fmt.Errorf("method %q: HEAD and OPTIONS are added automatically, other methods are not supported", m)
		}
	}
	if r.RatePolicy != "" {
		if err := o.CheckPolicy(r.RatePolicy); err != nil {
			return err
		}
	}
	return checkLifecycle(r)
}

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

// deprecationValue is the value of the Deprecation header. RFC 9745 has a date there; the
// specification of this service requires true.
const deprecationValue = "true"

func newLifecycle(r Route, baseURL string) lifecycle {
	if r.State != Deprecated {
		return lifecycle{}
	}
	l := lifecycle{
		deprecation: []string{deprecationValue},
		successor:   []string{"<" + baseURL + r.Successor + `>; rel="successor-version"`},
	}
	if !r.Sunset.IsZero() {
		l.at, l.sunset = r.Sunset, []string{r.Sunset.UTC().Format(http.TimeFormat)}
	}
	return l
}

// checkLifecycle returns an error if the route's state, successor and sunset do not fit together.
func checkLifecycle(r Route) error {
	switch r.State {
	case Current:
		if r.Successor != "" || !r.Sunset.IsZero() {
			return errors.New("a current path has neither a successor nor a sunset")
		}
		return nil
	case Deprecated:
		if r.Successor == "" {
			return errors.New("a deprecated path needs a successor")
		}
		return nil
	default:
		return fmt.Errorf("state %q: must be %q or %q", r.State, Current, Deprecated)
	}
}

// SessionCookie returns the name of the cookie with a member's login session. The backend sets
// the cookie.
func SessionCookie(baseURL string) string {
	if strings.HasPrefix(baseURL, "https://") {
		return "__Host-kith_session"
	}
	return "kith_session"
}
