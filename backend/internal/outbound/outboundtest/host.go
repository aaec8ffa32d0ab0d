// Package outboundtest answers the requests of package outbound in tests, from a real
// https server behind a host name.
package outboundtest

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync"
	"testing"

	"github.com/kith-crm/kith/backend/internal/outbound"
	"golang.org/x/net/dns/dnsmessage"
)

// Name is the host's name; httptest's certificate covers it.
const Name = "agent.example.com"

// Host is an https server on loopback that the name resolves to.
type Host struct {
	// URL is the address of the host without a path.
	URL string

	server   *httptest.Server
	mu       sync.Mutex
	address  netip.Addr
	requests int
}

// Start starts a host for the duration of the test.
func Start(t testing.TB, handler http.Handler) *Host {
	t.Helper()
	h := &Host{address: netip.MustParseAddr("127.0.0.1")}
	h.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.requests++
		h.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(h.server.Close)
	u, err := url.Parse(h.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	h.URL = "https://" + Name + ":" + u.Port()
	return h
}

// Port is the port that the host listens on.
func (h *Host) Port() string {
	_, port, _ := net.SplitHostPort(h.server.Listener.Addr().String())
	return port
}

// Requests returns how many requests arrived.
func (h *Host) Requests() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requests
}

// Resolve makes the name resolve to another address.
func (h *Host) Resolve(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.address = netip.MustParseAddr(address)
}

// Production returns the options of a service that trusts the host's certificate and
// asks the host's name server: connections to loopback are refused.
func (h *Host) Production() outbound.Options {
	roots := x509.NewCertPool()
	roots.AddCert(h.server.Certificate())
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go h.answerName(server)
		return client, nil
	}}
	return outbound.Options{Roots: roots, Resolver: resolver}
}

// Options returns Production with connections to loopback allowed.
func (h *Host) Options() outbound.Options {
	o := h.Production()
	o.Allowed = netip.Addr.IsLoopback
	return o
}

// answerName answers one query as a name server over TCP (RFC 1035 §4.2.2): every name
// has the host's address.
func (h *Host) answerName(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return
	}
	query := make([]byte, binary.BigEndian.Uint16(length[:]))
	var m dnsmessage.Message
	if _, err := io.ReadFull(conn, query); err != nil || m.Unpack(query) != nil || len(m.Questions) != 1 {
		return
	}
	h.mu.Lock()
	address := h.address
	h.mu.Unlock()
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	header := dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET}
	switch asked := m.Questions[0].Type; {
	case asked == dnsmessage.TypeA && address.Is4():
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: address.As4()}}}
	case asked == dnsmessage.TypeAAAA && address.Is6():
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}}}
	}
	answer, err := m.AppendPack(make([]byte, 2))
	if err != nil {
		return
	}
	binary.BigEndian.PutUint16(answer, uint16(len(answer)-2)) //nolint:gosec // a name server's answer is short
	_, _ = conn.Write(answer)
}
