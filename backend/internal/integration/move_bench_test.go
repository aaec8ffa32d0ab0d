package integration_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/move"
)

// BenchmarkMoveAccount exports and imports an account of 180,000 rows: 10,000 people with two
// addresses each, 60,000 interactions with one of them, and 30,000 changes. It reports rows a second, bytes of the file
// for a row, and the peak of the heap in MB beside the file, which is in memory here.
func BenchmarkMoveAccount(b *testing.B) {
	for name, open := range map[string]func(testing.TB) string{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		b.Run(name, func(b *testing.B) {
			from, to := open(b), open(b)
			s, there := dbtest.Open(b, from, time.Now), dbtest.Open(b, to, time.Now)
			owner := string(dbtest.Member(b, s, "maria"))
			fillMany(b, from, owner)
			var file bytes.Buffer
			var rows int
			var wrote, read time.Duration
			peak := peakHeap(b)
			for range b.N {
				file.Reset()
				start := time.Now()
				a, err := move.Export(b.Context(), s, "maria", false, &file)
				if err != nil {
					b.Fatal(err)
				}
				wrote, rows, start = wrote+time.Since(start), rows+a.Rows, time.Now()
				if _, err := move.Import(b.Context(), there, bytes.NewReader(file.Bytes())); err != nil {
					b.Fatal(err)
				}
				read += time.Since(start)
				if err := account.DeleteMember(b.Context(), there, a.ID); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)/wrote.Seconds(), "exported/s")
			b.ReportMetric(float64(rows)/read.Seconds(), "imported/s")
			b.ReportMetric(float64(file.Len()*b.N)/float64(rows), "B/row")
			b.ReportMetric(float64(peak())/1e6-float64(file.Cap())/1e6, "peak-MB")
		})
	}
}

// fillMany gives a member many people and interactions.
func fillMany(b *testing.B, url, owner string) {
	b.Helper()
	q := dbtest.OpenSQL(b, url)
	at := "'2026-01-02 03:04:05.678901+00:00'"
	for _, statement := range []string{
		`INSERT INTO connections (tenant_id, id, name, folded_name, nickname, location, bio, starred, met_on, met_how, source, cadence_days, version, data_version, created_at, updated_at)
SELECT 'OWNER', 'con_' || i, 'Person Number ' || i, 'person number ' || i, '', 'Lisbon', 'Met at a conference', FALSE, '', '', 'manual', 0, 1, 1, AT, AT FROM N(10000)`,
		`INSERT INTO handles (tenant_id, id, connection_id, kind, value, normal_value, label, ordinal)
SELECT 'OWNER', 'hnd_' || i, 'con_' || (1 + i % 10000), 'email', 'a' || i || '@x.example', 'a' || i || '@x.example', '', i % 2 FROM N(20000)`,
		`INSERT INTO interactions (tenant_id, id, kind, occurred_at, duration_minutes, summary, external_key, created_at)
SELECT 'OWNER', 'int_' || i, 'call', AT, 30, 'Talked about the plans for the next quarter, number ' || i, NULL, AT FROM N(60000)`,
		`INSERT INTO interaction_connections (tenant_id, connection_id, interaction_id)
SELECT 'OWNER', 'con_' || (1 + i % 10000), 'int_' || (1 + i % 60000) FROM N(60000)`,
		`INSERT INTO changes (tenant_id, id, credential_id, credential_name, tool, summary, effects, created_at)
SELECT 'OWNER', 'chg_' || i, '', '', 'create_connection', 'Created', '[{"kind":"connection"}]', AT FROM N(30000)`,
	} {
		values, numbers, _ := strings.Cut(statement, " FROM N(")
		into, values, _ := strings.Cut(values, "\nSELECT ")
		with := "\nWITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + strings.TrimSuffix(numbers, ")") + ")\nSELECT "
		text := strings.NewReplacer("OWNER", owner, " AT,", " "+at+",", " AT FROM", " "+at+" FROM").Replace(into + with + values + " FROM n")
		if db.IsPostgres(url) {
			text = strings.ReplaceAll(text, at, "TIMESTAMPTZ "+at)
		}
		if _, err := q.Exec(text); err != nil {
			b.Fatalf("%s: %v", text, err)
		}
	}
}

// peakHeap samples the heap until the function that it returns is called, which returns the most bytes
// above those at the start.
func peakHeap(b *testing.B) func() uint64 {
	b.Helper()
	var first, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&first)
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		most := first.HeapAlloc
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				done <- most - first.HeapAlloc
				return
			case <-tick.C:
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-done
	}
}
