// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run 'TestMediaType|TestBodySize|TestOrigin|TestAllowedOrigins|TestAddressesAreNotTakenFromHost|TestMethodsOfMCP|TestCORSOnEveryAnswer'

package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestMediaType: a body that is not JSON, or is compressed, is refused unread.
func TestMediaType(t *testing.T) {
	tests := map[string]struct {
		headers []string
		status  int
	}{
		"JSON":                   {[]string{"Content-Type: application/json"}, http.StatusOK},
		"JSON with a charset":    {[]string{"Content-Type: application/json; charset=utf-8"}, http.StatusOK},
		"JSON in another case":   {[]string{"Content-Type: Application/JSON"}, http.StatusOK},
		"identity":               {[]string{harness.JSONType, "Content-Encoding: identity"}, http.StatusOK},
		"none":                   {nil, http.StatusUnsupportedMediaType},
		"text":                   {[]string{"Content-Type: text/plain"}, http.StatusUnsupportedMediaType},
		"a form":                 {[]string{"Content-Type: application/x-www-form-urlencoded"}, http.StatusUnsupportedMediaType},
		"a type like JSON":       {[]string{"Content-Type: application/jsonp"}, http.StatusUnsupportedMediaType},
		"JSON and text":          {[]string{"Content-Type: application/json, text/plain"}, http.StatusUnsupportedMediaType},
		"sent twice":             {[]string{harness.JSONType, harness.JSONType}, http.StatusUnsupportedMediaType},
		"gzip":                   {[]string{harness.JSONType, "Content-Encoding: gzip"}, http.StatusUnsupportedMediaType},
		"deflate":                {[]string{harness.JSONType, "Content-Encoding: deflate"}, http.StatusUnsupportedMediaType},
		"gzip of gzip":           {[]string{harness.JSONType, "Content-Encoding: gzip, gzip"}, http.StatusUnsupportedMediaType},
		"no Accept":              {[]string{harness.JSONType}, http.StatusOK},
		"Accept is events alone": {[]string{harness.JSONType, "Accept: text/event-stream"}, http.StatusOK},
		"Accept is both":         {[]string{harness.JSONType, "Accept: application/json, text/event-stream"}, http.StatusOK},
	}
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				got := s.Send(t, http.MethodPost, harness.PathSandbox, harness.Request(t, "ping", nil), test.headers...)
				if test.status == http.StatusOK {
					if got.Status != http.StatusOK || got.Reply(t).Error != nil {
						t.Errorf("got %d %s", got.Status, got.Body)
					}
					return
				}
				harness.CheckMalformed(t, got, test.status, harness.CodeInvalidRequest)
			})
		}
	})
}

// TestBodySize: a body of 2 MiB is accepted and one byte more is refused, with a
// Content-Length or chunked.
func TestBodySize(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		if got := s.SandboxAgent().Post(t, harness.Padded(harness.MaxBody)); got.Status != http.StatusOK {
			t.Errorf("2 MiB: got %d %s", got.Status, got.Body)
		}
		harness.CheckMalformed(t, s.SandboxAgent().Post(t, harness.Padded(harness.MaxBody+1)), http.StatusRequestEntityTooLarge, harness.CodeInvalidRequest)
		head := "POST /mcp/sandbox HTTP/1.1\r\nHost: localhost\r\n" + harness.JSONType + "\r\n"
		big := harness.Padded(harness.MaxBody + 1)
		chunked := fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", head, len(big), big)
		harness.CheckMalformed(t, s.SendRaw(t, chunked), http.StatusRequestEntityTooLarge, harness.CodeInvalidRequest)
		// The Content-Length alone is enough to refuse a request.
		harness.CheckMalformed(t, s.SendRaw(t, head+"Content-Length: 1000000000000\r\n\r\n{"), http.StatusRequestEntityTooLarge, harness.CodeInvalidRequest)
	})
}

// TestOrigin: requests from web pages of other origins are refused, and requests for a
// host name that an attacker points at this machine (DNS rebinding).
func TestOrigin(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		tests := map[string]struct {
			headers []string
			status  int
		}{
			"no origin":                    {nil, http.StatusOK},
			"our own":                      {[]string{"Origin: " + s.Base}, http.StatusOK},
			"another":                      {[]string{"Origin: https://evil.example"}, http.StatusForbidden},
			"null":                         {[]string{"Origin: null"}, http.StatusForbidden},
			"empty":                        {[]string{"Origin: "}, http.StatusForbidden},
			"our own, another port":        {[]string{"Origin: http://localhost:1"}, http.StatusForbidden},
			"our own, https":               {[]string{"Origin: " + strings.Replace(s.Base, "http:", "https:", 1)}, http.StatusForbidden},
			"our own as a prefix":          {[]string{"Origin: " + s.Base + ".evil.example"}, http.StatusForbidden},
			"our own and another":          {[]string{"Origin: " + s.Base, "Origin: https://evil.example"}, http.StatusForbidden},
			"two in a list":                {[]string{"Origin: " + s.Base + " https://evil.example"}, http.StatusForbidden},
			"another host":                 {[]string{"Host: evil.example"}, http.StatusForbidden},
			"another host, our port":       {[]string{"Host: evil.example" + s.Addr[len("127.0.0.1"):]}, http.StatusForbidden},
			"127.0.0.1":                    {[]string{"Host: 127.0.0.1"}, http.StatusOK},
			"a host with ours as a prefix": {[]string{"Host: localhost.evil.example"}, http.StatusForbidden},
		}
		live := s.NewMember(t).Agent(t)
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				for _, a := range []harness.Agent{live, s.SandboxAgent()} {
					got := a.Post(t, harness.ToolCall(t, "get_account", harness.Arguments{}), test.headers...)
					if test.status == http.StatusForbidden {
						harness.CheckMalformed(t, got, test.status, harness.CodeInvalidRequest)
					} else if got.Status != test.status {
						t.Errorf("got %d %s", got.Status, got.Body)
					}
				}
			})
		}
	})
}

// TestAllowedOrigins: the operator can allow browser clients of other origins.
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
			s := harness.NewService(t, harness.SQLite)
			s.Settings["KITH_ALLOWED_ORIGINS"] = test.setting
			s.Start()
			if got := s.SandboxAgent().Post(t, harness.Request(t, "ping", nil), "Origin: "+test.origin); got.Status != test.status {
				t.Errorf("got %d %s, want %d", got.Status, got.Body, test.status)
			}
		})
	}
}

// TestAddressesAreNotTakenFromHost: on a listener for all interfaces, answers contain the
// configured address, whatever the Host header says.
func TestAddressesAreNotTakenFromHost(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.SQLite)
	s.Settings["KITH_BASE_URL"] = "https://kith.example"
	s.Addr = "0.0.0.0" + s.Addr[len("127.0.0.1"):]
	s.Start()
	for _, headers := range [][]string{{"Host: evil.example"}, {"Host: evil.example", "X-Forwarded-Host: evil.example", "Forwarded: host=evil.example"}} {
		for name, got := range map[string]harness.Response{
			"a challenge": s.Agent(harness.PathDeprecated, "").Post(t, harness.Request(t, "ping", nil), headers...),
			"metadata":    s.Send(t, http.MethodGet, "/.well-known/oauth-protected-resource/mcp/v1", "", headers...),
			"the sandbox": s.Send(t, http.MethodGet, "/sandbox", "", headers...),
			"a profile":   s.Send(t, http.MethodGet, "/api/human/"+harness.Demo, "", headers...),
			"a problem":   s.Send(t, http.MethodGet, "/nothing", "", headers...),
		} {
			text := got.Body + got.Header.Get("WWW-Authenticate") + got.Header.Get("Link")
			if strings.Contains(text, "evil.example") || !strings.Contains(text, "https://kith.example/") {
				t.Errorf("%s: got %d %s", name, got.Status, text)
			}
		}
	}
	own := s.SandboxAgent().Post(t, harness.Request(t, "ping", nil), "Origin: https://kith.example", "Host: kith.example")
	if own.Status != http.StatusOK {
		t.Errorf("our own pages are refused: %d %s", own.Status, own.Body)
	}
	if got := s.SandboxAgent().Post(t, harness.Request(t, "ping", nil), "Origin: https://evil.example", "Host: evil.example"); got.Status != http.StatusForbidden {
		t.Errorf("a page of another host: got %d %s", got.Status, got.Body)
	}
}

// TestMethodsOfMCP: only POST is served; other methods get a 405, since clients treat a
// 404 or a 400 here as fatal.
func TestMethodsOfMCP(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for _, path := range []string{harness.PathCurrent, harness.PathDeprecated, harness.PathSandbox, harness.PathSandboxOld} {
			for _, method := range []string{"GET", "HEAD", "DELETE", "PUT", "PATCH"} {
				got := s.Send(t, method, path, "", "Accept: text/event-stream")
				if got.Status != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "POST" {
					t.Errorf("%s %s: got %d, Allow %q", method, path, got.Status, got.Header.Get("Allow"))
				}
				if method != "HEAD" {
					harness.CheckMalformed(t, got, http.StatusMethodNotAllowed, harness.CodeInvalidRequest)
				}
			}
			harness.CheckPreflight(t, s.Send(t, http.MethodOptions, path, "", "Origin: https://app.example",
				"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type"), "POST")
		}
	})
}

// TestCORSOnEveryAnswer: web pages can read error answers too.
func TestCORSOnEveryAnswer(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for name, got := range map[string]harness.Response{
			"200": s.SandboxAgent().Post(t, harness.Request(t, "ping", nil)),
			"400": s.SandboxAgent().Post(t, "{"),
			"401": s.Agent(harness.PathDeprecated, "").Post(t, harness.Request(t, "ping", nil)),
			"404": s.Send(t, http.MethodGet, "/nothing", ""),
			"405": s.Send(t, http.MethodGet, harness.PathCurrent, ""),
			"415": s.Send(t, http.MethodPost, harness.PathCurrent, "{}"),
			"PRM": s.Send(t, http.MethodGet, "/.well-known/oauth-protected-resource", ""),
		} {
			if got.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s: no CORS", name)
			}
			exposed := got.Header.Get("Access-Control-Expose-Headers")
			for _, header := range []string{"WWW-Authenticate", "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining",
				"RateLimit-Reset", "Retry-After", "Idempotency-Replayed", "Deprecation", "Sunset", "Link", "ETag", "Location", "MCP-Protocol-Version", "X-Request-Id"} {
				if !strings.Contains(exposed, header) {
					t.Errorf("%s: %s is not exposed", name, header)
				}
			}
		}
	})
}
