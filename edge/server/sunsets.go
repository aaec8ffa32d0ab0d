package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

const (
	// announceTimeout is how long a start waits for a backend that does not answer.
	announceTimeout = 30 * time.Second
	announceAgain   = 250 * time.Millisecond
)

// DeprecatedRoutes returns the paths of the deprecated routes by the names that
// Config.Sunsets has them under.
func DeprecatedRoutes() map[string]string {
	paths := map[string]string{}
	for _, r := range route.Table() {
		if r.State == route.Deprecated {
			paths[r.Name] = r.Pattern
		}
	}
	return paths
}

// ParseSunset reads a value of Config.Sunsets. The path is removed when the date
// begins in UTC.
func ParseSunset(text string) (time.Time, error) {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("sunset %q is no date such as 2027-07-01", text)
	}
	return at, nil
}

func parseSunsets(dates map[string]string) (map[string]time.Time, error) {
	sunsets, paths := make(map[string]time.Time, len(dates)), DeprecatedRoutes()
	for name, text := range dates {
		if paths[name] == "" {
			return nil, fmt.Errorf("%q is no deprecated route; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(paths)), ", "))
		}
		at, err := ParseSunset(text)
		if err != nil {
			return nil, err
		}
		sunsets[name] = at
	}
	return sunsets, nil
}

// announceSunsets tells the backend of each sunset. It waits for a backend that
// does not answer yet.
func (s *Server) announceSunsets(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(s.config.sunsets)) {
		first, err := s.announceSunset(ctx, name)
		if err != nil {
			return err
		}
		s.config.Logger.Info("sunset announced", slog.String("route", name), slog.Time("sunset", s.config.sunsets[name]),
			slog.Time("first_announced_at", first))
	}
	return nil
}

func (s *Server) announceSunset(ctx context.Context, name string) (first time.Time, err error) {
	for {
		first, err = s.backend.AnnounceSunset(ctx, name, s.config.sunsets[name])
		failure := upstream.AsError(err)
		switch {
		case failure == nil:
			return first, nil
		case failure.Kind == upstream.Invalid:
			return first, errors.New("a sunset is refused: " + failure.Message)
		case failure.Kind != upstream.Unavailable:
			return first, fmt.Errorf("announce the sunset of %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return first, fmt.Errorf("announce the sunset of %s: %w", name, err)
		case <-time.After(announceAgain):
		}
	}
}

// period are the handlers from a time on, until the next period begins.
type period struct {
	from     time.Time
	handlers map[string]route.Handler
}

// addByLivePaths adds the handlers that are made from the paths that are live:
// documents, descriptions and the batch. After a sunset they are others.
func (p *parts) addByLivePaths(handlers map[string]route.Handler) error {
	var periods []period
	for _, from := range p.removals() {
		live := *p
		live.routes = route.LiveAt(p.routes, from)
		own := maps.Clone(handlers)
		for _, add := range []func(map[string]route.Handler) error{live.addBatch, live.addIdentity, live.addSandbox, live.addDocuments} {
			if err := add(own); err != nil {
				return err
			}
		}
		periods = append(periods, period{from, own})
	}
	for name := range periods[0].handlers {
		if handlers[name] == nil {
			handlers[name] = p.inForce(periods, name)
		}
	}
	return nil
}

// removals returns the times at which live paths change: the zero time, then each
// sunset.
func (p *parts) removals() []time.Time {
	times := []time.Time{{}}
	for _, r := range p.routes {
		times = append(times, r.Sunset)
	}
	slices.SortFunc(times, time.Time.Compare)
	return slices.CompactFunc(times, time.Time.Equal)
}

// inForce is the handler of the name in the period of now.
func (p *parts) inForce(periods []period, name string) route.Handler {
	if len(periods) == 1 {
		return periods[0].handlers[name]
	}
	return func(w http.ResponseWriter, r *http.Request, argument string) {
		now := p.Now()
		for _, current := range slices.Backward(periods) {
			if !now.Before(current.from) {
				current.handlers[name](w, r, argument)
				return
			}
		}
	}
}
