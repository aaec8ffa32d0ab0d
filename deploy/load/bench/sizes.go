package main

import (
	"context"
	"errors"
	"time"
)

// sizes measures how the latency of a search grows with the network.
func sizes(ctx context.Context, s *stage) ([]comparison, error) {
	small := accounts{name: "small", count: 1, bearers: 1, people: people(1000)}
	large := accounts{name: "large", count: 1, bearers: 1, people: people(100_000)}
	k, err := s.kith(ctx, "kith", func(ctx context.Context, d *database) error {
		return errors.Join(small.fill(ctx, d), large.fill(ctx, d))
	})
	if err != nil {
		return nil, err
	}
	ready, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := k.await(ready, search(large.bearer(0, 0), large.people[0].name(), large.people[0].name())); err != nil {
		return nil, err
	}
	var list []comparison
	for _, kind := range []struct {
		name          string
		query, wanted func(p person) string
	}{
		{"a full name", person.name, person.name},
		{"the beginning of a name", person.beginning, func(p person) string { return p.given }},
		{"the beginning of a surname", func(p person) string { return string([]rune(p.surname)[:4]) }, func(person) string { return "" }},
		{"a misspelt name", person.misspelt, person.name},
		{"an e-mail address", func(p person) string { return p.email }, person.name},
	} {
		searches := func(a accounts) *target {
			t := k.asks(a.name+" "+kind.name, func(n int) call {
				p := a.people[n*31%len(a.people)]
				return search(a.bearer(0, 0), kind.query(p), kind.wanted(p))
			})
			t.connections = 1 // latency, not waiting for each other
			return t
		}
		of, to := searches(large), searches(small)
		list = append(list,
			comparison{what: kind.name + ", 100,000 : 1,000 people", of: of, to: to, latency: true, aim: 3},
			comparison{what: kind.name + ", 100,000 : 1,000 people", of: of, to: to})
	}
	return list, nil
}
