package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The section placement: how many people each member knows, and how often each searches.
const (
	placedNetwork = 1000
	placedRounds  = 10
	placedCallers = 4
)

// placement prints how many search indexes two backends build for members who call over two edges
// with two tokens each: with a balancer between edges and backends, and with the edges' own
// placement. Then it kills a backend while members search.
func placement(ctx context.Context, s *stage) ([]comparison, error) {
	if s.bench.members == 0 || s.engine != postgres {
		return nil, nil
	}
	a := accounts{name: "placed", count: s.bench.members, bearers: 2, people: people(placedNetwork)}
	whole, err := s.kith(ctx, "pair", a.fill)
	if err != nil {
		return nil, err
	}
	whole.stop()
	for _, balanced := range []bool{true, false} {
		p := &pair{stage: s, data: whole.data, accounts: a}
		if err := errors.Join(p.start(ctx, balanced), p.report(ctx, balanced), p.stop()); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// pair is two edges and two backends on one database.
type pair struct {
	accounts

	stage     *stage
	data      *database
	addresses [2]string // of the backends
	backends  [2]*process
	edges     [2]*process
	balancer  net.Listener // nil without one
}

func (p *pair) start(ctx context.Context, balanced bool) (err error) {
	for i := range p.backends {
		p.addresses[i] = freeAddr()
		if err := p.startBackend(ctx, i); err != nil {
			return err
		}
	}
	url := "http://" + p.addresses[0] + ",http://" + p.addresses[1]
	if balanced {
		if p.balancer, err = balance(p.addresses[:]); err != nil {
			return err
		}
		url = "http://" + p.balancer.Addr().String()
	}
	for i := range p.edges {
		p.edges[i], err = p.stage.bench.serve(ctx, &database{name: fmt.Sprint(p.data.name, "-edge-", i)},
			variant{program: p.stage.bench.kith, command: "edge", env: []string{"KITH_BACKEND_URL=" + url}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *pair) startBackend(ctx context.Context, i int) (err error) {
	p.backends[i], err = p.stage.bench.serve(ctx, &database{name: fmt.Sprint(p.data.name, "-backend-", i), url: p.data.url},
		variant{program: p.stage.bench.kith, command: "backend", env: []string{"KITH_BACKEND_ADDR=" + p.addresses[i]}})
	return err
}

func (p *pair) stop() (err error) {
	for _, process := range slices.Concat(p.edges[:], p.backends[:]) {
		if process != nil {
			process.stop()
		}
	}
	if p.balancer != nil {
		err = p.balancer.Close()
	}
	return err
}

// balance forwards each connection to the next of the targets, or to the one after it if that one
// does not answer.
func balance(targets []string) (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for turn := 0; ; turn++ {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go forward(near, targets, turn)
		}
	}()
	return listener, nil
}

func forward(near net.Conn, targets []string, turn int) {
	defer func() { _ = near.Close() }()
	for i := range targets {
		far, err := net.Dial("tcp", targets[(turn+i)%len(targets)])
		if err != nil {
			continue
		}
		go func() {
			_, _ = io.Copy(far, near)
			_ = far.Close()
		}()
		_, _ = io.Copy(near, far)
		return
	}
}

// searched is how long the searches of some rounds took, and how many failed.
type searched struct {
	took   []time.Duration
	failed int
}

func (r searched) String() string {
	slices.Sort(r.took)
	at := func(percent int) time.Duration {
		return r.took[(len(r.took)-1)*percent/100].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %s, p95 %s, p99 %s, %d failed of %d", at(50), at(95), at(99), r.failed, len(r.took)+r.failed)
}

// round has each member search once, in a random order.
func (p *pair) round(n int) (r searched, err error) {
	var (
		next  atomic.Int64
		mu    sync.Mutex
		wait  sync.WaitGroup
		order = rand.Perm(p.count) //nolint:gosec // no secret
	)
	for range placedCallers {
		wait.Go(func() {
			var clients [2]*client
			for {
				i := int(next.Add(1)) - 1
				if i >= len(order) {
					return
				}
				member := order[i]
				took, failure := p.search(&clients, member, (n+member)%2, n/2%2)
				mu.Lock()
				if failure != nil {
					r.failed++
					err = errors.Join(err, failure)
				} else {
					r.took = append(r.took, took)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return r, err
}

// search makes one call at an edge, with one of the member's tokens.
func (p *pair) search(clients *[2]*client, member, edge, token int) (took time.Duration, err error) {
	if clients[edge] == nil {
		if clients[edge], err = dial(p.edges[edge].addr); err != nil {
			return 0, err
		}
	}
	wanted := p.people[member*7%placedNetwork]
	start := time.Now()
	_, err = clients[edge].do(search(p.bearer(member, token), wanted.name(), wanted.given))
	if err != nil {
		_ = clients[edge].Close()
		clients[edge] = nil
	}
	return time.Since(start), err
}

// report prints the figures of one arrangement.
func (p *pair) report(ctx context.Context, balanced bool) error {
	say("%s: %d members with %d people, 2 edges, 2 backends\n",
		map[bool]string{true: "balancer", false: "placement"}[balanced], p.count, placedNetwork)
	var first, later searched
	for n := range placedRounds {
		r, err := p.round(n)
		if err != nil {
			return err
		}
		if n == 0 {
			first = r
		} else {
			later.took = append(later.took, r.took...)
		}
	}
	builds, held, err := p.indexes(ctx)
	if err != nil {
		return err
	}
	say("  first searches: %s\n  later searches: %s\n  indexes built: %.0f, %.1f a member; held: %.1f MiB\n",
		first, later, builds, builds/float64(p.count), held/(1<<20))
	return p.lose(ctx)
}

// lose kills a backend while members search, and starts it again.
func (p *pair) lose(ctx context.Context) error {
	var lost searched
	for n := range 4 {
		ended := make(chan error, 1)
		switch n {
		case 1:
			go func() { ended <- p.backends[0].kill() }()
		case 3:
			go func() { ended <- p.startBackend(ctx, 0) }()
		default:
			ended <- nil
		}
		r, _ := p.round(n) // failures are counted
		if err := <-ended; err != nil {
			return err
		}
		lost.took, lost.failed = append(lost.took, r.took...), lost.failed+r.failed
	}
	say("  searches while a backend is killed and started again: %s\n", lost)
	return nil
}

// kill ends the process at once.
func (p *process) kill() error {
	err := p.command.Process.Kill()
	_ = p.command.Wait() // it returns an error, since the process was killed
	return errors.Join(err, p.log.Close())
}

// indexes returns how many indexes both backends have built, and how many bytes they hold.
func (p *pair) indexes(ctx context.Context) (builds, held float64, err error) {
	for _, backend := range p.backends {
		built, bytes, err := backend.indexes(ctx)
		if err != nil {
			return 0, 0, err
		}
		builds, held = builds+built, held+bytes
	}
	return builds, held, nil
}

// indexes returns how many search indexes the process has built, and how many bytes it holds.
func (p *process) indexes(ctx context.Context) (builds, held float64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.admin+"/metrics", http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.ParseFloat(value, 64)
		switch name {
		case `kith_search_build_duration_seconds_count{kind="whole"}`:
			builds = n
		case "kith_search_index_bytes":
			held = n
		}
	}
	return builds, held, lines.Err()
}
