package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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

// DeprecatedRoutes returns the paths of the deprecated routes by their names in Config.Sunsets.
func DeprecatedRoutes() map[string]string {
	paths := map[string]string{}
	for _, r := range Routes() {
		if r.State == route.Deprecated {
			paths[r.Name] = r.Pattern
		}
	}
	return paths
}

// ParseSunset reads a value of Config.Sunsets. The path is removed at the start of that date in
// UTC.
func ParseSunset(text string) (time.Time, error) {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("sunset %q is not a date such as 2027-07-01", text)
	}
	return at, nil
}

func parseSunsets(dates map[string]string) (map[string]time.Time, error) {
	sunsets, paths := make(map[string]time.Time, len(dates)), DeprecatedRoutes()
	for name, text := range dates {
		if paths[name] == "" {
			return nil, fmt.Errorf("%q is not a deprecated route; the deprecated routes are: %s", name, strings.Join(slices.Sorted(maps.Keys(paths)), ", "))
		}
		at, err := ParseSunset(text)
		if err != nil {
			return nil, err
		}
		sunsets[name] = at
	}
	return sunsets, nil
}

// announceSunsets announces each sunset to the backend. It waits for a backend that does not
// answer yet.
func (s *Server) announceSunsets(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(s.parts.sunsets)) {
		first, err := s.announceSunset(ctx, name)
		if err != nil {
			return err
		}
		s.parts.Logger.Info("sunset announced", slog.String("route", name), slog.Time("sunset", s.parts.sunsets[name]),
			slog.Time("first_announced_at", first))
	}
	return nil
}

func (s *Server) announceSunset(ctx context.Context, name string) (first time.Time, err error) {
	for {
		first, err = s.parts.backend.AnnounceSunset(ctx, name, s.parts.sunsets[name])
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
