package server

import (
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// dialFrom connects from the given loopback address.
func dialFrom(t *testing.T, s *Server, address string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// asks sends a request, keeps the connection, and reports whether it was answered.
func asks(conn net.Conn) bool {
	_, err := io.WriteString(conn, strings.Replace(get("/api/human/amara"), "Connection: close", "X-Keep: y", 1))
	if err != nil {
		return false
	}
	_, err = io.ReadFull(conn, make([]byte, len("HTTP/1.1 200")))
	return err == nil
}

// An address that opens too many connections is limited, and other addresses are still served.
func TestConnectionsPerAddress(t *testing.T) {
	t.Parallel()
	c := testConfig(backendtest.New())
	c.MaxConnections, c.ConnectionsPerAddress = 40, 8
	s := start(t, newServer(t, c))
	served := 0
	for range 200 {
		if asks(dialFrom(t, s, "127.0.0.2")) {
			served++
		}
	}
	if served != 8 {
		t.Errorf("%d connections of one address are served", served)
	}
	began := time.Now()
	if !asks(dialFrom(t, s, "127.0.0.3")) || time.Since(began) > 5*time.Second {
		t.Errorf("another address was not served at once: %s", time.Since(began))
	}
}

// Trusted proxies have no limit per address: they carry the connections of many clients.
func TestTrustedProxiesHaveNoLimitPerAddress(t *testing.T) {
	t.Parallel()
	c := testConfig(backendtest.New())
	c.ConnectionsPerAddress, c.TrustedProxies = 2, []string{"127.0.0.2"}
	s := start(t, newServer(t, c))
	for i := range 10 {
		if !asks(dialFrom(t, s, "127.0.0.2")) {
			t.Errorf("connection %d was closed", i)
		}
	}
}

// awaitIdle waits until a connection of the server is idle: the server says so a moment after its answer.
func awaitIdle(t *testing.T, s *Server) {
	t.Helper()
	l, ok := s.listener.(*boundedListener)
	if !ok {
		t.Fatalf("a %T", s.listener)
	}
	idle := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.idle.Len() > 0
	}
	for began := time.Now(); !idle(); runtime.Gosched() {
		if time.Since(began) > 10*time.Second {
			t.Fatal("no connection is idle")
		}
	}
}

// If clients keep all the connections open that the server allows, the connections that are idle
// longest are closed for new ones.
func TestIdleConnectionsAreClosedForNewOnes(t *testing.T) {
	t.Parallel()
	c := testConfig(backendtest.New())
	c.MaxConnections = 10
	s := start(t, newServer(t, c))
	var kept []net.Conn
	for range 30 {
		conn := dialFrom(t, s, "127.0.0.2")
		if !asks(conn) {
			t.Fatal("not served")
		}
		if kept = append(kept, conn); len(kept) == 1 {
			awaitIdle(t, s) // so that it is the longest idle one
		}
	}
	if r := raw(t, s, get("/api/human/amara")); r.status != http.StatusOK {
		t.Errorf("got %d", r.status)
	}
	if _, err := io.Copy(io.Discard, kept[0]); err != nil { // the server closed the connection
		t.Errorf("the longest idle one: %v", err)
	}
}

// A connection that has reached its maximum age is closed after an answer, so that new edges
// get a share of the requests.
func TestOldConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	for age, closes := range map[time.Duration]bool{0: false, time.Nanosecond: true, time.Hour: false} {
		c := testConfig(backendtest.New())
		c.ConnectionMaxAge = age
		conn := dial(t, start(t, newServer(t, c)))
		if _, err := io.WriteString(conn, strings.Replace(get("/api/human/amara"), "Connection: close", "X-Keep: y", 1)); err != nil {
			t.Fatal(err)
		}
		if r := readReply(t, conn); r.status != http.StatusOK || r.closes != closes {
			t.Errorf("%s: %d, closes: %t", age, r.status, r.closes)
		}
	}
}
