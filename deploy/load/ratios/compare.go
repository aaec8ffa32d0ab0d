package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// comparison is a ratio of two targets, with its aim.
type comparison struct {
	what   string
	of, to *target
	// latency compares the median latency, not the processor time.
	latency bool
	aim     float64 // 0 for none
}

// figure returns the compared value, in microseconds.
func (c comparison) figure(s sample) float64 {
	if c.latency {
		return float64(s.p50) / 1e3
	}
	return float64(s.service+s.database) / 1e3
}

// unit returns the name of the compared value.
func (c comparison) unit() string {
	if c.latency {
		return "p50"
	}
	return "CPU"
}

// warm is the minimum time that a target runs before it is measured.
const warm = 400 * time.Millisecond

// compare measures all targets, round after round, and prints the ratios.
func (b *bench) compare(ctx context.Context, name string, list []comparison) error {
	targets := targetsOf(list)
	samples := map[*target][]sample{}
	for round := range b.rounds {
		fmt.Fprintf(os.Stderr, "%s: round %d of %d, load %s\n", name, round+1, b.rounds, load())
		for _, t := range targets {
			s, err := t.measure(ctx, b.window)
			if err != nil {
				return err
			}
			samples[t] = append(samples[t], s)
		}
		slices.Reverse(targets) // so that a drift of the machine cancels out
	}
	for _, c := range list {
		c.print(name, samples[c.of], samples[c.to])
	}
	return nil
}

// holdOn runs one target until the run is interrupted.
func (b *bench) holdOn(ctx context.Context, list []comparison) error {
	for _, t := range targetsOf(list) {
		for t.name == b.hold && ctx.Err() == nil {
			if _, err := t.measure(ctx, time.Minute); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
	return nil
}

func targetsOf(list []comparison) []*target {
	var targets []*target
	for _, c := range list {
		for _, t := range []*target{c.to, c.of} {
			if !slices.Contains(targets, t) {
				targets = append(targets, t)
			}
		}
	}
	return targets
}

func (c comparison) print(section string, of, to []sample) {
	ofs, tos := figures(of, c.figure), figures(to, c.figure)
	ratios := make([]float64, len(of))
	for i := range ratios {
		ratios[i] = ofs[i] / tos[i]
	}
	ratio := median(ratios)
	database := ""
	if in := func(s sample) float64 { return float64(s.database) / 1e3 }; !c.latency && in(of[0]) > 0 {
		database = fmt.Sprintf("  in PostgreSQL %.1f : %.1f", median(figures(of, in)), median(figures(to, in)))
	}
	say("%-24s %-52s %-3s %8.1f : %8.1f µs  %5.2f  (%.2f..%.2f)%s%s\n", section, c.what, c.unit(),
		median(ofs), median(tos), ratio, slices.Min(ratios), slices.Max(ratios), c.verdict(ratio), database)
}

func figures(list []sample, of func(sample) float64) []float64 {
	out := make([]float64, len(list))
	for i, s := range list {
		out[i] = of(s)
	}
	return out
}

func (c comparison) verdict(ratio float64) string {
	switch {
	case c.aim == 0:
		return ""
	case ratio <= c.aim:
		return fmt.Sprintf("  aim %.2f", c.aim)
	default:
		return fmt.Sprintf("  aim %.2f MISSED", c.aim)
	}
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// load returns the load average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}
