package rpc_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/connectheader"
)

// callers are the concurrent callers of the benchmarks.
const callers = 16

// The cost of metering for a read: the same call with and without its price, by 16
// callers at once. cpu-ns/op is the time of all processors.
func BenchmarkMeteredRead(b *testing.B) {
	for _, read := range []struct{ tool, body string }{
		{"search_connections", `{"query":"ana 7"}`},
		{"get_connection", `{"id":"%s","include":["notes","interactions","positions"]}`},
	} {
		for _, metered := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/metered=%v", read.tool, metered), func(b *testing.B) {
				benchmarkRead(b, read.tool, read.body, metered)
			})
		}
	}
}

func benchmarkRead(b *testing.B, tool, body string, metered bool) {
	path := filepath.Join(b.TempDir(), "kith.db")
	if _, err := db.Migrate(b.Context(), db.Config{URL: path}); err != nil {
		b.Fatal(err)
	}
	p := newPaid(b, path, 1_000_000_000)
	ids := p.furnish(b)
	if strings.Contains(body, "%s") {
		body = fmt.Sprintf(body, ids)
	}
	rpcs, err := catalog.Load()
	if err != nil {
		b.Fatal(err)
	}
	rule, _ := rpcs.Tool(tool)
	if !metered {
		rule.Tool.Credits = 0
	}
	handler := newHandler(b, rpcs, p.store, p.time)
	serveOnce(b, handler, p, rule.Procedure, body)
	b.SetParallelism((callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	before := cpuTime(b)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			serveOnce(b, handler, p, rule.Procedure, body)
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
	if metered {
		sum, entries, balance := p.ledger(b, p.member)
		if sum != balance {
			b.Fatalf("the entries sum up to %d, the balance is %d", sum, balance)
		}
		b.ReportMetric(float64(b.N)/float64(entries), "calls/entry")
	}
}

// furnish gives the member people to read, and returns the id of one.
func (p *paid) furnish(b *testing.B) string {
	b.Helper()
	handler := newHandler(b, p.rpcs, p.store, p.time)
	create, _ := p.rpcs.Tool("create_connection")
	for i := range 200 {
		serveOnce(b, handler, p, create.Procedure, fmt.Sprintf(`{"name":"Ana %d","organization":"Helios %d","title":"Engineer","emails":["ana%d@x.example"],"tags":["one","two"]}`, i, i, i))
	}
	var id string
	if err := p.db.QueryRow("SELECT id FROM connections WHERE name = 'Ana 7'").Scan(&id); err != nil {
		b.Fatal(err)
	}
	return id
}

func serveOnce(b *testing.B, handler http.Handler, p *paid, procedure, body string) {
	r := httptest.NewRequest(http.MethodPost, procedure, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(connectheader.ServiceToken, serviceToken)
	r.Header.Set("Authorization", "Bearer "+p.bearer)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b.Errorf("%d %s", w.Code, w.Body)
	}
}

func cpuTime(b *testing.B) int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// The cost of an idempotency key for a write.
func BenchmarkWriteWithAKey(b *testing.B) {
	for _, withKey := range []bool{false, true} {
		b.Run(fmt.Sprintf("keyed=%v", withKey), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "kith.db")
			if _, err := db.Migrate(b.Context(), db.Config{URL: path}); err != nil {
				b.Fatal(err)
			}
			p := newPaid(b, path, 1_000_000_000)
			handler := newHandler(b, p.rpcs, p.store, p.time)
			id := p.furnish(b)
			n := 0
			before := cpuTime(b)
			for b.Loop() {
				n++
				if n%9_000 == 0 { // below the bound of a credential's keys
					if _, err := p.db.Exec("DELETE FROM idempotency_keys"); err != nil {
						b.Fatal(err)
					}
				}
				r := httptest.NewRequest(http.MethodPost, addNote, strings.NewReader(`{"connection_ids":["`+id+`"],"body":"likes tea"}`))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set(connectheader.ServiceToken, serviceToken)
				r.Header.Set("Authorization", "Bearer "+p.bearer)
				if withKey {
					r.Header.Set(connectheader.IdempotencyKey, fmt.Sprint("key ", n))
					r.Header.Set(connectheader.Fingerprint, strings.Repeat("f", 64))
				}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}
