// Package freeport finds addresses for servers that tests start.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// Ports are taken from below the range that the system gives to outgoing
// connections, so that none of those takes a port between the check and its use.
const (
	firstPort = 10000
	portRange = 20000
)

// // Allocator returns no address twice.
type Allocator struct{ last atomic.Uint32 }

// NewAllocator returns an Allocator that starts at random, since other processes look for
// ports too.
func NewAllocator() *Allocator {
	a := &Allocator{}
	a.last.Store(rand.Uint32N(portRange))
	return a
}

// Address returns an unused address of this machine.
func (a *Allocator) Address() (string, error) {
	for range portRange {
		port := firstPort + int(a.last.Add(1)%portRange)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if l, err := net.Listen("tcp", address); err == nil { //nolint:noctx // closed at once
			return address, l.Close()
		}
	}
	return "", errors.New("no port is free")
}
