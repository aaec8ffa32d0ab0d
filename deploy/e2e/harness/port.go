package harness

import (
	"testing"

	"github.com/kith-crm/kith/deploy/internal/freeport"
)

var ports = freeport.NewAllocator()

// FreeAddress returns an unused address of this machine that no other test of this process
// gets.
func FreeAddress(t testing.TB) string {
	t.Helper()
	address, err := ports.Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
