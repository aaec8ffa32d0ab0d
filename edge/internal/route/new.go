package route

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// New returns the router of the rows. It fails, naming every row at fault, if a
// row is incomplete, has a pattern that another has, or lacks a handler.
func New(rows []Route, o Options) (*Router, error) {
	if err := errors.Join(checkRows(rows), checkHandlers(rows, o), checkPolicies(rows, o.Limiter)); err != nil {
		return nil, err
	}
	m, err := newMatcher(rows)
	if err != nil {
		return nil, err
	}
	rt := &Router{
		host: o.Host, matcher: m, areas: newAreas(rows), http: o.Refusers[HTTP], page: o.Refusers[Page], cors: o.CORS,
		limiter: o.Limiter, working: o.Concurrency, now: o.Now,
	}
	if rt.now == nil {
		rt.now = time.Now
	}
	for _, r := range rows {
		rt.entries = append(rt.entries, entry{
			name:      r.Name,
			methods:   r.Methods,
			allow:     []string{allowed(r.Methods)},
			handle:    o.Handlers[r.HandlerName()],
			refuser:   o.Refusers[r.Protocol],
			page:      r.Protocol == Page,
			policy:    r.RatePolicy,
			lifecycle: newLifecycle(r, o.BaseURL),
		})
	}
	return rt, nil
}

func checkRows(rows []Route) error {
	var faults []error
	seen := make(map[string]bool, len(rows))
	for _, r := range rows {
		if seen[r.Name] {
			faults = append(faults, fmt.Errorf("route %q: is there twice", r.Name))
		}
		seen[r.Name] = true
		if err := checkRow(r); err != nil {
			faults = append(faults, fmt.Errorf("route %q: %w", r.Name, err))
		}
	}
	return errors.Join(faults...)
}

func checkRow(r Route) error {
	if r.Name == "" || r.Summary == "" {
		return errors.New("needs a name and a summary")
	}
	if len(r.Methods) == 0 {
		return errors.New("needs a method")
	}
	for _, m := range r.Methods {
		if !knownMethod(m) || m == http.MethodHead || m == http.MethodOptions {
			return fmt.Errorf("method %q: HEAD and OPTIONS come by themselves, others are not served", m)
		}
	}
	return checkLifecycle(r)
}

func checkHandlers(rows []Route, o Options) error {
	var faults []error
	used := make(map[string]bool, len(rows))
	for _, r := range rows {
		used[r.HandlerName()] = true
		if o.Handlers[r.HandlerName()] == nil {
			faults = append(faults, fmt.Errorf("route %q: has no handler", r.Name))
		}
		if o.Refusers[r.Protocol] == nil {
			faults = append(faults, fmt.Errorf("route %q: protocol %q has no refuser", r.Name, r.Protocol))
		}
	}
	for name := range o.Handlers {
		if !used[name] {
			faults = append(faults, fmt.Errorf("handler %q: has no route", name))
		}
	}
	if o.Refusers[HTTP] == nil || o.CORS == nil {
		faults = append(faults, errors.New("the router needs a refuser for HTTP and a CORS policy"))
	}
	return errors.Join(faults...)
}

func checkPolicies(rows []Route, limiter Limiter) error {
	if limiter == nil {
		return nil
	}
	var faults []error
	for _, r := range rows {
		if r.RatePolicy == "" {
			continue
		}
		if err := limiter.Check(r.RatePolicy); err != nil {
			faults = append(faults, fmt.Errorf("route %q: %w", r.Name, err))
		}
	}
	return errors.Join(faults...)
}
