package main

import (
	"context"
	"fmt"
)

// tenants measures whether the cost of calls grows with the number of tenants in the
// database, for one of them and for many in turn.
func tenants(ctx context.Context, s *stage) ([]comparison, error) {
	const (
		network = 40
		active  = 1000 // maximum number of members in turn
	)
	type calls struct{ search, read, note *target }
	ask := func(k *service, a accounts, among int) calls {
		person := func(n int) person { return a.people[n/among*7%network] }
		bearer := func(n int) string { return a.bearer(n%among*(a.count/among), 0) }
		searches := k.asks("search", func(n int) call { return search(bearer(n), person(n).name(), person(n).given) })
		searches.ready = among + callers // notes were added in between
		return calls{
			search: searches,
			read:   k.asks("read", func(n int) call { return read(bearer(n), person(n)) }),
			note:   k.asks("note", func(n int) call { return note(bearer(n), person(n), "") }),
		}
	}
	var list []comparison
	add := func(what string, of, to calls) {
		list = append(list,
			comparison{what: "search_connections, " + what, of: of.search, to: to.search, aim: 1.3},
			comparison{what: "get_connection, " + what, of: of.read, to: to.read, aim: 1.3},
			comparison{what: "add_note, " + what, of: of.note, to: to.note, aim: 1.3})
	}
	var one, hundred calls
	for _, count := range []int{1, 100, 10_000} {
		a := accounts{name: "many", count: count, bearers: 1, people: people(network)}
		k, err := s.kith(ctx, fmt.Sprint(count), a.fill)
		if err != nil {
			return nil, err
		}
		single, spread := ask(k, a, 1), ask(k, a, min(count, active))
		switch count {
		case 1:
			one = single
		case 100:
			hundred = spread
			add("one of 100 : of 1", single, one)
		default:
			add("one of 10,000 : of 1", single, one)
			add("1,000 of 10,000 : 100 of 100", spread, hundred)
		}
	}
	return list, nil
}
