package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// maxBody is the largest body that the MCP server reads.
const maxBody = 2 << 20

// padded returns a ping of exactly the size.
func padded(size int) string {
	head, end := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`, `"}}`
	return head + strings.Repeat("x", size-len(head)-len(end)) + end
}

// TestMediaType: a body is JSON as it is, or it is not read.
func TestMediaType(t *testing.T) {
	tests := map[string]struct {
		headers []string
		status  int
	}{
		"JSON":                   {[]string{"Content-Type: application/json"}, http.StatusOK},
		"JSON with a charset":    {[]string{"Content-Type: application/json; charset=utf-8"}, http.StatusOK},
		"JSON in another case":   {[]string{"Content-Type: Application/JSON"}, http.StatusOK},
		"identity":               {[]string{jsonType, "Content-Encoding: identity"}, http.StatusOK},
		"none":                   {nil, http.StatusUnsupportedMediaType},
		"text":                   {[]string{"Content-Type: text/plain"}, http.StatusUnsupportedMediaType},
		"a form":                 {[]string{"Content-Type: application/x-www-form-urlencoded"}, http.StatusUnsupportedMediaType},
		"something like JSON":    {[]string{"Content-Type: application/jsonp"}, http.StatusUnsupportedMediaType},
		"JSON and text":          {[]string{"Content-Type: application/json, text/plain"}, http.StatusUnsupportedMediaType},
		"there twice":            {[]string{jsonType, jsonType}, http.StatusUnsupportedMediaType},
		"gzip":                   {[]string{jsonType, "Content-Encoding: gzip"}, http.StatusUnsupportedMediaType},
		"deflate":                {[]string{jsonType, "Content-Encoding: deflate"}, http.StatusUnsupportedMediaType},
		"gzip of gzip":           {[]string{jsonType, "Content-Encoding: gzip, gzip"}, http.StatusUnsupportedMediaType},
		"Accept is left out":     {[]string{jsonType}, http.StatusOK},
		"Accept is events alone": {[]string{jsonType, "Accept: text/event-stream"}, http.StatusOK},
		"Accept is both":         {[]string{jsonType, "Accept: application/json, text/event-stream"}, http.StatusOK},
	}
	eachTopology(t, func(t *testing.T, s *service) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				got := s.send(t, http.MethodPost, pathSandbox, request(t, "ping", nil), test.headers...)
				if test.status == http.StatusOK {
					if got.status != http.StatusOK || got.reply(t).Error != nil {
						t.Errorf("got %d %s", got.status, got.body)
					}
					return
				}
				checkMalformed(t, got, test.status, codeInvalidRequest)
			})
		}
	})
}

// TestBodySize: 2 MiB are read and no byte more, however the length is told.
func TestBodySize(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		if got := s.visitor().post(t, padded(maxBody)); got.status != http.StatusOK {
			t.Errorf("2 MiB: got %d %s", got.status, got.body)
		}
		checkMalformed(t, s.visitor().post(t, padded(maxBody+1)), http.StatusRequestEntityTooLarge, codeInvalidRequest)
		head := "POST /mcp/sandbox HTTP/1.1\r\nHost: localhost\r\n" + jsonType + "\r\n"
		big := padded(maxBody + 1)
		chunked := fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", head, len(big), big)
		checkMalformed(t, s.sendRaw(t, chunked), http.StatusRequestEntityTooLarge, codeInvalidRequest)
		// A length alone is enough to refuse.
		checkMalformed(t, s.sendRaw(t, head+"Content-Length: 1000000000000\r\n\r\n{"), http.StatusRequestEntityTooLarge, codeInvalidRequest)
	})
}

// TestOrigin: web pages of other origins may not call, nor may a name that was
// made to point to this machine (DNS rebinding).
func TestOrigin(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		tests := map[string]struct {
			headers []string
			status  int
		}{
			"no origin":              {nil, http.StatusOK},
			"our own":                {[]string{"Origin: " + s.base}, http.StatusOK},
			"another":                {[]string{"Origin: https://evil.example"}, http.StatusForbidden},
			"null":                   {[]string{"Origin: null"}, http.StatusForbidden},
			"empty":                  {[]string{"Origin: "}, http.StatusForbidden},
			"our own, another port":  {[]string{"Origin: http://localhost:1"}, http.StatusForbidden},
			"our own, https":         {[]string{"Origin: " + strings.Replace(s.base, "http:", "https:", 1)}, http.StatusForbidden},
			"our own as a prefix":    {[]string{"Origin: " + s.base + ".evil.example"}, http.StatusForbidden},
			"our own and another":    {[]string{"Origin: " + s.base, "Origin: https://evil.example"}, http.StatusForbidden},
			"two in a list":          {[]string{"Origin: " + s.base + " https://evil.example"}, http.StatusForbidden},
			"another host":           {[]string{"Host: evil.example"}, http.StatusForbidden},
			"another host, our port": {[]string{"Host: evil.example" + s.addr[len("127.0.0.1"):]}, http.StatusForbidden},
			"127.0.0.1":              {[]string{"Host: 127.0.0.1"}, http.StatusOK},
			"a name that has ours":   {[]string{"Host: localhost.evil.example"}, http.StatusForbidden},
		}
		live := s.newMember(t).agent(t)
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				for _, a := range []agent{live, s.visitor()} {
					got := a.post(t, toolCall(t, "get_account", arguments{}), test.headers...)
					if test.status == http.StatusForbidden {
						checkMalformed(t, got, test.status, codeInvalidRequest)
					} else if got.status != test.status {
						t.Errorf("got %d %s", got.status, got.body)
					}
				}
			})
		}
	})
}

// TestAllowedOrigins: the operator may let browser clients in.
func TestAllowedOrigins(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		setting, origin string
		status          int
	}{
		{"https://app.example", "https://app.example", http.StatusOK},
		{"https://app.example,https://b.example", "https://b.example", http.StatusOK},
		{"https://app.example", "https://evil.example", http.StatusForbidden},
		{"*", "https://anything.example", http.StatusOK},
		{"*", "null", http.StatusOK},
	} {
		t.Run(test.setting+" and "+test.origin, func(t *testing.T) {
			t.Parallel()
			s := newService(t, onSQLite)
			s.settings["KITH_ALLOWED_ORIGINS"] = test.setting
			s.start()
			if got := s.visitor().post(t, request(t, "ping", nil), "Origin: "+test.origin); got.status != test.status {
				t.Errorf("got %d %s, want %d", got.status, got.body, test.status)
			}
		})
	}
}

// TestAddressesAreNotTakenFromHost: on a listener for everybody, what is told to
// callers is the configured address, whatever the Host header says.
func TestAddressesAreNotTakenFromHost(t *testing.T) {
	t.Parallel()
	s := newService(t, onSQLite)
	s.settings["KITH_BASE_URL"] = "https://kith.example"
	s.addr = "0.0.0.0" + s.addr[len("127.0.0.1"):]
	s.start()
	for _, headers := range [][]string{{"Host: evil.example"}, {"Host: evil.example", "X-Forwarded-Host: evil.example", "Forwarded: host=evil.example"}} {
		for name, got := range map[string]answer{
			"a challenge": agent{s, pathDeprecated, ""}.post(t, request(t, "ping", nil), headers...),
			"metadata":    s.send(t, http.MethodGet, "/.well-known/oauth-protected-resource/mcp/v1", "", headers...),
			"the sandbox": s.send(t, http.MethodGet, "/sandbox", "", headers...),
			"a profile":   s.send(t, http.MethodGet, "/api/human/"+demo, "", headers...),
			"a problem":   s.send(t, http.MethodGet, "/nothing", "", headers...),
		} {
			text := got.body + got.header.Get("WWW-Authenticate") + got.header.Get("Link")
			if strings.Contains(text, "evil.example") || !strings.Contains(text, "https://kith.example/") {
				t.Errorf("%s: got %d %s", name, got.status, text)
			}
		}
	}
	own := s.visitor().post(t, request(t, "ping", nil), "Origin: https://kith.example", "Host: kith.example")
	if own.status != http.StatusOK {
		t.Errorf("our own pages are refused: %d %s", own.status, own.body)
	}
	if got := s.visitor().post(t, request(t, "ping", nil), "Origin: https://evil.example", "Host: evil.example"); got.status != http.StatusForbidden {
		t.Errorf("a page of another host: got %d %s", got.status, got.body)
	}
}

// TestMethodsOfMCP: POST is served and nothing else; clients take a 404 or a 400
// here for the end.
func TestMethodsOfMCP(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		for _, path := range []string{pathCurrent, pathDeprecated, pathSandbox, pathSandboxOld} {
			for _, method := range []string{"GET", "HEAD", "DELETE", "PUT", "PATCH"} {
				got := s.send(t, method, path, "", "Accept: text/event-stream")
				if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "POST" {
					t.Errorf("%s %s: got %d, Allow %q", method, path, got.status, got.header.Get("Allow"))
				}
				if method != "HEAD" {
					checkMalformed(t, got, http.StatusMethodNotAllowed, codeInvalidRequest)
				}
			}
			checkPreflight(t, s.send(t, http.MethodOptions, path, "", "Origin: https://app.example",
				"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type"), "POST")
		}
	})
}

// checkPreflight wants the answer that lets a web page go on.
func checkPreflight(t *testing.T, got answer, method string) {
	t.Helper()
	if got.status != http.StatusNoContent || got.body != "" {
		t.Errorf("OPTIONS: got %d %q, want 204", got.status, got.body)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": method, "Access-Control-Allow-Headers": "authorization", "Allow": method,
	} {
		if value := got.header.Get(name); !strings.Contains(value, want) {
			t.Errorf("OPTIONS: %s is %q, want %q in it", name, value, want)
		}
	}
	if got.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Error("OPTIONS: credentials of the browser are allowed")
	}
}

// TestCORSOnEveryAnswer: a web page can read refusals too.
func TestCORSOnEveryAnswer(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		for name, got := range map[string]answer{
			"200": s.visitor().post(t, request(t, "ping", nil)),
			"400": s.visitor().post(t, "{"),
			"401": agent{s, pathDeprecated, ""}.post(t, request(t, "ping", nil)),
			"404": s.send(t, http.MethodGet, "/nothing", ""),
			"405": s.send(t, http.MethodGet, pathCurrent, ""),
			"415": s.send(t, http.MethodPost, pathCurrent, "{}"),
			"PRM": s.send(t, http.MethodGet, "/.well-known/oauth-protected-resource", ""),
		} {
			if got.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s: no CORS", name)
			}
			exposed := got.header.Get("Access-Control-Expose-Headers")
			for _, header := range []string{"WWW-Authenticate", "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining",
				"RateLimit-Reset", "Retry-After", "Idempotency-Replayed", "Deprecation", "Sunset", "Link", "ETag", "Location", "MCP-Protocol-Version", "X-Request-Id"} {
				if !strings.Contains(exposed, header) {
					t.Errorf("%s: %s is not exposed", name, header)
				}
			}
		}
	})
}
