package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// directory reports how long searches of a directory with 100,000 listed members take.
func directory(ctx context.Context, s *stage) ([]comparison, error) {
	listed := accounts{name: "listed", count: 100_000}
	k, err := s.kith(ctx, "kith", listed.fill)
	if err != nil {
		return nil, err
	}
	c, err := dial(k.addr)
	if err != nil {
		return nil, err
	}
	for _, kind := range []struct {
		name   string
		query  func(i int) string
		answer string // a part of it
	}{
		{"one member", func(i int) string { return fmt.Sprintf("bench%d@", i) }, `"username"`},
		{"a word that all have", func(int) string { return "benches" }, `"username"`},
		{"a word that 1,000 have, at the end", func(int) string { return "bench99" }, `"username"`},
		{"a word that nobody has", func(i int) string { return fmt.Sprint("absent", i) }, ""},
	} {
		var took []time.Duration
		for i := range 20 * s.bench.rounds {
			query := kind.query(i * 7919 % listed.count)
			start := time.Now()
			if _, err := c.do(get("/api/network/members?q="+url.QueryEscape(query), "", http.StatusOK, kind.answer)); err != nil {
				return nil, err
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		s.bench.report.figure(fmt.Sprintf("%s: directory of 100,000 listed members, %s: p50", s.engine, kind.name), float64(took[len(took)/2])/1e6, "ms", 10)
	}
	return nil, nil
}
