package main

import (
	"context"
	"os"
	"time"
)

// starts reports figures that are not ratios: the size of the binary, the memory after a start with
// the demo account, and the time until a service with a database is ready.
func starts(ctx context.Context, s *stage) ([]comparison, error) {
	if s.engine != sqlite {
		return nil, nil
	}
	info, err := os.Stat(s.bench.kith)
	if err != nil {
		return nil, err
	}
	s.bench.report.figure("the binary", float64(info.Size())/1e6, "MB", 45)
	d, err := s.bench.create(ctx, s.engine, s.name)
	if err != nil {
		return nil, err
	}
	s.databases = append(s.databases, d)
	for _, again := range []bool{false, true} {
		start := time.Now()
		p, err := s.bench.serve(ctx, d, variant{program: s.bench.kith, env: []string{"KITH_SANDBOX=true"}})
		if err != nil {
			return nil, err
		}
		took := time.Since(start)
		resident, err := p.resident()
		p.stop()
		if err != nil {
			return nil, err
		}
		if again {
			s.bench.report.figure("from start to ready on an existing database", float64(took)/1e6, "ms", 1000)
		} else {
			s.bench.report.figure("resident memory with the sandbox seeded", resident, "MiB", 60)
		}
	}
	return nil, nil
}
