package discovery_test

import (
	"testing"

	"github.com/kith-crm/kith/edge/internal/discovery"
)

// BenchmarkNew measures how long a start takes to make the documents.
func BenchmarkNew(b *testing.B) {
	o := options(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := discovery.New(o); err != nil {
			b.Fatal(err)
		}
	}
}
