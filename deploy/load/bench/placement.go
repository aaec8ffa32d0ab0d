package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
)

// The section placement: how many members with how many people search how often, and how many searches run at a time.
const (
	placedMembers = 300
	placedNetwork = 1000
	placedRounds  = 10
	placedCallers = 4
)

// placement reports how many search indexes two backends build for members who call over two edges
// with two tokens each: with a balancer between edges and backends, and with the edges' own
// placement. Then it kills a backend while members search.
func placement(ctx context.Context, s *stage) ([]comparison, error) {
	a := accounts{name: "placed", count: placedMembers, bearers: 2, people: people(placedNetwork)}
	whole, err := s.kith(ctx, "pair", variant{}, a)
	if err != nil {
		return nil, err
	}
	whole.stop()
	for _, name := range []string{"balancer", "placement"} {
		p := &pair{accounts: a, stage: s, name: name, database: whole.data.url}
		err := p.start(ctx)
		if err == nil {
			err = p.report(ctx)
		}
		p.stop()
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// pair is two edges and two backends on one database.
type pair struct {
	accounts

	stage     *stage
	name      string
	database  string
	addresses []string // of the backends
	backends  []*process
	edges     []*process
	balancer  net.Listener // nil without one
}

func (p *pair) start(ctx context.Context) (err error) {
	p.addresses = []string{freeAddr(), freeAddr()}
	for _, address := range p.addresses {
		if err := p.startBackend(ctx, address); err != nil {
			return err
		}
	}
	url := "http://" + p.addresses[0] + ",http://" + p.addresses[1]
	if p.name == "balancer" {
		if p.balancer, err = balance(p.addresses); err != nil {
			return err
		}
		url = "http://" + p.balancer.Addr().String()
	}
	for i := range 2 {
		edge, err := p.stage.bench.serve(ctx, fmt.Sprint("placement-edge-", i), "", variant{command: "edge", env: []string{"KITH_BACKEND_URL=" + url}})
		if err != nil {
			return err
		}
		p.edges = append(p.edges, edge)
	}
	return nil
}

func (p *pair) startBackend(ctx context.Context, address string) error {
	backend, err := p.stage.bench.serve(ctx, fmt.Sprint("placement-backend-", len(p.backends)), p.database,
		variant{command: "backend", env: []string{"KITH_BACKEND_ADDR=" + address}})
	if err == nil {
		p.backends = append(p.backends, backend)
	}
	return err
}

func (p *pair) stop() {
	for _, process := range append(p.edges, p.backends...) {
		process.stop()
	}
	if p.balancer != nil {
		_ = p.balancer.Close()
	}
}

// balance forwards each connection to the next of the targets, or to the one after it if that one
// does not answer.
func balance(targets []string) (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	forward := func(near net.Conn, turn int) {
		defer func() { _ = near.Close() }()
		for i := range targets {
			if far, err := net.Dial("tcp", targets[(turn+i)%len(targets)]); err == nil {
				go func() {
					_, _ = io.Copy(far, near)
					_ = far.Close()
				}()
				_, _ = io.Copy(near, far)
				return
			}
		}
	}
	go func() {
		for turn := 0; ; turn++ {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go forward(near, turn)
		}
	}()
	return listener, nil
}

// round has each member search once, in a random order, at one of the edges with one of the member's tokens.
func (p *pair) round(n int) (took []float64, failed int, err error) {
	order := rand.Perm(p.count)
	return each(p.count, placedCallers, func(i int) error {
		member := order[i]
		wanted := p.people[member*7%placedNetwork]
		_, _, err := search(p.bearer(member, n/2%2), wanted.name(), wanted.given).send(p.edges[(n+member)%2].addr)
		return err
	})
}

// report reports the figures of one arrangement.
func (p *pair) report(ctx context.Context) error {
	figure := func(what string, value float64, unit string) {
		p.stage.figure(fmt.Sprintf("%d members, 2 edges, 2 backends, %s: %s", p.count, p.name, what), value, unit, 0)
	}
	latencies := func(what string, took []float64) {
		for _, percent := range []float64{50, 95, 99} {
			figure(fmt.Sprintf("%s, p%.0f", what, percent), quantile(percent/100, took), "ms")
		}
	}
	var later []float64
	for n := range placedRounds {
		took, _, err := p.round(n)
		if err != nil {
			return err
		}
		if n == 0 {
			latencies("first searches", took)
		} else {
			later = append(later, took...)
		}
	}
	latencies("later searches", later)
	var builds, held float64
	for _, backend := range p.backends {
		built, holds, err := backend.indexes()
		if err != nil {
			return err
		}
		builds, held = builds+built, held+holds
	}
	figure("indexes built", builds, "")
	figure("indexes held", held, "MiB")
	failed, err := p.lose(ctx)
	figure(fmt.Sprintf("failed of %d searches while a backend is killed and started again", 4*p.count), float64(failed), "")
	return err
}

// lose kills a backend while members search, and starts it again. It returns how many searches failed.
func (p *pair) lose(ctx context.Context) (failed int, err error) {
	for n := range 4 {
		ended := make(chan error, 1)
		go func() {
			var err error
			switch n {
			case 1:
				p.backends[0].end(syscall.SIGKILL)
			case 3:
				err = p.startBackend(ctx, p.addresses[0])
			}
			ended <- err
		}()
		_, lost, _ := p.round(n)
		failed += lost
		err = errors.Join(err, <-ended)
	}
	return failed, err
}
