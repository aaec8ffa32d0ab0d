package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	backend "github.com/kith-crm/kith/backend/server"
	"github.com/kith-crm/kith/deploy/internal/inprocess"
	edge "github.com/kith-crm/kith/edge/server"
)

// behindProxy is Kith behind a proxy at https://kith.example, which a test may break.
type behindProxy struct {
	ca      *authority
	address *publicAddress
	kith    http.Handler // the proxy, as it should be
	server  *httptest.Server
	serve   http.Handler // what the server answers with
}

func newBehindProxy(t *testing.T) *behindProxy {
	t.Helper()
	p := &behindProxy{ca: newAuthority(t)}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve.ServeHTTP(w, r) }))
	p.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(p.server.Close)
	_, port, _ := net.SplitHostPort(p.server.Listener.Addr().String())
	base := "https://kith.example:" + port
	p.kith = httputil.NewSingleHostReverseProxy(startKith(t, base))
	p.serve = p.kith
	p.address = p.reach(t, base)
	p.server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, nil }}
	p.certificate(t, &x509.Certificate{DNSNames: []string{"kith.example"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, 90)})
	p.server.StartTLS()
	return p
}

// certificate makes the proxy show a certificate of the authority.
func (p *behindProxy) certificate(t *testing.T, template *x509.Certificate) {
	t.Helper()
	p.ca.issue(t, "proxy", template)
	pair, err := tls.LoadX509KeyPair(p.ca.file("proxy.pem"), p.ca.file("proxy.key"))
	if err != nil {
		t.Fatal(err)
	}
	p.server.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, nil
	}
}

// reach returns an address whose every name is the proxy, and whose authority is trusted.
func (p *behindProxy) reach(t *testing.T, base string) *publicAddress {
	t.Helper()
	a, err := newPublicAddress(base)
	if err != nil {
		t.Fatal(err)
	}
	a.roots = x509.NewCertPool()
	a.roots.AddCert(p.ca.cert)
	a.resolve = func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
	}
	a.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, p.server.Listener.Addr().String())
	}
	return a
}

// startKith starts a whole Kith with a base URL, and returns where it listens.
func startKith(t *testing.T, base string) *url.URL {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kith.db")
	if _, err := backend.Migrate(t.Context(), path, false); err != nil {
		t.Fatal(err)
	}
	core, err := backend.New(t.Context(), backend.Config{DatabaseURL: path, BaseURL: base, ServiceToken: "0123456789abcdef"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = core.Stop(context.WithoutCancel(t.Context())) })
	if err := core.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	front, err := edge.New(edge.Config{Addr: "127.0.0.1:0", BaseURL: base, BackendURLs: []string{"http://backend"}, Transport: inprocess.Transport(core.Handler()), ServiceToken: "0123456789abcdef"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Stop(context.WithoutCancel(t.Context())) })
	if err := front.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &url.URL{Scheme: "http", Host: front.Addr().String()}
}

// diagnosis returns what the checks print and their error.
func diagnosis(t *testing.T, checks []check, s *settings) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := (&program{ctx: t.Context(), out: &out, settings: s}).diagnose(checks)
	return out.String(), err
}

// TestPublicAddress: Kith behind a proxy passes, and each wrong proxy is reported by what to do about it.
func TestPublicAddress(t *testing.T) {
	p := newBehindProxy(t)
	if out, err := diagnosis(t, p.address.checks(), &settings{}); err != nil || strings.Count(out, "ok  ") != 7 {
		t.Fatalf("of a proxy that is right: %v\n%s", err, out)
	}
	answering := func(status int, header map[string]string, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, body)
		}
	}
	changed := func(change func(*http.Response) error) http.Handler {
		proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "kith"})
		proxy.Transport = inprocess.Transport(p.kith)
		proxy.ModifyResponse = change
		return proxy
	}
	only := func(path string, wrong http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, path) {
				wrong.ServeHTTP(w, r)
				return
			}
			p.kith.ServeHTTP(w, r)
		})
	}
	page, js := map[string]string{"Content-Type": "text/html", "X-Request-Id": "x"}, map[string]string{"Content-Type": "application/json", "X-Request-Id": "x"}
	for name, test := range map[string]struct {
		serve       http.Handler
		check, want string
	}{
		"a sign-in before everything": {answering(302, map[string]string{"Location": "https://login.example/"}, ""), "service", "redirects to https://login.example/"},
		"a redirect of MCP":           {only(pathMCP, answering(308, map[string]string{"Location": "/mcp/v1/me/"}, "")), "challenge", "use that address"},
		"kith is down":                {answering(502, nil, "Bad Gateway"), "service", "does not reach kith"},
		"a tunnel is down":            {answering(530, nil, "error code: 1033"), "service", "does not reach kith"},
		"another site":                {answering(200, page, "Welcome to nginx!"), "service", "not kith"},
		"a check for bots":            {only("/.well-known", answering(403, page, "Just a moment")), "resource", "check for bots"},
		"a path that is not passed":   {only("/.well-known", answering(404, js, "{}")), "resource", "let the proxy pass the path"},
		"a wrong clock":               {changed(func(r *http.Response) error { r.Header.Set("Date", "Sat, 21 Nov 2026 00:00:00 GMT"); return nil }), "service", "clocks"},
		"no metadata":                 {only("/.well-known", answering(200, js, "…")), "resource", "not answered with JSON"},
		"two servers":                 {only(resourceOf, answering(200, js, `{"resource":"`+p.address.url.String()+pathMCP+`","authorization_servers":[]}`)), "resource", "names 0 authorization servers"},
		"another issuer":              {only(serverOf, answering(200, js, `{"issuer":"https://other.example"}`)), "sign-in", "KITH_BASE_URL=" + p.address.url.String()},
		"a challenge without header":  {changed(func(r *http.Response) error { r.Header.Del("WWW-Authenticate"); return nil }), "challenge", "WWW-Authenticate"},
		"credentials taken away": {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Authorization")
			p.kith.ServeHTTP(w, r)
		}), "credentials", "does not reach kith"},
		"POST is refused":     {only(pathMCP, answering(405, js, "")), "challenge", "gets 405 instead of 401"},
		"an answer cut short": {only("/v1", answering(200, map[string]string{"Content-Length": "10", "X-Request-Id": "x"}, "{")), "service", "breaks off"},
	} {
		p.serve = test.serve
		out, err := diagnosis(t, p.address.checks(), &settings{})
		if err == nil || !strings.Contains(out, fmt.Sprintf("FAIL  %-12s", test.check)) || !strings.Contains(line(out, "FAIL  "+test.check), test.want) {
			t.Errorf("%s: %v, not %q in\n%s", name, err, test.want, out)
		}
	}
	p.serve = p.kith
	other := p.reach(t, strings.Replace(p.address.url.String(), "kith.example", "KITH.example", 1))
	if out, err := diagnosis(t, other.checks(), &settings{}); err == nil || !strings.Contains(line(out, "FAIL  resource"), "KITH_BASE_URL=https://KITH.example") {
		t.Errorf("another address than KITH_BASE_URL: %v\n%s", err, out)
	}
	if out, err := diagnosis(t, p.address.checks(), &settings{BaseURL: "https://kith.invalid"}); err != nil || !strings.Contains(out, "another KITH_BASE_URL, https://kith.invalid") {
		t.Errorf("other settings on this machine: %v\n%s", err, out)
	}
}

// line returns the line of a text that begins with a prefix.
func line(text, prefix string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n"+prefix)
	first, _, _ := strings.Cut(rest, "\n")
	return first
}

// TestPublicTLS: each fault of a certificate is told by what to do about it, and nothing is asked after it.
func TestPublicTLS(t *testing.T) {
	p := newBehindProxy(t)
	days := func(from, until int) *x509.Certificate {
		now := time.Now()
		return &x509.Certificate{DNSNames: []string{"kith.example"}, NotBefore: now.AddDate(0, 0, from), NotAfter: now.AddDate(0, 0, until)}
	}
	wrongName, noChain := days(-1, 90), days(-1, 90)
	wrongName.DNSNames = []string{"other.example"}
	noChain.IssuingCertificateURL = []string{"http://authority.example/intermediate.der"}
	trusted := p.address.roots
	for name, test := range map[string]struct {
		template *x509.Certificate
		roots    *x509.CertPool
		want     string
	}{
		"expired":              {days(-90, -1), trusted, "expired on"},
		"not valid yet":        {days(1, 90), trusted, "check the clock"},
		"expires soon":         {days(-83, 7), trusted, "renew it"},
		"another name":         {wrongName, trusted, "not for kith.example"},
		"an unknown authority": {days(-1, 90), x509.NewCertPool(), "public authority"},
		"no chain":             {noChain, x509.NewCertPool(), "fullchain.pem"},
	} {
		p.certificate(t, test.template)
		p.address.roots = test.roots
		out, err := diagnosis(t, p.address.checks(), &settings{})
		if err == nil || !strings.Contains(line(out, "FAIL  TLS"), test.want) || strings.Count(out, "not asked, because TLS failed") != 5 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	p.certificate(t, days(-1, 5))
	p.address.roots = trusted
	if out, err := diagnosis(t, p.address.checks(), &settings{}); err != nil {
		t.Errorf("a new certificate for six days: %v\n%s", err, out)
	}
}

// TestPublicReach: names, ports and networks that clients do not reach.
func TestPublicReach(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	closed := "127.0.0.1:1"
	for name, test := range map[string]struct{ address, ip, listener, want string }{
		"loopback":      {"http://localhost:8080", "127.0.0.1", closed, "FAIL  address       localhost is an address of this machine"},
		"private":       {"https://192.168.1.5", "192.168.1.5", closed, "FAIL  address       192.168.1.5 is an address of this machine or network"},
		"a VPN":         {"https://[fd7a:115c:a1e0::1]", "fd7a:115c:a1e0::1", closed, "FAIL  address"},
		"http":          {"http://kith.example", "93.184.215.14", closed, "is not https"},
		"no name":       {"https://kith.example", "", closed, "add a record A or AAAA"},
		"a private DNS": {"https://kith.example", "100.100.1.1", closed, "on this network a private address"},
		"a closed port": {"https://kith.example", "93.184.215.14", closed, "FAIL  TLS           no connection to port 443 of kith.example"},
		"no TLS":        {"https://kith.example:80", "93.184.215.14", plain.Listener.Addr().String(), "does not speak TLS"},
		"silence":       {"https://kith.example", "93.184.215.14", silent.Addr().String(), "nothing answers at port 443"},
	} {
		a, err := newPublicAddress(test.address)
		if err != nil {
			t.Fatal(err)
		}
		a.resolve = func(context.Context, string, string) ([]netip.Addr, error) {
			if test.ip == "" {
				return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
			}
			return []netip.Addr{netip.MustParseAddr(test.ip)}, nil
		}
		a.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, test.listener)
		}
		checks := a.checks()
		for i := range checks {
			checks[i].timeout = 300 * time.Millisecond
		}
		if out, err := diagnosis(t, checks, &settings{}); err == nil || !strings.Contains(out, test.want) {
			t.Errorf("%s: %v, not %q in\n%s", name, err, test.want, out)
		}
	}
	for _, address := range []string{"kith.example", "https://kith.example/mcp/v1/me", "https://u@kith.example", "ftp://kith.example", "https://"} {
		if _, err := newPublicAddress(address); err == nil {
			t.Errorf("the address %s was accepted", address)
		}
	}
}
