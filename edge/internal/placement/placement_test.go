package placement

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"connectrpc.com/grpchealth"
	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/edge/internal/upstream"
)

// fakeBackend answers with its name, and with the placement of the credential: the part of it
// before the first dash.
type fakeBackend struct {
	*httptest.Server

	name   string
	served atomic.Int64
	sick   atomic.Bool
	breaks atomic.Bool // closes the connection instead of answering
}

func newFakeBackend(t *testing.T, name string) *fakeBackend {
	t.Helper()
	b := &fakeBackend{name: name}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

// ServeHTTP implements http.Handler.
func (b *fakeBackend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path, health := grpchealth.NewHandler(b); strings.HasPrefix(r.URL.Path, path) { // as a backend serves it
		health.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	b.served.Add(1)
	if b.breaks.Load() {
		panic(http.ErrAbortHandler)
	}
	credential := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if cookie, err := r.Cookie("kith_session"); err == nil {
		credential = cookie.Value
	}
	if member, _, ok := strings.Cut(credential, "-"); ok {
		w.Header().Set("Kith-Placement", member)
	}
	_, _ = fmt.Fprintf(w, "%s %s", b.name, body)
}

// Check implements grpchealth.Checker.
func (b *fakeBackend) Check(context.Context, *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	if b.sick.Load() {
		return &grpchealth.CheckResponse{Status: grpchealth.StatusNotServing}, nil
	}
	return &grpchealth.CheckResponse{Status: grpchealth.StatusServing}, nil
}

// two are two backends and a placement over them.
func two(t *testing.T) (a, b *fakeBackend, p *Placement) {
	t.Helper()
	a, b = newFakeBackend(t, "a"), newFakeBackend(t, "b")
	return a, b, newPlacement(t, nil, a.URL, b.URL)
}

// send makes a call with a credential, which is a bearer or "cookie x", and returns the answer.
func send(p *Placement, method, path, credential, body string) (string, error) {
	r, err := http.NewRequestWithContext(context.Background(), method, "http://backend"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return "", err
	}
	if cookie, ok := strings.CutPrefix(credential, "cookie "); ok {
		r.AddCookie(&http.Cookie{Name: "kith_session", Value: cookie})
	} else if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	response, err := p.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	return string(answer), err
}

func mustSend(t *testing.T, p *Placement, method, path, credential, body string) string {
	t.Helper()
	answer, err := send(p, method, path, credential, body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// The calls of a member go to one backend, with any of the member's known credentials. Both
// backends get members.
func TestAMemberStaysAtABackend(t *testing.T) {
	t.Parallel()
	_, _, p := two(t)
	at := map[string]int{}
	for m := range 40 {
		home := ""
		for _, credential := range []string{"m%d-token", "m%d-grant", "cookie m%d-session"} {
			credential = fmt.Sprintf(credential, m)
			mustSend(t, p, http.MethodPost, "/read", credential, "")
			for range 3 {
				answer := mustSend(t, p, http.MethodPost, "/read", credential, "")
				if home == "" {
					home = answer
				}
				if answer != home {
					t.Fatalf("%s is served by %s, the member by %s", credential, answer, home)
				}
			}
		}
		at[home]++
	}
	if len(at) != 2 || at["a "]+at["b "] != 40 {
		t.Errorf("members by backend: %v", at)
	}
	if p.Knows("m1-other") || !p.Knows("m1-token") {
		t.Error("Knows must be true of bearers that were answered, and of no others")
	}
}

// The session that a sign-in begins is known at once.
func TestSignIn(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Kith-Placement", "m1")
		http.SetCookie(w, &http.Cookie{Name: "kith_session", Value: "new"}) //nolint:gosec // of a test
		http.SetCookie(w, &http.Cookie{Name: "kith_form", Value: "form"})   //nolint:gosec // of a test
	}))
	t.Cleanup(site.Close)
	p := newPlacement(t, nil, site.URL)
	mustSend(t, p, http.MethodPost, "/sign-in", "", "")
	if member, _ := p.members.Get(sha256.Sum256([]byte("new"))); member != "m1" || p.members.Len() != 1 {
		t.Errorf("the session is %q's; %d credentials are remembered", member, p.members.Len())
	}
}

// Neither a credential without a Kith-Placement in the answer nor a visitor of the sandbox is
// remembered.
func TestOnlyVouchedCredentialsAreRemembered(t *testing.T) {
	t.Parallel()
	_, _, p := two(t)
	mustSend(t, p, http.MethodPost, "/read", "unknown", "")
	r := httptest.NewRequest(http.MethodPost, "http://backend/read", http.NoBody)
	r.Header.Set("Authorization", "Bearer demo-token")
	r.Header.Set("Kith-Sandbox-Visitor", "192.0.2.1")
	response, err := p.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if n := p.members.Len(); n != 0 {
		t.Errorf("%d credentials are remembered", n)
	}
}

// A lost backend's members are served by the other one, with every kind of call, and their bodies
// arrive. A health check brings it back.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	a, b, p := two(t)
	address := a.Listener.Addr().String()
	a.Close()
	for m := range 20 {
		for _, path := range []string{"/read", "/write"} {
			if answer := mustSend(t, p, http.MethodPost, path, fmt.Sprintf("m%d-t", m), "body"); answer != "b body" {
				t.Fatalf("%s: %q", path, answer)
			}
		}
	}
	states := p.States()
	if states[0].Up || !states[1].Up || states[0].Fallbacks == 0 || states[1].Fallbacks != 0 || states[1].Calls != 40 || states[0].Calls != 1 {
		t.Errorf("states %+v", states)
	}
	p.checkAll(t.Context())
	if p.States()[0].Up {
		t.Error("a dead backend is up")
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	again := &http.Server{Handler: &fakeBackend{name: "again"}} //nolint:gosec // of a test
	go func() { _ = again.Serve(listener) }()
	t.Cleanup(func() { _ = again.Close() })
	p.checkAll(t.Context())
	if states := p.States(); !states[0].Up || !states[1].Up {
		t.Errorf("states %+v", states)
	}
	_ = b
}

// A backend is left out while its database is unavailable.
func TestHealthChecks(t *testing.T) {
	t.Parallel()
	a, _, p := two(t)
	for _, sick := range []bool{true, false, true} {
		a.sick.Store(sick)
		p.checkAll(t.Context())
		if up := p.States()[0].Up; up == sick {
			t.Errorf("sick: %t, up: %t", sick, up)
		}
	}
}

// A call whose connection breaks may have been served. It is repeated once, by another backend, if
// that is safe.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path, key string
		want              bool
	}{
		"read":        {http.MethodPost, "/read", "", true},
		"page":        {http.MethodGet, "/people", "", true},
		"write":       {http.MethodPost, "/write", "", false},
		"keyed write": {http.MethodPost, "/write", "k", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, p := two(t)
			a.breaks.Store(true)
			b.breaks.Store(true)
			body := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }
			r := httptest.NewRequest(c.method, "http://backend"+c.path, strings.NewReader("x"))
			r.GetBody = body
			r.Header.Set("Kith-Idempotency-Key", c.key)
			response, err := p.RoundTrip(r)
			if err == nil {
				_ = response.Body.Close()
				t.Fatal("a broken connection is an answer")
			}
			if tries := a.served.Load() + b.served.Load(); tries != map[bool]int64{true: 2, false: 1}[c.want] {
				t.Errorf("%d tries", tries)
			}
			for _, s := range p.States() {
				if !s.Up {
					t.Errorf("%s is left out, although it accepts connections", s.Backend)
				}
			}
		})
	}
}

// brokenPipe is a connection that breaks after the first write.
type brokenPipe struct {
	net.Conn

	written atomic.Bool
}

func (c *brokenPipe) Write(p []byte) (int, error) {
	if c.written.Swap(true) {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return c.Conn.Write(p)
}

// A write that was not sent completely is tried at the next backend, with its whole body. The backend
// is not left out: the connection may be an old one of a process that has been restarted.
func TestRequestsSentInPart(t *testing.T) {
	t.Parallel()
	a, b := newFakeBackend(t, "a"), newFakeBackend(t, "b")
	p := newPlacement(t, func(o *Options) {
		o.NewTransport = func(c *tls.Config) *http.Transport {
			transport := upstream.NewTransport(c)
			dial := transport.DialContext
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				if address == a.Listener.Addr().String() && err == nil {
					conn = &brokenPipe{Conn: conn}
				}
				return conn, err
			}
			return transport
		}
	}, a.URL, b.URL)
	body := strings.Repeat("long ", 10_000)
	for m := range 10 {
		if answer := mustSend(t, p, http.MethodPost, "/write", fmt.Sprintf("m%d-t", m), body); answer != "b "+body {
			t.Fatalf("%.40q", answer)
		}
	}
	if s := p.States(); s[0].Calls == 0 || !s[0].Up {
		t.Errorf("states %+v", s)
	}
}

// A body that cannot be read twice is sent once.
func TestStreamsAreNotRepeated(t *testing.T) {
	t.Parallel()
	a, b, p := two(t)
	a.Close()
	b.Close()
	r := httptest.NewRequest(http.MethodPost, "http://backend/import", io.MultiReader(strings.NewReader("file")))
	if response, err := p.RoundTrip(r); err == nil {
		_ = response.Body.Close()
		t.Fatal("a call without a backend is answered")
	}
	if states := p.States(); states[0].Calls+states[1].Calls != 1 {
		t.Errorf("states %+v", states)
	}
}

// Each address of a host name is a backend, and they may come and go. A process with an address of
// each family is one backend.
func TestLookups(t *testing.T) {
	t.Parallel()
	var found []string
	var fails error
	p := newPlacement(t, func(o *Options) {
		o.Lookup = func(context.Context, string) ([]netip.Addr, error) {
			var all []netip.Addr
			for _, text := range found {
				all = append(all, netip.MustParseAddr(text))
			}
			return all, fails
		}
	}, "http://backend:8082", "http://10.9.9.9:1")
	for _, step := range []struct {
		found []string
		fails error
		want  []string
	}{
		{[]string{"10.0.0.1"}, nil, []string{"backend:8082", "10.9.9.9:1"}},
		{[]string{"10.0.0.1", "fd00::1"}, nil, []string{"backend:8082", "10.9.9.9:1"}},
		{[]string{"10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"}, nil, []string{"10.0.0.1:8082", "10.0.0.2:8082", "10.9.9.9:1"}},
		{nil, net.ErrClosed, []string{"10.0.0.1:8082", "10.0.0.2:8082", "10.9.9.9:1"}},
		{[]string{"fd00::1", "fd00::2"}, nil, []string{"[fd00::1]:8082", "[fd00::2]:8082", "10.9.9.9:1"}},
		{[]string{"10.0.0.2", "10.0.0.3"}, nil, []string{"10.0.0.2:8082", "10.0.0.3:8082", "10.9.9.9:1"}},
	} {
		found, fails = step.found, step.fails
		p.lookUp(t.Context())
		var hosts []string
		for _, s := range p.States() {
			hosts = append(hosts, s.Backend)
		}
		if diff := cmp.Diff(step.want, hosts); diff != "" {
			t.Error(diff)
		}
	}
}

// The certificate of a backend that is called by its IP address must be for the configured name.
func TestCertificatesAreForTheName(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(&fakeBackend{name: "tls"})
	_ = server.Listener.Close()
	server.Listener = listener
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS() // its certificate is for example.com
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for name, want := range map[string]bool{"example.com": true, "kith.invalid": false} {
		p := newPlacement(t, func(o *Options) {
			o.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
			o.Lookup = func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3")}, nil
			}
		}, "https://"+name+":"+port)
		p.lookUp(t.Context())
		if _, err := send(p, http.MethodPost, "/read", "m1-t", ""); (err == nil) != want || len(p.States()) != 2 {
			t.Errorf("%s: %v, %+v", name, err, p.States())
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, urls := range [][]string{nil, {""}, {"backend:8082"}, {"http://"}, {"http://a:1", "http://b:1/x"}, {"ftp://a"}, {"http://u@a"}} {
		if _, err := New(Options{URLs: urls, NewTransport: upstream.NewTransport}); err == nil {
			t.Errorf("%q is accepted", urls)
		}
	}
}

// Calls, health checks and lookups run at once.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	a, _, p := two(t)
	p.Start(t.Context())
	var calls sync.WaitGroup
	for n := range 8 {
		calls.Go(func() {
			for i := range 40 {
				if _, err := send(p, http.MethodPost, "/read", fmt.Sprintf("m%d-%d", i, n), ""); err != nil {
					t.Error(err)
				}
				if i == 20 && n == 0 {
					a.sick.Store(true)
				}
				if n == 1 {
					p.checkAll(t.Context())
					p.lookUp(t.Context())
				}
			}
		})
	}
	calls.Wait()
	p.Stop()
	p.Stop()
	if p.States()[0].Up {
		t.Error("a sick backend is up")
	}
}
