// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/publicapi -run 'TestLimits|TestErrorsOfSignInHaveLimits'

package publicapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestLimits: each policy admits its quota and refuses the next request, with the error
// format of the path and with rate-limit headers.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.EdgeTopology())
	for _, policy := range []string{"PROFILE", "DIRECTORY", "BATCH", "MCP", "MCP_SANDBOX", "OAUTH_REGISTER", "OAUTH_AUTHORIZE", "OAUTH_TOKEN", "IDENTITY", "SETTINGS"} {
		s.Settings["KITH_RATE_"+policy] = "3/60"
	}
	s.Start()
	checkLimits(t, s)
}

func checkLimits(t *testing.T, s *harness.Service) {
	t.Helper()
	const form, anything = "Content-Type: application/x-www-form-urlencoded", "Accept: */*"
	for _, c := range []struct{ policy, method, path, body, kind, refusal string }{
		{"profile", http.MethodGet, "/api/human/demo", "", anything, `"code":"rate_limited"`},
		{"directory", http.MethodGet, "/api/network/members", "", anything, `"code":"rate_limited"`},
		{"batch", http.MethodPost, "/api/batch", `{"requests":[{"id":"1","path":"/nothing"}]}`, harness.JSONType, `"code":"rate_limited"`},
		{"mcp-sandbox", http.MethodPost, "/mcp/sandbox", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, harness.JSONType, `"code":-32003`},
		{"mcp", http.MethodPost, "/mcp/v1", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, harness.JSONType, `"code":-32003`},
		{"oauth-register", http.MethodPost, "/oauth/register", `{"redirect_uris":["https://a.example/cb"]}`, harness.JSONType, `"error":`},
		{"oauth-token", http.MethodPost, "/oauth/token", "grant_type=refresh_token", form, `"error":`},
		{"oauth-authorize", http.MethodGet, "/oauth/authorize", "", anything, "Too many requests"},
		{"settings", http.MethodGet, "/settings/mcp", "", anything, "Too many requests"},
		{"identity", http.MethodPost, "/agent/identity", `{"type":"anonymous"}`, harness.JSONType, `"code":"rate_limited"`},
	} {
		var got harness.Response
		for range 3 {
			if got = s.Send(t, c.method, c.path, c.body, c.kind); got.Status == http.StatusTooManyRequests {
				t.Fatalf("%s is refused within its quota: %s", c.policy, got.Body)
			}
		}
		if want := []string{`"` + c.policy + `";q=3;w=60`}; !slices.Equal(got.Header["Ratelimit-Policy"], want) || got.Header.Get("Ratelimit-Remaining") != "0" {
			t.Errorf("%s: %v", c.policy, got.Header)
		}
		got = s.Send(t, c.method, c.path, c.body, c.kind)
		harness.CheckSame(t, c.policy+" over its quota", got.Head("Retry-After"), map[string]string{"status": "429", "Retry-After": got.Header.Get("Ratelimit-Reset")})
		if !strings.Contains(got.Body, c.refusal) || got.Header.Get("Retry-After") == "" {
			t.Errorf("%s over its quota: %v %s", c.policy, got.Header, got.Body)
		}
	}
	// Both sandbox paths share one budget, and a deprecated path shares its successor's.
	for _, path := range []string{harness.PathSandboxOld, harness.PathDeprecated} {
		if got := s.Send(t, http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, harness.JSONType); got.Status != http.StatusTooManyRequests {
			t.Errorf("%s has a budget of its own: %d", path, got.Status)
		}
	}
}

// TestErrorsOfSignInHaveLimits: a form of another site, another method and another media type are refused with the
// headers of the path's rate policy.
func TestErrorsOfSignInHaveLimits(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.SQLite)
	s.LimitAll("1000/3600")
	s.Start()
	for _, c := range []struct {
		method, header string
		status         int
	}{
		{http.MethodPost, "Origin: https://elsewhere.example", http.StatusForbidden},
		{http.MethodPut, "Accept: text/html", http.StatusMethodNotAllowed},
		{http.MethodPost, harness.JSONType, http.StatusUnsupportedMediaType},
	} {
		got := s.Send(t, c.method, "/sign-in", "a=b", c.header)
		if got.Status != c.status || !strings.HasPrefix(got.Header.Get("RateLimit"), `"forms";r=`) {
			t.Errorf("%s with %s: %d, %v", c.method, c.header, got.Status, got.Header)
		}
	}
}
