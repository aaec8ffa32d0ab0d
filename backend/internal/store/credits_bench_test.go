package store_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
)

// One commit of the charges of reads, by how many are in it.
func BenchmarkChargeGroup(b *testing.B) {
	for _, size := range []int{1, 16} {
		b.Run(fmt.Sprintf("%d calls", size), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "kith.db")
			if _, err := store.Migrate(b.Context(), store.Config{URL: path}); err != nil {
				b.Fatal(err)
			}
			s := storetest.Open(b, path, time.Now)
			group := make([]credit.Charge, size)
			owner := storetest.Member(b, s, "maria")
			for i := range group {
				group[i] = credit.Charge{Tenant: owner, Tool: "search_connections", Price: 1}
			}
			if _, err := s.Charge(b.Context(), group[:1]); err != nil {
				b.Fatal(err)
			}
			if _, err := storetest.OpenSQL(b, path).Exec("UPDATE credit_balances SET balance = 1000000000"); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := s.Charge(b.Context(), group); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
