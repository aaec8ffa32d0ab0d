package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"sync"
	"testing"
)

// seenHeaders are all rate-limit headers of the run: name and value.
type seenHeaders struct {
	mu     sync.Mutex
	values map[[2]string]bool
}

var rateHeaders = &seenHeaders{values: map[[2]string]bool{}}

func (s *seenHeaders) keep(h http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{"Ratelimit", "Ratelimit-Policy", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"} {
		for _, value := range h[name] {
			s.values[[2]string{name, value}] = true
		}
	}
}

// judge has a parser of structured fields that nobody here wrote read them all.
func (s *seenHeaders) judge() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.values) == 0 {
		return nil // no test that makes a request was run
	}
	list, err := json.Marshal(slices.Collect(maps.Keys(s.values)))
	if err != nil {
		return err
	}
	command := exec.Command("node", "structured-headers.mjs")
	command.Stdin = bytes.NewReader(list)
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("rate-limit headers: %w: %s", err, out)
	}
	return nil
}

// TestLimits: each policy admits its quota and refuses the next, in the shape of
// its path, with the headers that say so.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, way := range topologies() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, way)
			for _, policy := range []string{"PROFILE", "DIRECTORY", "BATCH", "MCP", "MCP_SANDBOX", "OAUTH_REGISTER", "OAUTH_AUTHORIZE", "OAUTH_TOKEN", "IDENTITY", "SETTINGS"} {
				s.settings["KITH_RATE_"+policy] = "3/60"
			}
			s.start()
			checkLimits(t, s)
		})
	}
}

func checkLimits(t *testing.T, s *service) {
	t.Helper()
	const form, anything = "Content-Type: application/x-www-form-urlencoded", "Accept: */*"
	for _, c := range []struct{ policy, method, path, body, kind, refusal string }{
		{"profile", http.MethodGet, "/api/human/demo", "", anything, `"code":"rate_limited"`},
		{"directory", http.MethodGet, "/api/network/members", "", anything, `"code":"rate_limited"`},
		{"batch", http.MethodPost, "/api/batch", `{"requests":[{"id":"1","path":"/nothing"}]}`, jsonType, `"code":"rate_limited"`},
		{"mcp-sandbox", http.MethodPost, "/mcp/sandbox", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, jsonType, `"code":-32003`},
		{"mcp", http.MethodPost, "/mcp/v1", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, jsonType, `"code":-32003`},
		{"oauth-register", http.MethodPost, "/oauth/register", `{"redirect_uris":["https://a.example/cb"]}`, jsonType, `"error":`},
		{"oauth-token", http.MethodPost, "/oauth/token", "grant_type=refresh_token", form, `"error":`},
		{"oauth-authorize", http.MethodGet, "/oauth/authorize", "", anything, "Too many requests"},
		{"settings", http.MethodGet, "/settings/mcp", "", anything, "Too many requests"},
		{"identity", http.MethodPost, "/agent/identity", `{"type":"anonymous"}`, jsonType, `"code":"rate_limited"`},
	} {
		var got answer
		for range 3 {
			if got = s.send(t, c.method, c.path, c.body, c.kind); got.status == http.StatusTooManyRequests {
				t.Fatalf("%s is refused within its quota: %s", c.policy, got.body)
			}
		}
		if want := []string{`"` + c.policy + `";q=3;w=60`}; !slices.Equal(got.header["Ratelimit-Policy"], want) || got.header.Get("Ratelimit-Remaining") != "0" {
			t.Errorf("%s: %v", c.policy, got.header)
		}
		got = s.send(t, c.method, c.path, c.body, c.kind)
		if got.status != http.StatusTooManyRequests || !bytes.Contains([]byte(got.body), []byte(c.refusal)) ||
			got.header.Get("Retry-After") == "" || got.header.Get("Retry-After") != got.header.Get("Ratelimit-Reset") {
			t.Errorf("%s over its quota: %d %v %s", c.policy, got.status, got.header, got.body)
		}
	}
	// Both sandbox paths share one budget, and a deprecated path shares its successor's.
	for _, path := range []string{pathSandboxOld, pathDeprecated} {
		if got := s.send(t, http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, jsonType); got.status != http.StatusTooManyRequests {
			t.Errorf("%s has a budget of its own: %d", path, got.status)
		}
	}
}
