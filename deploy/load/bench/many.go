package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// manyPeople is the size of each network of many members; its tables then have about 200 rows
	// for each member.
	manyPeople = 25
	// manyActive is the number of members who call in turn, at most.
	manyActive = 1000
	// firsts is the number of first calls that are measured.
	firsts = 200
)

// many compares a PostgreSQL database of many members with one of a hundredth as many, for calls
// and for the work of operators. With 100,000 members and 20 million rows it takes a quarter of
// an hour and 30 GB of disk, so it runs only on request.
func many(ctx context.Context, s *stage) ([]comparison, error) {
	if s.engine != postgres || s.bench.members == 0 {
		return nil, nil
	}
	var list []comparison
	var small map[string]*target
	for _, count := range []int{s.bench.members / 100, s.bench.members} {
		m, err := s.members(ctx, count)
		if err != nil {
			return nil, err
		}
		if err := m.maintain(ctx); err != nil {
			return nil, err
		}
		calls := m.calls()
		if small == nil {
			small = calls
			continue
		}
		if err := errors.Join(m.evict(ctx), m.partition(ctx)); err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			list = append(list, comparison{what: fmt.Sprintf("%s: of %d members : of %d", name, s.bench.members, s.bench.members/100), of: calls[name], to: small[name], aim: 1.3})
		}
	}
	return list, nil
}

// membership is a service with many members.
type membership struct {
	*service

	stage  *stage
	all    accounts
	people []person
}

// members starts a service with equal members. The first member imports its network, so that its
// derived data is correct; PostgreSQL copies the rows for the others.
func (s *stage) members(ctx context.Context, count int) (*membership, error) {
	m := &membership{stage: s, all: accounts{name: "many", count: count, bearers: 1}, people: people(manyPeople)}
	k, err := s.network(ctx, fmt.Sprint(count), m.all, m.people)
	if err != nil {
		return nil, err
	}
	m.service = k
	k.stop()
	start := time.Now()
	rows, err := k.data.copyMembers(ctx, m.all)
	if err := errors.Join(err, k.data.grantAll(ctx, m.all), k.data.grants(ctx, m.all.tenant(0)), k.data.settle(ctx)); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "%s: %d members, %d rows, in %s\n", s.name, count, rows, time.Since(start).Round(time.Second))
	return m, s.restart(ctx, k)
}

// copyMembers copies the rows of the first account for the others, in every table of members' data.
func (d *database) copyMembers(ctx context.Context, a accounts) (copied int64, err error) {
	columns, err := d.memberTables(ctx)
	if err != nil {
		return 0, err
	}
	for table, list := range columns {
		done, err := d.db.ExecContext(ctx, fmt.Sprintf("INSERT INTO %[1]s (tenant_id, %[2]s) SELECT m.id, %[3]s FROM members m CROSS JOIN (SELECT * FROM %[1]s WHERE tenant_id = '%[4]s') s WHERE m.id LIKE 'mem_%[5]s_%%' AND m.id <> '%[4]s'",
			table, list, "s."+strings.ReplaceAll(list, ", ", ", s."), a.tenant(0), a.name))
		if err != nil {
			return copied, fmt.Errorf("copy %s: %w", table, err)
		}
		rows, err := done.RowsAffected()
		if err != nil {
			return copied, err
		}
		copied += rows
	}
	return copied, nil
}

// memberTables returns the tables of members' data with their columns, without tenant_id. It leaves
// out tenant_states, where each account already has a row, and jobs, whose ids are unique in the
// whole database.
func (d *database) memberTables(ctx context.Context) (map[string]string, error) {
	found, err := d.db.QueryContext(ctx, `SELECT table_name, string_agg(quote_ident(column_name), ', ')
FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND column_name <> 'tenant_id' AND is_identity = 'NO'
  AND table_name IN (SELECT table_name FROM information_schema.columns WHERE column_name = 'tenant_id' AND table_schema = current_schema())
  AND table_name NOT IN ('tenant_states', 'jobs')
GROUP BY table_name`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = found.Close() }()
	columns := map[string]string{}
	for found.Next() {
		var table, list string
		if err := found.Scan(&table, &list); err != nil {
			return nil, err
		}
		columns[table] = list
	}
	return columns, found.Err()
}

// grantAll gives each member a grant of an agent. No token exists for the stored token hashes.
func (d *database) grantAll(ctx context.Context, a accounts) error {
	of := " FROM members WHERE id LIKE 'mem_" + a.name + "_%'"
	for _, statement := range []string{
		"INSERT INTO grants (id, member_id, client_id, scopes, tools, resource, created_at) SELECT 'gra_' || id, id, '" + benchClient + "', '" + scopes + "', '', '', now()" + of,
		"INSERT INTO access_tokens (grant_id, hash, scopes, created_at, expires_at) SELECT 'gra_' || id, encode(sha256(('a' || id)::bytea), 'hex'), '" + scopes + "', now(), now() + interval '1 hour'" + of,
		"INSERT INTO refresh_tokens (hash, grant_id, created_at, expires_at) SELECT encode(sha256(('r' || id)::bytea), 'hex'), 'gra_' || id, now(), now() + interval '60 days'" + of,
	} {
		if _, err := d.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// active returns the number of the n-th member who calls. These are spread evenly over all members.
func (m *membership) active(n int) int {
	among := min(manyActive, m.all.count)
	return n % among * (m.all.count / among)
}

// bearer returns the token of the n-th active member.
func (m *membership) bearer(n int) string { return m.all.bearer(m.active(n), 0) }

// calls returns the calls that the active members make in turn.
func (m *membership) calls() map[string]*target {
	person := func(n int) person { return m.people[n/manyActive*7%len(m.people)] }
	calls := map[string]*target{}
	for name, next := range map[string]func(n int) call{
		"search_connections": func(n int) call { return search(m.bearer(n), person(n).name(), person(n).given) },
		"get_connection": func(n int) call {
			return post(m.bearer(n), "get_connection", `{"id":"`+person(n).id+`"}`, `"name":"`+person(n).name()+`"`, "")
		},
		"list_timeline": func(n int) call {
			return post(m.bearer(n), "list_timeline", `{"connection_id":"`+person(n).id+`"}`, `"isError":false`, "")
		},
		"list_due": func(n int) call { return post(m.bearer(n), "list_due", `{}`, `"isError":false`, "") },
		"add_note": func(n int) call { return note(m.bearer(n), person(n), "") },
		"the page of today": func(n int) call {
			return get("/", "Cookie: kith_session="+m.all.session(m.active(n))+"\r\n", http.StatusOK, "</html>")
		},
		"a profile": func(n int) call {
			return get(fmt.Sprintf("/api/human/bench-%s-%d", m.all.name, m.active(n)), "", http.StatusOK, `"username"`)
		},
		"a search of the directory": func(n int) call {
			return get(fmt.Sprintf("/api/network/members?q=bench%d@", m.active(n)), "", http.StatusOK, `"username"`)
		},
	} {
		calls[name] = m.asks(name, next)
		calls[name].ready = manyActive + callers
	}
	first := make([]string, chains)
	for i := range first {
		first[i] = refreshToken(i)
	}
	calls["a token refresh"] = m.asks("refresh", refreshing(first, "client_id="+benchClient, ""))
	return calls
}

// maintain reports how long first calls and an operator's work take.
func (m *membership) maintain(ctx context.Context) error {
	report := func(what string, took time.Duration) {
		m.stage.bench.report.figure(fmt.Sprintf("%s: %d members: %s", m.stage.engine, m.all.count, what), float64(took)/1e6, "ms", 0)
	}
	c, err := dial(m.addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	var took []time.Duration
	for i := range min(firsts, m.all.count/2) {
		start := time.Now()
		if _, err := c.do(search(m.all.bearer(2*i+1, 0), m.people[0].name(), m.people[0].given)); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	report("the first search of a member, which builds the index: p50", took[len(took)/2])
	start := time.Now()
	if err := m.load(ctx, m.all.bearer(1, 0), document(people(manyPeople), 0, time.Now().UTC())); err != nil {
		return err
	}
	report("an import of 25 people, from the call until the job has ended", time.Since(start))
	if swept, err := m.sweep(ctx); err != nil {
		return err
	} else {
		report("the hourly sweep", swept)
	}
	for _, work := range []struct{ what, statement string }{
		{"a column more for all people", "ALTER TABLE connections ADD COLUMN bench TEXT NOT NULL DEFAULT ''"},
		{"an index more of all handles, while calls go on", "CREATE INDEX CONCURRENTLY bench ON handles (tenant_id, label)"},
		{"no column more", "ALTER TABLE connections DROP COLUMN bench"},
		{"no index more", "DROP INDEX CONCURRENTLY bench"},
	} {
		start := time.Now()
		if _, err := m.data.db.ExecContext(ctx, work.statement); err != nil {
			return err
		}
		if !strings.HasPrefix(work.what, "no ") {
			report(work.what, time.Since(start))
		}
	}
	return m.backUp(ctx, report)
}

// sweep makes the hourly sweep due, and returns how long it ran.
func (m *membership) sweep(ctx context.Context) (time.Duration, error) {
	if _, err := m.data.db.ExecContext(ctx, "UPDATE jobs SET run_at = now() - interval '1 second' WHERE kind = 'sweep' AND state = 'queued'"); err != nil {
		return 0, err
	}
	var began time.Time
	for ctx.Err() == nil {
		var state string
		var later bool
		if err := m.data.db.QueryRowContext(ctx, "SELECT state, run_at > now() FROM jobs WHERE kind = 'sweep' AND state IN ('queued', 'running')").Scan(&state, &later); err != nil {
			return 0, err
		}
		switch {
		case state == "running" && began.IsZero():
			began = time.Now()
		case state == "queued" && later:
			if began.IsZero() {
				return 0, nil // it ended between two queries
			}
			return time.Since(began), nil
		}
		pause(ctx, time.Millisecond)
	}
	return 0, ctx.Err()
}

// backUp backs the database up, as an operator would.
func (m *membership) backUp(ctx context.Context, report func(what string, took time.Duration)) error {
	file := filepath.Join(m.stage.bench.work, m.data.name+".backup")
	defer func() { _ = os.Remove(file) }()
	start := time.Now()
	command := exec.CommandContext(ctx, m.stage.bench.kith, "backup", file)
	command.Env = append(os.Environ(), "KITH_DATABASE_URL="+m.data.url)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("back up: %w: %.300s", err, out)
	}
	report("a backup", time.Since(start))
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	m.stage.bench.report.figure(fmt.Sprintf("%s: %d members: the backup", m.stage.engine, m.all.count), float64(info.Size())/1e6, "MB", 0)
	return nil
}
