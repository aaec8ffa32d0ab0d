package e2e

import (
	"testing"
	"time"
)

// patience is how long anything may take before a test gives up on it. It is
// generous: a slow machine must not fail a test.
const patience = 30 * time.Second

// eventually waits until done reports true. It is the only place that sleeps.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	const tick = 5 * time.Millisecond
	for deadline := time.Now().Add(patience); !done(); time.Sleep(tick) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: still not so after %s", what, patience)
		}
	}
}
