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
	// times multiplies the cost of to: 20 to compare a batch with 20 single reads.
	times float64
}

// figure returns the compared value, in microseconds.
func (c comparison) figure(s sample) float64 {
	if c.latency {
		return float64(s.P50) / 1e3
	}
	return float64(s.Service+s.Database) / 1e3
}

// unit returns the name of the compared value.
func (c comparison) unit() string {
	if c.latency {
		return "p50"
	}
	return "CPU"
}

// warm is how long a target runs before it is measured, unless that is more than twice as long as it is
// measured.
const warm = 400 * time.Millisecond

// compare measures all targets, round after round, and reports the ratios.
func (b *bench) compare(ctx context.Context, name string, list []comparison) error {
	targets := targetsOf(list)
	samples := map[*target][]sample{}
	for round := range b.rounds {
		fmt.Fprintf(os.Stderr, "%s: round %d of %d, load %s\n", name, round+1, b.rounds, load())
		for _, t := range targets {
			if t.failed {
				continue
			}
			s, err := t.measure(ctx, b.windowOf(t))
			if err != nil && (t.people > 0 || t.peer) && ctx.Err() == nil { // the other targets can still be measured
				b.report.missing(name, err) // the error names the target
				t.failed = true
				continue
			}
			if err != nil {
				return err
			}
			samples[t] = append(samples[t], s)
		}
		slices.Reverse(targets) // so that a drift of the machine cancels out
	}
	for _, t := range targets {
		if !t.failed {
			b.report.addTarget(name, t, samples[t])
		}
	}
	for _, c := range list {
		if c.to != nil && !c.to.failed && !c.of.failed {
			b.report.addRatio(name, c, samples[c.of], samples[c.to])
		}
	}
	return nil
}

// windowOf returns how long a target is measured in a round.
func (b *bench) windowOf(t *target) time.Duration {
	if t.people > 0 {
		return b.window / 5
	}
	return b.window
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

// targetsOf returns each target once. A comparison without a second target only measures the first.
func targetsOf(list []comparison) []*target {
	var targets []*target
	for _, c := range list {
		for _, t := range []*target{c.to, c.of} {
			if t != nil && !slices.Contains(targets, t) {
				targets = append(targets, t)
			}
		}
	}
	return targets
}

func figures(list []sample, of func(sample) float64) []float64 {
	out := make([]float64, len(list))
	for i, s := range list {
		out[i] = of(s)
	}
	return out
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
