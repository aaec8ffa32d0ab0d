package e2e

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// wire is a connection to a server that can be cut and mended.
type wire struct {
	target string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// newWire listens on an address of its own and passes everything on to the target.
func newWire(t *testing.T, target string) (w *wire, addr string) {
	t.Helper()
	w = &wire{target: target, conns: map[net.Conn]bool{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go w.pass(conn)
		}
	}()
	return w, listener.Addr().String()
}

func (w *wire) pass(near net.Conn) {
	defer func() { _ = near.Close() }()
	far, err := net.Dial("tcp", w.target)
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	w.mu.Lock()
	if w.cut {
		w.mu.Unlock()
		return
	}
	w.conns[near], w.conns[far] = true, true
	w.mu.Unlock()
	go func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// set cuts the wire, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for conn := range w.conns {
		_ = conn.Close()
	}
	clear(w.conns)
}

// overWire starts the service anew, with a wire to its database that set cuts and
// mends.
func (s *service) overWire(t *testing.T) (set func(cut bool)) {
	t.Helper()
	for _, p := range s.programs() {
		p.stop()
	}
	direct := s.databaseURL
	address, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	w, addr := newWire(t, address.Host)
	address.Host = addr
	s.databaseURL = address.String()
	s.start()
	s.databaseURL = direct // for the command line, which is not cut off
	return w.set
}

// checkUnavailable wants the answer to a good request that cannot be served now:
// a 401 or another 4xx would make clients throw good credentials away.
func checkUnavailable(t *testing.T, what string, got answer) {
	t.Helper()
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || got.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%s: got %d (Retry-After %q) %s, want 503", what, got.status, got.header.Get("Retry-After"), got.body)
	}
}

// TestStoreOutage: while the database is away every call is a 503; when it is
// back, so is the service, without a restart.
func TestStoreOutage(t *testing.T) {
	eachTopologyThat(t, inPostgres, func(t *testing.T, s *service) {
		set := s.overWire(t)
		a := s.newMember(t).agent(t)
		a.call(t, "get_account", arguments{})
		checkOutage(t, s, a, set)
	})
}

// TestBackendOutage: the same for an edge without its backend.
func TestBackendOutage(t *testing.T) {
	eachTopologyThat(t, isSplit, func(t *testing.T, s *service) {
		a := s.newMember(t).agent(t)
		checkOutage(t, s, a, func(cut bool) {
			if cut {
				s.core.kill()
			} else {
				s.startCore()
			}
		})
	})
}

func checkOutage(t *testing.T, s *service, a agent, set func(cut bool)) {
	t.Helper()
	set(true)
	checkUnavailable(t, "a read", a.post(t, toolCall(t, "search_connections", arguments{"query": "x"})))
	checkUnavailable(t, "a write", a.post(t, toolCall(t, "create_connection", arguments{"name": "X"})))
	checkUnavailable(t, "a list with a token", a.post(t, request(t, "tools/list", nil)))
	checkUnavailable(t, "a call with a token nobody knows", agent{s, pathCurrent, "kith_pat_unknown"}.post(t, toolCall(t, "get_account", arguments{})))
	checkUnavailable(t, "the sandbox", s.visitor().post(t, toolCall(t, "get_account", arguments{})))
	checkUnavailable(t, "the directory", s.send(t, http.MethodGet, "/api/network/members?q=z", ""))
	checkUnavailable(t, "a profile", s.send(t, http.MethodGet, "/api/human/nobody-here", ""))
	checkUnavailable(t, "the sandbox's description", s.send(t, http.MethodGet, "/sandbox", ""))
	if got := (agent{s, pathCurrent, ""}).post(t, request(t, "ping", nil)); got.status != http.StatusOK {
		t.Errorf("ping needs no store: got %d %s", got.status, got.body)
	}
	set(false)
	body := toolCall(t, "get_account", arguments{})
	eventually(t, "the service is back", func() bool {
		got := a.post(t, body)
		back := got.status == http.StatusOK && !strings.Contains(got.body, `"isError":true`)
		if !back {
			checkUnavailable(t, "a read until then", got)
		}
		return back || t.Failed()
	})
	a.create(t, arguments{"name": "After The Storm"})
	if found := a.find(t, "storm"); len(found) != 1 {
		t.Errorf("found %v", found)
	}
}
