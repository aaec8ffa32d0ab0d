package ratelimit_test

import (
	"crypto/rand"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// redisURL names the environment variable with the address of a Redis for tests.
const redisURL = "KITH_TEST_REDIS_URL"

// redisAddress returns the address of the tests' Redis. With -short it skips the test.
func redisAddress(t testing.TB) (string, bool) {
	t.Helper()
	if testing.Short() {
		t.Log("skipped by -short")
		return "", false
	}
	address := os.Getenv(redisURL)
	if address == "" {
		t.Fatalf("%s is not set: run `make test`, which starts a Redis, or pass -short", redisURL)
	}
	return address, true
}

// patient returns the address with timeouts long enough for a busy machine.
func patient(t testing.TB, address string) string {
	t.Helper()
	return withTimeouts(t, address, 10*time.Second)
}

// withTimeouts returns the address with these timeouts in place of the defaults.
func withTimeouts(t testing.TB, address string, d time.Duration) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := url.Values{}
	for _, name := range []string{"dial_timeout", "read_timeout", "write_timeout", "pool_timeout"} {
		query.Set(name, d.String())
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// openRedis returns a store for the Redis at the address.
func openRedis(t testing.TB, address, prefix string) *ratelimit.Redis {
	t.Helper()
	r, err := ratelimit.NewRedis(ratelimit.RedisConfig{URL: address, Prefix: prefix, Secret: []byte("secret")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// newPrefix returns a unique prefix.
func newPrefix() string { return "kith:test:" + rand.Text() + ":" }

// clock is a clock that only the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// take takes n hits of a store that never fails.
func take(t testing.TB, s ratelimit.Store, p ratelimit.Policy, key string, n int) ratelimit.Taken {
	t.Helper()
	taken, err := s.Take(t.Context(), p, key, n)
	if err != nil {
		t.Fatalf("take %d of %s: %v", n, key, err)
	}
	return taken
}

// want compares the counts, and checks that the reset is within the window.
func want(t testing.TB, got ratelimit.Taken, admitted, remaining int) {
	t.Helper()
	if got.Admitted != admitted || got.Remaining != remaining {
		t.Errorf("admitted %d, remaining %d; want %d, %d", got.Admitted, got.Remaining, admitted, remaining)
	}
	if got.Reset <= 0 {
		t.Errorf("reset in %s", got.Reset)
	}
}
