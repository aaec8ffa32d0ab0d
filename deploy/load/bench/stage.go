package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// stage holds the databases and services of a section.
type stage struct {
	bench  *bench
	name   string
	engine string

	databases []*database
	processes []*process
	// after is called after the last round; it may be nil.
	after func() error
}

// service is a running Kith with its database.
type service struct {
	*process

	data   *database
	behind *process // the backend of an edge
}

// kith starts a Kith on a new database, which fill fills.
func (s *stage) kith(ctx context.Context, name string, fill func(ctx context.Context, d *database) error) (*service, error) {
	return s.kithAs(ctx, name, variant{program: s.bench.kith}, fill)
}

// variant is a build of Kith with its environment.
type variant struct {
	program string
	command string // serve if empty
	env     []string
}

// kithAs is kith for another variant.
func (s *stage) kithAs(ctx context.Context, name string, v variant, fill func(ctx context.Context, d *database) error) (*service, error) {
	d, err := s.bench.create(ctx, s.engine, s.name+"-"+name)
	if err != nil {
		return nil, err
	}
	s.databases = append(s.databases, d)
	// A first start creates the tables. It stops before they are filled, so that no
	// service has query plans for empty tables.
	first, err := s.bench.serve(ctx, d, v)
	if err != nil {
		return nil, err
	}
	first.stop()
	if err := errors.Join(d.open(), fill(ctx, d), d.settle(ctx)); err != nil {
		return nil, fmt.Errorf("fill the database: %w", err)
	}
	p, err := s.bench.serve(ctx, d, v)
	if err != nil {
		return nil, err
	}
	s.processes = append(s.processes, p)
	return &service{process: p, data: d}, nil
}

// restart starts a service again that was stopped.
func (s *stage) restart(ctx context.Context, k *service) error {
	p, err := s.bench.serve(ctx, k.data, variant{program: s.bench.kith})
	if err != nil {
		return err
	}
	*k.process = *p
	return nil
}

// used returns the processor time of the service and of its database so far.
func (k *service) used(ctx context.Context) (usage, error) {
	u, err := k.process.used(ctx)
	if err != nil {
		return u, err
	}
	if k.behind != nil {
		behind, err := k.behind.used(ctx)
		u.service += behind.service
		return u, err
	}
	u.database, err = k.data.used(ctx)
	return u, err
}

// await repeats a call until it succeeds: on a busy machine the first search of a large
// network may exceed the service's timeout.
func (k *service) await(ctx context.Context, first call) error {
	for {
		c, err := dial(k.addr)
		if err != nil {
			return err
		}
		_, err = c.do(first)
		if err = errors.Join(err, c.Close()); err == nil || ctx.Err() != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: not yet: %.100s\n", k.data.name, err)
		pause(ctx, time.Second)
	}
}

// callers is the default number of concurrent clients.
const callers = 16

// asks returns a target of the service.
func (k *service) asks(name string, next func(n int) call) *target {
	return &target{name: name, addr: k.addr, used: k.used, next: next, connections: callers, ready: callers + 1}
}

func (s *stage) end() {
	for _, p := range s.processes {
		p.stop()
	}
	for _, d := range s.databases {
		if err := d.drop(); err != nil {
			fmt.Fprintln(os.Stderr, "ratios:", err)
		}
	}
}
