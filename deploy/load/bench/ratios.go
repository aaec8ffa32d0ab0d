package main

import (
	"context"
	"fmt"
)

// ordinary is the size of a network in sections that do not measure sizes.
const ordinary = 1000

// metered measures the cost of charging credits for a read: calls of a member against the
// same calls of a demo account with the same people, which cost no credits.
func metered(ctx context.Context, s *stage) ([]comparison, error) {
	const many = 16
	paying := accounts{name: "paying", count: many, bearers: 1, people: people(ordinary)}
	free := accounts{name: "free", count: many, bearers: 1, people: people(ordinary), readOnly: true}
	// Without the sandbox, a start removes all read-only accounts.
	k, err := s.kith(ctx, "kith", variant{env: []string{"KITH_SANDBOX=true"}}, paying, free)
	if err != nil {
		return nil, err
	}
	var list []comparison
	for _, among := range []int{1, many} {
		searches := func(a accounts) *target {
			return k.asks(fmt.Sprint(a.name, " search ", among), func(n int) call {
				p := a.people[n*7%len(a.people)]
				return search(a.bearer(n%among, 0), p.name(), p.given)
			})
		}
		reads := func(a accounts) *target {
			return k.asks(fmt.Sprint(a.name, " read ", among), func(n int) call { return read(a.bearer(n%among, 0), a.people[n*7%len(a.people)]) })
		}
		by := fmt.Sprintf(", metered : not, %d members", among)
		list = append(list,
			comparison{what: "search_connections" + by, of: searches(paying), to: searches(free), aim: 1.5},
			comparison{what: "get_connection" + by, of: reads(paying), to: reads(free), aim: 1.5})
	}
	return list, nil
}

// idempotency measures the cost of an Idempotency-Key on a write.
func idempotency(ctx context.Context, s *stage) ([]comparison, error) {
	const (
		members = 16
		bearers = 100  // of each member
		keys    = 1000 // of each bearer, far below the limit of 10,000
	)
	a := accounts{name: "writing", count: members, bearers: bearers, people: people(ordinary)}
	k, err := s.kith(ctx, "kith", variant{}, a)
	if err != nil {
		return nil, err
	}
	// Both kinds of write use the credentials in the same way.
	bearer := func(n int) string { return a.bearer(n%members, n/members/keys%bearers) }
	notes := func(n int) call { return note(bearer(n), a.people[n*7%len(a.people)]) }
	creations := func(first int) func(n int) call {
		return func(n int) call { return create(bearer(n), first+n) }
	}
	keyed := func(first int, next func(n int) call) func(n int) call {
		return func(n int) call {
			return next(n).with("Idempotency-Key", fmt.Sprintf("0191f2c4-7d3a-7b5e-9c1f-%012d", first+n))
		}
	}
	const one, other = 1_000_000, 2_000_000 // so that no two people have the same name
	return []comparison{
		{what: "add_note, with key : without", of: k.asks("keyed note", keyed(0, notes)), to: k.asks("note", notes), aim: 2},
		{what: "create_connection, with key : without", of: k.asks("keyed creation", keyed(one, creations(one))), to: k.asks("creation", creations(other)), aim: 2},
	}, nil
}

// observed measures the cost of metrics and log lines: calls to a released build, which
// logs requests, against the same calls to a build without metrics that logs errors only.
// Traces are off in both.
func observed(ctx context.Context, s *stage) ([]comparison, error) {
	a := accounts{name: "watched", count: 1, bearers: 1, people: people(ordinary)}
	b := accounts{name: "watched", count: 1, bearers: 1, people: people(ordinary)} // its people have other ids
	with, err := s.kith(ctx, "observed", variant{env: []string{"KITH_LOG_LEVEL=info", "KITH_LOG_FORMAT=json"}}, a)
	if err != nil {
		return nil, err
	}
	without, err := s.kith(ctx, "unobserved", variant{program: s.bench.unobserved, env: []string{"KITH_LOG_LEVEL=error"}}, b)
	if err != nil {
		return nil, err
	}
	var list []comparison
	for _, kind := range []struct {
		tool string
		next func(bearer string, p person) call
	}{
		{"search_connections", func(bearer string, p person) call { return search(bearer, p.name(), p.given) }},
		{"get_connection", read},
	} {
		list = append(list, comparison{
			what: kind.tool + ", metrics and log : neither", aim: 1.10,
			of: with.asks(kind.tool+" observed", func(n int) call { return kind.next(a.bearer(0, 0), a.people[n*7%ordinary]) }),
			to: without.asks(kind.tool+" unobserved", func(n int) call { return kind.next(b.bearer(0, 0), b.people[n*7%ordinary]) }),
		})
	}
	return list, nil
}
