package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestSunsets(t *testing.T) {
	t.Parallel()
	got, err := sunsets([]string{"KITH_SUNSET_MCP=2027-07-01", "PATH=/bin"})
	if err != nil || len(got) != 1 || got["mcp"] != "2027-07-01" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := sunsets([]string{"KITH_SUNSET_MCP="}); err != nil || len(got) != 0 {
		t.Errorf("empty: %v, %v", got, err)
	}
	for line, want := range map[string]string{
		"KITH_SUNSET_MCP_V1=2027-07-01": "valid are KITH_SUNSET_MCP",
		"KITH_SUNSET_MCP=soon":          "KITH_SUNSET_MCP: ",
	} {
		if _, err := sunsets([]string{line}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestConfigShowsSunsets(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := settings{Sunsets: map[string]string{"mcp": "2027-07-01"}}
	if err := s.print(&out); err != nil || !strings.Contains(out.String(), "\nKITH_SUNSET_MCP=2027-07-01\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
