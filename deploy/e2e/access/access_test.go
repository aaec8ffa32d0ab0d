// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/access -run 'TestNoToken|TestDeadToken|TestMetadataOfEachPath|TestRevokedToken|TestExpiredToken|TestCredentialInQuery'

package access

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestNoToken: on /mcp/v1 only tools/call needs a token; on /mcp every method does.
func TestNoToken(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		for name, body := range harness.Messages(t) {
			t.Run(name, func(t *testing.T) {
				if strings.HasSuffix(name, "call") {
					harness.CheckChallenge(t, s.Agent(harness.PathCurrent, ""), body, "")
				} else if got := (s.Agent(harness.PathCurrent, "")).Post(t, body); got.Status >= http.StatusBadRequest {
					t.Errorf("without a token: got %d %s", got.Status, got.Body)
				}
				harness.CheckChallenge(t, s.Agent(harness.PathDeprecated, ""), body, "")
				if got := s.SandboxAgent().Post(t, body); got.Status >= http.StatusBadRequest {
					t.Errorf("in the sandbox: got %d %s", got.Status, got.Body)
				}
			})
		}
	})
}

// TestDeadToken: every method refuses a token that is wrong, revoked, expired or malformed.
func TestDeadToken(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		revoked, live := ada.Token(t), ada.Token(t)
		ada.Revoke(t, revoked)
		expired := expiredToken(t, ada)
		dead := map[string][]string{
			"wrong":                       {"Authorization: Bearer " + live.Bearer[:len(live.Bearer)-4] + "AAAA"},
			"a JWT":                       {"Authorization: Bearer eyJhbGciOiJub25lIn0.e30."},
			"revoked":                     {"Authorization: Bearer " + revoked.Bearer},
			"expired":                     {"Authorization: Bearer " + expired.Bearer},
			"truncated":                   {"Authorization: Bearer " + live.Bearer[:20]},
			"in upper case":               {"Authorization: Bearer " + strings.ToUpper(live.Bearer)},
			"the token's id":              {"Authorization: Bearer " + ada.TokenID(t, live)},
			"empty":                       {"Authorization: Bearer"},
			"Basic scheme":                {"Authorization: Basic " + live.Bearer},
			"with a comma":                {"Authorization: Bearer " + live.Bearer + ", Bearer " + live.Bearer},
			"sent twice":                  {"Authorization: Bearer " + live.Bearer, "Authorization: Bearer " + live.Bearer},
			"a live one, then a dead one": {"Authorization: Bearer " + live.Bearer, "Authorization: Bearer x"},
			"very long":                   {"Authorization: Bearer " + strings.Repeat("a", 8000)},
		}
		for death, headers := range dead {
			t.Run(death, func(t *testing.T) {
				for name, body := range harness.Messages(t) {
					for _, path := range []string{harness.PathCurrent, harness.PathDeprecated} {
						t.Run(path+" "+name, func(t *testing.T) {
							harness.CheckChallenge(t, s.Agent(path, ""), body, harness.InvalidToken, headers...)
						})
					}
				}
			})
		}
	})
}

// TestMetadataOfEachPath: the metadata that a challenge points to names exactly the
// requested path. Without a path it names the resource of the specification, /mcp.
func TestMetadataOfEachPath(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for path, resource := range map[string]string{"": harness.PathDeprecated, harness.PathCurrent: harness.PathCurrent, harness.PathDeprecated: harness.PathDeprecated} {
			got := s.Send(t, http.MethodGet, "/.well-known/oauth-protected-resource"+path, "")
			var metadata struct {
				Resource string   `json:"resource"`
				Servers  []string `json:"authorization_servers"`
				Scopes   []string `json:"scopes_supported"`
			}
			if err := json.Unmarshal([]byte(got.Body), &metadata); err != nil || got.Status != http.StatusOK {
				t.Fatalf("%q: got %d %s", path, got.Status, got.Body)
			}
			if metadata.Resource != s.Base+resource || !slices.Equal(metadata.Servers, []string{s.Base}) {
				t.Errorf("%q: got %s", path, got.Body)
			}
			if !slices.Contains(metadata.Scopes, "write") || !slices.Contains(metadata.Scopes, "connections") {
				t.Errorf("%q: scopes %q", path, metadata.Scopes)
			}
		}
		for _, path := range []string{harness.PathSandbox, harness.PathSandboxOld, "/mcp/docs", "/x"} {
			if got := s.Send(t, http.MethodGet, "/.well-known/oauth-protected-resource"+path, ""); got.Status != http.StatusNotFound {
				t.Errorf("%q: got %d, want 404", path, got.Status)
			}
		}
	})
}

// TestRevokedToken: the next call after the revocation is refused, even if the token
// was used a moment before it.
func TestRevokedToken(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		other := ada.Token(t)
		for range 5 {
			token := ada.Token(t)
			a := s.Agent(harness.PathCurrent, token.Bearer)
			for range 3 {
				a.Call(t, "get_account", harness.Arguments{})
			}
			ada.Revoke(t, token)
			harness.CheckChallenge(t, a, harness.ToolCall(t, "get_account", harness.Arguments{}), harness.InvalidToken)
		}
		s.Agent(harness.PathCurrent, other.Bearer).Call(t, "get_account", harness.Arguments{})
	})
}

// TestExpiredToken: a token works until it expires.
func TestExpiredToken(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		a := s.Agent(harness.PathCurrent, expiredToken(t, ada).Bearer)
		harness.CheckChallenge(t, a, harness.ToolCall(t, "get_account", harness.Arguments{}), harness.InvalidToken)
	})
}

// expiredToken returns a token that worked and has expired since.
func expiredToken(t *testing.T, m *harness.Member) harness.PersonalToken {
	t.Helper()
	expired := m.TokenWith(t, "--expires", "5s")
	a := m.Service.Agent(harness.PathCurrent, expired.Bearer)
	a.Call(t, "get_account", harness.Arguments{})
	body := harness.ToolCall(t, "get_account", harness.Arguments{})
	harness.Eventually(t, "the token has expired", func() bool { return a.Post(t, body).Status != http.StatusOK })
	return expired
}

// TestCredentialInQuery: a credential in the query string is never accepted, whatever
// the parameter is called.
func TestCredentialInQuery(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		bearer := s.NewMember(t).Token(t).Bearer
		for _, name := range []string{"access_token", "token", "api_key", "bearer_token", "Authorization", "key"} {
			for _, path := range []string{harness.PathCurrent, harness.PathDeprecated} {
				a := s.Agent(path+"?"+name+"="+bearer, "")
				got := a.Post(t, harness.ToolCall(t, "get_account", harness.Arguments{}))
				if got.Status != http.StatusBadRequest && got.Status != http.StatusUnauthorized {
					t.Errorf("%s?%s=…: got %d %s", path, name, got.Status, got.Body)
				}
			}
		}
	})
}
