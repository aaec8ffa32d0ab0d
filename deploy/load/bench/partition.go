package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// parts is the number of hash partitions.
	parts = 16
	// partReads is the number of reads and of writes that are measured.
	partReads = 5000
)

// partition compares the table of handles with a copy in hash partitions by tenant: single reads and
// writes as calls make them, a vacuum after each handle of a tenth of the members has changed, and a
// new index. It drops the copy.
func (m *membership) partition(ctx context.Context) error {
	statements := []string{"CREATE TABLE handles_parted (LIKE handles INCLUDING ALL) PARTITION BY HASH (tenant_id)"}
	for i := range parts {
		statements = append(statements, fmt.Sprintf("CREATE TABLE handles_parted_%d PARTITION OF handles_parted FOR VALUES WITH (MODULUS %d, REMAINDER %d)", i, parts, i))
	}
	statements = append(statements, "INSERT INTO handles_parted SELECT * FROM handles", "VACUUM ANALYZE handles", "VACUUM ANALYZE handles_parted") //nolint:misspell // SQL
	for _, statement := range statements {
		if _, err := m.data.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	for _, table := range []string{"handles", "handles_parted"} {
		if err := m.partitioned(ctx, table); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	_, err := m.data.db.ExecContext(ctx, "DROP TABLE handles_parted")
	return err
}

// partitioned reports what the statements take on one of the tables.
func (m *membership) partitioned(ctx context.Context, table string) error {
	what := map[string]string{"handles": "one table", "handles_parted": fmt.Sprintf("%d hash partitions", parts)}[table]
	timed := func(name string, times int, statement string, args func(n int) []any) error {
		start := time.Now()
		for n := range times {
			if _, err := m.data.db.ExecContext(ctx, statement, args(n)...); err != nil {
				return err
			}
		}
		took := float64(time.Since(start)) / 1e3 / float64(times)
		m.stage.bench.report.figure(fmt.Sprintf("%s: %d members, handles in %s: %s", m.stage.engine, m.all.count, what, name), took, "µs", 0)
		return nil
	}
	none := func(int) []any { return nil }
	one := func(n int) []any { return []any{m.all.tenant(n * 7919 % m.all.count), m.people[n%len(m.people)].id} }
	for _, step := range []struct {
		name      string
		times     int
		statement string
		args      func(n int) []any
	}{
		{"a read of one person's", partReads, "SELECT * FROM " + table + " WHERE tenant_id = $1 AND connection_id = $2", one},
		{"a write of one person's", partReads, "UPDATE " + table + " SET label = label || 'x' WHERE tenant_id = $1 AND connection_id = $2", one},
		{"a change of a tenth of all", 1, "UPDATE " + table + " SET label = label || 'x' WHERE hashtext(tenant_id) % 10 = 0", none},
		{"the vacuum after it", 1, "VACUUM " + table, none},
		{"a new index", 1, "CREATE INDEX " + table + "_bench ON " + table + " (tenant_id, label)", none},
	} {
		if err := timed(step.name, step.times, step.statement, step.args); err != nil {
			return err
		}
	}
	_, err := m.data.db.ExecContext(ctx, "DROP INDEX "+table+"_bench")
	return err
}
