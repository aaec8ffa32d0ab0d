package source_test

import (
	"testing"
)

// A file of 10 MiB, read from its first byte to its last record.
func BenchmarkRead(b *testing.B) {
	for _, name := range []string{"linkedin", "google", "outlook", "vCard 2.1", "vCard 4.0", "jscontact", "json"} {
		b.Run(name, func(b *testing.B) {
			data := largeFiles()[name]()
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				readAll(b, data)
			}
		})
	}
}
