package ratelimit_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// generous is a policy that seldom refuses.
var generous = ratelimit.Policy{Name: "profile", Quota: 1000, Window: time.Second, By: ratelimit.Address}

// benchmarkTake measures Take for one key and for many, sequentially and in parallel.
func benchmarkTake(b *testing.B, store ratelimit.Store) {
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("203.0.113.%d", i)
	}
	decide := func(b *testing.B, p ratelimit.Policy, key string) {
		if _, err := ratelimit.Decide(b.Context(), store, p, key, 1); err != nil {
			b.Error(err)
		}
	}
	sliding := generous
	sliding.Sliding = true
	for name, p := range map[string]ratelimit.Policy{"fixed": generous, "sliding": sliding} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				decide(b, p, keys[i%len(keys)])
			}
		})
		b.Run(name+"/one key, parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					decide(b, p, keys[0])
				}
			})
		})
	}
}

func BenchmarkMemory(b *testing.B) {
	benchmarkTake(b, ratelimit.NewMemory(ratelimit.MemoryConfig{}))
}

// BenchmarkMemoryNewKeys measures an attack from many addresses.
func BenchmarkMemoryNewKeys(b *testing.B) {
	m := ratelimit.NewMemory(ratelimit.MemoryConfig{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := m.Take(b.Context(), generous, fmt.Sprint(i), 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRedis(b *testing.B) {
	address, ok := redisAddress(b)
	if !ok {
		return
	}
	b.Run("direct", func(b *testing.B) { benchmarkTake(b, openRedis(b, patient(b, address), newPrefix())) })
	b.Run("fallback", func(b *testing.B) {
		f := ratelimit.NewFallback(openRedis(b, patient(b, address), newPrefix()),
			ratelimit.NewMemory(ratelimit.MemoryConfig{}), ratelimit.FallbackConfig{Budget: time.Minute})
		b.Cleanup(func() { _ = f.Close() })
		benchmarkTake(b, f)
	})
}

func BenchmarkHeaders(b *testing.B) {
	one := decision("mcp-sandbox", 60, 60, 42, 17, true)
	for name, decisions := range map[string][]ratelimit.Decision{
		"one":   {one},
		"three": {decision("batch", 30, 60, 12, 50, true), decision("profile", 120, 60, 3, 5, true), decision("directory", 60, 60, 3, 9, true)},
	} {
		b.Run(name, func(b *testing.B) {
			h := http.Header{}
			b.ReportAllocs()
			for b.Loop() {
				ratelimit.WriteHeaders(h, decisions...)
			}
		})
	}
}
