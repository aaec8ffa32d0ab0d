package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// soak keeps the service at a third of its capacity for a long time, and reports how much it grew
// from the second fifth of that time to the last. Its mix adds notes and changes, but no people.
func soak(ctx context.Context, s *stage) ([]comparison, error) {
	if s.bench.soak == 0 {
		return nil, nil
	}
	rows, err := s.bench.toolRows()
	if err != nil {
		return nil, err
	}
	x, err := s.newMix(ctx, slices.DeleteFunc(rows, toolRow.addsPeople))
	if err != nil {
		return nil, err
	}
	rate, err := x.capacity(ctx, 10*time.Second)
	if err != nil {
		return nil, err
	}
	seen := map[string][]float64{}
	watched := make(chan error, 1)
	go func() { watched <- x.watch(ctx, s.bench.soak, seen) }()
	made, err := x.atRate(ctx, rate/3, s.bench.soak)
	if err := cmp.Or(err, <-watched); err != nil {
		return nil, err
	}
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		values := seen[what]
		early, late := median(values[len(values)/5:len(values)*2/5]), median(values[len(values)*4/5:])
		s.bench.report.figure(fmt.Sprintf("%s: growth of %s from %.0f, by %d calls in %s", s.engine, what, early, len(made), s.bench.soak), (late/max(early, 1)-1)*100, "%", 10)
	}
	return nil, nil
}

// watch measures the service's memory, goroutines and files a hundred times.
func (x *mix) watch(ctx context.Context, length time.Duration, seen map[string][]float64) error {
	for range 100 {
		pause(ctx, length/100)
		resident, err := x.resident()
		if err != nil {
			return err
		}
		counters, err := x.metrics(ctx)
		if err != nil {
			return err
		}
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", x.command.Process.Pid))
		if err != nil {
			return err
		}
		for what, value := range map[string]float64{"resident MiB": resident, "goroutines": counters.goroutines, "open files": float64(len(files))} {
			seen[what] = append(seen[what], value)
		}
		if wal, err := os.Stat(x.data.url + "-wal"); err == nil {
			seen["MB of the write-ahead log"] = append(seen["MB of the write-ahead log"], float64(wal.Size())/1e6)
		}
	}
	return nil
}
