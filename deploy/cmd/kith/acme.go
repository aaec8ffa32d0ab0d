package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	backend "github.com/kith-crm/kith/backend/server"
	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/net/idna"
	"golang.org/x/net/netutil"
)

// acmeAddr is where the edge listens if KITH_ACME is on and KITH_ADDR is not set: the authority connects to this port.
const acmeAddr = ":443"

// resolveACME checks the settings of a certificate by ACME, and sets the defaults that depend on others. public is KITH_BASE_URL.
func (s *settings) resolveACME(public *url.URL) error {
	if !s.ACME {
		return nil
	}
	switch {
	case public.Scheme != "https":
		return errors.New("KITH_ACME gets a certificate for the host of the public address: set KITH_BASE_URL to https:// and your domain")
	case !isDomain(public.Hostname()):
		return fmt.Errorf("KITH_ACME gets certificates for domain names only, and KITH_BASE_URL has %s: use a domain that leads to this machine", public.Hostname())
	case s.TLSCert != "" || s.TLSKey != "":
		return errors.New("KITH_ACME gets the certificate that KITH_TLS_CERT and KITH_TLS_KEY name: set it or them, not both")
	case s.Edges > 1:
		return errors.New("KITH_ACME is for one edge: with KITH_EDGES, terminate TLS in front of them, or give all of them KITH_TLS_CERT and KITH_TLS_KEY")
	}
	if u, err := url.Parse(s.ACMEDirectory); err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("KITH_ACME_DIRECTORY %q must be the https:// address of an authority's directory", s.ACMEDirectory)
	}
	if s.ACMECache == "" {
		file := backend.DatabaseFile(s.DatabaseURL)
		if file == "" {
			return errors.New("KITH_ACME needs a folder for the certificate: set KITH_ACME_CACHE, because beside a PostgreSQL database there is no place for it")
		}
		s.ACMECache = filepath.Join(filepath.Dir(file), "certificates")
	}
	return nil
}

// isDomain reports whether public authorities may know a host: it is a name with a dot, and neither an IP address nor this machine.
func isDomain(host string) bool {
	_, err := netip.ParseAddr(host)
	name, invalid := idna.Lookup.ToASCII(host)
	return err != nil && invalid == nil && strings.Contains(name, ".") && name != "localhost" && !strings.HasSuffix(name, ".localhost")
}

// acmeManager gets, keeps and renews the certificate of the public address.
type acmeManager struct {
	autocert.Manager
	folder string
	host   string // of the public address, in ASCII
}

// newACME returns the manager of the certificate, or nil without KITH_ACME. The settings are resolved.
func (s *settings) newACME() (*acmeManager, error) {
	if !s.ACME {
		return nil, nil //nolint:nilnil // nil means none
	}
	host, err := idna.Lookup.ToASCII(hostOf(s.BaseURL))
	if err != nil {
		return nil, fmt.Errorf("KITH_BASE_URL: %w", err)
	}
	return &acmeManager{folder: s.ACMECache, host: host, Manager: autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(s.ACMECache), HostPolicy: onlyHost(host),
		Client: &acme.Client{DirectoryURL: s.ACMEDirectory, UserAgent: "kith"}, Email: s.ACMEContact,
	}}, nil
}

// onlyHost allows certificates of one host. The Host of a challenge may have a port.
func onlyHost(host string) autocert.HostPolicy {
	allowed := autocert.HostWhitelist(host)
	return func(ctx context.Context, name string) error {
		if bare, _, err := net.SplitHostPort(name); err == nil {
			name = bare
		}
		return allowed(ctx, name)
	}
}

// file is where autocert keeps the certificate and its key, both in PEM.
func (m *acmeManager) file() string { return filepath.Join(m.folder, m.host) }

// config returns the TLS configuration of the listener. Asked without a client, as for metrics, it returns the certificate in the folder.
func (m *acmeManager) config() *tls.Config {
	config := m.TLSConfig()
	config.MinVersion = tls.VersionTLS12
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if hello == nil {
			pair, err := tls.LoadX509KeyPair(m.file(), m.file())
			return &pair, err
		}
		return m.GetCertificate(hello)
	}
	return config
}

// edgeTLS returns the TLS configuration of the edge's listener, nil for none, and what gets its certificate, nil without KITH_ACME.
func (r *process) edgeTLS() (*tls.Config, *acmeManager, error) {
	certificates, err := r.settings.newACME()
	if err != nil || certificates == nil {
		config, err := certificateTLS(r.settings.TLSCert, r.settings.TLSKey, r.logger)
		return config, nil, err
	}
	if err := os.MkdirAll(r.settings.ACMECache, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the folder of KITH_ACME_CACHE: %w", err)
	}
	return certificates.config(), certificates, nil
}

// The bounds of the listener for plain http, which answers without reading a body.
const (
	plainTimeout     = 5 * time.Second
	plainConnections = 256
	plainHeaderBytes = 16 << 10
)

// startACME answers the authority's challenges and redirects browsers at KITH_ACME_HTTP_ADDR, and gets the certificate if there is none yet.
func (r *process) startACME(certificates *acmeManager) error {
	if certificates == nil {
		return nil
	}
	if r.settings.ACMEHTTPAddr != "off" {
		listener, err := new(net.ListenConfig).Listen(r.ctx, "tcp", r.settings.ACMEHTTPAddr)
		if err != nil {
			return fmt.Errorf("listen on KITH_ACME_HTTP_ADDR %s: %w", r.settings.ACMEHTTPAddr, err)
		}
		server := &http.Server{
			Handler:     certificates.HTTPHandler(redirectTo(r.settings.BaseURL)),
			ReadTimeout: plainTimeout, WriteTimeout: plainTimeout, IdleTimeout: plainTimeout, MaxHeaderBytes: plainHeaderBytes,
		}
		go func() {
			if err := server.Serve(netutil.LimitListener(listener, plainConnections)); !errors.Is(err, http.ErrServerClosed) {
				r.logger.Error("listener for plain http", "error", err)
			}
		}()
		r.onStop(server.Shutdown)
	}
	go r.firstCertificate(certificates)
	return nil
}

// firstCertificate loads the certificate or gets one before the first client needs it, and begins to renew it in time. If that fails, the handshakes of clients
// try again, at most once a minute.
func (r *process) firstCertificate(certificates *acmeManager) {
	pair, err := certificates.GetCertificate(&tls.ClientHelloInfo{
		ServerName: certificates.host, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, // like every client of today
	})
	if err != nil {
		r.logger.Error("there is no certificate yet: this machine must reach the authority, and the authority the ports 443 and 80 of the public address", "host", certificates.host, "error", err)
		return
	}
	r.logger.Info("the certificate is in use", "host", certificates.host, "expires", pair.Leaf.NotAfter)
}

// redirectTo sends browsers to the public address, whatever host they named.
func redirectTo(public string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			http.Error(w, "Use "+public, http.StatusBadRequest) // what was sent is not sent again
			return
		}
		http.Redirect(w, req, public+req.URL.RequestURI(), http.StatusFound)
	})
}

// explainPort says what to do about a port on which this process cannot listen.
func explainPort(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: ports below 1024 need a right, which Kith's unit for systemd has (AmbientCapabilities=CAP_NET_BIND_SERVICE); or listen on others, to which a router or firewall forwards", err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: stop the other program there, such as a web server, or let that one pass everything to Kith at another port", err)
	default:
		return err
	}
}
