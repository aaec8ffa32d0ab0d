package ops

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// balancer is a TCP load balancer: it forwards connections to the target with the fewest, or
// to the next one if that does not answer.
type balancer struct {
	address string

	mu      sync.Mutex
	targets []*target
}

type target struct {
	address string
	open    int
}

// newBalancer listens on an address of its own.
func newBalancer(t *testing.T, targets ...string) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	b := &balancer{address: listener.Addr().String()}
	for _, address := range targets {
		b.targets = append(b.targets, &target{address: address})
	}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go b.pass(near)
		}
	}()
	return b
}

func (b *balancer) pass(near net.Conn) {
	defer func() { _ = near.Close() }()
	for _, to := range b.byLoad() {
		far, err := net.DialTimeout("tcp", to.address, time.Second)
		if err != nil {
			continue
		}
		b.count(to, 1)
		join(near, far)
		b.count(to, -1)
		return
	}
}

// join copies in both directions until both sides are done or one fails.
func join(near, far net.Conn) {
	var wait sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		wait.Go(func() {
			_, err := io.Copy(way[0], way[1])
			if to, ok := way[0].(*net.TCPConn); ok && err == nil {
				_ = to.CloseWrite()
				return
			}
			_, _ = near.Close(), far.Close()
		})
	}
	wait.Wait()
	_, _ = near.Close(), far.Close()
}

func (b *balancer) byLoad() []*target {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(b.targets), func(x, y *target) int { return x.open - y.open })
}

func (b *balancer) count(t *target, by int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t.open += by
}
