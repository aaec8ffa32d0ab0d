package mcp

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestAccessCheck(t *testing.T) {
	t.Parallel()
	open := Options{BaseURL: "https://kith.example:8443"}
	listed := Options{BaseURL: "https://kith.example:8443", AllowedOrigins: []string{"https://app.example"}}
	anyone := Options{BaseURL: "https://kith.example:8443", AllowedOrigins: []string{"*"}}
	local := Options{BaseURL: "http://kith.local:8080", Loopback: true}
	for name, test := range map[string]struct {
		options Options
		host    string
		header  http.Header
		status  int // 0 for admitted
	}{
		"no origin":                     {open, "anything", nil, 0},
		"own origin":                    {open, "", http.Header{"Origin": {"https://KITH.example:8443"}}, 0},
		"own host, other port":          {open, "", http.Header{"Origin": {"https://kith.example"}}, 403},
		"own host, other scheme":        {open, "", http.Header{"Origin": {"http://kith.example:8443"}}, 403},
		"foreign origin":                {open, "", http.Header{"Origin": {"https://evil.example"}}, 403},
		"null origin":                   {open, "", http.Header{"Origin": {"null"}}, 403},
		"empty origin":                  {open, "", http.Header{"Origin": {""}}, 403},
		"two origins":                   {open, "", http.Header{"Origin": {"https://kith.example:8443", "https://evil.example"}}, 403},
		"listed origin":                 {listed, "", http.Header{"Origin": {"https://app.example"}}, 0},
		"origin that is not listed":     {listed, "", http.Header{"Origin": {"https://app.example.evil.example"}}, 403},
		"any origin":                    {anyone, "", http.Header{"Origin": {"https://evil.example"}}, 0},
		"loopback, by number":           {local, "127.0.0.1:8080", nil, 0},
		"loopback, by name":             {local, "LocalHost", nil, 0},
		"loopback, IPv6":                {local, "[::1]:8080", nil, 0},
		"loopback, IPv6 without a port": {local, "[::1]", nil, 0},
		"loopback, own name":            {local, "kith.local", nil, 0},
		"loopback, rebound":             {local, "evil.example:8080", nil, 403},
		"loopback, name like a number":  {local, "127.0.0.1.evil.example", nil, 403},
		"loopback, no host":             {local, "", nil, 403},
		"charset":                       {open, "", http.Header{"Content-Type": {"Application/JSON; charset=utf-8"}}, 0},
		"no type":                       {open, "", http.Header{"Content-Type": nil}, 415},
		"text":                          {open, "", http.Header{"Content-Type": {"text/plain"}}, 415},
		"type with the same prefix":     {open, "", http.Header{"Content-Type": {"application/json5"}}, 415},
		"two types":                     {open, "", http.Header{"Content-Type": {"application/json", "text/plain"}}, 415},
		"gzip":                          {open, "", http.Header{"Content-Encoding": {"gzip"}}, 415},
		"identity":                      {open, "", http.Header{"Content-Encoding": {"identity"}}, 0},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp/v1", nil)
		r.Host = test.host
		r.Header.Set("Content-Type", "application/json")
		maps.Copy(r.Header, test.header)
		status := 0
		if f := newAccessCheck(test.options).check(r); f != nil {
			status = f.status
		}
		if status != test.status {
			t.Errorf("%s: got %d, want %d", name, status, test.status)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lines           []string
		method, offered string
		ok              bool
	}{
		{nil, methodPing, "", true},
		{[]string{"2025-06-18"}, methodPing, "", true},
		{[]string{"2025-03-26"}, methodCallTool, "", true},
		{[]string{"2025-11-25"}, methodInitialize, "2025-06-18", false},
		{[]string{"2025-11-25"}, methodInitialize, "2025-11-25", true}, // repeats what the body offers
		{[]string{"2025-11-25"}, methodPing, "2025-11-25", false},
		{[]string{"2024-11-05"}, "", "", false},
		{[]string{""}, methodPing, "", false},
		{[]string{"2025-06-18", "2025-06-18"}, methodPing, "", false},
	} {
		h := http.Header{}
		if test.lines != nil {
			h["Mcp-Protocol-Version"] = test.lines
		}
		c := &call{message: message{method: test.method}}
		c.params.protocolVersion = jsontext.Value(strconv.Quote(test.offered))
		if f := checkVersion(h, c); (f == nil) != test.ok {
			t.Errorf("%q on %q: %v", test.lines, test.method, f)
		}
	}
}
