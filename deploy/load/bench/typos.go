package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// typos is the section of searches with typos beside Bleve and pg_trgm, which search the
// same people over plain HTTP, without credentials.
func typos(ctx context.Context, s *stage) ([]comparison, error) {
	if s.engine != sqlite {
		return nil, nil
	}
	var list []comparison
	for _, size := range []int{peerPeople, 10 * peerPeople} {
		b := &beside{stage: s, a: accounts{name: fmt.Sprint("typos", size), count: 1, bearers: peerTokens}, people: people(size)}
		k, err := s.network(ctx, fmt.Sprint(size), b.a, b.people)
		if err != nil {
			return nil, err
		}
		file, err := s.bench.writeData(b.a, b.people)
		if err != nil {
			return nil, err
		}
		bleve := b.peer(ctx, "bleve", fmt.Sprint("Bleve, ", size), file, nil)
		trgm, err := b.trgm(ctx, file)
		if err != nil {
			return nil, err
		}
		if err := k.await(ctx, search(b.a.bearer(0, 0), b.people[0].name(), b.people[0].name())); err != nil {
			return nil, err
		}
		for _, kind := range []struct {
			name   string
			query  func(p person) string
			wanted func(p person) string
			aim    float64
		}{
			{"a full name", person.name, person.name, 0.2},
			{"a misspelt name", person.misspelt, person.name, 0.2},
			{"two misspelt words of many", func(p person) string { return swapped("Engineer") + " " + swapped(p.city) }, func(person) string { return "" }, 2},
		} {
			name := fmt.Sprintf("%s, %d people", kind.name, size)
			at := func(n int) person { return b.people[n*31%size] }
			ours := k.asks("search, "+name, func(n int) call {
				return search(b.a.bearer(0, n%peerTokens), kind.query(at(n)), kind.wanted(at(n)))
			})
			beside := func(peer *target, of string) error {
				if peer == nil {
					b.than("search, "+name+" : "+of, ours, nil, kind.aim)
					return nil
				}
				t := &target{name: of + ", " + name, addr: peer.addr, used: peer.used, connections: callers, ready: callers + 1, peer: true, next: func(n int) call {
					return get("/search?q="+url.QueryEscape(kind.query(at(n))), "", http.StatusOK, "")
				}}
				b.than("search, "+name+" : "+of, ours, t, kind.aim)
				if kind.wanted(at(0)) == "" {
					return nil
				}
				found, err := foundBy(t, func(n int) string { return kind.wanted(at(n)) })
				b.bench.report.figure(fmt.Sprintf("%s, %s: the person is on the first page (Kith: always)", of, name), found, "% of searches", 0)
				return err
			}
			if err := beside(bleve, "Bleve"); err != nil {
				return nil, err
			}
			if kind.aim < 1 { // it searches names only
				if err := beside(trgm, "pg_trgm"); err != nil {
					return nil, err
				}
			}
		}
		list = append(list, b.list...)
	}
	return list, nil
}

// foundBy returns the percentage of searches whose answer has what is wanted.
func foundBy(t *target, wanted func(n int) string) (float64, error) {
	const searches = 500
	c, err := dial(t.addr)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	found := 0
	for n := range searches {
		if _, err := c.do(t.next(n)); err != nil {
			return 0, err
		}
		if strings.Contains(c.body.String(), wanted(n)) {
			found++
		}
	}
	return 100 * float64(found) / searches, nil
}

// swapped returns a word with its second and third letters swapped.
func swapped(word string) string { return word[:1] + word[2:3] + word[1:2] + word[3:] }

// trgm starts the peer with pg_trgm on a database of its own.
func (b *beside) trgm(ctx context.Context, file string) (*target, error) {
	name := fmt.Sprint("pg_trgm, ", len(b.people))
	if b.bench.postgres == "" {
		b.bench.report.missing(name, errNoPostgres)
		return nil, nil
	}
	d, err := b.bench.create(ctx, postgres, fmt.Sprint("trgm-", len(b.people)))
	if err != nil {
		return nil, err
	}
	b.databases = append(b.databases, d)
	if err := d.open(); err != nil {
		return nil, err
	}
	t := b.peer(ctx, "trgm", name, file, nil, "PEER_DATABASE_URL="+d.url)
	if t != nil {
		own := t.used
		t.used = func(ctx context.Context) (usage, error) {
			u, err := own(ctx)
			if err == nil {
				u.database, err = d.used(ctx)
			}
			return u, err
		}
	}
	return t, nil
}
