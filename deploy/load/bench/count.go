package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// counts are the operations of one call.
type counts struct {
	Statements  int   `json:"statements"`
	Rows        int64 `json:"rows_read"` // -1 if unknown, as for SQLite
	Bytes       int   `json:"answer_bytes"`
	Allocations int   `json:"allocations"`
}

// count makes a row's calls and returns the counts of one call, with the rows that it reads if
// wanted.
func (m *member) count(ctx context.Context, next func() (call, error), rows bool) (c counts, err error) {
	c.Rows = -1
	if err := m.repeat(next, 50); err != nil { // updates the search indexes
		return c, err
	}
	made, err := next()
	idle, idleErr := m.metrics(ctx)
	before, beforeErr := m.metrics(ctx)
	if err := errors.Join(err, idleErr, beforeErr); err != nil {
		return c, err
	}
	_, err = m.client.do(made)
	c.Bytes = m.client.body.Len()
	after, afterErr := m.metrics(ctx)
	if err := errors.Join(err, afterErr); err != nil {
		return c, err
	}
	c.Statements = int(after.statements - before.statements)
	c.Allocations = max(0, int(after.allocations-before.allocations-(before.allocations-idle.allocations)))
	if rows && m.data.admin != "" {
		c.Rows, err = m.rows(ctx, next)
	}
	return c, err
}

// replaced is how long rows waits until the service has replaced the connections that rowsRead
// ended: the driver only checks connections that were idle for a second.
const replaced = 1100 * time.Millisecond

// rows returns how many rows PostgreSQL reads for a call.
func (m *member) rows(ctx context.Context, next func() (call, error)) (int64, error) {
	made, err := next()
	if err != nil {
		return 0, err
	}
	before, err := m.data.rowsRead(ctx)
	if err != nil {
		return 0, err
	}
	if err := m.repeat(func() (call, error) { return made, nil }, 50); err != nil {
		return 0, err
	}
	after, err := m.data.rowsRead(ctx)
	pause(ctx, replaced)
	return after - before, err
}

// repeat makes a call until it succeeds: the first attempts may meet connections to the
// database that were ended, or a job that was started by an attempt whose answer was lost.
func (m *member) repeat(next func() (call, error), times int) (err error) {
	for range times {
		var made call
		if made, err = next(); err != nil {
			return err
		}
		if _, err = m.client.do(made); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%d attempts: %w", times, err)
}

type metrics struct{ statements, allocations, goroutines float64 }

// metrics reads the service's counters.
func (k *service) metrics(ctx context.Context) (c metrics, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+k.admin+"/metrics", http.NoBody)
	if err != nil {
		return c, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return c, err
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.ParseFloat(value, 64)
		switch {
		case strings.HasPrefix(name, "kith_store_queries_total{"):
			c.statements += n
		case name == "go_memstats_mallocs_total":
			c.allocations = n
		case name == "go_goroutines":
			c.goroutines = n
		}
	}
	return c, lines.Err()
}
