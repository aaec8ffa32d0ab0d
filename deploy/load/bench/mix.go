package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// mixCallers is the number of connections of a mix. A call that is due while all are busy waits,
// and its latency includes the wait.
const mixCallers = 64

// usually is the weight of rows in the mix; other rows have the weight 1.
var usually = map[string]int{
	"search_connections": 40, "get_connection": 20, "list_timeline": 5, "list_due": 5, "get_account": 5, "add_note": 5, "log_interaction": 5,
}

// mix is calls of all tools, imports and refreshes in random order, from many connections.
type mix struct {
	*service

	workers []*worker
}

// worker makes the calls of one connection.
type worker struct {
	next  func() (mixed, error)
	ready *mixed // prepared, but not sent before the end of the run
}

// mixed is a call of a row, and how many milliseconds it took since it was due.
type mixed struct {
	call

	row  string
	took float64
}

// newMix starts a service with one member and prepares a connection for each worker, which will
// make calls of these rows. Calls that start jobs or change a selection are made by the first
// worker only: two of them at the same time are refused.
func (s *stage) newMix(ctx context.Context, rows []row) (*mix, error) {
	first, err := newMember(ctx, s, usualSize)
	if err != nil {
		return nil, err
	}
	if err := first.data.grants(ctx, accounts{name: fmt.Sprint("tools", usualSize)}.tenant(0)); err != nil {
		return nil, err
	}
	x := &mix{service: first.service}
	for i := range mixCallers {
		m := *first
		m.made, m.calls = map[string]json.RawMessage{}, map[string]int{}
		var order []func() (mixed, error)
		for _, r := range rows {
			if r.page != nil || r.alone() && i > 0 {
				continue
			}
			m.calls[r.Row] = i * 1_000_000 // so that no two workers create the same
			for range max(1, usually[r.Row]) {
				order = append(order, func() (mixed, error) {
					c, err := m.call(r)
					return mixed{call: c, row: r.Row}, err
				})
			}
		}
		refresh := refreshing([]string{refreshToken(i)}, "client_id="+benchClient)
		for range 10 {
			order = append(order, func() (mixed, error) { return mixed{call: refresh(0), row: "refresh"}, nil })
		}
		random, n := rand.New(rand.NewPCG(1, uint64(i))), 0
		x.workers = append(x.workers, &worker{next: func() (mixed, error) {
			if n%len(order) == 0 {
				random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
			}
			n++
			return order[(n-1)%len(order)]()
		}})
	}
	return x, nil
}

// alone reports whether a row's calls must not run at the same time.
func (r row) alone() bool {
	return r.starts || r.Before != nil && (r.Before.Once || r.Before.Keep == "selection" || r.Before.Keep == "task_id")
}

// addsPeople reports whether each call of a row makes the network larger.
func (r row) addsPeople() bool {
	adds := func(tool string) bool { return tool == "create_connection" || tool == "import_file" }
	return adds(r.Tool) || r.Before != nil && adds(r.Before.Tool)
}

// run makes calls at random times for the length of time, with an average of rate calls a second. It returns
// them with how long each took from the time when it was due.
func (x *mix) run(ctx context.Context, rate float64, length time.Duration) (made []mixed, err error) {
	due := make(chan time.Time, 1<<16) // holds the calls that wait for a connection
	over, done := context.WithTimeout(ctx, length)
	defer done()
	go func() {
		for at := time.Now(); ; {
			at = at.Add(time.Duration(rand.ExpFloat64() / rate * float64(time.Second)))
			pause(over, time.Until(at))
			select {
			case due <- at:
			case <-over.Done():
				return
			}
		}
	}()
	var mu sync.Mutex
	group, busy := errgroup.WithContext(over)
	for _, w := range x.workers {
		group.Go(func() error {
			for {
				if w.ready == nil {
					c, err := w.next()
					if err != nil {
						return fmt.Errorf("prepare a call: %w", err)
					}
					w.ready = &c
				}
				select {
				case <-busy.Done():
					return nil
				case since := <-due:
					if _, _, err := w.ready.send(x.addr); err != nil {
						return fmt.Errorf("%s: %w", w.ready.row, err)
					}
					w.ready.took = micros(time.Since(since)) / 1e3
					mu.Lock()
					made, w.ready = append(made, *w.ready), nil
					mu.Unlock()
				}
			}
		})
	}
	err = cmp.Or(group.Wait(), ctx.Err())
	return made, err
}

// capacity returns how many calls of the mix the service answers in a second.
func (x *mix) capacity(ctx context.Context, length time.Duration) (float64, error) {
	made, err := x.run(ctx, math.Inf(1), length)
	return float64(len(made)) / length.Seconds(), err
}

// tails reports the 99th percentile of the mix at 60 % of the calls per second that the service
// answers when it is kept busy.
func tails(ctx context.Context, s *stage) ([]comparison, error) {
	rows, err := s.bench.rows()
	if err != nil {
		return nil, err
	}
	x, err := s.newMix(ctx, rows)
	if err != nil {
		return nil, err
	}
	length := max(s.bench.window*time.Duration(s.bench.rounds), time.Second)
	rate, err := x.capacity(ctx, length)
	if err != nil {
		return nil, err
	}
	made, err := x.run(ctx, rate*0.6, 2*length)
	if err != nil {
		return nil, err
	}
	var took []float64
	for _, m := range made {
		took = append(took, m.took)
	}
	p50, p99 := quantile(0.5, took), quantile(0.99, took)
	for _, m := range made {
		if m.took > p99 {
			fmt.Fprintf(os.Stderr, "%s: %s took %.0f ms\n", s.name, m.row, m.took)
		}
	}
	what := fmt.Sprintf("mix of all tools, imports and refreshes at 60 %% of %.0f calls a second: ", rate)
	s.figure(what+"p50", p50, "ms", 0)
	s.figure(what+"p99 : p50", p99/p50, "×", 8)
	return nil, nil
}

// soak keeps the service at a third of its capacity for a long time, and reports how much it grew
// from the second fifth of that time to the last. Its mix adds notes and changes, but no people.
func soak(ctx context.Context, s *stage) ([]comparison, error) {
	rows, err := s.bench.rows()
	if err != nil {
		return nil, err
	}
	x, err := s.newMix(ctx, slices.DeleteFunc(rows, row.addsPeople))
	if err != nil {
		return nil, err
	}
	rate, err := x.capacity(ctx, 10*time.Second)
	if err != nil {
		return nil, err
	}
	seen := map[string][]float64{}
	var made []mixed
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return x.watch(ctx, s.bench.soak, seen) })
	group.Go(func() (err error) {
		made, err = x.run(ctx, rate/3, s.bench.soak)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		values := seen[what]
		early, late := quantile(0.5, values[len(values)/5:len(values)*2/5]), quantile(0.5, values[len(values)*4/5:])
		s.figure(fmt.Sprintf("growth of %s from %.0f, by %d calls in %s", what, early, len(made), s.bench.soak), (late/max(early, 1)-1)*100, "%", 10)
	}
	return nil, nil
}

// watch measures the service's memory, goroutines and files a hundred times.
func (x *mix) watch(ctx context.Context, length time.Duration, seen map[string][]float64) error {
	for range 100 {
		pause(ctx, length/100)
		resident, _, files, err := x.memory()
		if err != nil {
			return err
		}
		metrics, err := x.metrics()
		if err != nil {
			return err
		}
		for what, value := range map[string]float64{"resident MiB": resident, "goroutines": metrics("go_goroutines", ""), "open files": files} {
			seen[what] = append(seen[what], value)
		}
		if wal, err := os.Stat(x.data.url + "-wal"); err == nil {
			seen["MB of the write-ahead log"] = append(seen["MB of the write-ahead log"], float64(wal.Size())/1e6)
		}
	}
	return nil
}
