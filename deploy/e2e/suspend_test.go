package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// TestSuspendedMember: from the next call on a suspended member's token is dead, and
// it lives again when they are resumed; others notice nothing.
func TestSuspendedMember(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		ada, bob := s.newMember(t), s.newMember(t)
		ada.agent(t).create(t, arguments{"name": "Grace Hopper"})
		a := agent{s, pathCurrent, ada.token(t).bearer}
		if out := s.operate(t, "", "member", "suspend", ada.username); !strings.Contains(out, "is suspended") {
			t.Errorf("it says %q", out)
		}
		got := a.post(t, toolCall(t, "get_account", arguments{}))
		if got.status != http.StatusUnauthorized || !strings.Contains(got.header.Get("WWW-Authenticate"), `error="invalid_token"`) {
			t.Errorf("got %d %s", got.status, got.body)
		}
		list := s.operate(t, "", "member", "list")
		for line := range strings.Lines(list) {
			if strings.HasPrefix(line, ada.username) != strings.Contains(line, "suspended") {
				t.Errorf("the list says %q", line)
			}
		}
		bob.agent(t).call(t, "get_account", arguments{})
		s.operate(t, "", "member", "resume", ada.username)
		if found := a.find(t, "Grace Hopper"); len(found) != 1 {
			t.Errorf("after that they find %v", found)
		}
		if out := s.operate(t, "", "client", "list"); !strings.HasPrefix(out, "ID") {
			t.Errorf("the clients are %q", out)
		}
	})
}
