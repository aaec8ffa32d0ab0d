package harness

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy is a TCP proxy to a server; tests can cut and restore the connection.
type proxy struct {
	target string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// newProxy listens on an address of its own and forwards everything to the target.
func newProxy(t *testing.T, target string) (w *proxy, addr string) {
	t.Helper()
	w = &proxy{target: target, conns: map[net.Conn]bool{}}
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

func (w *proxy) pass(near net.Conn) {
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

// set cuts or restores the connection.
func (w *proxy) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for conn := range w.conns {
		_ = conn.Close()
	}
	clear(w.conns)
}

// RestartOverProxy restarts the service with a proxy in front of its database; set cuts and
// restores the connection.
func (s *Service) RestartOverProxy(t *testing.T) (set func(cut bool)) {
	t.Helper()
	for _, p := range s.Programs() {
		p.Stop()
	}
	direct := s.DatabaseURL
	address, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	w, addr := newProxy(t, address.Host)
	address.Host = addr
	s.DatabaseURL = address.String()
	s.Start()
	s.DatabaseURL = direct // for the command line, which is not cut off
	return w.set
}
