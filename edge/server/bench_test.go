package server

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// discard is a response writer that drops the answer.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkProfileCached measures the edge's handling of a cached profile, including the log
// line, without net/http.
func BenchmarkProfileCached(b *testing.B) { benchmarkProfile(b, nil) }

// BenchmarkProfileNotModified is the same for a caller with a current ETag.
func BenchmarkProfileNotModified(b *testing.B) { benchmarkProfile(b, []string{"*"}) }

func benchmarkProfile(b *testing.B, ifNoneMatch []string) {
	b.Helper()
	c := testConfig(backendtest.New())
	c.ProfileCacheTTL = time.Hour
	c.RateLimits = map[string]string{"profile": "1000000000/60"}
	c.Logger = slog.New(slog.NewJSONHandler(io.Discard, nil))
	s, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/api/human/amara", nil)
	if ifNoneMatch != nil {
		r.Header["If-None-Match"] = ifNoneMatch
	}
	w := discard{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		s.handler.ServeHTTP(w, r)
	}
}
