// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/access -run 'TestSuspendedMember|TestRevokedClient'

package access

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestSuspendedMember: the tokens of a suspended member stop working at the next call
// and work again when the member is resumed; other members are not affected.
func TestSuspendedMember(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada, bob := s.NewMember(t), s.NewMember(t)
		ada.Agent(t).Create(t, harness.Arguments{"name": "Grace Hopper"})
		a := s.Agent(harness.PathCurrent, ada.Token(t).Bearer)
		if out := s.Operate(t, "", "member", "suspend", ada.Username); !strings.Contains(out, "is suspended") {
			t.Errorf("it says %q", out)
		}
		got := a.Post(t, harness.ToolCall(t, "get_account", harness.Arguments{}))
		if got.Status != http.StatusUnauthorized || !strings.Contains(got.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
		list := s.Operate(t, "", "member", "list")
		for line := range strings.Lines(list) {
			if strings.HasPrefix(line, ada.Username) != strings.Contains(line, "suspended") {
				t.Errorf("the list says %q", line)
			}
		}
		bob.Agent(t).Call(t, "get_account", harness.Arguments{})
		s.Operate(t, "", "member", "resume", ada.Username)
		if found := a.Find(t, "Grace Hopper"); len(found) != 1 {
			t.Errorf("after that they find %v", found)
		}
	})
}

// TestRevokedClient: the operator sees a client by the id that it registered, and ends its access
// to all members, who see that on their security page. /agent/identity returns the same id.
func TestRevokedClient(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		person := s.NewPerson(t)
		g, other := s.NewGrant(t, person, "connections"), s.NewGrant(t, person, "connections")
		bearer := "Authorization: Bearer " + g.Tokens.Access
		identity := s.Send(t, http.MethodPost, "/agent/identity", `{"type":"service_auth"}`, bearer, harness.JSONType)
		if !strings.HasPrefix(g.ClientID, "cli_") || !strings.Contains(identity.Body, `"client":{"id":"`+g.ClientID+`"`) {
			t.Errorf("the client %s is told %s", g.ClientID, identity.Body)
		}
		if list := s.Operate(t, "", "client", "list"); !strings.HasPrefix(list, "ID") || !strings.Contains(list, "\n"+g.ClientID+" ") {
			t.Errorf("the clients are %q", list)
		}
		if out := s.Operate(t, "", "client", "revoke", g.ClientID); !strings.Contains(out, "Revoked 1 grant") {
			t.Errorf("it says %q", out)
		}
		harness.CheckChallenge(t, g.Agent(), harness.ToolCall(t, "search_connections", harness.Arguments{}), harness.InvalidToken)
		if list := s.Operate(t, "", "client", "list"); strings.Contains(list, g.ClientID) {
			t.Errorf("after that the clients are %q", list)
		}
		other.Agent().Call(t, "search_connections", harness.Arguments{})
		v := s.NewSession(t)
		v.SignIn(t, person)
		if page := v.Send(t, "/settings/security", nil); !strings.Contains(page.Body, "Revoked access") {
			t.Errorf("the security page: %d %s", page.Status, page.Body)
		}
	})
}
