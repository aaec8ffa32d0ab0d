package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// The sizes of the section beside the peers.
const (
	peerPeople     = 10_000
	peerTokens     = 1000
	publicProfiles = 500
)

// errNoPostgres is why something is not measured.
var errNoPostgres = errors.New("no PostgreSQL: set KITH_TEST_POSTGRES_URL")

// beside is a section beside peers, which serve the people and tokens of an account.
type beside struct {
	*stage

	a    accounts
	file string // the people and tokens
	list []comparison
}

// newBeside starts a Kith with people, and writes them for the peers.
func newBeside(ctx context.Context, s *stage, name string, size int, others ...accounts) (*beside, *service, error) {
	a := accounts{name: name, count: 1, bearers: peerTokens, people: people(size)}
	k, err := s.kith(ctx, name, variant{}, append(others, a)...)
	if err != nil {
		return nil, nil, err
	}
	var set struct {
		People []map[string]string `json:"people"`
		Tokens []string            `json:"tokens"`
	}
	for _, p := range a.people {
		set.People = append(set.People, map[string]string{"id": p.id, "name": p.name(), "email": p.email, "organization": p.employer, "title": p.title, "city": p.city})
	}
	for i := range peerTokens {
		set.Tokens = append(set.Tokens, a.bearer(0, i))
	}
	text, err := json.Marshal(set)
	file := filepath.Join(s.bench.work, name+".json")
	return &beside{stage: s, a: a, file: file}, k, errors.Join(err, os.WriteFile(file, text, 0o600))
}

// peer returns a target of a peer. If the peer cannot be started it reports that and returns nil.
func (b *beside) peer(ctx context.Context, program, name string, next func(n int) call, env ...string) *target {
	p, err := b.bench.peer(ctx, program, b.file, env...)
	if err != nil {
		b.bench.report.missing(name, err)
		return nil
	}
	b.processes = append(b.processes, p)
	return &target{name: name, addr: p.addr, used: p.used, next: next, ready: callers + 1, peer: true}
}

// also returns another target of the same peer; nil if it is missing.
func (t *target) also(name string, next func(n int) call) *target {
	if t == nil {
		return nil
	}
	return &target{name: name, addr: t.addr, used: t.used, next: next, ready: t.ready, peer: true}
}

// than compares a target of Kith with a peer's, which is nil if it is missing.
func (b *beside) than(what string, of, to *target, aim float64) {
	b.list = append(b.list, comparison{what: what, of: of, to: to, aim: aim})
}

// peers compares the service in one process, and edge and backend in two, with servers of the same kinds.
func peers(ctx context.Context, s *stage) ([]comparison, error) {
	public := accounts{name: "public", count: publicProfiles}
	b, whole, err := newBeside(ctx, s, "peer", peerPeople, public)
	if err != nil {
		return nil, err
	}
	whole.stop()
	if err := whole.data.grants(ctx, b.a.tenant(0)); err != nil {
		return nil, err
	}
	divided, err := s.divide(ctx, whole)
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx, whole); err != nil {
		return nil, err
	}
	b.tools(ctx, whole, divided)
	b.reads(ctx, whole, public)
	s.after = func() error {
		resident, _, _, err := whole.memory()
		s.bench.report.figure("resident memory after the load, with 10,000 people", resident, "MiB", 120)
		return err
	}
	err = b.refreshes(ctx, whole, divided)
	return b.list, err
}

// divide starts an edge and a backend on a copy of the service's database, which is stopped.
func (s *stage) divide(ctx context.Context, whole *service) (*service, error) {
	copied := &database{name: whole.data.name + "-divided", url: whole.data.url + ".divided"}
	s.databases = append(s.databases, copied)
	if err := whole.data.exec(ctx, "VACUUM INTO '"+copied.url+"'"); err != nil {
		return nil, err
	}
	hop := freeAddr()
	backend, err := s.bench.serve(ctx, copied.name, copied.url, variant{command: "backend", env: []string{"KITH_BACKEND_ADDR=" + hop}})
	if err != nil {
		return nil, err
	}
	s.processes = append(s.processes, backend)
	edge, err := s.bench.serve(ctx, copied.name+"-edge", "", variant{command: "edge", env: []string{"KITH_BACKEND_URL=http://" + hop}})
	if err != nil {
		return nil, err
	}
	s.processes = append(s.processes, edge)
	return &service{process: edge, data: copied, behind: backend}, nil
}

// tools compares the MCP servers.
func (b *beside) tools(ctx context.Context, whole, divided *service) {
	bearer := func(n int) string { return b.a.bearer(0, n%peerTokens) }
	searching := func(holds string, times int) func(n int) call {
		return func(n int) call { // a prefix of 2 to 4 letters, which at least ten people have
			given := b.a.people[n*13%60].given
			c := tool(bearer(n), "search_connections", fmt.Sprintf(`{"query":%q}`, given[:min(len(given), 2+n%3)]), holds)
			c.times = times
			return c
		}
	}
	list := func(n int) call { return listing(bearer(n)) }
	ours, theirs := searching(`"id":"con_`, 10), searching("@people.example", 20) // ten people as text, and ten as structured content
	mcpgo := b.peer(ctx, "mcpgo", "mcp-go search", theirs)
	gosdk := b.peer(ctx, "gosdk", "go-sdk search", theirs)
	search := whole.asks("search", ours)
	b.than("search, one process : mcp-go", search, mcpgo, 0.85)
	b.than("search, two processes : mcp-go", divided.asks("search, two processes", ours), mcpgo, 1.2)
	b.than("search, one process : go-sdk", search, gosdk, 0.4)
	b.than("tools/list : mcp-go", whole.asks("tools/list", list), mcpgo.also("mcp-go tools/list", list), 0.15)
}

// reads compares profiles and batches of them, and a page.
func (b *beside) reads(ctx context.Context, whole *service, public accounts) {
	floor := b.peer(ctx, "floor", "net/http, constant answer", func(int) call { return get("/", `"id"`) })
	pocketbase := b.peer(ctx, "pocketbase", "PocketBase, one record", func(n int) call {
		p := b.a.people[n*197%peerPeople]
		return get("/api/collections/people/records/"+p.id[len(p.id)-15:], p.email)
	})
	records := pocketbase.also("PocketBase, 50 records", func(int) call {
		return get("/api/collections/people/records?perPage=50&sort=name", "@people.example")
	})
	b.than("page of the list of people : PocketBase, 50 records",
		whole.asks("page of the list of people", func(int) call { return page("/people", b.a.session(0), "</html>") }), records, 0)
	path := func(n int) string { return fmt.Sprintf("/api/human/bench-%s-%d", public.name, n%publicProfiles) }
	profile := whole.asks("profile", func(n int) call { return get(path(n), fmt.Sprintf("bench%d@example.com", n%publicProfiles)) })
	batch := whole.asks("batch of 20 profiles", func(n int) call {
		var items []string
		for i := range 20 {
			items = append(items, fmt.Sprintf(`{"id":"%d","path":%q}`, i, path(n*20+i)))
		}
		c := postJSON("/api/batch", `{"requests":[`+strings.Join(items, ",")+`]}`, "@example.com")
		c.times = 20
		return c
	})
	b.than("profile : net/http", profile, floor, 1.7)
	b.than("profile : PocketBase", profile, pocketbase, 0.5)
	b.list = append(b.list, comparison{what: "batch of 20 profiles : 20 single ones", of: batch, to: profile, times: 20, aim: 0.28})
	tags := make([]string, publicProfiles)
	for i := range tags {
		if _, header, err := get(path(i), "").send(whole.addr); err == nil {
			tags[i] = header.Get("ETag")
		}
	}
	for _, among := range []int{1, publicProfiles} {
		unchanged := whole.asks(fmt.Sprintf("%d of 500 profiles in turn, 304", among), func(n int) call {
			c := get(path(n%among), "").with("If-None-Match", tags[n%among])
			c.status = http.StatusNotModified
			return c
		})
		b.than(unchanged.name+" : net/http", unchanged, floor, 1.6)
	}
}

// refreshes compares the refresh grants of token endpoints.
func (b *beside) refreshes(ctx context.Context, whole, divided *service) error {
	ours := func(k *service, name string) *target {
		first := make([]string, chains)
		for i := range first {
			first[i] = refreshToken(i)
		}
		return k.asks(name, refreshing(first, "client_id="+benchClient))
	}
	one, two := ours(whole, "refresh"), ours(divided, "refresh, two processes")
	for _, p := range []struct {
		program, name, client string
		aim                   float64
	}{
		{"zitadel", "zitadel/oidc refresh", "", 0.23},
		{"fosite", "ory/fosite refresh", "client_id=web", 1.5},
		{"oidcprovider", "oidc-provider refresh", "client_id=web", 0},
	} {
		t := b.peer(ctx, p.program, p.name, nil)
		if t != nil {
			var first []string
			seed := get(fmt.Sprint("/seed?n=", chains), "")
			seed.keep = func(body []byte) error { return json.Unmarshal(body, &first) }
			if _, _, err := seed.send(t.addr); err != nil || len(first) != chains {
				return fmt.Errorf("%s: seed: %d tokens: %w", p.name, len(first), err)
			}
			t.next = refreshing(first, p.client)
		}
		b.than("refresh, one process : "+p.name, one, t, p.aim)
		if p.program == "zitadel" {
			b.than("refresh, two processes : "+p.name, two, t, 0.3)
		}
	}
	return nil
}

// refreshing returns refresh requests of a public client, or of the client "web" with its secret. Each answer has the
// token of a later request.
func refreshing(first []string, client string) func(n int) call {
	tokens := make(chan string, len(first))
	for _, token := range first {
		tokens <- token
	}
	return func(int) call {
		c := postJSON("/oauth/token", "grant_type=refresh_token&refresh_token="+url.QueryEscape(<-tokens)+"&"+client, `"access_token"`).
			with("Content-Type", "application/x-www-form-urlencoded")
		if client == "" {
			c = c.with("Authorization", "Basic d2ViOnNlY3JldA==")
		}
		c.keep = func(body []byte) error {
			var answer struct {
				Refresh string `json:"refresh_token"`
			}
			if err := json.Unmarshal(body, &answer); err != nil || answer.Refresh == "" {
				return fmt.Errorf("no refresh token: %.300s: %w", body, err)
			}
			tokens <- answer.Refresh
			return nil
		}
		return c
	}
}

// typos is the section of searches with typos beside Bleve and pg_trgm, which search the
// same people over plain HTTP, without credentials.
func typos(ctx context.Context, s *stage) ([]comparison, error) {
	var list []comparison
	for _, size := range []int{peerPeople, 10 * peerPeople} {
		b, k, err := newBeside(ctx, s, fmt.Sprint("typos", size), size)
		if err != nil {
			return nil, err
		}
		bleve := b.peer(ctx, "bleve", fmt.Sprint("Bleve, ", size), nil)
		trgm, err := b.trgm(ctx, size)
		if err != nil {
			return nil, err
		}
		if err := k.retry(ctx, search(b.a.bearer(0, 0), b.a.people[0].name(), b.a.people[0].name())); err != nil {
			return nil, err
		}
		at := func(n int) person { return b.a.people[n*31%size] }
		for _, kind := range []struct {
			name   string
			query  func(p person) string
			wanted func(p person) string // nil if many people are found
			aim    float64
		}{
			{"a full name", person.name, person.name, 0.2},
			{"a misspelt name", person.misspelt, person.name, 0.2},
			{"two misspelt words of many", func(p person) string { return swapped("Engineer") + " " + swapped(p.city) }, nil, 2},
		} {
			name := fmt.Sprintf("%s, %d people", kind.name, size)
			wanted := func(n int) string {
				if kind.wanted == nil {
					return ""
				}
				return kind.wanted(at(n))
			}
			ours := k.asks("search, "+name, func(n int) call {
				return search(b.a.bearer(0, n%peerTokens), kind.query(at(n)), wanted(n))
			})
			for i, peer := range []*target{bleve, trgm} {
				of := []string{"Bleve", "pg_trgm"}[i]
				if of == "pg_trgm" && kind.wanted == nil { // it searches names only
					continue
				}
				next := func(n int) call { return get("/search?q="+url.QueryEscape(kind.query(at(n))), "") }
				b.than("search, "+name+" : "+of, ours, peer.also(of+", "+name, next), kind.aim)
				if peer == nil || kind.wanted == nil {
					continue
				}
				const searches = 500
				found, _, _ := each(searches, callers, func(n int) error {
					c := next(n)
					c.holds = wanted(n)
					_, _, err := c.send(peer.addr)
					return err
				})
				b.bench.report.figure(fmt.Sprintf("%s, %s: the person is on the first page (Kith: always)", of, name), float64(100*len(found))/searches, "% of searches", 0)
			}
		}
		list = append(list, b.list...)
	}
	return list, nil
}

// swapped returns a word with its second and third letters swapped.
func swapped(word string) string { return word[:1] + word[2:3] + word[1:2] + word[3:] }

// trgm starts the peer with pg_trgm on a database of its own; nil without PostgreSQL.
func (b *beside) trgm(ctx context.Context, size int) (*target, error) {
	name := fmt.Sprint("pg_trgm, ", size)
	if b.bench.postgres == "" {
		b.bench.report.missing(name, errNoPostgres)
		return nil, nil
	}
	d, err := b.bench.create(ctx, postgres, fmt.Sprint("trgm-", size))
	if err != nil {
		return nil, err
	}
	b.databases = append(b.databases, d)
	if err := d.open(); err != nil {
		return nil, err
	}
	t := b.peer(ctx, "trgm", name, nil, "PEER_DATABASE_URL="+d.url)
	if t != nil {
		p := b.processes[len(b.processes)-1]
		t.used = (&service{process: p, data: d}).used
	}
	return t, nil
}
