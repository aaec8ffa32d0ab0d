// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestFirstStart

package operations

import (
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
