package server

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/kith-crm/kith/edge/internal/clientip"
)

const (
	// shortIdleTimeout is how long a connection may be idle while many are open.
	shortIdleTimeout = 5 * time.Second
	// manyOpen is the percentage of the maximum from which shortIdleTimeout applies.
	manyOpen = 75
)

// boundedListener limits the open connections, in total and per address. A connection beyond
// the limit of its address is closed at once. One beyond the total limit takes the place of an
// idle one, or waits until another ends. Near the total limit, connections may be idle only
// for a short time.
type boundedListener struct {
	net.Listener

	perAddress int                   // 0 or less is no limit
	exempt     func(netip.Addr) bool // addresses without a limit
	slots      chan struct{}
	closed     chan struct{}
	once       sync.Once

	mu        sync.Mutex
	addresses map[string]int // open connections by clientip.Bucket
	idle      *list.List     // of *boundedConn, the longest idle first
	waiting   bool           // a connection waits for a slot
}

func newBoundedListener(l net.Listener, limit, perAddress int, exempt func(netip.Addr) bool) *boundedListener {
	return &boundedListener{
		Listener: l, perAddress: perAddress, exempt: exempt, slots: make(chan struct{}, limit), closed: make(chan struct{}),
		addresses: map[string]int{}, idle: list.New(),
	}
}

// Accept returns the next connection whose address is below its limit, once there is a slot for it.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := l.admit(conn)
		if c == nil {
			_ = conn.Close()
			continue
		}
		if !l.takeSlot(c) {
			_ = c.Close()
			return nil, net.ErrClosed
		}
		return c, nil
	}
}

// takeSlot waits for a slot for the connection, and reports false when the listener
// is closed.
func (l *boundedListener) takeSlot(c *boundedConn) bool {
	l.closeIdle()
	select {
	case l.slots <- struct{}{}:
	default:
		l.wait(true)
		defer l.wait(false)
		select {
		case l.slots <- struct{}{}:
		case <-l.closed:
			return false
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.slot = true
	return true
}

// wait records whether a connection waits for a slot. If one does, the connection that is idle
// longest is closed; if none is idle, the next one that becomes idle.
func (l *boundedListener) wait(waiting bool) {
	l.mu.Lock()
	l.waiting = waiting
	longest := l.longestIdle()
	l.mu.Unlock()
	if waiting && longest != nil {
		longest.hangUp()
	}
}

// admit counts the connection for its address, and returns nil if the address has reached its limit.
func (l *boundedListener) admit(conn net.Conn) *boundedConn {
	c := &boundedConn{Conn: conn, listener: l}
	if peer, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil && l.perAddress > 0 && !l.exempt(peer.Addr()) {
		c.bucket = clientip.Bucket(peer.Addr())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.bucket == "" {
		return c
	}
	if l.addresses[c.bucket] >= l.perAddress {
		return nil
	}
	l.addresses[c.bucket]++
	return c
}

// closeIdle closes the connections that are idle for too long while many are open.
func (l *boundedListener) closeIdle() {
	for len(l.slots)*100 >= cap(l.slots)*manyOpen {
		l.mu.Lock()
		longest := l.longestIdle()
		if longest == nil || time.Since(longest.idleSince) < shortIdleTimeout {
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		longest.hangUp()
	}
}

// longestIdle returns the connection that is idle for the longest time, or nil. The caller
// holds the mutex.
func (l *boundedListener) longestIdle() *boundedConn {
	if front := l.idle.Front(); front != nil {
		c, _ := front.Value.(*boundedConn)
		return c
	}
	return nil
}

// follow returns an http.Server's ConnState hook that calls next, and then keeps track
// of which connections are idle.
func (l *boundedListener) follow(next func(net.Conn, http.ConnState)) func(net.Conn, http.ConnState) {
	return func(conn net.Conn, state http.ConnState) {
		next(conn, state)
		l.observe(conn, state)
	}
}

func (l *boundedListener) observe(conn net.Conn, state http.ConnState) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	c, ok := conn.(*boundedConn)
	if !ok {
		return
	}
	l.mu.Lock()
	switch {
	case state == http.StateIdle && c.element == nil && !c.released:
		c.idleSince, c.element = time.Now(), l.idle.PushBack(c)
	case state != http.StateIdle:
		l.forget(c)
	}
	givesWay := l.waiting && c.element != nil
	l.mu.Unlock()
	if givesWay {
		c.hangUp()
	}
}

// forget removes the connection from the idle ones. The caller holds the mutex.
func (l *boundedListener) forget(c *boundedConn) {
	if c.element != nil {
		l.idle.Remove(c.element)
		c.element = nil
	}
}

// release frees the connection's slot and its count for the address, once.
func (l *boundedListener) release(c *boundedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(c)
	if c.released {
		return
	}
	c.released = true
	if c.bucket != "" {
		if l.addresses[c.bucket]--; l.addresses[c.bucket] == 0 {
			delete(l.addresses, c.bucket)
		}
	}
	if c.slot {
		<-l.slots
	}
}

// Close stops accepting.
func (l *boundedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// boundedConn is a connection that frees its slot when it is closed.
type boundedConn struct {
	net.Conn

	listener *boundedListener
	bucket   string // "" if its address has no limit

	// The listener's mutex guards these.
	slot      bool
	released  bool
	element   *list.Element // among the idle ones; nil when busy
	idleSince time.Time
}

// Close closes the connection.
func (c *boundedConn) Close() error {
	c.listener.release(c)
	return c.Conn.Close()
}

// hangUp closes an idle connection; its client can open a new one.
func (c *boundedConn) hangUp() { _ = c.Close() }

// CloseWrite closes only the sending side. net/http needs it to close the connection of a client
// that is still sending, without losing the answer.
func (c *boundedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
