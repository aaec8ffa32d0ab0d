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
	free := accounts{name: "free", count: many, bearers: 1, people: paying.people, readOnly: true}
	k, err := s.kith(ctx, "kith", func(ctx context.Context, d *database) error {
		if err := paying.fill(ctx, d); err != nil {
			return err
		}
		return free.fill(ctx, d)
	})
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
