package integration_test

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// One commit of the charges of reads, by how many are in it, of how many members.
func BenchmarkChargeGroup(b *testing.B) {
	for _, c := range []struct{ size, members int }{{1, 1}, {16, 1}, {16, 16}} {
		b.Run(fmt.Sprintf("%d calls of %d", c.size, c.members), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "kith.db")
			if _, err := db.Migrate(b.Context(), db.Config{URL: path}); err != nil {
				b.Fatal(err)
			}
			s := dbtest.Open(b, path, time.Now)
			ledger := dbtest.Ledger(b, s)
			owners := make([]tenant.ID, c.members)
			for i := range owners {
				owners[i] = dbtest.Member(b, s, fmt.Sprintf("member-%d", i))
			}
			group := make([]billing.Charge, c.size)
			for i := range group {
				group[i] = billing.Charge{Tenant: owners[i%c.members], Tool: "search_connections", Price: 1}
			}
			if _, err := ledger.Charge(b.Context(), group); err != nil {
				b.Fatal(err)
			}
			if _, err := dbtest.OpenSQL(b, path).Exec("UPDATE credit_balances SET balance = 1000000000"); err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(b.Context(), time.Hour) // the meter has one, too
			defer cancel()
			before := cpuTime(b)
			for b.Loop() {
				if _, err := ledger.Charge(ctx, group); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime is the time of all processors that the process took so far.
func cpuTime(b *testing.B) int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
