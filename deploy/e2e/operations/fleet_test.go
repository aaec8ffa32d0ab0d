// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run 'TestTwoServicesOnOneDatabase|TestStartAtOnce|TestServeAtOnce'

package operations

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestTwoServicesOnOneDatabase: a write through one service is visible to reads and searches
// of the other at once; a revocation too.
func TestTwoServicesOnOneDatabase(t *testing.T) {
	harness.EachOwnThat(t, harness.IsPostgres, func(t *testing.T, s *harness.Service) {
		other := s.StartBeside(t)
		ada := s.NewMember(t)
		token := ada.Token(t)
		here, there := s.Agent(harness.PathCurrent, token.Bearer), other.Agent(harness.PathCurrent, token.Bearer)
		for i := range 10 {
			name := fmt.Sprintf("Traveller Number %c", 'A'+i)
			id := here.Create(t, harness.Arguments{"name": name})
			if found := there.Find(t, name); len(found) == 0 || found[0] != id {
				t.Fatalf("%s: the other service finds %v, not %s", name, found, id)
			}
			there.Call(t, "update_connection", harness.Arguments{"id": id, "nickname": fmt.Sprintf("zigzag%d", i)})
			if found := here.Find(t, fmt.Sprintf("zigzag%d", i)); !slices.Contains(found, id) {
				t.Fatalf("%s: the change is not found: %v", name, found)
			}
			here, there = there, here
		}
		ada.Revoke(t, token)
		for _, a := range []harness.Agent{here, there} {
			harness.CheckChallenge(t, a, harness.ToolCall(t, "get_account", harness.Arguments{}), harness.InvalidToken)
		}
	})
}

// TestStartAtOnce: of many processes that start on a new database at the same time, one
// creates the schema, and all of them start.
func TestStartAtOnce(t *testing.T) {
	harness.EachDatabase(t, func(t *testing.T, databaseURL string) {
		const processes = 4
		var wait sync.WaitGroup
		outcomes := make([]harness.Outcome, processes)
		for i := range processes {
			wait.Go(func() {
				outcomes[i] = harness.RunKith(t, harness.Environment(map[string]string{"KITH_DATABASE_URL": databaseURL}), "", "migrate")
			})
		}
		wait.Wait()
		for _, done := range outcomes {
			if done.Code != 0 {
				t.Errorf("exit code %d: %s", done.Code, done.Stderr)
			}
		}
	})
}

// TestServeAtOnce: the same with kith serve, including the sandbox.
func TestServeAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs PostgreSQL")
	}
	t.Parallel()
	databaseURL := harness.NewPostgres(t)
	var services []*harness.Service
	var programs []*harness.Program
	for range 3 {
		s := harness.NewService(t, harness.Postgres)
		s.DatabaseURL = databaseURL
		services = append(services, s)
		programs = append(programs, harness.StartProgram(t, harness.Environment(s.Database(), s.Settings, map[string]string{
			"KITH_ADDR": s.Addr, "KITH_ADMIN_ADDR": "off",
		}), "serve"))
	}
	for i, s := range services {
		programs[i].AwaitReady()
		if got := s.SandboxAgent().Post(t, harness.ToolCall(t, "search_connections", harness.Arguments{"query": "microgrids"})); got.Status != http.StatusOK {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
	}
}
