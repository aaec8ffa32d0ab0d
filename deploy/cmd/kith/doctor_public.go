package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// publicAddress is an address that clients such as Claude and ChatGPT call, and how this machine reaches it.
type publicAddress struct {
	url     *url.URL
	roots   *x509.CertPool // nil for those of the system
	resolve func(ctx context.Context, network, host string) ([]netip.Addr, error)
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

// The limits of what a public address is asked.
const (
	maxAnswer  = 1 << 20
	pathMCP    = "/mcp/v1/me" // the path that clients are given
	resourceOf = "/.well-known/oauth-protected-resource"
	serverOf   = "/.well-known/oauth-authorization-server"
)

// newPublicAddress checks the form of an address.
func newPublicAddress(address string) (*publicAddress, error) {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("--public %q must be an address like https://kith.example, without a path", address)
	}
	return &publicAddress{url: u, resolve: net.DefaultResolver.LookupNetIP, dial: new(net.Dialer).DialContext}, nil
}

// checks returns what is asked, in order. Without a name, TLS and a service that answers, the others would fail for the same reason.
func (a *publicAddress) checks() []check {
	asked := func(run func(context.Context) (string, error)) func(context.Context, *settings) (string, error) {
		return func(ctx context.Context, _ *settings) (string, error) { return run(ctx) }
	}
	return []check{
		{name: "address", run: asked(a.checkAddress), first: true},
		{name: "TLS", run: asked(a.checkTLS), first: true},
		{name: "service", run: a.checkService, first: true},
		{name: "resource", run: asked(a.checkResource)},
		{name: "sign-in", run: asked(a.checkServer)},
		{name: "challenge", run: asked(a.checkChallenge)},
		{name: "credentials", run: asked(a.checkCredentials)},
	}
}

// checkAddress looks the host up.
func (a *publicAddress) checkAddress(ctx context.Context) (string, error) {
	host := a.url.Hostname()
	literal, err := netip.ParseAddr(host)
	isLiteral := err == nil
	if isLoopback(host) || isLiteral && isInternal(literal) {
		return "", fmt.Errorf("%s is an address of this machine or network, so clients elsewhere cannot reach it: see deploy/docs/public-address.md", host)
	}
	if a.url.Scheme == "http" {
		return "", errors.New("the address is not https, and clients refuse to send tokens unencrypted: terminate TLS in front of kith, or set KITH_ACME or KITH_TLS_CERT")
	}
	found := []netip.Addr{literal}
	if !isLiteral {
		if found, err = a.resolve(ctx, "ip", host); err != nil || len(found) == 0 {
			return "", fmt.Errorf("the name %s has no address: add a record A or AAAA to the DNS of its domain (%w)", host, errors.Join(err))
		}
	}
	var names []string
	for _, ip := range found {
		names = append(names, ip.Unmap().String())
	}
	text := host + " is " + strings.Join(names, ", ")
	if slices.ContainsFunc(found, isInternal) {
		text += "; on this network a private address: make sure that the public DNS has another, or run this check elsewhere"
	}
	return text, nil
}

// isInternal reports whether an address is reachable only from this machine or network, also from a VPN such as Tailscale.
func isInternal(ip netip.Addr) bool {
	ip = ip.Unmap()
	return !ip.IsGlobalUnicast() || ip.IsPrivate() || netip.MustParsePrefix("100.64.0.0/10").Contains(ip)
}

// checkTLS looks at the certificates that clients are shown.
func (a *publicAddress) checkTLS(ctx context.Context) (string, error) {
	port := a.url.Port()
	if port == "" {
		port = "443"
	}
	plain, err := a.dial(ctx, "tcp", net.JoinHostPort(a.url.Hostname(), port))
	if err != nil {
		return "", a.explainTLS(ctx, port, err)
	}
	conn := tls.Client(plain, a.tls())
	defer func() { _ = conn.Close() }()
	if err := conn.HandshakeContext(ctx); err != nil {
		return "", a.explainTLS(ctx, port, err)
	}
	state := conn.ConnectionState()
	leaf, last := state.PeerCertificates[0], state.VerifiedChains[0]
	expires := leaf.NotAfter.Format(time.DateOnly)
	if expiresSoon(leaf, time.Now()) {
		return "", fmt.Errorf("the certificate expires on %s: renew it, and find out why that does not happen by itself", expires)
	}
	return fmt.Sprintf("valid until %s, issued by %s", expires, last[len(last)-1].Subject.CommonName), nil
}

func (a *publicAddress) tls() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.url.Hostname(), RootCAs: a.roots}
}

// explainTLS says what to do about a failed connection.
func (a *publicAddress) explainTLS(ctx context.Context, port string, err error) error {
	host := a.url.Hostname()
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		if time.Now().Before(invalid.Cert.NotBefore) {
			return fmt.Errorf("the certificate is not valid before %s: check the clock of this machine", invalid.Cert.NotBefore.Format(time.DateOnly))
		}
		return fmt.Errorf("the certificate expired on %s: renew it", invalid.Cert.NotAfter.Format(time.DateOnly))
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Errorf("the certificate is not for %s: get one for this name", host)
	}
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		if unknown.Cert != nil && len(unknown.Cert.IssuingCertificateURL) > 0 {
			return errors.New("the certificates of the authorities in between are missing: serve the whole chain, which certbot calls fullchain.pem")
		}
		return errors.New("the certificate is of an authority that this machine does not know, so clients refuse it too: get one from a public authority, such as Let's Encrypt")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return fmt.Errorf("port %s of %s does not speak TLS: terminate TLS there, or name the port that does", port, host)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("nothing answers at port %s of %s in time: open it in the firewall, and forward it in the router", port, host)
	}
	return fmt.Errorf("no connection to port %s of %s: start what terminates TLS there, and open the port (%w)", port, host, err)
}

// answer is what the address answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends a request as a client would. Redirects, pages of a proxy and its errors are errors that say what to do.
func (a *publicAddress) ask(ctx context.Context, method, path, token string) (*answer, error) {
	body := io.Reader(http.NoBody)
	if method == http.MethodPost {
		body = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url.String()+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{
		Transport:     &http.Transport{DialContext: a.dial, TLSClientConfig: a.tls(), DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s is not answered: start kith and the proxy in front of it (%w)", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	got := &answer{status: res.StatusCode, header: res.Header}
	if got.body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer)); err != nil {
		return nil, fmt.Errorf("%s %s breaks off: look for a limit of the proxy (%w)", method, path, err)
	}
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return nil, fmt.Errorf("%s %s redirects to %s, where clients do not follow: use that address, or take the redirect or sign-in of the proxy away from /mcp, /oauth and /.well-known",
			method, path, res.Header.Get("Location"))
	case res.StatusCode >= 502 && res.StatusCode <= 504 || res.StatusCode >= 520 && res.StatusCode <= 530:
		return nil, fmt.Errorf("%s %s gets %d: the proxy does not reach kith; start it, and let the proxy call KITH_ADDR", method, path, res.StatusCode)
	case res.Header.Get("X-Request-Id") == "" || strings.HasPrefix(res.Header.Get("Content-Type"), "text/html"):
		return nil, fmt.Errorf("%s %s gets %d from something that is not kith: let the proxy pass all paths to kith, without a sign-in or a check for bots of its own", method, path, res.StatusCode)
	}
	return got, nil
}

// askJSON sends a GET and reads the JSON of its answer.
func (a *publicAddress) askJSON(ctx context.Context, path string, into any) error {
	got, err := a.ask(ctx, http.MethodGet, path, "")
	if err != nil {
		return err
	}
	if got.status != http.StatusOK {
		return fmt.Errorf("GET %s gets %d instead of 200: let the proxy pass the path to kith, unchanged", path, got.status)
	}
	if err := json.NewDecoder(bytes.NewReader(got.body)).Decode(into); err != nil {
		return fmt.Errorf("GET %s is not answered with JSON: let the proxy pass answers unchanged (%w)", path, err)
	}
	return nil
}

// checkService asks whether Kith answers, and compares the clocks, because tokens expire.
func (a *publicAddress) checkService(ctx context.Context, s *settings) (string, error) {
	got, err := a.ask(ctx, http.MethodGet, "/v1", "")
	if err != nil {
		return "", err
	}
	if got.status != http.StatusOK {
		return "", fmt.Errorf("GET /v1 gets %d instead of 200: let the proxy pass the path to kith, unchanged", got.status)
	}
	at, err := http.ParseTime(got.header.Get("Date"))
	if cached := got.header.Get("Age") != ""; err == nil && !cached && time.Since(at).Abs() > maxSkew+time.Second {
		return "", fmt.Errorf("the clocks of this machine and of the server differ by %s: synchronise both, for example with systemd-timesyncd", time.Since(at).Abs().Round(time.Second))
	}
	if s.BaseURL != "" && s.BaseURL != a.url.String() {
		return "kith answers; the settings on this machine have another KITH_BASE_URL, " + s.BaseURL, nil
	}
	return "kith answers, and its clock is right", nil
}

// sameAddress returns an error unless the server names itself by the address that clients call.
func (a *publicAddress) sameAddress(name, got, want string) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("the server calls %s %q, not %q, so clients refuse it: set KITH_BASE_URL=%s on the server, byte for byte, and restart it", name, got, want, a.url)
}

// checkResource asks for the protected resource's metadata (RFC 9728).
func (a *publicAddress) checkResource(ctx context.Context) (string, error) {
	var got struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	if err := a.askJSON(ctx, resourceOf+pathMCP, &got); err != nil {
		return "", err
	}
	if err := a.sameAddress("the resource", got.Resource, a.url.String()+pathMCP); err != nil {
		return "", err
	}
	if len(got.Servers) != 1 {
		return "", fmt.Errorf("the metadata of the resource names %d authorization servers: let the proxy pass answers unchanged", len(got.Servers))
	}
	return "clients connect to " + got.Resource, a.sameAddress("the authorization server", got.Servers[0], a.url.String())
}

// checkServer asks for the authorization server's metadata (RFC 8414).
func (a *publicAddress) checkServer(ctx context.Context) (string, error) {
	var got struct {
		Issuer    string   `json:"issuer"`
		Authorize string   `json:"authorization_endpoint"`
		Token     string   `json:"token_endpoint"`
		Register  string   `json:"registration_endpoint"`
		Methods   []string `json:"code_challenge_methods_supported"`
	}
	if err := a.askJSON(ctx, serverOf, &got); err != nil {
		return "", err
	}
	base := a.url.String()
	for _, pair := range [][3]string{
		{"the issuer", got.Issuer, base}, {"where members allow a client", got.Authorize, base + "/oauth/authorize"},
		{"where tokens come from", got.Token, base + "/oauth/token"}, {"where clients register", got.Register, base + "/oauth/register"},
	} {
		if err := a.sameAddress(pair[0], pair[1], pair[2]); err != nil {
			return "", err
		}
	}
	if !slices.Contains(got.Methods, "S256") {
		return "", errors.New("the metadata of the authorization server does not offer S256, which clients need: let the proxy pass answers unchanged")
	}
	return "clients register and sign in at " + got.Issuer, nil
}

// challenge calls MCP without a valid token, and returns the challenge in the answer.
func (a *publicAddress) challenge(ctx context.Context, token string) (string, error) {
	got, err := a.ask(ctx, http.MethodPost, pathMCP, token)
	if err != nil {
		return "", err
	}
	if got.status != http.StatusUnauthorized {
		return "", fmt.Errorf("POST %s without a valid token gets %d instead of 401: let the proxy pass POST to kith, without adding or asking for credentials", pathMCP, got.status)
	}
	return got.header.Get("WWW-Authenticate"), nil
}

// checkChallenge: the answer to a client without a token says where to get one.
func (a *publicAddress) checkChallenge(ctx context.Context) (string, error) {
	got, err := a.challenge(ctx, "")
	if err != nil {
		return "", err
	}
	if _, rest, found := strings.Cut(got, `resource_metadata="`); found && strings.HasPrefix(got, "Bearer ") {
		metadata, _, _ := strings.Cut(rest, `"`)
		return "a client without a token learns where to get one", a.sameAddress("its metadata", metadata, a.url.String()+resourceOf+pathMCP)
	}
	return "", errors.New("the answer 401 has no challenge of kith, so clients do not know where to sign in: let the proxy keep the header WWW-Authenticate")
}

// checkCredentials: the Authorization header of a client reaches Kith.
func (a *publicAddress) checkCredentials(ctx context.Context) (string, error) {
	got, err := a.challenge(ctx, "kith-doctor-no-token")
	if err != nil {
		return "", err
	}
	if !strings.Contains(got, `error="invalid_token"`) {
		return "", errors.New("the header Authorization does not reach kith, so every client would be refused: let the proxy pass it")
	}
	return "the tokens of clients reach kith", nil
}
