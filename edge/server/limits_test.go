package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// The specification fixes the rate limit of the sandbox.
func TestWarningOfTheSandboxsLimit(t *testing.T) {
	t.Parallel()
	for limit, warns := range map[string]bool{
		"": false, "60/60": false, "30/60": false, "1/1": false, "60/120": false, "61/60": true, "2/1": true, "100/120": true, "off": true,
	} {
		var log bytes.Buffer
		c := testConfig(backendtest.New())
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.RateLimits = map[string]string{"mcp-sandbox": limit}
		if limit == "" {
			c.RateLimits = nil
		}
		newServer(t, c)
		if strings.Contains(log.String(), "KITH_RATE_MCP_SANDBOX") != warns {
			t.Errorf("%q: %s", limit, log.String())
		}
	}
}

// A 429 names the policies that refused the request, and no others.
func TestViolatedPolicies(t *testing.T) {
	t.Parallel()
	c := testConfig(backendtest.New())
	c.RateLimits = map[string]string{"profile": "1/3600", "directory": "1/3600"}
	s := start(t, newServer(t, c))
	for target, policy := range map[string]string{"/api/human/amara": "profile", "/api/network/members": "directory"} {
		if r := raw(t, s, get(target)); r.status != 200 || strings.Contains(r.body, "violated-policies") {
			t.Errorf("%s: %d %s", target, r.status, r.body)
		}
		if r := raw(t, s, get(target)); r.status != 429 || !strings.HasSuffix(r.body, `,"violated-policies":["`+policy+`"]}`) {
			t.Errorf("%s: %d %s", target, r.status, r.body)
		}
	}
}
