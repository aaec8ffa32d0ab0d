package freeport

import (
	"runtime"
	"testing"
)

// Two allocators that start at the same ports behave like two processes.
func TestAllocatorsShareNoAddress(t *testing.T) {
	var a, b Allocator
	seen := map[string]bool{}
	for range 20 {
		for _, allocator := range []*Allocator{&a, &b} {
			address, err := allocator.Address()
			if err != nil {
				t.Fatal(err)
			}
			if seen[address] {
				t.Fatalf("%s is given twice", address)
			}
			seen[address] = true
		}
		runtime.GC() // finalizers would close UDP ports that the allocators do not hold
	}
}
