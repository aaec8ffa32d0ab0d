package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// call is one request and the expected response.
type call struct {
	sent   []byte
	status int
	holds  string // must be in the body
	times  int    // how often at least, if more than once
	// keep is called with the body of the right response; it may be nil.
	keep func(body []byte) error
}

// usage is the processor time of a service and of its database server.
type usage struct{ service, database time.Duration }

// target is a kind of request to a service.
type target struct {
	name string
	addr string
	// next returns the n-th request; it is called once for each n.
	next func(n int) call
	// used returns the processor time so far.
	used func(ctx context.Context) (usage, error)
	// connections is the number of concurrent clients.
	connections int
	// ready is the number of requests after which it is warm, such as one per member.
	ready int
	// instead replaces the measurement with another one; it may be nil.
	instead func(ctx context.Context, window time.Duration) (sample, error)

	// people is the size of the network, and counted the counts of one call, if known.
	people  int
	counted counts
	failed  bool
	peer    bool // another program than Kith

	made atomic.Int64
}

// sample is one measurement of a target, per call. SQLite runs in the service.
type sample struct {
	Calls    int           `json:"calls"`
	Service  time.Duration `json:"service_ns"`
	Database time.Duration `json:"database_ns"`
	P50      time.Duration `json:"p50_ns"`
	P99      time.Duration `json:"p99_ns"`
	Bytes    int           `json:"answer_bytes"`
}

// sampleOf returns the sample of calls with these latencies and this processor time in total.
func sampleOf(took []time.Duration, used usage, bytes int64) sample {
	slices.Sort(took)
	n := len(took)
	return sample{
		Calls: n, Service: used.service / time.Duration(n), Database: used.database / time.Duration(n),
		P50: took[n/2], P99: took[n*99/100], Bytes: int(bytes) / n,
	}
}

// deadline bounds one call.
const deadline = 20 * time.Second

// measure keeps all connections of the target busy for the window.
func (t *target) measure(ctx context.Context, window time.Duration) (sample, error) {
	if t.instead != nil {
		return t.instead(ctx, window)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var counts atomic.Bool
	var bytes atomic.Int64
	took := make([][]time.Duration, t.connections)
	var group sync.WaitGroup
	for i := range took {
		group.Go(func() {
			if err := t.keepBusy(ctx, &counts, &bytes, &took[i]); err != nil {
				cancel(fmt.Errorf("%s: %w", t.name, err))
			}
		})
	}
	t.warmUp(ctx, min(warm, 2*window))
	before, err := t.used(ctx)
	counts.Store(true)
	pause(ctx, window)
	counts.Store(false)
	after, usedErr := t.used(ctx)
	failure := context.Cause(ctx)
	cancel(nil)
	group.Wait()
	all := slices.Concat(took...)
	switch {
	case failure != nil:
		return sample{}, failure
	case err != nil:
		return sample{}, err
	case usedErr != nil:
		return sample{}, usedErr
	case len(all) == 0:
		return sample{}, fmt.Errorf("%s: no answer within %s", t.name, window)
	}
	return sampleOf(all, usage{service: after.service - before.service, database: after.database - before.database}, bytes.Load()), nil
}

// warmUp waits for the least time and the number of requests that make the target warm.
func (t *target) warmUp(ctx context.Context, least time.Duration) {
	enough := t.made.Load() + int64(t.ready)
	pause(ctx, least)
	for t.made.Load() < enough && ctx.Err() == nil {
		pause(ctx, least/10)
	}
}

// keepBusy sends one request after the other over one connection.
func (t *target) keepBusy(ctx context.Context, counts *atomic.Bool, bytes *atomic.Int64, took *[]time.Duration) error {
	c, err := dial(t.addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for ctx.Err() == nil {
		next := t.next(int(t.made.Add(1) - 1))
		start := time.Now()
		if _, err := c.do(next); err != nil {
			return err
		}
		if counts.Load() {
			*took = append(*took, time.Since(start))
			bytes.Add(int64(c.body.Len()))
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// client is a kept-alive HTTP connection.
type client struct {
	net.Conn

	reader *bufio.Reader
	body   bytes.Buffer
}

func dial(addr string) (*client, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{Conn: c, reader: bufio.NewReader(c)}, nil
}

// do sends a request, checks the response and returns its header.
func (c *client) do(next call) (http.Header, error) {
	if err := c.SetDeadline(time.Now().Add(deadline)); err != nil {
		return nil, err
	}
	if _, err := c.Write(next.sent); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil, err
	}
	c.body.Reset()
	_, err = io.Copy(&c.body, res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	if res.StatusCode != next.status || bytes.Count(c.body.Bytes(), []byte(next.holds)) < max(next.times, 1) {
		return nil, fmt.Errorf("%d, wanted %d with %q: %.500s\n%.300s", res.StatusCode, next.status, next.holds, &c.body, next.sent)
	}
	if next.keep != nil {
		return res.Header, next.keep(c.body.Bytes())
	}
	return res.Header, nil
}
