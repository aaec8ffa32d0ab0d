package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// The sizes of the section beside the peers.
const (
	peerPeople     = 10_000
	peerTokens     = 1000
	publicProfiles = 500
)

// beside is the section beside the peers, with the service in one process, and edge and
// backend in two.
type beside struct {
	*stage

	a, public      accounts
	people         []person
	whole, divided *service
	list           []comparison
}

func peers(ctx context.Context, s *stage) ([]comparison, error) {
	if s.engine != sqlite {
		return nil, nil
	}
	b := &beside{stage: s, a: accounts{name: "peer", count: 1, bearers: peerTokens}, public: accounts{name: "public", count: publicProfiles}, people: people(peerPeople)}
	if err := b.start(ctx); err != nil {
		return nil, err
	}
	file, err := s.bench.writeData(b.a, b.people)
	if err != nil {
		return nil, err
	}
	b.tools(ctx, file)
	b.reads(ctx, file)
	s.after = func() error {
		resident, err := b.whole.resident()
		s.bench.report.figure("resident memory after the load, with 10,000 people", resident, "MiB", 120)
		return err
	}
	return b.list, b.refreshes(ctx, file)
}

// start starts the services, each on its own copy of the same database.
func (b *beside) start(ctx context.Context) (err error) {
	if b.whole, err = b.network(ctx, "whole", b.a, b.people, b.public); err != nil {
		return err
	}
	b.whole.stop()
	if err := b.whole.data.grants(ctx, b.a.tenant(0)); err != nil {
		return err
	}
	copied := &database{name: b.name + "-divided", url: b.whole.data.url + ".divided"}
	b.databases = append(b.databases, copied)
	for _, end := range []string{"", "-wal", "-shm"} {
		content, err := os.ReadFile(b.whole.data.url + end)
		if err == nil {
			err = os.WriteFile(copied.url+end, content, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	hop := freeAddr()
	backend, err := b.bench.serve(ctx, copied, variant{program: b.bench.kith, command: "backend", env: []string{"KITH_BACKEND_ADDR=" + hop}})
	if err != nil {
		return err
	}
	b.processes = append(b.processes, backend)
	edge, err := b.bench.serve(ctx, &database{name: b.name + "-edge"}, variant{program: b.bench.kith, command: "edge", env: []string{"KITH_BACKEND_URL=http://" + hop}})
	if err != nil {
		return err
	}
	b.processes = append(b.processes, edge)
	b.divided = &service{process: edge, data: copied, behind: backend}
	return b.restart(ctx, b.whole)
}

// peer returns a target of a peer. If the peer cannot be started it reports that and returns nil.
func (b *beside) peer(ctx context.Context, program, name, file string, next func(n int) call, env ...string) *target {
	p, err := b.bench.peer(ctx, program, file, env...)
	if err != nil {
		b.bench.report.missing(name, err)
		return nil
	}
	b.processes = append(b.processes, p)
	return &target{name: name, addr: p.addr, used: p.used, next: next, connections: callers, ready: callers + 1, peer: true}
}

// than compares a target of Kith with a peer's, unless the peer is missing.
func (b *beside) than(what string, of, to *target, aim float64) {
	if to == nil {
		b.list = append(b.list, comparison{what: what, of: of})
		return
	}
	b.list = append(b.list, comparison{what: what, of: of, to: to, aim: aim})
}

// tools compares the MCP servers.
func (b *beside) tools(ctx context.Context, file string) {
	bearer := func(n int) string { return b.a.bearer(0, n%peerTokens) }
	prefix := func(n int) string { // of 2 to 4 letters, which at least ten people have
		given := b.people[n*13%60].given
		return given[:min(len(given), 2+n%3)]
	}
	arguments := func(n int) string { return fmt.Sprintf(`{"query":%q}`, prefix(n)) }
	peerSearch := func(n int) call {
		c := post(bearer(n), "search_connections", arguments(n), "@people.example", "")
		c.times = 20 // ten people as text, and ten as structured content
		return c
	}
	search := func(n int) call {
		c := post(bearer(n), "search_connections", arguments(n), `"id":"con_`, "")
		c.times = 10
		return c
	}
	list := func(n int) call { return listing(bearer(n)) }
	mcpgo := b.peer(ctx, "mcpgo", "mcp-go search", file, peerSearch)
	gosdk := b.peer(ctx, "gosdk", "go-sdk search", file, peerSearch)
	var mcpgoList *target
	if mcpgo != nil {
		mcpgoList = &target{name: "mcp-go tools/list", addr: mcpgo.addr, used: mcpgo.used, next: list, connections: callers, ready: callers + 1, peer: true}
	}
	b.than("search, one process : mcp-go", b.whole.asks("search", search), mcpgo, 0.85)
	b.than("search, two processes : mcp-go", b.divided.asks("search, two processes", search), mcpgo, 1.2)
	b.than("search, one process : go-sdk", b.list[0].of, gosdk, 0.4)
	b.than("tools/list : mcp-go", b.whole.asks("tools/list", list), mcpgoList, 0.15)
}

// reads compares profiles and batches of them.
func (b *beside) reads(ctx context.Context, file string) {
	floor := b.peer(ctx, "floor", "net/http, constant answer", file, func(int) call { return get("/", "", http.StatusOK, `"id"`) })
	pocketbase := b.peer(ctx, "pocketbase", "PocketBase, one record", file, func(n int) call {
		p := b.people[n*197%peerPeople]
		return get("/api/collections/people/records/"+p.id[len(p.id)-15:], "", http.StatusOK, p.email)
	})
	path := func(n int) string { return fmt.Sprintf("/api/human/bench-%s-%d", b.public.name, n%publicProfiles) }
	profile := b.whole.asks("profile", func(n int) call {
		return get(path(n), "", http.StatusOK, fmt.Sprintf("bench%d@example.com", n%publicProfiles))
	})
	if pocketbase != nil {
		records := &target{
			name: "PocketBase, 50 records", addr: pocketbase.addr, used: pocketbase.used, connections: callers, ready: callers + 1, peer: true,
			next: func(int) call {
				return get("/api/collections/people/records?perPage=50&sort=name", "", http.StatusOK, "@people.example")
			},
		}
		b.than("page of the list of people : PocketBase, 50 records", b.whole.asks("page of the list of people", func(int) call {
			return get("/people", "Cookie: kith_session="+b.a.session(0)+"\r\n", http.StatusOK, "</html>")
		}), records, 0)
	}
	batch := b.whole.asks("batch of 20 profiles", func(n int) call {
		var items []string
		for i := range 20 {
			items = append(items, fmt.Sprintf(`{"id":"%d","path":%q}`, i, path(n*20+i)))
		}
		c := postTo("/api/batch", "", `{"requests":[`+strings.Join(items, ",")+`]}`, "@example.com", "")
		c.times = 20
		return c
	})
	b.than("profile : net/http", profile, floor, 1.7)
	b.than("profile : PocketBase", profile, pocketbase, 0.5)
	b.list = append(b.list, comparison{what: "batch of 20 profiles : 20 single ones", of: batch, to: profile, times: 20, aim: 0.28})
	for _, among := range []int{1, publicProfiles} {
		unchanged := b.whole.asks(fmt.Sprintf("%d of 500 profiles in turn, 304", among), b.unchanged(among, path))
		b.than(unchanged.name+" : net/http", unchanged, floor, 1.6)
	}
}

// unchanged returns conditional requests for profiles that have not changed.
func (b *beside) unchanged(among int, path func(n int) string) func(n int) call {
	tags := make([]string, among)
	for i := range tags {
		if c, err := dial(b.whole.addr); err == nil {
			if header, err := c.do(get(path(i), "", http.StatusOK, "")); err == nil {
				tags[i] = header.Get("ETag")
			}
			_ = c.Close()
		}
	}
	return func(n int) call {
		return get(path(n%among), "If-None-Match: "+tags[n%among]+"\r\n", http.StatusNotModified, "")
	}
}

// refreshes compares the refresh grants of token endpoints.
func (b *beside) refreshes(ctx context.Context, file string) error {
	ours := func(k *service, name string) *target {
		first := make([]string, chains)
		for i := range first {
			first[i] = refreshToken(i)
		}
		return k.asks(name, refreshing(first, "client_id="+benchClient, ""))
	}
	whole, divided := ours(b.whole, "refresh"), ours(b.divided, "refresh, two processes")
	for _, p := range []struct {
		program, name, client, header string
		aim                           float64
	}{
		{"zitadel", "zitadel/oidc refresh", "", "Authorization: Basic d2ViOnNlY3JldA==\r\n", 0.23},
		{"fosite", "ory/fosite refresh", "client_id=web", "", 1.5},
		{"oidcprovider", "oidc-provider refresh", "client_id=web", "", 0},
	} {
		t := b.peer(ctx, p.program, p.name, file, nil)
		if t != nil {
			var first []string
			if err := ask(ctx, "http://"+t.addr+"/seed?n="+fmt.Sprint(chains), &first); err != nil || len(first) != chains {
				return fmt.Errorf("%s: seed: %d tokens: %w", p.name, len(first), err)
			}
			t.next = refreshing(first, p.client, p.header)
		}
		b.than("refresh, one process : "+p.name, whole, t, p.aim)
		if p.program == "zitadel" {
			b.than("refresh, two processes : "+p.name, divided, t, 0.3)
		}
	}
	return nil
}

// refreshing returns refresh requests. Each answer has the token of a later request.
func refreshing(first []string, client, header string) func(n int) call {
	tokens := make(chan string, len(first))
	for _, token := range first {
		tokens <- token
	}
	return func(int) call {
		form := "grant_type=refresh_token&refresh_token=" + url.QueryEscape(<-tokens) + "&" + client
		c := postForm("/oauth/token", form, `"access_token"`, header)
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
