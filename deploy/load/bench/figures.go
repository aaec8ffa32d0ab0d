package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"
)

// starts reports figures that are not ratios: the size of the binary, the memory after a start with
// the demo account, and the time until a service with a database is ready.
func starts(ctx context.Context, s *stage) ([]comparison, error) {
	info, err := os.Stat(s.bench.kith)
	if err != nil {
		return nil, err
	}
	report := s.bench.report
	report.figure("the binary", float64(info.Size())/1e6, "MB", 45)
	k, err := s.empty(ctx, "kith", variant{env: []string{"KITH_SANDBOX=true"}})
	if err != nil {
		return nil, err
	}
	resident, _, _, err := k.memory()
	if err != nil {
		return nil, err
	}
	report.figure("resident memory with the sandbox seeded", resident, "MiB", 60)
	k.stop()
	start := time.Now()
	err = s.start(ctx, k)
	report.figure("from start to ready on an existing database", micros(time.Since(start))/1e3, "ms", 1000)
	return nil, err
}

// directory reports how long searches of a directory with 100,000 listed members take.
func directory(ctx context.Context, s *stage) ([]comparison, error) {
	listed := accounts{name: "listed", count: 100_000}
	k, err := s.kith(ctx, "kith", variant{}, listed)
	if err != nil {
		return nil, err
	}
	for _, kind := range []struct {
		name   string
		query  func(i int) string
		answer string // a part of it
	}{
		{"one member", func(i int) string { return fmt.Sprintf("bench%d@", i) }, `"username"`},
		{"a word that all have", func(int) string { return "benches" }, `"username"`},
		{"a word that 1,000 have, at the end", func(int) string { return "bench99" }, `"username"`},
		{"a word that nobody has", func(i int) string { return fmt.Sprint("absent", i) }, ""},
	} {
		took, _, err := each(20*s.bench.rounds, 1, func(i int) error {
			_, _, err := get("/api/network/members?q="+url.QueryEscape(kind.query(i*7919%listed.count)), kind.answer).send(k.addr)
			return err
		})
		if err != nil {
			return nil, err
		}
		s.figure(fmt.Sprintf("directory of 100,000 listed members, %s: p50", kind.name), quantile(0.5, took), "ms", 10)
	}
	return nil, nil
}
