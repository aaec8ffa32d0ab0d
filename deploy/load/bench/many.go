package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// manyPeople is the size of each network of many members; its tables then have about 200 rows
	// for each member.
	manyPeople = 25
	// manyActive is the number of members who call in turn, at most.
	manyActive = 1000
)

// members compares a database of many members with one of a hundredth as many, for calls.
func members(ctx context.Context, s *stage) ([]comparison, error) {
	_, list, err := s.members(ctx, 10_000, func(*membership) error { return nil })
	return list, err
}

// many compares PostgreSQL databases of 1,000 and 100,000 members, also for the work of operators, and reports
// what small search memories and partitions do. It takes a quarter of an hour and 30 GB of disk.
func many(ctx context.Context, s *stage) ([]comparison, error) {
	m, list, err := s.members(ctx, s.bench.members, func(m *membership) error {
		// No token exists for the hashes of these grants, one for each member.
		of := " FROM members WHERE id LIKE 'mem_" + m.all.name + "_%'"
		if err := m.data.exec(ctx,
			"INSERT INTO grants (id, member_id, client_id, scopes, tools, resource, created_at) SELECT 'gra_' || id, id, '"+benchClient+"', '"+scopes+"', '', '', now()"+of,
			"INSERT INTO access_tokens (grant_id, hash, scopes, created_at, expires_at) SELECT 'gra_' || id, encode(sha256(('a' || id)::bytea), 'hex'), '"+scopes+"', now(), now() + interval '1 hour'"+of,
			"INSERT INTO refresh_tokens (hash, grant_id, created_at, expires_at) SELECT encode(sha256(('r' || id)::bytea), 'hex'), 'gra_' || id, now(), now() + interval '60 days'"+of,
		); err != nil {
			return err
		}
		return m.operate(ctx)
	})
	if err != nil {
		return nil, err
	}
	return list, errors.Join(m.evict(ctx), m.partition(ctx))
}

// membership is a service with many members.
type membership struct {
	*service

	stage *stage
	all   accounts
}

// members starts a service with the number of members and one with a hundredth as many, does the work on each,
// and returns the larger one and the comparisons of calls.
func (s *stage) members(ctx context.Context, count int, work func(m *membership) error) (m *membership, list []comparison, err error) {
	var small []*target
	for _, count := range []int{count / 100, count} {
		m = &membership{stage: s, all: accounts{name: "many", count: count, bearers: 1, people: people(manyPeople)}}
		start := time.Now()
		if m.service, err = s.kith(ctx, fmt.Sprint(count), variant{}, m.all); err != nil {
			return nil, nil, err
		}
		if err := errors.Join(m.data.grants(ctx, m.all.tenant(0)), work(m), m.data.settle(ctx)); err != nil {
			return nil, nil, err
		}
		fmt.Fprintf(os.Stderr, "%s: %d members in %s\n", s.name, count, time.Since(start).Round(time.Second))
		calls := m.calls()
		for i, t := range small {
			list = append(list, comparison{what: fmt.Sprintf("%s: of %d members : of %d", t.name, count, count/100), of: calls[i], to: t, aim: 1.3})
		}
		small = calls
	}
	return m, list, nil
}

// calls returns the calls that the active members, who are spread evenly over all members, make in turn.
func (m *membership) calls() []*target {
	among := min(manyActive, m.all.count)
	active := func(n int) int { return n % among * (m.all.count / among) }
	bearer := func(n int) string { return m.all.bearer(active(n), 0) }
	person := func(n int) person { return m.all.people[n/manyActive*7%manyPeople] }
	asks := func(name string, next func(n int) call) *target {
		t := m.asks(name, next)
		t.ready = manyActive + callers
		return t
	}
	first := make([]string, chains)
	for i := range first {
		first[i] = refreshToken(i)
	}
	return []*target{
		asks("search_connections", func(n int) call { return search(bearer(n), person(n).name(), person(n).given) }),
		asks("get_connection", func(n int) call {
			return tool(bearer(n), "get_connection", `{"id":"`+person(n).id+`"}`, `"name":"`+person(n).name()+`"`)
		}),
		asks("list_timeline", func(n int) call {
			return tool(bearer(n), "list_timeline", `{"connection_id":"`+person(n).id+`"}`, succeeded)
		}),
		asks("list_due", func(n int) call { return tool(bearer(n), "list_due", `{}`, succeeded) }),
		asks("add_note", func(n int) call { return note(bearer(n), person(n)) }),
		asks("the page of today", func(n int) call { return page("/", m.all.session(active(n)), "</html>") }),
		asks("a profile", func(n int) call {
			return get(fmt.Sprintf("/api/human/bench-%s-%d", m.all.name, active(n)), `"username"`)
		}),
		asks("a search of the directory", func(n int) call {
			return get(fmt.Sprintf("/api/network/members?q=bench%d@", active(n)), `"username"`)
		}),
		asks("a token refresh", refreshing(first, "client_id="+benchClient)),
	}
}

// report reports a figure about the members.
func (m *membership) report(what string, value float64, unit string) {
	m.stage.figure(fmt.Sprintf("%d members%s", m.all.count, what), value, unit, 0)
}

// timed executes a statement some times, and reports how long one takes.
func (m *membership) timed(ctx context.Context, what string, times int, statement string) error {
	start := time.Now()
	if _, err := m.data.db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	took, unit := micros(time.Since(start))/float64(times), "µs"
	if times == 1 {
		took, unit = took/1e3, "ms"
	}
	m.report(what, took, unit)
	return nil
}

// searches makes searches of the members with these numbers, some at a time.
func (m *membership) searches(p *process, n, atATime int, member func(i int) int) ([]float64, error) {
	took, _, err := each(n, atATime, func(i int) error {
		_, _, err := search(m.all.bearer(member(i), 0), m.all.people[0].name(), m.all.people[0].given).send(p.addr)
		return err
	})
	return took, err
}

// operate reports how long first calls and an operator's work take.
func (m *membership) operate(ctx context.Context) error {
	took, err := m.searches(m.process, min(200, m.all.count/2), 1, func(i int) int { return 2*i + 1 })
	if err != nil {
		return err
	}
	m.report(": the first search of a member, which builds the index: p50", quantile(0.5, took), "ms")
	start := time.Now()
	if err := m.load(m.all.bearer(1, 0), document(people(manyPeople), 0, time.Now().UTC())); err != nil {
		return err
	}
	m.report(": an import of 25 people, from the call until the job has ended", micros(time.Since(start))/1e3, "ms")
	swept, err := m.sweep(ctx)
	if err != nil {
		return err
	}
	m.report(": the hourly sweep", micros(swept)/1e3, "ms")
	if err := errors.Join(
		m.timed(ctx, ": a column more for all people", 1, "ALTER TABLE connections ADD COLUMN bench TEXT NOT NULL DEFAULT ''"),
		m.timed(ctx, ": an index more of all handles, while calls go on", 1, "CREATE INDEX CONCURRENTLY bench ON handles (tenant_id, label)"),
		m.data.exec(ctx, "ALTER TABLE connections DROP COLUMN bench", "DROP INDEX CONCURRENTLY bench"),
	); err != nil {
		return err
	}
	file := filepath.Join(m.stage.bench.work, m.data.name+".backup")
	defer func() { _ = os.Remove(file) }()
	start = time.Now()
	command := exec.CommandContext(ctx, m.stage.bench.kith, "backup", file)
	command.Env = append(os.Environ(), "KITH_DATABASE_URL="+m.data.url)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("back up: %w: %.300s", err, out)
	}
	m.report(": a backup", micros(time.Since(start))/1e3, "ms")
	info, err := os.Stat(file)
	if err == nil {
		m.report(": the backup", float64(info.Size())/1e6, "MB")
	}
	return err
}

// sweep makes the hourly sweep due, and returns how long it ran.
func (m *membership) sweep(ctx context.Context) (time.Duration, error) {
	if err := m.data.exec(ctx, "UPDATE jobs SET run_at = now() - interval '1 second' WHERE kind = 'sweep' AND state = 'queued'"); err != nil {
		return 0, err
	}
	began := time.Time{}
	for ; ctx.Err() == nil; pause(ctx, time.Millisecond) {
		var state string
		var later bool
		if err := m.data.db.QueryRowContext(ctx, "SELECT state, run_at > now() FROM jobs WHERE kind = 'sweep' AND state IN ('queued', 'running')").Scan(&state, &later); err != nil {
			return 0, err
		}
		switch {
		case state == "running" && began.IsZero():
			began = time.Now()
		case state == "queued" && later && began.IsZero():
			return 0, nil // it ended between two queries
		case state == "queued" && later:
			return time.Since(began), nil
		}
	}
	return 0, ctx.Err()
}

// evict reports how many searches of many members find their index in memory, and how long all of
// them take, for several sizes of that memory. The members are chosen at random, each as often as
// the others: no order of calls is worse for a cache.
func (m *membership) evict(ctx context.Context) error {
	const apart, atATime = 10, 4 // a tenth of the members search, spread evenly over all
	active := m.all.count / apart
	for _, memory := range []int{256, 128, 64, 16} {
		p, err := m.stage.bench.serve(ctx, m.data.name+"-evict", m.data.url, variant{env: []string{fmt.Sprint("KITH_SEARCH_MEMORY=", memory)}})
		if err != nil {
			return err
		}
		m.stage.processes = append(m.stage.processes, p)
		_, err = m.searches(p, active, atATime, func(n int) int { return n * apart }) // fills the memory
		before, _, beforeErr := p.indexes()
		if err := errors.Join(err, beforeErr); err != nil {
			return err
		}
		took, err := m.searches(p, 3*active, atATime, func(int) int { return rand.IntN(active) * apart })
		after, held, afterErr := p.indexes()
		if err := errors.Join(err, afterErr); err != nil {
			return err
		}
		p.stop()
		what := fmt.Sprintf(", of whom %d search, %d MiB for indexes: ", active, memory)
		m.report(what+"indexes held", held, "MiB")
		m.report(what+"index in memory", 100*(1-(after-before)/float64(len(took))), "% of searches")
		m.report(what+"p50", quantile(0.5, took), "ms")
		m.report(what+"p99", quantile(0.99, took), "ms")
	}
	return nil
}

// indexes returns how many search indexes the process has built, and how many MiB it holds.
func (p *process) indexes() (builds, held float64, err error) {
	metrics, err := p.metrics()
	if err != nil {
		return 0, 0, err
	}
	return metrics("kith_search_build_duration_seconds", "whole"), metrics("kith_search_index_bytes", "") / (1 << 20), nil
}

// partition compares the table of handles with a copy in 16 hash partitions by tenant: single reads and
// writes as calls make them, a vacuum after each handle of a tenth of the members has changed, and a
// new index. It drops the copy.
func (m *membership) partition(ctx context.Context) error {
	statements := []string{"CREATE TABLE handles_parted (LIKE handles INCLUDING ALL) PARTITION BY HASH (tenant_id)"}
	for i := range 16 {
		statements = append(statements, fmt.Sprintf("CREATE TABLE handles_parted_%d PARTITION OF handles_parted FOR VALUES WITH (MODULUS 16, REMAINDER %d)", i, i))
	}
	if err := m.data.exec(ctx, append(statements, "INSERT INTO handles_parted SELECT * FROM handles", "VACUUM ANALYZE handles", "VACUUM ANALYZE handles_parted")...); err != nil { //nolint:misspell // SQL
		return err
	}
	var ids []string
	for _, p := range m.all.people {
		ids = append(ids, p.id)
	}
	const single = 5000
	for _, table := range []string{"handles", "handles_parted"} {
		for _, step := range []struct {
			what, statement string
			times           int
		}{
			{"a read of one person's", "PERFORM * FROM handles WHERE tenant_id = t AND connection_id = c", single},
			{"a write of one person's", "UPDATE handles SET label = label || 'x' WHERE tenant_id = t AND connection_id = c", single},
			{"a change of a tenth of all", "UPDATE handles SET label = label || 'x' WHERE hashtext(tenant_id) % 10 = 0", 1},
			{"the vacuum after it", "VACUUM handles", 1},
			{"a new index", "CREATE INDEX bench_parts ON handles (tenant_id, label)", 1},
		} {
			statement := strings.ReplaceAll(step.statement, "handles", table)
			if step.times > 1 {
				statement = fmt.Sprintf("DO $$ DECLARE t text; c text; BEGIN FOR n IN 1..%d LOOP t := 'mem_many_' || lpad((n::bigint * 7919 %% %d)::text, 7, '0'); c := (ARRAY['%s'])[n %% %d + 1]; %s; END LOOP; END $$",
					step.times, m.all.count, strings.Join(ids, "', '"), len(ids), statement)
			}
			if err := m.timed(ctx, ", "+table+": "+step.what, step.times, statement); err != nil {
				return err
			}
		}
		if err := m.data.exec(ctx, "DROP INDEX bench_parts"); err != nil {
			return err
		}
	}
	return m.data.exec(ctx, "DROP TABLE handles_parted")
}
