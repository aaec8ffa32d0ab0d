package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
)

// The one read that every call pays.
func BenchmarkAuthenticate(b *testing.B) {
	path := filepath.Join(b.TempDir(), "kith.db")
	if _, err := store.Migrate(b.Context(), store.Config{URL: path}); err != nil {
		b.Fatal(err)
	}
	s := storetest.Open(b, path, time.Now)
	bearer := storetest.Token(b, s, storetest.Member(b, s, "maria"), "connections", "write")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Authenticate(b.Context(), bearer); err != nil {
			b.Fatal(err)
		}
	}
}
