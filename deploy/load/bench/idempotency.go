package main

import (
	"context"
	"fmt"
)

// idempotency measures the cost of an Idempotency-Key on a write.
func idempotency(ctx context.Context, s *stage) ([]comparison, error) {
	const (
		members = 16
		bearers = 100  // of each member
		keys    = 1000 // of each bearer, far below the limit of 10,000
	)
	a := accounts{name: "writing", count: members, bearers: bearers, people: people(ordinary)}
	k, err := s.kith(ctx, "kith", a.fill)
	if err != nil {
		return nil, err
	}
	// Both kinds of write use the credentials in the same way.
	bearer := func(n int) string { return a.bearer(n%members, n/members/keys%bearers) }
	withoutKey := func(int) string { return "" }
	withKey := func(n int) string { return fmt.Sprintf("Idempotency-Key: 0191f2c4-7d3a-7b5e-9c1f-%012d\r\n", n) }
	notes := func(name string, header func(n int) string) *target {
		return k.asks(name, func(n int) call { return note(bearer(n), a.people[n*7%len(a.people)], header(n)) })
	}
	creations := func(name string, first int, header func(n int) string) *target {
		return k.asks(name, func(n int) call { return create(bearer(n), first+n, header(first+n)) })
	}
	return []comparison{
		{what: "add_note, with key : without", of: notes("keyed note", withKey), to: notes("note", withoutKey), aim: 2},
		{what: "create_connection, with key : without", of: creations("keyed creation", 1_000_000, withKey), to: creations("creation", 2_000_000, withoutKey), aim: 2},
	}, nil
}
