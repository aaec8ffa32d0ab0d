package server

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// TestBadInput sends raw requests that correct clients never send. TestBadBatches does so for
// batches.
func TestBadInput(t *testing.T) {
	t.Parallel()
	s := start(t, newServer(t, testConfig(backendtest.New())))
	t.Run("paths that need decoding or cleaning are 404, without a redirect", func(t *testing.T) {
		t.Parallel()
		for _, target := range []string{
			"/api/human/../admin", "/api/human/%2e%2e", "/api/human/a%2fb", "/api/human/%252e%252e%252f", "//evil.com/api",
			"/api//human/amara", "/api/human/amara;x=1", "/mcp/v1;x=1", "/api/human/amara.json.md",
			"/api/human/%EF%BC%8E%EF%BC%8E", "/api/human/amara/", "/api/human/./amara", "/api/%68uman/amara",
		} {
			r := raw(t, s, get(target))
			if r.status != 404 || !r.isProblem() || r.header.Get("Location") != "" {
				t.Errorf("%s: %d %v %s", target, r.status, r.header, r.body)
			}
		}
		if r := raw(t, s, post("//mcp/v1", ping)); r.status != 404 || r.header.Get("Location") != "" {
			t.Errorf("POST //mcp/v1: %d %v", r.status, r.header)
		}
	})
	t.Run("invalid targets are 400", func(t *testing.T) {
		t.Parallel()
		for _, target := range []string{
			"/api/human/%00", "/api/human/%zz", "/api/human/%c0%ae", "/api/human/b\xc3\xb6b", "/api/human/\xef\xbc\x8e\xef\xbc\x8e",
			`/api/human\amara`, "/api/human/amara#x", "http://user@kith.example/api/human/amara", "*", "api/human/amara",
			"/api/human/a\x01b", "/api/human/a\tb",
		} {
			// net/http itself answers some of them, in plain text.
			if r := raw(t, s, get(target)); r.status != 400 || r.isProblem() && !strings.Contains(r.body, `"errors":[{"field":"`) {
				t.Errorf("%q: %d %s", target, r.status, r.body)
			}
		}
	})
	t.Run("query strings that URL.Query would drop are 400", func(t *testing.T) {
		t.Parallel()
		for _, query := range []string{"q=a;b=c", "q=%zz", "q=%c0%ae", "q=\xc3\xb6", "q=a%00"} {
			if r := raw(t, s, get("/api/network/members?"+query)); r.status != 400 || !strings.Contains(r.body, `"errors":[{"field":"`) {
				t.Errorf("%q: %d", query, r.status)
			}
		}
	})
	t.Run("absolute-form target of another host is 421", func(t *testing.T) {
		t.Parallel()
		if r := raw(t, s, get("http://evil.example/api/human/amara")); r.status != 421 || !r.isProblem() {
			t.Errorf("%d %s", r.status, r.body)
		}
		if r := raw(t, s, get("http://kith.example/api/human/amara")); r.status != 200 {
			t.Errorf("own host: %d %s", r.status, r.body)
		}
	})
	t.Run("TRACE, CONNECT, unknown or lowercase method is 405 or 501", func(t *testing.T) {
		t.Parallel()
		for _, method := range []string{"TRACE", "CONNECT", "BREW", "get", "post"} {
			r := raw(t, s, strings.Replace(get("/api/human/amara"), "GET", method, 1))
			if r.status != 405 && r.status != 501 {
				t.Errorf("%s: %d %s", method, r.status, r.body)
			}
		}
		if r := raw(t, s, strings.Replace(get("evil.example:443"), "GET", "CONNECT", 1)); r.status != 405 && r.status != 501 {
			t.Errorf("CONNECT authority: %d %s", r.status, r.body)
		}
	})
	t.Run("body over the cap is 413, headers over 16 KiB are 431", func(t *testing.T) {
		t.Parallel()
		big := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("a", 2<<20) + `"}}`
		request := post("/mcp/v1", "", "Expect: 100-continue")
		announced := strings.Replace(request, "Content-Length: 0", "Content-Length: 2097153", 1)
		if r := raw(t, s, announced); r.status != 413 || !strings.Contains(r.body, "-32600") {
			t.Errorf("announced: %d %s", r.status, r.body)
		}
		chunked := strings.Replace(post("/mcp/v1", ""), "Content-Length: 0", "Transfer-Encoding: chunked", 1) +
			strconv.FormatInt(int64(len(big)), 16) + "\r\n" + big + "\r\n0\r\n\r\n"
		if r := raw(t, s, chunked); r.status != 413 || !r.closes {
			t.Errorf("chunked: %d %s", r.status, r.body)
		}
		for size, want := range map[int]int{15 << 10: 405, 16<<10 - 1: 431, 19 << 10: 431} {
			r := raw(t, s, strings.Replace(get("/mcp/v1"), "Connection", "X-Filler: "+strings.Repeat("a", size)+"\r\nConnection", 1))
			if r.status != want || want == 431 && !r.isProblem() {
				t.Errorf("%d bytes of headers: %d %s", size, r.status, r.body)
			}
		}
		headers := strings.Replace(get("/mcp/v1"), "Connection", "X-Filler: "+strings.Repeat("a", 24<<10)+"\r\nConnection", 1)
		if r := raw(t, s, headers); r.status != 431 {
			t.Errorf("headers: %d", r.status)
		}
	})
	t.Run("gzip body is 415", func(t *testing.T) {
		t.Parallel()
		if r := raw(t, s, post("/mcp/v1", ping, "Content-Encoding: gzip")); r.status != 415 {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
	t.Run("JSON that two parsers read in two ways is 400", func(t *testing.T) {
		t.Parallel()
		for name, body := range map[string]string{
			"duplicate keys":      `{"jsonrpc":"2.0","id":1,"method":"ping","id":2}`,
			"METHOD beside":       `{"jsonrpc":"2.0","id":1,"method":"tools/call","METHOD":"ping"}`,
			"depth 33":            `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`,
			"two objects":         ping + `{}`,
			"byte order mark":     "\xef\xbb\xbf" + ping,
			"lone surrogate":      `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`,
			"bad UTF-8":           "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}",
			"1e999":               `{"jsonrpc":"2.0","id":1e999,"method":"ping"}`,
			"not JSON":            `jsonrpc=2.0`,
			"nothing":             ``,
			"batch":               `[` + ping + `]`,
			"NUL after the value": ping + "\x00",
		} {
			r := raw(t, s, post("/mcp/v1", body))
			if r.status != 400 || !strings.Contains(r.body, `"id":null,"error":`) {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
	})
	t.Run("per_page that is not a plain integer and a tampered cursor are 400", func(t *testing.T) {
		t.Parallel()
		for _, query := range []string{"per_page=-1", "per_page=1e3", "per_page=+5", "per_page=1000000000", "cursor=tampered"} {
			r := raw(t, s, get("/api/network/members?"+query))
			if r.status != 400 || !r.isProblem() || !strings.Contains(r.body, `"errors":[`) {
				t.Errorf("%s: %d %s", query, r.status, r.body)
			}
		}
	})
	t.Run("OPTIONS on a GET route is 204 with CORS", func(t *testing.T) {
		t.Parallel()
		r := raw(t, s, strings.Replace(get("/api/human/amara"), "GET", "OPTIONS", 1))
		if r.status != 204 || r.header.Get("Access-Control-Allow-Origin") != "*" || r.header.Get("Allow") != "GET, HEAD" ||
			r.header.Get("Access-Control-Allow-Methods") != "GET, HEAD" {
			t.Errorf("%d %v", r.status, r.header)
		}
	})
	t.Run("two Authorization lines are an invalid credential", func(t *testing.T) {
		t.Parallel()
		line := "Authorization: Bearer " + backendtest.TokenAll
		if r := raw(t, s, post("/mcp/v1", ping, line, line)); r.status != 401 {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
	t.Run("two lengths and a bad Host are refused by net/http", func(t *testing.T) {
		t.Parallel()
		if r := raw(t, s, post("/mcp/v1", ping, "Content-Length: 3")); r.status != 400 {
			t.Errorf("two lengths: %d", r.status)
		}
		if r := raw(t, s, strings.Replace(get("/mcp/v1"), "Host: kith.example", "Host: a b", 1)); r.status != 400 {
			t.Errorf("bad host: %d", r.status)
		}
	})
	t.Run("Host of another name on a loopback listener is 403 for MCP", func(t *testing.T) {
		t.Parallel()
		r := raw(t, s, strings.Replace(post("/mcp/v1", ping), "Host: kith.example", "Host: evil.example", 1))
		if r.status != http.StatusForbidden || !strings.Contains(r.body, "-32600") {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
}
