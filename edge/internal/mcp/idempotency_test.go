package mcp_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	rpc "connectrpc.com/connect"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// withKey sends a body with Idempotency-Key lines.
func withKey(t *testing.T, e *edge, path, body string, keys ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+backendtest.TokenAll)
	r.Header["Idempotency-Key"] = keys
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

func mcpPaths() []string {
	return []string{"/mcp/v1", "/mcp", "/mcp/sandbox", "/sandbox/mcp/v1", "/sandbox/mcp/sandbox"}
}

func TestInvalidKeys(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for name, keys := range map[string][]string{
		"empty": {""}, "256 bytes": {strings.Repeat("k", 256)}, "UTF-8": {"schlüssel"}, "two lines": {"a", "b"},
		"two equal lines": {"a", "a"}, "tab": {"a\tb"}, "DEL": {"a\x7f"}, "line feed": {"a\nb"}, "NUL": {"\x00"},
	} {
		for _, path := range mcpPaths() {
			for _, body := range []string{callOf("zoe"), ping} {
				w := withKey(t, e, path, body, keys...)
				if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"code":-32600`) {
					t.Errorf("%s on %s: %d %s", name, path, w.Code, w.Body)
				}
				if calls := len(e.backend.Requests()); calls != 0 {
					t.Errorf("%s on %s reached the backend", name, path)
				}
			}
		}
	}
}

func TestKeysAreForwardedUnchanged(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for _, key := range []string{"k", strings.Repeat("k", 255), "a, b", `"quoted"`, "a  b", "~!@#$%^&*()"} {
		for _, path := range mcpPaths() {
			sent := len(e.backend.Requests())
			if w := withKey(t, e, path, callOf("zoe"), key); w.Code != http.StatusOK {
				t.Errorf("%q on %s: %d %s", key, path, w.Code, w.Body)
			}
			h := e.backend.Requests()[sent]
			if h.Get("Kith-Idempotency-Key") != key || len(h.Get("Kith-Request-Fingerprint")) != 64 {
				t.Errorf("%q on %s: %v", key, path, h)
			}
			if sandbox := strings.Contains(path, "sandbox"); (h.Get("Kith-Sandbox-Visitor") == "192.0.2.1") != sandbox {
				t.Errorf("%s: bucket %q", path, h.Get("Kith-Sandbox-Visitor"))
			}
		}
	}
}

// The internal headers between edge and backend are dropped from a caller's request.
func TestInternalHeadersAreDropped(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	post(t, e, "/mcp/sandbox", callOf("zoe"), "Kith-Idempotency-Key", "stolen", "Kith-Sandbox-Visitor", "1.2.3.4", "Kith-Request-Fingerprint", "x")
	h := e.backend.Requests()[0]
	if h.Get("Kith-Idempotency-Key") != "" || h.Get("Kith-Sandbox-Visitor") != "192.0.2.1" || h.Get("Kith-Request-Fingerprint") != "" {
		t.Errorf("forwarded: %v", h)
	}
}

// A different body has a different fingerprint even with the same key, and so has a request to the
// sandbox. The same bytes have the same fingerprint on each path of the operation.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	prints := map[string]string{}
	for _, c := range []struct{ name, path, body string }{
		{"one", "/mcp/v1", callOf("zoe")}, {"one", "/mcp", callOf("zoe")},
		{"another body", "/mcp/v1", callOf("bo")}, {"white space", "/mcp/v1", callOf("zoe") + " "},
		{"sandbox", "/mcp/sandbox", callOf("zoe")}, {"sandbox", "/sandbox/mcp/v1", callOf("zoe")},
		{"sandbox", "/sandbox/mcp/sandbox", callOf("zoe")},
	} {
		name := c.name
		for range 2 {
			sent := len(e.backend.Requests())
			withKey(t, e, c.path, c.body, "k")
			print := e.backend.Requests()[sent].Get("Kith-Request-Fingerprint")
			if other, seen := prints[print]; seen && other != name {
				t.Errorf("%s and %s have the same fingerprint", name, other)
			}
			prints[print] = name
		}
		if n := len(prints); name == "one" && n != 1 {
			t.Errorf("the paths of one operation have %d fingerprints", n)
		}
	}
	if len(prints) != 4 {
		t.Errorf("%d fingerprints", len(prints))
	}
}

func TestPureMethodsIgnoreTheKey(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for _, method := range []string{"initialize", "ping", "tools/list"} {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"protocolVersion":"2025-06-18"}}`
		for _, path := range mcpPaths() {
			for range 2 {
				w := withKey(t, e, path, body, backendtest.KeyInFlight)
				if w.Code != http.StatusOK || w.Header().Get("Idempotency-Replayed") != "" {
					t.Errorf("%s on %s: %d %s", method, path, w.Code, w.Body)
				}
				for _, h := range e.backend.Requests() {
					if h.Get("Kith-Idempotency-Key") != "" {
						t.Errorf("%s on %s sends the key on", method, path)
					}
				}
			}
		}
	}
}

func TestInFlight(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for _, path := range mcpPaths() {
		w := withKey(t, e, path, callOf("zoe"), backendtest.KeyInFlight)
		if w.Code != http.StatusConflict || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), `"id":1,"error":{"code":-32600`) {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
}

func TestKeyOfAnotherRequest(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for _, path := range mcpPaths() {
		w := withKey(t, e, path, callOf("zoe"), backendtest.KeyReused)
		if w.Code != http.StatusUnprocessableEntity || w.Header().Get("Retry-After") != "" || !strings.Contains(w.Body.String(), `"code":-32600`) {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
}

// A replay is the same answer with Idempotency-Replayed, whether the tool succeeded or failed.
func TestReplay(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for name, body := range map[string]string{
		"answer":     callOf("zoe"),
		"tool error": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_connection","arguments":{"id":"con_kf924hj974"}}}`,
	} {
		first, again := withKey(t, e, "/mcp/v1", body, "new"), withKey(t, e, "/mcp/v1", body, backendtest.KeyReplayed)
		if first.Body.String() != again.Body.String() || first.Code != again.Code {
			t.Errorf("%s: %s, then %s", name, first.Body, again.Body)
		}
		if first.Header().Get("Idempotency-Replayed") != "" || again.Header().Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s: %v, then %v", name, first.Header(), again.Header())
		}
	}
}

// Refusals before the tool runs do not depend on the key.
func TestRefusalsOfCallsWithAKey(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	dead := post(t, e, "/mcp/v1", callOf("zoe"), "Idempotency-Key", "k", "Authorization", "Bearer dead")
	dead.wantError(t, http.StatusUnauthorized, -32000, "1")
	refused := post(t, e, "/mcp/v1", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_connection","arguments":{"name":"x"}}}`,
		append(bearerOf(backendtest.TokenReader), "Idempotency-Key", "k")...)
	refused.wantError(t, http.StatusOK, -32001, "1")
	e.backend.Fail(rpc.NewError(rpc.CodeUnavailable, errors.New("store is down")))
	down := post(t, e, "/mcp/v1", callOf("zoe"), append(bearerOf(backendtest.TokenAll), "Idempotency-Key", "k")...)
	down.wantError(t, http.StatusServiceUnavailable, -32603, "1")
	if down.header.Get("Retry-After") != "1" {
		t.Errorf("headers: %v", down.header)
	}
}

// A call that the edge refuses itself is refused through the backend if it has a key, which binds the
// key; the answer is the one without a key.
func TestRefusalsOfTheEdgeBindTheirKeys(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for name, c := range map[string]struct{ params, header, value string }{
		"unknown tool":        {`{"name":"no_such_tool"}`, "", ""},
		"no tool":             {`{}`, "", ""},
		"params is a list":    {`[1]`, "", ""},
		"arguments is a list": {`{"name":"search_connections","arguments":[1]}`, "", ""},
		"two spellings":       {`{"name":"search_connections","Arguments":{}}`, "", ""},
		"left out by header":  {`{"name":"search_connections","arguments":{"query":"zoe"}}`, "X-MCP-Tools", "get_account"},
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + c.params + `}`
		for _, path := range []string{"/mcp/v1", "/mcp", "/mcp/sandbox"} {
			headers := bearerOf(backendtest.TokenAll)
			if c.header != "" {
				headers = append(headers, c.header, c.value)
			}
			send := func(key string) answer { return post(t, e, path, body, append(headers, "Idempotency-Key", key)...) }
			without := post(t, e, path, body, headers...)
			if without.status != http.StatusOK || without.Error == nil {
				t.Fatalf("%s on %s: %d %s", name, path, without.status, without.body)
			}
			for key, replayed := range map[string]string{"new": "", backendtest.KeyReplayed: "true"} {
				sent := len(e.backend.Requests())
				got := send(key)
				if got.status != http.StatusOK || got.body != without.body || got.header.Get("Idempotency-Replayed") != replayed {
					t.Errorf("%s on %s, key %s: %d %v %s", name, path, key, got.status, got.header, got.body)
				}
				if h := e.backend.Requests()[sent]; h.Get("Kith-Idempotency-Key") != key || len(h.Get("Kith-Request-Fingerprint")) != 64 {
					t.Errorf("%s on %s: the key was not sent on: %v", name, path, h)
				}
			}
			send(backendtest.KeyReused).wantError(t, http.StatusUnprocessableEntity, -32600, "1")
			send(backendtest.KeyInFlight).wantError(t, http.StatusConflict, -32600, "1")
		}
	}
	dead := post(t, e, "/mcp/v1", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, "Idempotency-Key", "k", "Authorization", "Bearer dead")
	dead.wantError(t, http.StatusUnauthorized, -32000, "1")
}

// Rate limits count a replay and a conflict like any other request.
func TestRateLimitHeadersOfCallsWithAKey(t *testing.T) {
	t.Parallel()
	e := newLimitedEdge(t)
	withKey(t, e, "/mcp/v1", ping) // counts, too, once the credential is known
	withKey(t, e, "/mcp/v1", callOf("zoe"), "first")
	for i, key := range []string{"new", backendtest.KeyReplayed, backendtest.KeyInFlight, backendtest.KeyReused} {
		w := withKey(t, e, "/mcp/v1", callOf("zoe"), key)
		left := w.Header()["RateLimit-Remaining"] //nolint:staticcheck // as it is written
		if want := []string{"7", "6", "5", "4"}[i]; len(left) != 1 || left[0] != want {
			t.Errorf("%s: %v", key, w.Header())
		}
	}
}
