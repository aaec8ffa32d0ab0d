// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/access -run TestSuspendedMember

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
		if out := s.Operate(t, "", "client", "list"); !strings.HasPrefix(out, "ID") {
			t.Errorf("the clients are %q", out)
		}
	})
}
