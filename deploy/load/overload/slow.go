package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"
)

// amongSlowClients sends requests one at a time, beside n clients that send headers or
// bodies a byte at a time, or half-close their connection.
func (c *client) amongSlowClients(ctx context.Context, d time.Duration, n int) error {
	before := c.sequential(ctx, 100)
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	address, err := url.Parse(c.url)
	if err != nil {
		return err
	}
	for i := range n {
		go hang(ctx, address.Host, i)
	}
	failed, took := 0, []time.Duration(nil)
	for ctx.Err() == nil {
		a := c.send(context.WithoutCancel(ctx))
		if a.status != 200 {
			failed++
			continue
		}
		took = append(took, a.took)
	}
	say("among %d slow clients: %d answered, %d failed; p50 %s, p99 %s (before: %s, %s)\n",
		n, len(took), failed, percentile(took, 50), percentile(took, 99), percentile(before, 50), percentile(before, 99))
	if failed > 0 {
		return fmt.Errorf("%d requests of a normal client failed", failed)
	}
	return nil
}

// hang is a slow client of one of three kinds. It reconnects when it is disconnected.
func hang(ctx context.Context, host string, i int) {
	head := "POST /api/batch HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\n"
	for ctx.Err() == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		switch i % 3 {
		case 0: // headers that never end
			drip(ctx, conn, head+"X-Slow: "+fmt.Sprintf("%01000d", i))
		case 1: // a body that never ends
			_, _ = conn.Write([]byte(head + "Content-Length: 1000\r\n\r\n"))
			drip(ctx, conn, fmt.Sprintf("%01000d", i))
		default: // half-closed, and never read
			_, _ = conn.Write([]byte(head))
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.CloseWrite()
			}
			wait(ctx, 2*time.Second)
		}
		_ = conn.Close()
	}
}

// drip writes a byte a second until the server closes the connection.
func drip(ctx context.Context, conn net.Conn, text string) {
	for i := 0; i < len(text) && ctx.Err() == nil; i++ {
		if _, err := conn.Write([]byte{text[i]}); err != nil {
			return
		}
		wait(ctx, time.Second)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
