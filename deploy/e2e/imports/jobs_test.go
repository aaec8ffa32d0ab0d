package imports

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// endedLate is ended, of a job with very much to do.
func endedLate(t *testing.T, a harness.Agent, task any) map[string]any {
	t.Helper()
	return a.AwaitJobWithin(t, harness.LongTimeout, task)
}
