package mcp_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/server"
)

// ready answers every call with the same JSON.
type ready struct{ body []byte }

func (r ready) RoundTrip(request *http.Request) (*http.Response, error) {
	_ = request.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(r.body)),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(r.body)),
	}, nil
}

// threeKilobytes is an answer like those of search_connections.
func threeKilobytes() []byte {
	hit := `{"id":"con_kf924hj974","name":"Zoë Ångström","headline":"Engineer at Kilo","organization":"Kilo",` +
		`"email":"zoe@kilo.example","score":0.5,"matched_fields":["name","note"],"snippet":"said \"maybe\" in May"}`
	return []byte(`{"hits":[` + strings.Repeat(hit+",", 11) + hit + `],"has_more":false,"mode_used":"keyword"}`)
}

// discard is a response writer that drops the answer.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// repeat is a body that can be read repeatedly.
type repeat struct{ *bytes.Reader }

func (repeat) Close() error { return nil }

func benchmark(b *testing.B, path, body string) {
	b.Helper()
	s, err := server.New(server.Config{
		RateLimits: backendtest.NoLimits(server.RatePolicies()),
		Addr:       ":0", BaseURL: "https://kith.example", Transport: ready{threeKilobytes()},
		SandboxEnabled: true, SandboxToken: "kith_pat_demo", SandboxUsername: "demo",
	})
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, path, nil)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer kith_pat_0123456789")
	reader := bytes.NewReader([]byte(body))
	r.ContentLength = int64(len(body))
	w := discard{http.Header{}}
	handler := s.Handler()
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset([]byte(body))
		r.Body = repeat{reader}
		handler.ServeHTTP(w, r)
	}
}

func BenchmarkToolsCall(b *testing.B) {
	benchmark(b, "/mcp/v1", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections",`+
		`"arguments":{"query":"engineers I met in Lisbon who know about storage","limit":10,"mode":"auto"}}}`)
}

func BenchmarkToolsList(b *testing.B) {
	benchmark(b, "/mcp/sandbox", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
}

func BenchmarkPing(b *testing.B) {
	benchmark(b, "/mcp/sandbox", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
}
