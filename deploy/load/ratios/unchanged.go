package main

import (
	"context"
	"fmt"
	"net/http"
)

// unchanged measures a 304 response for an unchanged profile against a constant response
// of a net/http server.
func unchanged(ctx context.Context, s *stage) ([]comparison, error) {
	const profiles = 500
	a := accounts{name: "public", count: profiles, people: nil}
	k, err := s.kith(ctx, "kith", a.fill)
	if err != nil {
		return nil, err
	}
	limit, err := s.bench.peer(ctx)
	if err != nil {
		return nil, err
	}
	s.processes = append(s.processes, limit)
	c, err := dial(k.addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	calls := make([]call, profiles)
	for i := range calls {
		path := fmt.Sprintf("/api/human/bench-%s-%d", a.name, i)
		header, err := c.do(get(path, "", http.StatusOK, fmt.Sprintf("bench%d@example.com", i)))
		if err != nil {
			return nil, err
		}
		calls[i] = get(path, "If-None-Match: "+header.Get("ETag")+"\r\n", http.StatusNotModified, "")
	}
	constant := get("/fixed", "", http.StatusOK, `"id"`)
	fixed := &target{
		name: "limit-fixed", addr: limit.addr, used: limit.used, connections: callers, ready: callers,
		next: func(int) call { return constant },
	}
	one := k.asks("one profile", func(int) call { return calls[0] })
	all := k.asks("500 profiles", func(n int) call { return calls[n%profiles] })
	return []comparison{
		{what: "one profile, 304 : limit-fixed", of: one, to: fixed, aim: 1.6},
		{what: "500 profiles in turn, 304 : limit-fixed", of: all, to: fixed, aim: 1.6},
	}, nil
}
