package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/proto/catalog"
)

const (
	// usualSize is the size of a network at which tools are compared with each other.
	usualSize = 10_000
	// pageSize is a size at which only pages are measured: their cost at 100,000 people is
	// compared with it.
	pageSize = 100
)

// row is a line of the backend's testdata/calls.jsonl, whose first lines describe the format.
type row struct {
	Row, Tool string
	Arguments json.RawMessage
	Before    *struct {
		Tool      string
		Arguments json.RawMessage
		Keep      string
		Once      bool
	}

	writes bool // the tool writes
	starts bool // the tool starts a job
	job    bool // the tool, or the one before it, starts a job
	page   *pageRow
}

// pageRow is a page for people, with the row of the tool that reads the same, and the most that the page should
// cost, in calls of the tool.
type pageRow struct {
	path, holds, beside string
	aim                 float64
}

// rows returns the tool calls to measure, and after them other kinds of searches by name and the pages.
func (b *bench) rows() ([]row, error) {
	rpcs, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(b.root, "backend/internal/rpc/testdata/calls.jsonl"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var rows []row
	for lines := json.NewDecoder(file); ; {
		var r row
		if err := lines.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if r.Row == "embed_objects" {
			b.report.missing(r.Row, errors.New("makes all vectors once, which would change all searches after it; see docs/search.md"))
			continue
		}
		found, ok := rpcs.Tool(r.Tool)
		if !ok {
			return nil, fmt.Errorf("%s: no such tool", r.Row)
		}
		r.writes, r.starts = found.Writes, found.Tool.JobKind != ""
		r.job = r.starts
		if r.Before != nil {
			before, _ := rpcs.Tool(r.Before.Tool)
			r.job = r.job || before.Tool.JobKind != ""
		}
		rows = append(rows, r)
	}
	for _, kind := range [][2]string{{"the beginning of a name", "{beginning}"}, {"the beginning of a surname", "{start}"}, {"an e-mail address", "{email}"}} {
		rows = append(rows, row{Row: "search_connections, " + kind[0], Tool: "search_connections", Arguments: json.RawMessage(`{"query":"` + kind[1] + `"}`)})
	}
	rows = append(rows,
		row{Row: "page of the list of people", page: &pageRow{"/people", "</html>", "search_connections", 2.5}},
		row{Row: "page of a search", page: &pageRow{"/people?q={name}", "{name}", "search_connections", 2.5}},
		row{Row: "page of a person", page: &pageRow{"/people/{person}", "{name}", "get_connection", 2}},
		row{Row: "page of today", page: &pageRow{"/", "</html>", "list_due", 2}})
	selected := rows[:0]
	for _, r := range rows {
		if b.row.MatchString(r.Row) {
			selected = append(selected, r)
		}
	}
	return selected, nil
}

// tools measures every tool and page, one call at a time, at each size of the network.
func tools(ctx context.Context, s *stage) ([]comparison, error) {
	rows, err := s.bench.rows()
	if err != nil {
		return nil, err
	}
	at := map[string]map[int]*target{}
	for _, size := range s.bench.sizes {
		m, err := newMember(ctx, s, size)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "%s: %d people are imported\n", s.name, size)
		for _, r := range rows {
			if size == pageSize && r.page == nil {
				continue
			}
			if at[r.Row] == nil {
				at[r.Row] = map[int]*target{}
			}
			t, err := m.target(ctx, r)
			if err != nil {
				s.bench.report.missing(fmt.Sprintf("%s: %s, %d people", s.name, r.Row, size), err)
				continue
			}
			at[r.Row][size] = t
		}
	}
	var list []comparison
	for _, r := range rows {
		for _, t := range at[r.Row] {
			list = append(list, comparison{of: t})
		}
		beside, aim, least := r.beside()
		if usual, base := at[r.Row][usualSize], at[beside][usualSize]; usual != nil && base != nil && usual != base {
			list = append(list, comparison{what: r.Row + " : " + beside, of: usual, to: base, aim: aim})
		}
		if small, large := at[r.Row][least], at[r.Row][100_000]; small != nil && large != nil {
			longer := float64(large.counted.Bytes) / float64(max(small.counted.Bytes, 1))
			if r.page != nil {
				longer = 1
			}
			list = append(list, comparison{what: fmt.Sprintf("%s, 100,000 : %s people", r.Row, map[int]string{pageSize: "100", 1000: "1,000"}[least]), of: large, to: small, aim: 2 * max(1, longer)})
		}
	}
	return list, nil
}

// beside returns the row that a row is compared with, the most that it should cost in calls of that row, which is 0 if
// there is no aim, and the size of the network with which its cost at 100,000 people is compared.
func (r row) beside() (name string, aim float64, size int) {
	if r.page != nil {
		return r.page.beside, r.page.aim, pageSize
	}
	switch r.Tool {
	case "get_connection", "list_groups", "list_timeline", "list_changes", "get_account":
		aim = 1.5
	case "list_due", "find_people_at", "find_similar_connections", "suggest_introductions", "get_network_stats":
		aim = 5
	case "prepare_meeting":
		aim = 6
	case "find_duplicates":
		aim = 50
	default:
		if r.writes {
			aim = 5
		}
	}
	return "search_connections", aim, 1000
}

// member is a member of the section of all tools.
type member struct {
	*service

	bearer  string
	session string // the cookie's secret
	people  []person
	made    map[string]json.RawMessage // results of setup calls that are made once, by row
	calls   map[string]int             // number of calls so far, by row
	job     int                        // the job that the last call started, until it has ended
}

func newMember(ctx context.Context, s *stage, size int) (*member, error) {
	a := accounts{name: fmt.Sprint("tools", size), count: 1, bearers: 1, people: people(size)}
	k, err := s.kith(ctx, fmt.Sprint(size), variant{}, a, accounts{name: "public", count: publicProfiles})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := k.retry(ctx, search(a.bearer(0, 0), a.people[0].name(), a.people[0].name())); err != nil {
		return nil, err
	}
	aim := map[int]float64{1000: 5, 100_000: 400}[size]
	s.figure(fmt.Sprintf("first search after a start, %d people", size), micros(time.Since(start))/1e3, "ms", aim)
	return &member{service: k, bearer: a.bearer(0, 0), session: a.session(0), people: a.people, made: map[string]json.RawMessage{}, calls: map[string]int{}}, nil
}

// call returns the next call of a row, with an idempotency key if it writes. It first makes the
// row's setup call, if there is one.
func (m *member) call(r row) (call, error) {
	if err := m.endJob(); err != nil {
		return call{}, err
	}
	n := m.calls[r.Row]
	m.calls[r.Row]++
	if r.page != nil {
		path, query, _ := strings.Cut(r.page.path, "?q=")
		if path = m.fill(path, n); query != "" {
			path += "?q=" + url.QueryEscape(m.fill(query, n))
		}
		return page(path, m.session, m.fill(r.page.holds, n)), nil
	}
	arguments := m.fill(string(r.Arguments), n)
	if r.Before != nil {
		made := m.made[r.Row]
		if made == nil {
			var err error
			if made, err = m.before(r, m.fill(string(r.Before.Arguments), n)); err != nil {
				return call{}, err
			}
		}
		if r.Before.Once {
			m.made[r.Row] = made
		}
		if r.Before.Keep == "task_id" {
			m.job, _ = strconv.Atoi(string(made))
		}
		arguments = strings.ReplaceAll(arguments, `"{made}"`, string(made))
	}
	next := tool(m.bearer, r.Tool, arguments, succeeded)
	if r.writes {
		next = next.with("Idempotency-Key", fmt.Sprintf("bench-%d-%d", time.Now().UnixNano(), n))
	}
	if r.starts {
		next.keep = func(body []byte) error {
			var answer struct {
				Task int `json:"task_id"`
			}
			err := structured(body, &answer)
			m.job = answer.Task
			return err
		}
	}
	return next, nil
}

// endJob waits for the end of the job that the last call started, if it started one.
func (m *member) endJob() error {
	job := m.job
	m.job = 0
	if job == 0 {
		return nil
	}
	return m.await(m.bearer, job)
}

// before makes the setup call of a row, and returns the value of its answer that the row needs. It
// repeats the call while the service refuses it because a job is running.
func (m *member) before(r row, arguments string) (kept json.RawMessage, err error) {
	for range 100 {
		if err = m.decode(tool(m.bearer, r.Before.Tool, arguments, succeeded), &kept); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for step := range strings.SplitSeq(r.Before.Keep, ".") {
		var object map[string]json.RawMessage
		if err = errors.Join(err, json.Unmarshal(kept, &object)); err != nil {
			return nil, err
		}
		kept = object[step]
	}
	return kept, err
}

// fill replaces the placeholders in the arguments of the n-th call.
func (m *member) fill(arguments string, n int) string {
	i := n * 31 % len(m.people)
	if i >= 100 && i < 200 { // the people of the selections, who may be archived
		i += 100
	}
	p, other := m.people[i], m.people[(i+1)%len(m.people)]
	flip := n%2 == 0
	return strings.NewReplacer("{person}", p.id, "{other}", other.id, "{name}", p.name(), "{misspelt}", p.misspelt(), "{email}", p.email,
		"{beginning}", p.given+" "+p.start(), "{start}", p.start(),
		"{organization}", p.employer, "{username}", "bench-public-7", "{today}", time.Now().UTC().Format(time.DateOnly), "{n}", strconv.Itoa(n),
		`"{flip}"`, strconv.FormatBool(flip), `"{flop}"`, strconv.FormatBool(!flip), "{flip}", strconv.FormatBool(flip), "{flop}", strconv.FormatBool(!flip),
		`"{days}"`, strconv.Itoa(20+n%300), "{rows}", strings.Repeat(`Ana\n`, 1000)).Replace(arguments)
}

// target returns the target of a row, whose calls are made one after the other, after counting what a call does.
func (m *member) target(ctx context.Context, r row) (t *target, err error) {
	t = &target{name: r.Row, people: len(m.people)}
	t.instead = func(window time.Duration) (sample, error) {
		// A search first updates the index, so that this row does not pay for the writes of others.
		if _, _, err := search(m.bearer, m.people[0].name(), "").send(m.addr); err != nil {
			return sample{}, err
		}
		var took []float64
		var sum usage
		for end := time.Now().Add(window); len(took) == 0 || time.Now().Before(end); {
			c, err := m.call(r)
			if err != nil {
				return sample{}, fmt.Errorf("before %s at %d: %w", r.Row, t.people, err)
			}
			before, err := m.used()
			start := time.Now()
			_, _, sendErr := c.send(m.addr)
			took = append(took, micros(time.Since(start)))
			endErr := m.endJob() // its cost is part of the call's
			after, usedErr := m.used()
			if err := errors.Join(err, sendErr, endErr, usedErr); err != nil {
				return sample{}, fmt.Errorf("%s at %d: %w", r.Row, t.people, err)
			}
			used := after.since(before)
			sum.service, sum.database = sum.service+used.service, sum.database+used.database
		}
		return sampleOf(took, sum, len(took)*t.counted.Bytes), nil
	}
	t.counted, err = m.count(ctx, r)
	return t, err
}

// counts are the operations of one call.
type counts struct {
	Statements  int   `json:"statements"`
	Rows        int64 `json:"rows_read"` // -1 if unknown, as for SQLite
	Bytes       int   `json:"answer_bytes"`
	Allocations int   `json:"allocations"`
}

// count makes a row's calls and returns the counts of one call.
func (m *member) count(ctx context.Context, r row) (c counts, err error) {
	c.Rows = -1
	next := func() (call, error) { return m.call(r) }
	if err := m.repeat(next); err != nil { // updates the search indexes
		return c, err
	}
	made, err := next()
	idle, idleErr := m.metrics()
	before, beforeErr := m.metrics()
	if err := errors.Join(err, idleErr, beforeErr); err != nil {
		return c, err
	}
	body, _, err := made.send(m.addr)
	after, afterErr := m.metrics()
	if err := errors.Join(err, afterErr); err != nil {
		return c, err
	}
	const statements, allocations = "kith_store_queries_total", "go_memstats_mallocs_total"
	c.Bytes = len(body)
	c.Statements = int(after(statements, "") - before(statements, ""))
	c.Allocations = max(0, int(after(allocations, "")-2*before(allocations, "")+idle(allocations, "")))
	// Counting rows ends database connections, and a job continues only much later after that.
	if !r.job && m.data.admin != "" {
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
	if err := m.repeat(func() (call, error) { return made, nil }); err != nil {
		return 0, err
	}
	after, err := m.data.rowsRead(ctx)
	pause(ctx, replaced)
	return after - before, err
}

// repeat makes a call until it succeeds: the first attempts may meet connections to the
// database that were ended, or a job that was started by an attempt whose answer was lost.
func (m *member) repeat(next func() (call, error)) (err error) {
	for range 50 {
		made, nextErr := next()
		if nextErr != nil {
			return nextErr
		}
		if _, _, err = made.send(m.addr); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("50 attempts: %w", err)
}
