package upstream_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/upstream"
)

// An answer that the backend did not write is never treated as the backend's refusal.
func TestOutageIsUnavailable(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	hangs := transportFunc(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	for name, test := range map[string]struct {
		ctx       context.Context
		transport http.RoundTripper
		want      upstream.Kind
	}{
		"connection refused":    {t.Context(), transportFunc(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }), upstream.Unavailable},
		"broken answer":         {t.Context(), transportFunc(brokenAnswer), upstream.Unavailable},
		"canceled":              {canceled, hangs, upstream.Unavailable},
		"bad gateway":           {t.Context(), answers(http.StatusBadGateway, "text/html", "<h1>"), upstream.Unavailable},
		"a proxy's 401":         {t.Context(), answers(http.StatusUnauthorized, "text/html", "<h1>"), upstream.Unavailable},
		"a proxy's 403":         {t.Context(), answers(http.StatusForbidden, "text/plain", "no"), upstream.Unavailable},
		"a proxy's 404":         {t.Context(), answers(http.StatusNotFound, "text/plain", "no"), upstream.Internal},
		"answer of another":     {t.Context(), answers(http.StatusOK, "text/html", "<h1>"), upstream.Unavailable},
		"answer over the limit": {t.Context(), answers(http.StatusOK, "application/json", strings.Repeat(" ", 8<<20+1)), upstream.Internal},
		"backend unavailable":   {t.Context(), answers(http.StatusServiceUnavailable, "application/json", `{"code":"unavailable"}`), upstream.Unavailable},
		"backend's deadline":    {t.Context(), answers(http.StatusGatewayTimeout, "application/json", `{"code":"deadline_exceeded"}`), upstream.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newClient(t, test.transport).CallTool(test.ctx, upstream.ToolCall{Procedure: search, Bearer: "tok", Arguments: []byte("{}")})
			got, ok := errors.AsType[*upstream.Error](err)
			if !ok || got.Kind != test.want || got.Message != "" {
				t.Errorf("got %v (%q), want kind %s", err, got.Message, test.want)
			}
		})
	}
}

// brokenAnswer ends in the middle of the body.
func brokenAnswer(r *http.Request) (*http.Response, error) {
	response, err := answers(http.StatusOK, "application/json", "")(r)
	if err == nil {
		response.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"hi`), errReader{}))
	}
	return response, err
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestDeadline(t *testing.T) {
	t.Parallel()
	c, err := upstream.New(upstream.Options{
		BaseURL: "http://backend", Timeout: 1, Procedures: []string{search},
		Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.CallTool(t.Context(), upstream.ToolCall{Procedure: search, Bearer: "tok", Arguments: []byte("{}")})
	if upstream.AsError(err).Kind != upstream.Unavailable {
		t.Errorf("got %v", err)
	}
}
