package server

import (
	"net"
	"sync"
)

// cappedListener accepts a connection only while fewer than its cap are open.
type cappedListener struct {
	net.Listener

	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newCappedListener(l net.Listener, limit int) *cappedListener {
	return &cappedListener{Listener: l, slots: make(chan struct{}, limit), closed: make(chan struct{})}
}

// Accept waits for a free slot and then for a connection.
func (l *cappedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &cappedConn{Conn: conn, release: func() { <-l.slots }}, nil
}

// Close stops accepting.
func (l *cappedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// cappedConn gives its slot back when it is closed, once.
type cappedConn struct {
	net.Conn

	once    sync.Once
	release func()
}

// Close closes the connection.
func (c *cappedConn) Close() error {
	c.once.Do(c.release)
	return c.Conn.Close()
}

// CloseWrite ends the sending side alone. net/http needs it to hang up on a
// client that is still sending without the answer being lost.
func (c *cappedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
