package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/kith-crm/kith/proto/catalog"
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
	client *client
	next   func(ctx context.Context) (mixed, error)
	ready  *mixed // prepared, but not sent before the end of the run
}

// mixed is a call of a row, and how long it took since it was due.
type mixed struct {
	call

	row  string
	took time.Duration
}

// newMix starts a service with one member and prepares a connection for each worker, which will
// make calls of these rows. Calls that start jobs or change a selection are made by the first
// worker only: two of them at the same time are refused.
func (s *stage) newMix(ctx context.Context, rows []toolRow) (*mix, error) {
	rpcs, err := catalog.Load()
	if err != nil {
		return nil, err
	}
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
		if m.client, err = dial(m.addr); err != nil {
			return nil, err
		}
		var order []func(ctx context.Context) (mixed, error)
		for _, row := range rows {
			found, ok := rpcs.Tool(row.Tool)
			if !ok || (row.alone(found) && i > 0) {
				continue
			}
			m.calls[row.Row] = i * 1_000_000 // so that no two workers create the same
			for range max(1, usually[row.Row]) {
				order = append(order, func(ctx context.Context) (mixed, error) {
					c, err := m.call(ctx, row, found)
					return mixed{call: c, row: row.Row}, err
				})
			}
		}
		refresh := refreshing([]string{refreshToken(i)}, "client_id="+benchClient, "")
		for range 10 {
			order = append(order, func(context.Context) (mixed, error) { return mixed{call: refresh(0), row: "refresh"}, nil })
		}
		random, n := rand.New(rand.NewPCG(1, uint64(i))), 0
		x.workers = append(x.workers, &worker{client: m.client, next: func(ctx context.Context) (mixed, error) {
			if n%len(order) == 0 {
				random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
			}
			n++
			return order[(n-1)%len(order)](ctx)
		}})
	}
	return x, nil
}

// alone reports whether a row's calls must not run at the same time.
func (row toolRow) alone(found *catalog.RPC) bool {
	return found.Tool.JobKind != "" || row.Before != nil && (row.Before.Once || row.Before.Keep == "selection" || row.Before.Keep == "task_id")
}

// addsPeople reports whether each call of a row makes the network larger.
func (row toolRow) addsPeople() bool {
	adds := func(tool string) bool { return tool == "create_connection" || tool == "import_file" }
	return adds(row.Tool) || row.Before != nil && adds(row.Before.Tool)
}

// run makes calls for the length of time, one for each time that it receives from due, and returns
// them with how long each took from that time.
func (x *mix) run(ctx context.Context, due <-chan time.Time, length time.Duration) ([]mixed, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over, done := context.WithTimeout(ctx, length)
	defer done()
	made := make([][]mixed, len(x.workers))
	var group sync.WaitGroup
	for i, w := range x.workers {
		group.Go(func() {
			var err error
			if made[i], err = w.work(ctx, over.Done(), due); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return slices.Concat(made...), context.Cause(ctx)
}

// work makes calls until over is closed.
func (w *worker) work(ctx context.Context, over <-chan struct{}, due <-chan time.Time) (made []mixed, err error) {
	for {
		if w.ready == nil {
			c, err := w.next(ctx)
			if err != nil {
				return nil, fmt.Errorf("prepare a call: %w", err)
			}
			w.ready = &c
		}
		select {
		case <-over:
			return made, nil
		case since := <-due:
			if _, err := w.client.do(w.ready.call); err != nil {
				return nil, fmt.Errorf("%s: %w", w.ready.row, err)
			}
			w.ready.took = time.Since(since)
			made, w.ready = append(made, *w.ready), nil
		}
	}
}

// tails reports the 99th percentile of the mix at 60 % of the calls per second that the service
// answers when it is kept busy.
func tails(ctx context.Context, s *stage) ([]comparison, error) {
	rows, err := s.bench.toolRows()
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
	made, err := x.atRate(ctx, rate*0.6, 2*length)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(made, func(a, b mixed) int { return cmp.Compare(a.took, b.took) })
	p50, p99 := made[len(made)/2].took, made[len(made)*99/100].took
	for _, m := range made[len(made)*99/100:] {
		fmt.Fprintf(os.Stderr, "%s: %s took %s\n", s.name, m.row, m.took.Round(time.Millisecond))
	}
	what := fmt.Sprintf("%s: mix of all tools, imports and refreshes at 60 %% of %.0f calls a second: ", s.engine, rate)
	s.bench.report.figure(what+"p50", float64(p50)/1e6, "ms", 0)
	s.bench.report.figure(what+"p99 : p50", float64(p99)/float64(p50), "×", 8)
	return nil, nil
}

// capacity returns how many calls of the mix the service answers in a second.
func (x *mix) capacity(ctx context.Context, length time.Duration) (float64, error) {
	always := make(chan time.Time)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for {
			select {
			case always <- time.Now():
			case <-ctx.Done():
				return
			}
		}
	}()
	made, err := x.run(ctx, always, length)
	return float64(len(made)) / length.Seconds(), err
}

// atRate makes calls at random times, with an average of rate calls a second.
func (x *mix) atRate(ctx context.Context, rate float64, length time.Duration) ([]mixed, error) {
	due := make(chan time.Time, 1<<16) // holds the calls that wait for a connection
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for at := time.Now(); ; {
			at = at.Add(time.Duration(rand.ExpFloat64() / rate * float64(time.Second)))
			pause(ctx, time.Until(at))
			select {
			case due <- at:
			case <-ctx.Done():
				return
			}
		}
	}()
	return x.run(ctx, due, length)
}
