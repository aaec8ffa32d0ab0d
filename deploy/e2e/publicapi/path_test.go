// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/publicapi -run 'TestTargets|TestMethods|TestBrokenHTTP'

package publicapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// targetTests are raw request targets with the expected status.
func targetTests() map[string]int {
	tests := map[string]int{}
	for status, targets := range map[int][]string{
		http.StatusNotFound: {
			"/api/human/../admin", "/api/human/..", "/api/human/.", "/api/./human/" + harness.Demo, "/api/human/%2e%2e", "/api/human/%2e%2e/admin",
			"/api/human/a%2fb", "/api/human/%252e%252e%252f", "//evil.com/api", "/api//human/bob", "/api/human//" + harness.Demo, "/api/human/" + harness.Demo + "/",
			"/api/human/" + harness.Demo + ";x=1", "/api/human;x=1/" + harness.Demo, "/api/human/" + harness.Demo + ".json.md", "/api/human/" + harness.Demo + ".md.json",
			"/api/human/" + harness.Demo + ".xml", "/api/human/" + harness.Demo + ".JSON", "/API/human/" + harness.Demo, "/api/human/%ef%bc%8e%ef%bc%8e",
			"/api/human/%64emo", "/api/human/" + harness.Demo + "%20", "/api/human/", "/api/human", "/api", "/sandbox/", "/sandbox/../sandbox",
			"/sandbox/sandbox", "/sandbox/mcp", "/mcp//v1", "/mcp/v2", "/mcp/%761", "/.well-known/", "/.well-known/nothing",
			"/.well-known/../sandbox", "/.well-known/openid-configuration", "/.git/config", "/.env", "/admin", "/metrics", "/readyz", "/debug/pprof/",
			"/kith.connections.v1.ConnectionService/SearchConnections", "/favicon.ico", "/api/human/a:b", "/api/human/@" + harness.Demo, "/api/human/" + strings.Repeat("a", 8000),
		},
		http.StatusBadRequest: {
			"/api/human/%00", "/api/human/" + harness.Demo + "%00", "/api/human/%zz", "/api/human/%", "/api/human/%2", "/api/human/%c0%ae", "/api/human/%c0%ae%c0%ae",
			"/api/human/%e0%80%ae", "/api/human/%ff", "/api/human/%ed%a0%80", "/api/human/%0d%0aX:1", "/api/human/b\xc3\xb6b", "/api/human/\xff", `/api\human\bob`,
			`/\evil.com`, "/api/human/" + harness.Demo + "#x", "#", "*", "/api/human/{x}", `/api/human/"x"`, "/api/human/<x>", "/api/human/a|b", "/api/human/a^b", "/api/human/a`b",
			"/api/network/members?q=a;b=c", "/api/network/members?q=%zz", "/api/network/members?q=%", "/api/network/members?q=%ff", "/api/network/members?q=a%00",
			"/api/network/members?q=%0a", "/api/network/members?q=" + strings.Repeat("a", 201), "/api/network/members?q=a&q=b", "/api/network/members?%zz=1",
			"/api/network/members?per_page=-1", "/api/network/members?per_page=0", "/api/network/members?per_page=1e3", "/api/network/members?per_page=+5",
			"/api/network/members?per_page=%2B5", "/api/network/members?per_page=1000000000", "/api/network/members?per_page=101", "/api/network/members?per_page=05",
			"/api/network/members?per_page=", "/api/network/members?per_page=ten", "/api/network/members?per_page=5.0", "/api/network/members?per_page=0x5",
			"/api/network/members?per_page=99999999999999999999", "/api/network/members?per_page=%D9%A5", "/api/network/members?per_page=5&per_page=6",
			"/api/network/members?cursor=", "/api/network/members?cursor=bm8", "/api/network/members?cursor=" + strings.Repeat("a", 600),
			"/api/network/members?access_token=x", "/api/human/" + harness.Demo + "?token=x", "/sandbox?api_key=x", "http://me:pw@localhost/sandbox", "ftp://localhost/sandbox",
		},
		http.StatusMisdirectedRequest: {"http://evil.example/sandbox", "https://evil.example/mcp/v1", "http://localhost.evil.example/"},
		http.StatusOK: {
			"/api/human/" + harness.Demo, "/api/human/" + harness.Demo + ".json", "/api/human/" + harness.Demo + ".md", "/api/human/" + strings.ToUpper(harness.Demo), "/sandbox",
			"/", "/api/network/members", "/api/network/members?", "/api/network/members?q=&per_page=100", "/api/network/members?q=%C3%A9&unknown=1",
			"/sandbox/api/human/" + harness.Demo + ".md", "/sandbox/api/network/members?per_page=1", "http://localhost/sandbox", "HTTP://LOCALHOST/sandbox",
		},
	} {
		for _, target := range targets {
			tests[target] = status
		}
	}
	return tests
}

// TestTargets: a path is matched byte by byte as it was sent. No path is cleaned, decoded
// or redirected.
func TestTargets(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for target, want := range targetTests() {
			t.Run(harness.Shorten(target), func(t *testing.T) {
				got := s.SendRaw(t, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
				if got.Status != want {
					t.Fatalf("got %d %s, want %d", got.Status, got.Body, want)
				}
				if got.Header.Get("Location") != "" {
					t.Errorf("it is redirected to %s", got.Header.Get("Location"))
				}
				if want != http.StatusOK {
					checkProblem(t, got)
				}
			})
		}
		for _, target := range []string{"//mcp/v1", "/mcp//v1", "/mcp/./v1", "/mcp/v1;x=1", "/mcp/%76%31"} {
			got := s.SendRaw(t, "POST "+target+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+harness.JSONType+"\r\nContent-Length: 2\r\n\r\n{}")
			if got.Status != http.StatusNotFound {
				t.Errorf("POST %s: got %d, want 404", target, got.Status)
			}
		}
	})
}

// checkProblem fails the test unless the body is an RFC 9457 problem with the fields that the
// specification's rulings require.
func checkProblem(t *testing.T, got harness.Response) {
	t.Helper()
	if kind := got.Header.Get("Content-Type"); kind != "application/problem+json" {
		// net/http refuses some requests before the service sees them.
		if got.Body == "400 Bad Request" && got.Header.Get("X-Request-Id") == "" {
			return
		}
		t.Errorf("Content-Type is %q: %s", kind, got.Body)
		return
	}
	var problem struct {
		Type, Title, Detail, Instance, Code string
		Status                              int
		Errors                              []struct{ Field, Message string }
	}
	if err := json.Unmarshal([]byte(got.Body), &problem); err != nil {
		t.Fatalf("the problem is not JSON: %v", err)
	}
	if !strings.HasSuffix(problem.Type, "/docs/errors/"+problem.Code) || slices.Contains([]string{problem.Code, problem.Title, problem.Detail, problem.Instance}, "") {
		t.Errorf("the problem is %s", got.Body)
	}
	harness.CheckSame(t, "status and instance", []any{problem.Status, problem.Instance}, []any{got.Status, got.Header.Get("X-Request-Id")})
}

// TestMethods: an unknown method is never treated as a known one.
func TestMethods(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for _, method := range []string{"TRACE", "TRACK", "get", "Get", "post", "PROPFIND", "BREW", "GETT", "POST", "PUT", "PATCH", "DELETE"} {
			for _, path := range []string{"/sandbox", "/api/network/members", "/api/human/" + harness.Demo} {
				got := s.SendRaw(t, method+" "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
				if got.Status != http.StatusMethodNotAllowed && got.Status != http.StatusNotImplemented {
					t.Errorf("%s %s: got %d", method, path, got.Status)
				}
				if got.Status == http.StatusMethodNotAllowed && got.Header.Get("Allow") != "GET, HEAD" {
					t.Errorf("%s %s: Allow is %q", method, path, got.Header.Get("Allow"))
				}
				checkProblem(t, got)
			}
		}
		got := s.SendRaw(t, "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n")
		if got.Status != http.StatusMethodNotAllowed && got.Status != http.StatusNotImplemented {
			t.Errorf("CONNECT: got %d", got.Status)
		}
		harness.CheckPreflight(t, s.Send(t, http.MethodOptions, "/api/network/members", "", "Origin: https://a.example", "Access-Control-Request-Method: GET"), "GET")
		if got := s.SendRaw(t, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); got.Status != http.StatusNoContent {
			t.Errorf("OPTIONS *: got %d", got.Status)
		}
	})
}

// TestBrokenHTTP: requests that two servers could parse differently are refused.
func TestBrokenHTTP(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	post := "POST /mcp/sandbox HTTP/1.1\r\nHost: localhost\r\n" + harness.JSONType + "\r\n"
	tests := map[string]struct {
		request string
		status  int
	}{
		"no Host":                   {"GET /sandbox HTTP/1.1\r\n\r\n", http.StatusBadRequest},
		"two Hosts":                 {"GET /sandbox HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", http.StatusBadRequest},
		"a space before the colon":  {"GET /sandbox HTTP/1.1\r\nHost : localhost\r\n\r\n", http.StatusBadRequest},
		"a folded header":           {"GET /sandbox HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n c\r\n\r\n", http.StatusOK},
		"a NUL in a header":         {"GET /sandbox HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n", http.StatusBadRequest},
		"two lengths":               {post + "Content-Length: 40\r\nContent-Length: 2\r\n\r\n" + ping, http.StatusBadRequest},
		"a length with a sign":      {post + "Content-Length: +40\r\n\r\n" + ping, http.StatusBadRequest},
		"a negative length":         {post + "Content-Length: -1\r\n\r\n" + ping, http.StatusBadRequest},
		"another transfer encoding": {post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", http.StatusNotImplemented},
		"chunked twice":             {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", http.StatusNotImplemented},
		"a broken chunk":            {post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", http.StatusBadRequest},
		"an unknown HTTP version":   {"GET /sandbox HTTP/3.7\r\nHost: localhost\r\n\r\n", http.StatusHTTPVersionNotSupported},
		"not HTTP":                  {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", http.StatusBadRequest},
		"headers over 16 KiB":       {"GET /sandbox HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("a", 24<<10) + "\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"a target over 16 KiB":      {"GET /" + strings.Repeat("a", 24<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"5000 headers":              {"GET /sandbox HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("A: b\r\n", 5000) + "\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"headers just below 16 KiB": {"GET /sandbox HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("a", 15<<10) + "\r\n\r\n", http.StatusOK},
	}
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				if got := s.SendRaw(t, test.request); got.Status != test.status {
					t.Errorf("got %d %s, want %d", got.Status, got.Body, test.status)
				}
			})
		}
	})
}
