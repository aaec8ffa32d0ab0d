package server

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/digest"
	"github.com/kith-crm/kith/observability/metrics"
)

// TestDigestsAreCounted checks that a run counts its digests, here one of a member whose address is not confirmed.
func TestDigestsAreCounted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 25, 12, 0, 0, 0, time.UTC)
	data := dbtest.Open(t, dbtest.SQLite(t), func() time.Time { return now })
	owner := dbtest.Member(t, data, "ada")
	err := data.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		return digest.SaveDigest(ctx, tx, time.UTC, digest.Choice{Rhythm: digest.Daily, Hour: 7})
	})
	if err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(0, 0, 1)
	registry := metrics.New(metrics.BuildInfo{})
	counts, err := newCounters(registry, []string{"add_note"})
	if err != nil {
		t.Fatal(err)
	}
	kind := sendDigests(&jobs{digests: &digest.Sender{Store: data, Logger: slog.New(slog.DiscardHandler)}}, counts)
	if _, err := kind.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "kith_digests_total" {
			for _, m := range f.GetMetric() {
				got[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	if len(got) != 3 || got[metrics.DigestFailed] != 1 || got[metrics.DigestSent]+got[metrics.DigestEmpty] != 0 {
		t.Errorf("counted %v", got)
	}
}
