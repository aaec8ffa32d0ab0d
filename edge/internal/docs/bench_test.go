package docs_test

import (
	"testing"

	"github.com/kith-crm/kith/edge/internal/docs"
)

// BenchmarkNew is what the documents add to the start of the process.
func BenchmarkNew(b *testing.B) {
	o := options(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := docs.New(o); err != nil {
			b.Fatal(err)
		}
	}
}
