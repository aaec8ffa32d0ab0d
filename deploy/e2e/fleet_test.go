package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// beside starts another service on the same database.
func (s *service) beside(t *testing.T) *service {
	t.Helper()
	other := newService(t, s.topology)
	other.databaseURL = s.databaseURL
	other.start()
	return other
}

// TestTwoServicesOnOneDatabase: what was written through the one is read, and
// searched, through the other at once; so is what was revoked.
func TestTwoServicesOnOneDatabase(t *testing.T) {
	eachTopologyThat(t, inPostgres, func(t *testing.T, s *service) {
		other := s.beside(t)
		ada := s.newMember(t)
		token := ada.token(t)
		here, there := agent{s, pathCurrent, token.bearer}, agent{other, pathCurrent, token.bearer}
		for i := range 10 {
			name := fmt.Sprintf("Traveller Number %c", 'A'+i)
			id := here.create(t, arguments{"name": name})
			if found := there.find(t, name); len(found) == 0 || found[0] != id {
				t.Fatalf("%s: the other service finds %v, not %s", name, found, id)
			}
			there.call(t, "update_connection", arguments{"id": id, "nickname": fmt.Sprintf("zigzag%d", i)})
			if found := here.find(t, fmt.Sprintf("zigzag%d", i)); !slices.Contains(found, id) {
				t.Fatalf("%s: the change is not found: %v", name, found)
			}
			here, there = there, here
		}
		ada.revoke(t, token)
		for _, a := range []agent{here, there} {
			checkChallenge(t, a, toolCall(t, "get_account", arguments{}), invalidToken)
		}
	})
}

// TestStartAtOnce: many processes that start on a new database at the same time
// bring it up once, and all of them serve.
func TestStartAtOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		const processes = 4
		var wait sync.WaitGroup
		outcomes := make([]outcome, processes)
		for i := range processes {
			wait.Go(func() {
				outcomes[i] = kith(t, environment(map[string]string{"KITH_DATABASE_URL": databaseURL}), "", "migrate")
			})
		}
		wait.Wait()
		for _, done := range outcomes {
			if done.code != 0 {
				t.Errorf("exit code %d: %s", done.code, done.stderr)
			}
		}
	})
}

// TestServeAtOnce: the same for whole services, sandbox included.
func TestServeAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs PostgreSQL")
	}
	t.Parallel()
	databaseURL := newPostgres(t)
	var services []*service
	var programs []*program
	for range 3 {
		s := newService(t, onPostgres)
		s.databaseURL = databaseURL
		services = append(services, s)
		programs = append(programs, startProgram(t, environment(s.database(), s.settings, map[string]string{
			"KITH_ADDR": s.addr, "KITH_ADMIN_ADDR": "off",
		}), "serve"))
	}
	for i, s := range services {
		programs[i].awaitReady()
		if got := s.visitor().post(t, toolCall(t, "search_connections", arguments{"query": "microgrids"})); got.status != http.StatusOK {
			t.Errorf("got %d %s", got.status, got.body)
		}
	}
}
