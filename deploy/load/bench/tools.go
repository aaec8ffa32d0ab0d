package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/proto/catalog"
)

// usualSize is the size of a network at which tools are compared with each other.
const usualSize = 10_000

// toolRow is a line of the backend's testdata/calls.jsonl, whose first lines describe the format.
type toolRow struct {
	Row, Tool string
	Arguments json.RawMessage
	Before    *struct {
		Tool      string
		Arguments json.RawMessage
		Keep      string
		Once      bool
	}
}

// leftOutRows are not measured, for these reasons.
var leftOutRows = map[string]string{
	"embed_objects": "makes all vectors once, which would change all searches after it; see docs/search.md",
}

func (b *bench) toolRows() ([]toolRow, error) {
	text, err := os.ReadFile(filepath.Join(b.root, "backend/internal/rpc/testdata/calls.jsonl"))
	if err != nil {
		return nil, err
	}
	var rows []toolRow
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var row toolRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, err
		}
		if why, out := leftOutRows[row.Row]; out {
			b.report.missing(row.Row, errors.New(why))
		} else if b.row.MatchString(row.Row) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// member is a member of the section of all tools.
type member struct {
	*service

	bearer  string
	session string // the cookie's secret
	people  []person
	client  *client
	made    map[string]json.RawMessage // results of setup calls that are made once, by row
	calls   map[string]int             // number of calls so far, by row
	job     int                        // the job that the last call started, until it has ended
}

// tools measures every tool, one call at a time, at each size of the network.
func tools(ctx context.Context, s *stage) ([]comparison, error) {
	rpcs, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	rows, err := s.bench.toolRows()
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
		for _, row := range rows {
			if size == pageSize {
				break
			}
			if at[row.Row] == nil {
				at[row.Row] = map[int]*target{}
			}
			t, err := m.target(ctx, row, rpcs, size)
			if err != nil {
				s.bench.report.missing(fmt.Sprintf("%s: %s, %d people", s.name, row.Row, size), err)
				continue
			}
			at[row.Row][size] = t
		}
		for _, row := range s.bench.pageRows() {
			if at[row.name] == nil {
				at[row.name] = map[int]*target{}
			}
			if at[row.name][size], err = m.page(ctx, row, size); err != nil {
				return nil, err
			}
		}
	}
	var list []comparison
	for _, row := range rows {
		found, _ := rpcs.Tool(row.Tool)
		usual := at[row.Row][usualSize]
		for _, t := range at[row.Row] {
			list = append(list, comparison{of: t})
		}
		if base := at["search_connections"][usualSize]; base != nil && usual != nil && row.Row != "search_connections" {
			list = append(list, comparison{what: row.Row + " : search_connections", of: usual, to: base, aim: toolAim(row, found.Writes)})
		}
		if small, large := at[row.Row][1000], at[row.Row][100_000]; small != nil && large != nil {
			longer := float64(large.counted.Bytes) / float64(max(small.counted.Bytes, 1))
			list = append(list, comparison{what: row.Row + ", 100,000 : 1,000 people", of: large, to: small, aim: 2 * max(1, longer)})
		}
	}
	return append(list, s.bench.comparePages(at)...), nil
}

// toolAim returns the most that a tool should cost, in searches; 0 if there is no aim.
func toolAim(row toolRow, writes bool) float64 {
	switch row.Tool {
	case "get_connection", "list_groups", "list_timeline", "list_changes", "get_account":
		return 1.5
	case "list_due", "find_people_at", "find_similar_connections", "suggest_introductions", "get_network_stats":
		return 5
	case "prepare_meeting":
		return 6
	case "find_duplicates":
		return 50
	}
	if writes {
		return 5
	}
	return 0
}

func newMember(ctx context.Context, s *stage, size int) (*member, error) {
	a := accounts{name: fmt.Sprint("tools", size), count: 1, bearers: 1}
	m := &member{bearer: a.bearer(0, 0), session: a.session(0), people: people(size), made: map[string]json.RawMessage{}, calls: map[string]int{}}
	var err error
	if m.service, err = s.network(ctx, fmt.Sprint(size), a, m.people, accounts{name: "public", count: publicProfiles}); err != nil {
		return nil, err
	}
	first := search(m.bearer, m.people[0].name(), m.people[0].name())
	start := time.Now()
	if err := m.await(ctx, first); err != nil {
		return nil, err
	}
	aim := map[int]float64{1000: 5, 100_000: 400}[size]
	s.bench.report.figure(fmt.Sprintf("%s: first search after a start, %d people", s.engine, size), float64(time.Since(start))/1e6, "ms", aim)
	m.client, err = dial(m.addr)
	return m, err
}

// call returns the next call of a row, with an idempotency key if it writes. It first makes the
// row's setup call, if there is one.
func (m *member) call(ctx context.Context, row toolRow, found *catalog.RPC) (call, error) {
	if err := m.endJob(ctx); err != nil {
		return call{}, err
	}
	n := m.calls[row.Row]
	m.calls[row.Row]++
	arguments := m.fill(string(row.Arguments), n)
	if row.Before != nil {
		made := m.made[row.Row]
		if made == nil {
			var err error
			if made, err = m.before(row, m.fill(string(row.Before.Arguments), n)); err != nil {
				return call{}, err
			}
		}
		if row.Before.Once {
			m.made[row.Row] = made
		}
		if row.Before.Keep == "task_id" {
			m.job, _ = strconv.Atoi(string(made))
		}
		arguments = strings.ReplaceAll(arguments, `"{made}"`, string(made))
	}
	header := ""
	if found.Writes {
		header = fmt.Sprintf("Idempotency-Key: bench-%d-%d\r\n", time.Now().UnixNano(), n)
	}
	next := post(m.bearer, row.Tool, arguments, `"isError":false`, header)
	if found.Tool.JobKind != "" {
		next.keep = m.keepJob
	}
	return next, nil
}

// keepJob stores the number of the job that an answer names.
func (m *member) keepJob(body []byte) error {
	var answer struct {
		Result struct {
			Content struct {
				Task int `json:"task_id"`
			} `json:"structuredContent"`
		}
	}
	err := json.Unmarshal(body, &answer)
	m.job = answer.Result.Content.Task
	return err
}

// endJob waits for the end of the job that the last call started, if it started one.
func (m *member) endJob(ctx context.Context) error {
	if m.job == 0 {
		return nil
	}
	job := m.job
	m.job = 0
	return m.client.await(ctx, m.bearer, job)
}

// before makes the setup call of a row, and returns the value of its answer that the row needs. It
// repeats the call while the service refuses it because a job is running.
func (m *member) before(row toolRow, arguments string) (kept json.RawMessage, err error) {
	for range 100 {
		if err = m.client.tool(m.bearer, row.Before.Tool, arguments, "", &kept); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for step := range strings.SplitSeq(row.Before.Keep, ".") {
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
		"{organization}", p.employer, "{username}", "bench-public-7", "{today}", time.Now().UTC().Format(time.DateOnly), "{n}", strconv.Itoa(n),
		`"{flip}"`, strconv.FormatBool(flip), `"{flop}"`, strconv.FormatBool(!flip), "{flip}", strconv.FormatBool(flip), "{flop}", strconv.FormatBool(!flip),
		`"{days}"`, strconv.Itoa(20+n%300), "{rows}", strings.Repeat(`Ana\n`, 1000)).Replace(arguments)
}

// target returns the target of a row, after counting what a call does.
func (m *member) target(ctx context.Context, row toolRow, rpcs *catalog.Catalog, size int) (*target, error) {
	found, ok := rpcs.Tool(row.Tool)
	if !ok {
		return nil, errors.New("no such tool")
	}
	// Counting rows ends database connections, and a job continues only much later after that.
	job := found.Tool.JobKind != ""
	if row.Before != nil {
		before, _ := rpcs.Tool(row.Before.Tool)
		job = job || before.Tool.JobKind != ""
	}
	return m.oneByOne(ctx, row.Row, size, !job, func() (call, error) { return m.call(ctx, row, found) })
}

// oneByOne returns a target whose calls are made one after the other. It first counts the
// operations of one call, including the rows read if rows is set.
func (m *member) oneByOne(ctx context.Context, name string, size int, rows bool, next func() (call, error)) (t *target, err error) {
	t = &target{name: name, people: size}
	refresh := search(m.bearer, m.people[0].name(), "")
	t.instead = func(ctx context.Context, window time.Duration) (sample, error) {
		// The service may have closed a connection that was idle while another member was made.
		_ = m.client.Close()
		fresh, err := dial(m.addr)
		if err != nil {
			return sample{}, err
		}
		m.client = fresh
		// A search first updates the index, so that this row does not pay for the writes of others.
		if _, err := m.client.do(refresh); err != nil {
			return sample{}, err
		}
		var took []time.Duration
		var sum usage
		var sent int64
		for end := time.Now().Add(window); len(took) == 0 || time.Now().Before(end); {
			c, err := next()
			if err != nil {
				return sample{}, fmt.Errorf("before %s at %d: %w", name, size, err)
			}
			d, used, err := m.once(ctx, c)
			if err != nil {
				return sample{}, fmt.Errorf("%s at %d: %w", name, size, err)
			}
			took, sent = append(took, d), sent+int64(t.counted.Bytes)
			sum.service, sum.database = sum.service+used.service, sum.database+used.database
		}
		return sampleOf(took, sum, sent), nil
	}
	t.counted, err = m.count(ctx, next, rows)
	return t, err
}

// once makes one call, and returns how long it took and what it used, with the job that it
// starts.
func (m *member) once(ctx context.Context, next call) (took time.Duration, used usage, err error) {
	before, err := m.used(ctx)
	if err != nil {
		return 0, used, err
	}
	start := time.Now()
	_, err = m.client.do(next)
	took = time.Since(start)
	if err := errors.Join(err, m.endJob(ctx)); err != nil {
		return 0, used, err
	}
	after, err := m.used(ctx)
	return took, usage{service: after.service - before.service, database: after.database - before.database}, err
}
