package main

import (
	"context"
	"fmt"
)

// keyed asks what an Idempotency-Key costs a write.
func keyed(ctx context.Context, s *stage) ([]comparison, error) {
	const (
		members = 16
		bearers = 100  // of each member
		keys    = 1000 // of each bearer, far below the bound of 10,000
	)
	a := accounts{name: "writing", count: members, bearers: bearers, people: people(ordinary)}
	k, err := s.kith(ctx, "kith", a.fill)
	if err != nil {
		return nil, err
	}
	// Both kinds of write change credentials alike.
	bearer := func(n int) string { return a.bearer(n%members, n/members/keys%bearers) }
	plain := func(int) string { return "" }
	withKey := func(n int) string { return fmt.Sprintf("Idempotency-Key: 0191f2c4-7d3a-7b5e-9c1f-%012d\r\n", n) }
	notes := func(name string, header func(n int) string) *target {
		return k.asks(name, func(n int) call { return note(bearer(n), a.people[n*7%len(a.people)], header(n)) })
	}
	creations := func(name string, first int, header func(n int) string) *target {
		return k.asks(name, func(n int) call { return create(bearer(n), first+n, header(first+n)) })
	}
	return []comparison{
		{what: "add_note, keyed : not", of: notes("keyed note", withKey), to: notes("note", plain), aim: 2},
		{what: "create_connection, keyed : not", of: creations("keyed creation", 1_000_000, withKey), to: creations("creation", 2_000_000, plain), aim: 2},
	}, nil
}
