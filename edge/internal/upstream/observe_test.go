package upstream_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/kith-crm/kith/edge/internal/upstream"
)

func TestObserve(t *testing.T) {
	t.Parallel()
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	down := transportFunc(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })
	for _, c := range []struct {
		ctx       context.Context
		transport http.RoundTripper
		want      string
	}{
		{t.Context(), answers(http.StatusServiceUnavailable, "text/plain", "no"), "answered"},
		{t.Context(), down, "unreachable"},
		{late, down, "unreachable"},
		{gone, down, "abandoned"},
	} {
		var told []string
		watched := upstream.Observe(c.transport, func(outcome string) { told = append(told, outcome) })
		r, err := http.NewRequestWithContext(c.ctx, http.MethodGet, "http://backend/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := watched.RoundTrip(r); err == nil {
			_ = response.Body.Close()
		}
		if !slices.Equal(told, []string{c.want}) {
			t.Errorf("told %v, not %s", told, c.want)
		}
	}
}
