// Package freeport finds addresses for servers that tests start.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
)

// Ports are taken from below the range that the system gives to outgoing
// connections, so that none of those takes a port between the check and its use.
const (
	firstPort = 10000
	portRange = 20000
)

// Allocator returns no address twice, and none that the Allocator of another process has returned.
type Allocator struct {
	last  atomic.Uint32
	taken sync.Map // the UDP ports, so that they stay open
}

// NewAllocator returns an Allocator that starts at random, since other processes look for
// ports too.
func NewAllocator() *Allocator {
	a := &Allocator{}
	a.last.Store(rand.Uint32N(portRange))
	return a
}

// Address returns an unused address of this machine. It stays taken until the process ends.
func (a *Allocator) Address() (string, error) {
	for range portRange {
		port := firstPort + int(a.last.Add(1)%portRange)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		// The open UDP port of the same number tells other processes that the TCP port is
		// taken, although its server may start only later.
		taken, err := net.ListenPacket("udp", address) //nolint:noctx // does not wait
		if err != nil {
			continue
		}
		if l, err := net.Listen("tcp", address); err == nil { //nolint:noctx // closed at once
			a.taken.Store(address, taken)
			return address, l.Close()
		}
		_ = taken.Close()
	}
	return "", errors.New("no port is free")
}
