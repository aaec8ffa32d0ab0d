package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Codes that the rulings give to MCP errors.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
	codeRefused        = -32001
)

// invalidToken is what a challenge says when a credential was presented.
const invalidToken = `error="invalid_token"`

// messages has one message of each kind.
func messages(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"initialize":     request(t, "initialize", map[string]any{"protocolVersion": "2025-06-18"}),
		"ping":           request(t, "ping", nil),
		"tools/list":     request(t, "tools/list", nil),
		"tools/call":     toolCall(t, "get_account", arguments{}),
		"a writing call": toolCall(t, "create_connection", arguments{"name": "Nobody"}),
		"an unknown one": request(t, "no/such/method", nil),
		"a notification": `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
}

// TestNoToken: only tools/call needs one, but everything does on /mcp.
func TestNoToken(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		for name, body := range messages(t) {
			t.Run(name, func(t *testing.T) {
				if strings.HasSuffix(name, "call") {
					checkChallenge(t, agent{s, pathCurrent, ""}, body, "")
				} else if got := (agent{s, pathCurrent, ""}).post(t, body); got.status >= http.StatusBadRequest {
					t.Errorf("without a token: got %d %s", got.status, got.body)
				}
				checkChallenge(t, agent{s, pathDeprecated, ""}, body, "")
				if got := s.visitor().post(t, body); got.status >= http.StatusBadRequest {
					t.Errorf("in the sandbox: got %d %s", got.status, got.body)
				}
			})
		}
	})
}

// TestDeadToken: a dead one is refused with each method, whatever it died of.
func TestDeadToken(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		ada := s.newMember(t)
		revoked, live := ada.token(t), ada.token(t)
		ada.revoke(t, revoked)
		expired := ada.expiredToken(t)
		dead := map[string][]string{
			"wrong":                {"Authorization: Bearer " + live.bearer[:len(live.bearer)-4] + "AAAA"},
			"of another kind":      {"Authorization: Bearer eyJhbGciOiJub25lIn0.e30."},
			"revoked":              {"Authorization: Bearer " + revoked.bearer},
			"expired":              {"Authorization: Bearer " + expired.bearer},
			"cut off":              {"Authorization: Bearer " + live.bearer[:20]},
			"in upper case":        {"Authorization: Bearer " + strings.ToUpper(live.bearer)},
			"its id":               {"Authorization: Bearer " + ada.tokenID(t, live)},
			"empty":                {"Authorization: Bearer"},
			"of another scheme":    {"Authorization: Basic " + live.bearer},
			"with a comma":         {"Authorization: Bearer " + live.bearer + ", Bearer " + live.bearer},
			"there twice":          {"Authorization: Bearer " + live.bearer, "Authorization: Bearer " + live.bearer},
			"live and then a dead": {"Authorization: Bearer " + live.bearer, "Authorization: Bearer x"},
			"very long":            {"Authorization: Bearer " + strings.Repeat("a", 8000)},
		}
		for death, headers := range dead {
			t.Run(death, func(t *testing.T) {
				for name, body := range messages(t) {
					for _, path := range []string{pathCurrent, pathDeprecated} {
						t.Run(path+" "+name, func(t *testing.T) {
							checkChallenge(t, agent{s, path, ""}, body, invalidToken, headers...)
						})
					}
				}
			})
		}
	})
}

// checkChallenge wants a 401 with exactly one challenge, which leads to the
// metadata of the very path.
func checkChallenge(t *testing.T, a agent, body, parameter string, headers ...string) {
	t.Helper()
	got := a.post(t, body, headers...)
	if got.status != http.StatusUnauthorized {
		t.Fatalf("got %d %s, want 401", got.status, got.body)
	}
	if r := got.reply(t); r.Error == nil || r.Result != nil || r.Error.Message == "" {
		t.Errorf("the body is no JSON-RPC error: %s", got.body)
	}
	checkJSONBody(t, got)
	challenges := got.header.Values("WWW-Authenticate")
	metadata := `resource_metadata="` + a.service.base + "/.well-known/oauth-protected-resource" + a.path + `"`
	if len(challenges) != 1 || !strings.HasPrefix(challenges[0], "Bearer ") || !strings.Contains(challenges[0], metadata) {
		t.Errorf("WWW-Authenticate is %q, want one Bearer with %s", challenges, metadata)
	}
	if has := strings.Contains(strings.Join(challenges, ""), "error="); has != (parameter != "") {
		t.Errorf("WWW-Authenticate is %q, want %q in it", challenges, parameter)
	}
	if !strings.Contains(strings.Join(challenges, ""), parameter) {
		t.Errorf("WWW-Authenticate is %q, want %q in it", challenges, parameter)
	}
}

// checkJSONBody wants what every JSON-RPC answer has in its head.
func checkJSONBody(t *testing.T, got answer) {
	t.Helper()
	if kind := got.header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("Content-Type is %q", kind)
	}
	if id, has := got.header["Mcp-Session-Id"]; has {
		t.Errorf("a session was begun: %q", id)
	}
}

// TestMetadataOfEachPath: what a challenge points to names exactly the path. Without
// a path it names the resource of the specification, /mcp.
func TestMetadataOfEachPath(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		for path, resource := range map[string]string{"": pathDeprecated, pathCurrent: pathCurrent, pathDeprecated: pathDeprecated} {
			got := s.send(t, http.MethodGet, "/.well-known/oauth-protected-resource"+path, "")
			var metadata struct {
				Resource string   `json:"resource"`
				Servers  []string `json:"authorization_servers"`
				Scopes   []string `json:"scopes_supported"`
			}
			if err := json.Unmarshal([]byte(got.body), &metadata); err != nil || got.status != http.StatusOK {
				t.Fatalf("%q: got %d %s", path, got.status, got.body)
			}
			if metadata.Resource != s.base+resource || !slices.Equal(metadata.Servers, []string{s.base}) {
				t.Errorf("%q: got %s", path, got.body)
			}
			if !slices.Contains(metadata.Scopes, "write") || !slices.Contains(metadata.Scopes, "connections") {
				t.Errorf("%q: scopes %q", path, metadata.Scopes)
			}
		}
		for _, path := range []string{pathSandbox, pathSandboxOld, "/mcp/docs", "/x"} {
			if got := s.send(t, http.MethodGet, "/.well-known/oauth-protected-resource"+path, ""); got.status != http.StatusNotFound {
				t.Errorf("%q: got %d, want 404", path, got.status)
			}
		}
	})
}

// TestRevokedToken: the very next call is refused, even though the token was
// used a moment ago.
func TestRevokedToken(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		ada := s.newMember(t)
		other := ada.token(t)
		for range 5 {
			token := ada.token(t)
			a := agent{s, pathCurrent, token.bearer}
			for range 3 {
				a.call(t, "get_account", arguments{})
			}
			ada.revoke(t, token)
			checkChallenge(t, a, toolCall(t, "get_account", arguments{}), invalidToken)
		}
		agent{s, pathCurrent, other.bearer}.call(t, "get_account", arguments{})
	})
}

// TestExpiredToken: a token works until its time is over.
func TestExpiredToken(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		ada := s.newMember(t)
		a := agent{s, pathCurrent, ada.expiredToken(t).bearer}
		checkChallenge(t, a, toolCall(t, "get_account", arguments{}), invalidToken)
	})
}

// expiredToken is a token that worked, until its time was over.
func (m *member) expiredToken(t *testing.T) personalToken {
	t.Helper()
	expired := m.tokenWith(t, "--expires", "5s")
	a := agent{m.service, pathCurrent, expired.bearer}
	a.call(t, "get_account", arguments{})
	body := toolCall(t, "get_account", arguments{})
	eventually(t, "the token has expired", func() bool { return a.post(t, body).status != http.StatusOK })
	return expired
}

// TestCredentialInQuery: it is never accepted there, under no name.
func TestCredentialInQuery(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		bearer := s.newMember(t).token(t).bearer
		for _, name := range []string{"access_token", "token", "api_key", "bearer_token", "Authorization", "key"} {
			for _, path := range []string{pathCurrent, pathDeprecated} {
				a := agent{s, path + "?" + name + "=" + bearer, ""}
				got := a.post(t, toolCall(t, "get_account", arguments{}))
				if got.status != http.StatusBadRequest && got.status != http.StatusUnauthorized {
					t.Errorf("%s?%s=…: got %d %s", path, name, got.status, got.body)
				}
			}
		}
	})
}
