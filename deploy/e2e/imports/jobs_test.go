package imports

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// endedLate waits for the end of a long job.
func endedLate(t *testing.T, a harness.Agent, task any) map[string]any {
	t.Helper()
	return a.AwaitJobWithin(t, harness.LongTimeout, task)
}
