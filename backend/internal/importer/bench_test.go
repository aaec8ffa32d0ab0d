package importer_test

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// network is a LinkedIn export.
func network(rows int) string {
	var b strings.Builder
	b.WriteString("First Name,Last Name,URL,Email Address,Company,Position,Connected On\n")
	for i := range rows {
		fmt.Fprintf(&b, "Given%d,Family%d,https://www.linkedin.com/in/person-%d,p%d@people.example,Company %d,Head of Something %d,02 Jan 2024\n", i, i%997, i, i, i%400, i%30)
	}
	return b.String()
}

// peak returns by how many MiB the heap grew at most while fn ran.
func peak(fn func()) float64 {
	read := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	idle := read()
	most := idle
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, read())
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	fn()
	close(stop)
	<-stopped
	return float64(most-idle) / (1 << 20)
}

// all runs an import to its end, as a backend process does.
func (d *fixture) all(b *testing.B, content string, o importer.Options) (importID string) {
	b.Helper()
	j, err := d.start(b, "people.csv", content, o)
	if err != nil {
		b.Fatal(err)
	}
	return report(b, d.process(b, j)).ImportID
}

// process runs a job as a backend process does.
func (d *fixture) process(b *testing.B, j *job.Job) *job.Job {
	b.Helper()
	var hub job.Hub
	runner := job.NewRunner(job.Config{
		Queue: dbtest.Queue(b, d.store), Kinds: []job.Kind{importer.Kind(d.store, dbtest.Ledger(b, d.store)), importer.Undo(d.store, kinds.All())}, Workers: 1, Poll: time.Millisecond, Now: d.now,
		Logger: quiet(), Changed: hub.Changed,
	})
	runner.Start(b.Context())
	defer runner.Stop(context.Background())
	for {
		changed, stop := hub.Watch(j.TenantID, j.Number)
		got, err := job.GetJob(b.Context(), d.store.Tenant(d.owner, true), j.Number)
		if err != nil || got.State == job.Failed {
			b.Fatalf("%+v, %v", got, err)
		}
		if !got.Terminal() {
			<-changed
		}
		stop()
		if got.Terminal() {
			return got
		}
	}
}

// BenchmarkUndo measures how fast an import is undone, and how much heap that takes.
func BenchmarkUndo(b *testing.B) {
	const rows = 20_000
	content := many(rows)
	for name, url := range map[string]string{"sqlite": dbtest.SQLite(b), "postgres": dbtest.Postgres(b)} {
		b.Run(name, func(b *testing.B) {
			s := dbtest.Open(b, url, time.Now)
			var took time.Duration
			most := 0.0
			for n := range b.N {
				d := &fixture{store: s, owner: dbtest.Member(b, s, fmt.Sprintf("u-%d-%d", b.N, n)), now: time.Now}
				importID := d.all(b, content, importer.Options{})
				most = max(most, peak(func() {
					begun := time.Now()
					if r := undoReport(b, d.process(b, d.startUndo(b, importID))); r.Restored != rows-1 {
						b.Errorf("%+v", r)
					}
					took += time.Since(begun)
				}))
			}
			b.ReportMetric(float64(rows*b.N)/took.Seconds(), "rows/s")
			b.ReportMetric(most, "peak-MiB")
		})
	}
}

// BenchmarkImport compares the time of an import with a bare insert of the same rows, and
// measures its heap.
func BenchmarkImport(b *testing.B) {
	const rows = 10_000
	content := network(rows)
	for name, url := range map[string]string{"sqlite": dbtest.SQLite(b), "postgres": dbtest.Postgres(b)} {
		b.Run(name, func(b *testing.B) {
			s := dbtest.Open(b, url, time.Now)
			q := dbtest.OpenSQL(b, url)
			var took, again, bare time.Duration
			most := 0.0
			for n := range b.N {
				d := &fixture{store: s, owner: dbtest.Member(b, s, fmt.Sprintf("a-%d-%d", b.N, n)), now: time.Now}
				most = max(most, peak(func() {
					begun := time.Now()
					d.all(b, content, importer.Options{})
					took += time.Since(begun)
				}))
				begun := time.Now()
				d.all(b, content, importer.Options{})
				again += time.Since(begun)
				other := dbtest.Member(b, s, fmt.Sprintf("b-%d-%d", b.N, n))
				bare += insertBare(b, q, d.owner, other, db.IsPostgres(url))
			}
			b.ReportMetric(float64(rows*b.N)/took.Seconds(), "rows/s")
			b.ReportMetric(float64(rows*b.N)/bare.Seconds(), "bare-rows/s")
			b.ReportMetric(float64(rows*b.N)/again.Seconds(), "again-rows/s")
			b.ReportMetric(bare.Seconds()/took.Seconds(), "of-bare")
			b.ReportMetric(most, "peak-MiB")
		})
	}
}

// BenchmarkLargestFile measures how much heap a file of nearly 10 MiB takes.
func BenchmarkLargestFile(b *testing.B) {
	content := network(76_000)
	for _, o := range []importer.Options{{}, {DryRun: true}} {
		b.Run(fmt.Sprintf("dry=%t", o.DryRun), func(b *testing.B) {
			s := dbtest.Open(b, dbtest.SQLite(b), time.Now)
			most := 0.0
			for n := range b.N {
				d := &fixture{store: s, owner: dbtest.Member(b, s, fmt.Sprintf("a-%d-%d", b.N, n)), now: time.Now}
				most = max(most, peak(func() { d.all(b, content, o) }))
			}
			b.ReportMetric(float64(len(content))/(1<<20), "file-MiB")
			b.ReportMetric(most, "peak-MiB")
		})
	}
}

// insertBare copies a member's stored data to another member: rows of values, 500 in a
// statement, in one transaction, and nothing else.
func insertBare(b *testing.B, db *sql.DB, from, to tenant.ID, postgres bool) time.Duration {
	b.Helper()
	tables := map[string][][]any{}
	order := []string{"connections", "handles", "organizations", "positions"}
	for _, table := range order {
		tables[table] = rowsOf(b, db, table, from, to)
	}
	begun := time.Now()
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, table := range order {
		for rows := tables[table]; len(rows) > 0; {
			n := min(500, len(rows))
			statement, args := insert(table, rows[:n], postgres)
			if _, err := tx.ExecContext(b.Context(), statement, args...); err != nil {
				b.Fatal(err)
			}
			rows = rows[n:]
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	return time.Since(begun)
}

func rowsOf(b *testing.B, db *sql.DB, table string, from, to tenant.ID) (out [][]any) {
	b.Helper()
	rows, err := db.Query("SELECT * FROM " + table + " WHERE tenant_id = '" + string(from) + "'")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			b.Fatal(err)
		}
		values[0] = string(to)
		out = append(out, values)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return out
}

func insert(table string, rows [][]any, postgres bool) (statement string, args []any) {
	var s strings.Builder
	s.WriteString("INSERT INTO " + table + " VALUES ")
	for i, row := range rows {
		if i > 0 {
			s.WriteByte(',')
		}
		for j, value := range row {
			args = append(args, value)
			s.WriteByte("(,"[min(j, 1)])
			if postgres {
				fmt.Fprintf(&s, "$%d", len(args))
			} else {
				s.WriteByte('?')
			}
		}
		s.WriteByte(')')
	}
	return s.String(), args
}

// BenchmarkPreview measures how long a page of the preview of 10,000 rows takes: of new people,
// and of known ones.
func BenchmarkPreview(b *testing.B) {
	content := network(importer.MaxPreviewed)
	for name, url := range map[string]string{"sqlite": dbtest.SQLite(b), "postgres": dbtest.Postgres(b)} {
		s := dbtest.Open(b, url, time.Now)
		d := &fixture{store: s, owner: dbtest.Member(b, s, "preview"), now: time.Now}
		for _, known := range []bool{false, true} {
			if known {
				d.all(b, content, importer.Options{})
			}
			b.Run(fmt.Sprintf("%s/known=%t", name, known), func(b *testing.B) {
				f := importer.NewFile("people.csv", []byte(content))
				for b.Loop() {
					p, err := importer.NewPreview(b.Context(), s.Tenant(d.owner, true), f, importer.Options{})
					if err != nil || p.Total != importer.MaxPreviewed || len(p.Of("", 100, 50)) != 50 || (p.Counts[importer.RowKnown] == p.Total) != known {
						b.Fatal(p.Counts, err)
					}
				}
			})
		}
	}
}
