package server

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/observability/metrics"
)

// What a sweep deletes is counted.
func TestSweepsAreCounted(t *testing.T) {
	t.Parallel()
	url := filepath.Join(t.TempDir(), "kith.db")
	if _, err := Migrate(t.Context(), url, false); err != nil {
		t.Fatal(err)
	}
	data, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = data.Close() })
	past := time.Now().UTC().Add(-time.Hour)
	if _, err := data.NewInsert().Model(&account.OwnerLink{Hash: "h", CreatedAt: past, ExpiresAt: past}).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	registry := metrics.New(metrics.BuildInfo{})
	counts, err := newCounters(registry, []string{"add_note"})
	if err != nil {
		t.Fatal(err)
	}
	kind := sweep(Config{Now: time.Now, Logger: slog.New(slog.DiscardHandler)}, data, counts)
	if _, err := kind.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		got[f.GetName()] = f.GetMetric()[0].GetCounter().GetValue()
	}
	if got["kith_sweep_rows_total"] != 1 || got["kith_sweep_purges_total"] != 0 {
		t.Errorf("counted %v rows and %v purges", got["kith_sweep_rows_total"], got["kith_sweep_purges_total"])
	}
}
