package ratelimit_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// proxy is a TCP proxy in front of Redis with which a test simulates an outage.
type proxy struct {
	target  string
	address string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]struct{}
	delay    time.Duration
	flowing  chan struct{} // closed, except during a hang
}

// newProxy returns a proxy and the address of the Redis behind it.
func newProxy(t *testing.T, address string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: u.Host, address: "127.0.0.1:0", conns: make(map[net.Conn]struct{}), flowing: make(chan struct{})}
	close(p.flowing)
	p.accept(t)
	t.Cleanup(func() {
		p.flow()
		p.refuse()
	})
	u.Host = p.address
	return p, u.String()
}

// accept accepts connections. Call it again after refuse.
func (p *proxy) accept(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.listener, p.address = listener, listener.Addr().String()
	p.mu.Unlock()
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	// Both sides are closed when one of the directions ends.
	go p.copy(server, client)
	p.copy(client, server)
}

// copy forwards bytes, after the delay of slow and not during a hang.
func (p *proxy) copy(to io.WriteCloser, from io.ReadCloser) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		delay, flowing := p.delay, p.flowing
		p.mu.Unlock()
		<-flowing
		<-time.After(delay)
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// slow delays both directions by that time.
func (p *proxy) slow(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// hang keeps connections open and forwards nothing.
func (p *proxy) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flowing = make(chan struct{})
}

// flow ends a hang.
func (p *proxy) flow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flowing:
	default:
		close(p.flowing)
	}
}

// refuse closes all connections and accepts no more.
func (p *proxy) refuse() {
	p.mu.Lock()
	_ = p.listener.Close()
	p.mu.Unlock()
	p.drop()
}

// drop closes all connections.
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
	clear(p.conns)
}
