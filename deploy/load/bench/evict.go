package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// evictActive is the number of members who search in turn, at most.
	evictActive = 10_000
	// evictSearches is the number of searches that are measured for each member who searches.
	evictSearches = 3
)

// evict reports how many searches of many members find their index in memory, and how long all of
// them take, for several sizes of that memory. The members are chosen at random, each as often as
// the others: no order of calls is worse for a cache.
func (m *membership) evict(ctx context.Context) error {
	for _, memory := range []int{256, 128, 64, 16} {
		p, err := m.stage.bench.serve(ctx, m.data, variant{program: m.stage.bench.kith, env: []string{fmt.Sprint("KITH_SEARCH_MEMORY=", memory)}})
		if err != nil {
			return err
		}
		err = m.evictWith(ctx, p, memory)
		p.stop()
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *membership) evictWith(ctx context.Context, p *process, memory int) error {
	active := min(evictActive, m.all.count)
	apart := m.all.count / active                                                          // they are spread evenly over all members
	if _, err := m.searchAs(p, active, func(n int) int { return n * apart }); err != nil { // fills the memory
		return err
	}
	before, _, err := p.indexes(ctx)
	if err != nil {
		return err
	}
	took, err := m.searchAs(p, evictSearches*active, func(int) int { return rand.IntN(active) * apart }) //nolint:gosec // no secret
	if err != nil {
		return err
	}
	after, held, err := p.indexes(ctx)
	if err != nil {
		return err
	}
	report := func(what string, value float64, unit string) {
		m.stage.bench.report.figure(fmt.Sprintf("%s: %d members search, %d MiB for indexes: %s", m.stage.engine, active, memory, what), value, unit, 0)
	}
	slices.Sort(took)
	report("indexes held", held/(1<<20), "MiB")
	report("index in memory", 100*(1-(after-before)/float64(len(took))), "% of searches")
	report("p50", float64(took[len(took)/2])/1e6, "ms")
	report("p99", float64(took[len(took)*99/100])/1e6, "ms")
	return nil
}

// searchAs makes searches of the members whose numbers member returns, and returns how long each
// took.
func (m *membership) searchAs(p *process, searches int, member func(n int) int) (took []time.Duration, err error) {
	var (
		next atomic.Int64
		mu   sync.Mutex
		wait sync.WaitGroup
	)
	for range placedCallers {
		wait.Go(func() {
			c, failure := dial(p.addr)
			if failure == nil {
				defer func() { _ = c.Close() }()
			}
			var mine []time.Duration
			for n := int(next.Add(1)) - 1; n < searches && failure == nil; n = int(next.Add(1)) - 1 {
				start := time.Now()
				_, failure = c.do(search(m.all.bearer(member(n), 0), m.people[0].name(), m.people[0].given))
				mine = append(mine, time.Since(start))
			}
			mu.Lock()
			defer mu.Unlock()
			took, err = append(took, mine...), errors.Join(err, failure)
		})
	}
	wait.Wait()
	return took, err
}
