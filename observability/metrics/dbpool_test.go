package metrics_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kith-crm/kith/observability/metrics"
)

func TestDBPoolReportsEachPool(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	stats := sql.DBStats{MaxOpenConnections: 10, InUse: 3, Idle: 2, WaitCount: 7, WaitDuration: 1500 * time.Millisecond}
	for name, pool := range map[string]func() sql.DBStats{
		"writer": func() sql.DBStats { return stats },
		"reader": func() sql.DBStats { return sql.DBStats{} },
	} {
		if _, err := metrics.NewDBPool(reg, name, pool); err != nil {
			t.Fatal(err)
		}
	}
	wantSamples(t, reg, "kith_store_pool_connections",
		`kith_store_pool_connections{pool="reader",state="idle"} 0`,
		`kith_store_pool_connections{pool="reader",state="in_use"} 0`,
		`kith_store_pool_connections{pool="writer",state="idle"} 2`,
		`kith_store_pool_connections{pool="writer",state="in_use"} 3`)
	wantSamples(t, reg, "kith_store_pool_max_connections",
		`kith_store_pool_max_connections{pool="reader"} 0`,
		`kith_store_pool_max_connections{pool="writer"} 10`)
	wantSamples(t, reg, "kith_store_pool_waits_total",
		`kith_store_pool_waits_total{pool="reader"} 0`,
		`kith_store_pool_waits_total{pool="writer"} 7`)
	wantSamples(t, reg, "kith_store_pool_wait_seconds_total",
		`kith_store_pool_wait_seconds_total{pool="reader"} 0`,
		`kith_store_pool_wait_seconds_total{pool="writer"} 1.5`)

	stats.InUse = 9 // the next scrape asks again
	stats.Idle = 0
	wantSamples(t, reg, "kith_store_pool_connections",
		`kith_store_pool_connections{pool="reader",state="idle"} 0`,
		`kith_store_pool_connections{pool="reader",state="in_use"} 0`,
		`kith_store_pool_connections{pool="writer",state="idle"} 0`,
		`kith_store_pool_connections{pool="writer",state="in_use"} 9`)
}

func TestDBPoolNamesFollowConventions(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	if _, err := metrics.NewDBPool(reg, "writer", func() sql.DBStats { return sql.DBStats{} }); err != nil {
		t.Fatal(err)
	}
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

func TestNewDBPoolRefuses(t *testing.T) {
	t.Parallel()
	stats := func() sql.DBStats { return sql.DBStats{} }
	tests := []struct {
		name, pool string
		stats      func() sql.DBStats
	}{
		{"an empty name", "", stats},
		{"no stats", "reader", nil},
		{"a second pool of the same name", "writer", stats},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			reg := prometheus.NewPedanticRegistry()
			if _, err := metrics.NewDBPool(reg, "writer", stats); err != nil {
				t.Fatal(err)
			}
			if _, err := metrics.NewDBPool(reg, tt.pool, tt.stats); err == nil {
				t.Error("NewDBPool accepted it")
			}
		})
	}
}
