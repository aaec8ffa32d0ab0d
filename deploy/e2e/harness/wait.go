package harness

import (
	"testing"
	"time"
)

// Timeout is how long a test waits for a condition. It is generous: a slow machine must not
// fail a test.
const Timeout = 90 * time.Second

// LongTimeout is how long the import of a large file, its undo, or many small jobs may
// take.
const LongTimeout = 8 * time.Minute

// tick is how long a wait sleeps before it looks again.
const tick = 5 * time.Millisecond

// Eventually waits until done reports true.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	Within(t, Timeout, what, done)
}

// Within is Eventually with another timeout.
func Within(t testing.TB, most time.Duration, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(most); !done(); time.Sleep(tick) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not true after %s", what, most)
		}
	}
}

// awaitStatus reports whether the address answers with the status before the timeout.
func awaitStatus(address string, status int) bool {
	for deadline := time.Now().Add(Timeout); time.Now().Before(deadline); time.Sleep(tick) {
		if res, err := Client.Get(address); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == status {
				return true
			}
		}
	}
	return false
}
