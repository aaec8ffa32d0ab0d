package main

import (
	"bytes"
	"maps"
	"strings"
	"testing"
	"time"
)

func TestRateLimits(t *testing.T) {
	t.Parallel()
	got, err := rateLimits([]string{"KITH_RATE_MCP_SANDBOX=600/60", "KITH_RATE_LOGIN=off", "KITH_RATE_PROFILE=", "PATH=/bin"})
	if want := map[string]string{"mcp-sandbox": "600/60", "login": "off"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for line, says := range map[string]string{
		"KITH_RATE_NONSENSE=1/1":    "KITH_RATE_MCP_SANDBOX",
		"KITH_RATE_MCP=fast":        "KITH_RATE_MCP",
		"KITH_RATE_MCP=10/0":        "window",
		"KITH_RATE_mcp=10/10":       "no rate policy",
		"KITH_RATE_MCP-SANDBOX=1/1": "no rate policy",
	} {
		if _, err := rateLimits([]string{line}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestLoginPolicyGoesToTheBackend(t *testing.T) {
	t.Parallel()
	s := settings{}
	if p, err := s.login(); p != nil || err != nil {
		t.Errorf("unset: %v, %v", p, err)
	}
	s.Rates = map[string]string{"login": "5/60"}
	if p, err := s.login(); err != nil || p.Quota != 5 || p.Window != time.Minute {
		t.Errorf("set: %+v, %v", p, err)
	}
	s.Rates["login"] = "off"
	if p, err := s.login(); err != nil || p.Quota != 0 {
		t.Errorf("off: %+v, %v", p, err)
	}
}

func TestConfigShowsRates(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := settings{Rates: map[string]string{"mcp-sandbox": "off"}}
	if err := s.print(&out); err != nil || !strings.Contains(out.String(), "\nKITH_RATE_MCP_SANDBOX=off\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
