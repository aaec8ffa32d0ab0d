package server

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/kith-crm/kith/observability/metrics"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

func TestServes(t *testing.T) {
	t.Parallel()
	s := start(t, newServer(t, testConfig(backendtest.New())))
	for target, status := range map[string]int{
		"/api/human/amara":                                     200,
		"/api/human/AMARA.json":                                200,
		"/api/human/amara.md":                                  200,
		"/api/network/members":                                 200,
		"/sandbox":                                             200,
		"/sandbox/api/human/amara":                             200,
		"/.well-known/oauth-protected-resource":                200,
		"/.well-known/oauth-protected-resource/mcp":            200,
		"/.well-known/oauth-protected-resource/mcp/v1":         200,
		"/.well-known/oauth-protected-resource/mcp/sandbox":    404,
		"/.well-known/oauth-protected-resource/sandbox/mcp/v1": 404,
		"/sandbox/.well-known/oauth-protected-resource":        404,
		"/.well-known/openid-configuration":                    404,
		"/sandbox/oauth/register":                              404,
		"/sandbox/api/jobs/1":                                  404,
		"/nothing":                                             404,
		"/mcp":                                                 405,
		"/mcp/v1":                                              405,
	} {
		r := raw(t, s, get(target))
		if r.status != status || r.header.Get("X-Request-Id") == "" || r.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %v", target, r.status, r.header)
		}
		if status == 404 && !r.isProblem() {
			t.Errorf("%s: %s", target, r.body)
		}
	}
}

func TestWithoutSandbox(t *testing.T) {
	t.Parallel()
	c := testConfig(backendtest.New())
	c.SandboxEnabled = false
	h := newServer(t, c).Handler()
	for _, target := range []string{"/sandbox", "/mcp/sandbox", "/sandbox/mcp/v1", "/sandbox/api/human/amara"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, target, nil))
		if w.Code != 404 {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
}

func TestStartNamesTheTakenAddress(t *testing.T) {
	t.Parallel()
	first := start(t, newServer(t, testConfig(backendtest.New())))
	c := testConfig(backendtest.New())
	c.Addr = first.Addr().String()
	if err := newServer(t, c).Start(t.Context()); err == nil || !strings.Contains(err.Error(), c.Addr) {
		t.Errorf("got %v, want an error with %s", err, c.Addr)
	}
	if err := first.Start(t.Context()); err == nil {
		t.Error("a server started twice")
	}
}

func TestStopOfAServerThatNeverStarted(t *testing.T) {
	t.Parallel()
	s := newServer(t, testConfig(backendtest.New()))
	if s.Addr() != nil {
		t.Errorf("address %v", s.Addr())
	}
	for range 2 {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	backend := backendtest.New()
	s := newServer(t, testConfig(backend))
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	for _, failure := range []error{errors.New("connection refused"), connect.NewError(connect.CodeUnavailable, errors.New("the store is down"))} {
		backend.Fail(failure)
		if err := s.Ready(t.Context()); err != nil {
			t.Errorf("an edge that was ready is not ready after a failure of the backend: %v", err)
		}
	}
	lonely := testConfig(backendtest.New())
	lonely.Transport, lonely.BackendURLs = nil, []string{"http://127.0.0.1:1"}
	if err := newServer(t, lonely).Ready(t.Context()); err == nil {
		t.Error("ready before the backend answered")
	}
	c := testConfig(backendtest.New())
	c.ServiceToken = "wrong"
	if err := newServer(t, c).Ready(t.Context()); err == nil {
		t.Error("ready with a wrong service credential")
	}
}

func TestConnectionCap(t *testing.T) {
	t.Parallel()
	c := testConfig(backendtest.New())
	c.MaxConnections = 1
	s := start(t, newServer(t, c))
	first := dial(t, s)
	request := strings.Replace(get("/api/human/amara"), "Connection: close", "X-Keep: y", 1)
	if _, err := first.Write([]byte(request[:10])); err != nil {
		t.Fatal(err)
	}
	second := dial(t, s)
	if _, err := second.Write([]byte(get("/api/human/amara"))); err != nil {
		t.Fatal(err)
	}
	if err := second.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := second.Read(make([]byte, 1)); n > 0 || !isTimeout(err) {
		t.Errorf("a second connection was served: %d, %v", n, err)
	}
	if _, err := first.Write([]byte(request[10:])); err != nil { // answered and idle, so it is closed
		t.Fatal(err)
	}
	if r := readReply(t, first); r.status != 200 {
		t.Fatalf("first: %d", r.status)
	}
	if err := second.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if r := readReply(t, second); r.status != 200 {
		t.Errorf("second: %d", r.status)
	}
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

func TestTLS(t *testing.T) {
	t.Parallel()
	borrowed := httptest.NewUnstartedServer(nil)
	borrowed.StartTLS()
	defer borrowed.Close()
	c := testConfig(backendtest.New())
	c.TLS = &tls.Config{Certificates: borrowed.TLS.Certificates, MinVersion: tls.VersionTLS12}
	s := start(t, newServer(t, c))
	client := borrowed.Client()
	transport, ok := client.Transport.(*http.Transport)
	if !ok {
		t.Fatal("no transport")
	}
	transport.ForceAttemptHTTP2 = true
	response, err := client.Get("https://" + s.Addr().String() + "/api/human/amara")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != 200 || response.ProtoMajor != 2 {
		t.Errorf("%d %s", response.StatusCode, response.Proto)
	}
	client.CloseIdleConnections()
}

// The collectors of the observability module implement the observers.
func TestObserversFit(t *testing.T) {
	t.Parallel()
	var (
		_ RequestObserver = (*metrics.HTTP)(nil)
		_ ToolObserver    = (*metrics.Tools)(nil)
		_ RateObserver    = (*metrics.RateLimits)(nil)
		_ BatchObserver   = (*metrics.Batches)(nil)
		_ BackendObserver = (*metrics.Outcomes)(nil)
	)
	if names := RouteNames(); !slices.Contains(names, "mcp-v1") || !slices.Contains(names, "sandbox-profile") {
		t.Errorf("names %v", names)
	}
}
