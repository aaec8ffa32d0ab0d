package integration_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/oauth"
)

// Measures the read that every call makes.
func BenchmarkAuthenticate(b *testing.B) {
	path := filepath.Join(b.TempDir(), "kith.db")
	if _, err := db.Migrate(b.Context(), db.Config{URL: path}); err != nil {
		b.Fatal(err)
	}
	s := dbtest.Open(b, path, time.Now)
	bearer := dbtest.Token(b, s, dbtest.Member(b, s, "maria"), "connections", "write")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := oauth.Authenticate(b.Context(), s, bearer); err != nil {
			b.Fatal(err)
		}
	}
}
