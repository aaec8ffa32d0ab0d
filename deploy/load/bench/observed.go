package main

import "context"

// observed measures the cost of metrics and log lines: calls to a released build, which
// logs requests, against the same calls to a build without metrics that logs errors only.
// Traces are off in both.
func observed(ctx context.Context, s *stage) ([]comparison, error) {
	a := accounts{name: "watched", count: 1, bearers: 1, people: people(ordinary)}
	with, err := s.kithAs(ctx, "observed", variant{program: s.bench.kith, env: []string{"KITH_LOG_LEVEL=info", "KITH_LOG_FORMAT=json"}}, a.fill)
	if err != nil {
		return nil, err
	}
	without, err := s.kithAs(ctx, "unobserved", variant{program: s.bench.unobserved, env: []string{"KITH_LOG_LEVEL=error"}}, a.fill)
	if err != nil {
		return nil, err
	}
	var list []comparison
	for _, kind := range []struct {
		tool string
		make func(p person) call
	}{
		{"search_connections", func(p person) call { return search(a.bearer(0, 0), p.name(), p.given) }},
		{"get_connection", func(p person) call { return read(a.bearer(0, 0), p) }},
	} {
		asks := func(k *service, name string) *target {
			return k.asks(kind.tool+" "+name, func(n int) call { return kind.make(a.people[n*7%len(a.people)]) })
		}
		list = append(list, comparison{
			what: kind.tool + ", metrics and log : neither", of: asks(with, "observed"), to: asks(without, "unobserved"), aim: 1.10,
		})
	}
	return list, nil
}
