// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run 'TestFirstStart|TestMigrateWaits'

package operations

import (
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestFirstStart: on a new database, a service creates the schema and the sandbox at its
// first start.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	for _, way := range harness.Topologies() {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			s := harness.NewService(t, way)
			s.DatabaseURL = harness.NewDatabase(t, way)
			s.Start()
			if found := s.SandboxAgent().Find(t, "investor"); len(found) == 0 {
				t.Error("the sandbox holds no investor")
			}
		})
	}
}

// TestMigrateWaits: the first container of a backend in Kubernetes ends once the database has the schema of its version, and
// says meanwhile what it waits for.
func TestMigrateWaits(t *testing.T) {
	harness.EachDatabase(t, func(t *testing.T, databaseURL string) {
		env := harness.Environment(map[string]string{"KITH_DATABASE_URL": databaseURL})
		waiting := harness.StartProgram(t, env, "migrate", "--wait")
		harness.Eventually(t, "it waits", func() bool { return strings.Contains(waiting.Stderr.String(), "kith: waiting: ") })
		if done := harness.RunKith(t, env, "", "migrate"); done.Code != 0 {
			t.Fatal(done.Stderr)
		}
		waiting.AwaitExit()
		if said := waiting.Stdout.String(); !strings.Contains(said, "up to date") {
			t.Errorf("it says %q", said)
		}
	})
}
