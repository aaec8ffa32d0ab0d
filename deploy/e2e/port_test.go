package e2e

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
)

// Ports are taken from below the range that the system gives to outgoing
// connections, so that none of those gets one between the look and the use.
const (
	firstPort = 10000
	portRange = 20000
)

// lastPort counts from a random start, since other processes look for ports too.
var lastPort = startAt(rand.Uint32N(portRange))

func startAt(n uint32) *atomic.Uint32 {
	var counter atomic.Uint32
	counter.Store(n)
	return &counter
}

// freeAddress returns an address of this machine on which nobody listens, and
// which no other test of this process gets.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range portRange {
		port := firstPort + int(lastPort.Add(1)%portRange)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
