package freeport

import (
	"runtime"
	"testing"
)

// Two allocators that look at the same ports stand for two processes.
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
		runtime.GC() // closes what is not kept
	}
}
