package search_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const networkSize = 100_000

// network fills a database with a member's 100,000 people, each with an address and a
// position. The database generates them, which is far faster than writing them one by one.
func network(b *testing.B, url string, owner tenant.ID) {
	b.Helper()
	pad, part, none := "printf('%026d', i)", "substr(%s, %d, 3)", "FALSE"
	if db.IsPostgres(url) {
		pad = "lpad(i::text, 26, '0')"
	}
	syllables := "'kalimerotasunovebidogapeluriqoxawezyfohijamicuda'"
	word := func(step int) string {
		return fmt.Sprintf(part+" || "+part+" || "+part, syllables, 1, syllables, 4, syllables, 7) +
			fmt.Sprintf(" || substr(%s, 1 + (i * %d) %% 45, 3) || substr(%s, 1 + (i / 45) %% 45, 3)", syllables, step, syllables)
	}
	db := dbtest.OpenSQL(b, url)
	fill := func(table, values string) {
		b.Helper()
		statement := "INSERT INTO " + table + " WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < " + fmt.Sprint(networkSize-1) + ") SELECT " + values + " FROM n"
		if _, err := db.Exec(strings.ReplaceAll(statement, "OWNER", "'"+string(owner)+"'")); err != nil {
			b.Fatalf("%s: %v", table, err)
		}
	}
	fill("connections (tenant_id, id, name, nickname, location, bio, starred, met_on, met_how, source, cadence_days, version, data_version, folded_name, created_at, updated_at)",
		"OWNER, 'con_' || "+pad+", "+word(1)+" || ' ' || "+word(7)+", '', 'Berlin', '', "+none+", '', '', 'manual', 0, 1, 1, '', '2026-01-01 00:00:00+00:00', '2026-01-01 00:00:00+00:00'")
	fill("handles (tenant_id, id, connection_id, kind, value, normal_value, label, ordinal)",
		"OWNER, 'hnd_' || "+pad+", 'con_' || "+pad+", 'email', 'p' || i || '@x.example', 'p' || i || '@x.example', '', 0")
	if _, err := db.Exec("INSERT INTO organizations (tenant_id, id, name, normal_name, domain, created_at, updated_at) VALUES ('" + string(owner) +
		"', 'org_1', 'Helios', 'helios', '', '2026-01-01 00:00:00+00:00', '2026-01-01 00:00:00+00:00')"); err != nil {
		b.Fatal(err)
	}
	fill("positions (tenant_id, id, connection_id, organization_id, title, started_on, ended_on, current, ordinal)",
		"OWNER, 'pos_' || "+pad+", 'con_' || "+pad+", 'org_1', 'Engineer', '', '', TRUE, 0")
	version(b, db, owner)
}

// vectorsOf stores a random vector for each of the people.
func vectorsOf(b *testing.B, s *db.DB, owner tenant.ID) (version int64) {
	b.Helper()
	const batch = 1000
	rng := rand.New(rand.NewPCG(1, 2))
	for from := 0; from < networkSize; from += batch {
		rows := make([]vector.Row, batch)
		for i := range rows {
			v := make(vector.Vector, 256)
			for j := range v {
				v[j] = float32(rng.NormFloat64())
			}
			if err := vector.Normalise(v); err != nil {
				b.Fatal(err)
			}
			rows[i] = vector.Row{ConnectionID: fmt.Sprintf("con_%026d", from+i), Model: vector.LocalModel, Dimensions: 256, Vector: v}
		}
		err := s.Tenant(owner, false).Write(b.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
			return search.PutEmbeddings(ctx, u, 1, rows, nil)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return 1 + networkSize/batch
}

func version(b *testing.B, db *sql.DB, owner tenant.ID) {
	b.Helper()
	if _, err := db.Exec("UPDATE tenant_states SET data_version = 1, embedded_version = 1 WHERE tenant_id = '" + string(owner) + "'"); err != nil {
		b.Fatal(err)
	}
}

// processor returns the processor time that this process has used, which is comparable on
// a busy machine. It does not include the time of a PostgreSQL server.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func measured(b *testing.B, do func()) {
	b.Helper()
	b.ReportAllocs()
	used := processor(b)
	for b.Loop() {
		do()
	}
	b.ReportMetric(float64((processor(b)-used).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// BenchmarkLargeNetwork measures searches of 100,000 people: the first after a start,
// by words and with vectors, and the later ones.
func BenchmarkLargeNetwork(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchmarkLargeNetwork(b, dbtest.SQLite(b)) })
	b.Run("postgres", func(b *testing.B) { benchmarkLargeNetwork(b, dbtest.Postgres(b)) })
}

func benchmarkLargeNetwork(b *testing.B, url string) {
	b.Helper()
	s := dbtest.Open(b, url, time.Now)
	owner := dbtest.Member(b, s, "maria")
	network(b, url, owner)
	latest := vectorsOf(b, s, owner)
	caller := &tenant.Principal{Tenant: owner, DataVersion: latest, EmbeddedVersion: latest}
	fresh := func() *search.Searcher {
		find := search.NewIndexCache(func(ctx context.Context, t tenant.ID, since int64) (search.Documents, error) {
			return search.LoadDocuments(ctx, s.Tenant(t, true), since)
		}, 1<<30)
		return search.NewSearcher(search.Config{Indexes: find, Provider: vector.Local{}, MaxBytes: 1 << 30,
			Vectors: func(ctx context.Context, t tenant.ID, model string, since int64) (vector.Vectors, error) {
				return search.LoadVectors(ctx, s.Tenant(t, true), model, since)
			}})
	}
	ask := func(searcher *search.Searcher, mode, text string) {
		b.Helper()
		a, err := searcher.Search(b.Context(), search.Request{Caller: caller, Query: index.Query{Text: text}, Mode: mode})
		if err != nil || a.Stale != 0 {
			b.Fatal(err, a.Stale)
		}
	}
	for _, mode := range []string{search.ModeKeyword, search.ModeAuto} {
		b.Run("first/"+mode, func(b *testing.B) {
			measured(b, func() { ask(fresh(), mode, "engineer") })
		})
	}
	warm := fresh()
	ask(warm, search.ModeAuto, "engineer")
	for _, c := range []struct{ mode, text string }{
		{search.ModeKeyword, "kalimeroxta"}, {search.ModeAuto, "kalimeroxta"}, {search.ModeSemantic, "solar roofs"}, {search.ModeKeyword, "helios"},
	} {
		b.Run(c.mode+"/"+strings.ReplaceAll(c.text, " ", "_"), func(b *testing.B) {
			measured(b, func() { ask(warm, c.mode, c.text) })
		})
	}
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			searcher := fresh()
			ask(searcher, search.ModeAuto, "engineer")
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
			runtime.KeepAlive(searcher)
		}
	})
}
