// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/dav -run TestTsdav

package dav

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestTsdav: a client library that nobody here wrote finds the address book from the bare address, changes cards, and synchronises.
func TestTsdav(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		agent := ada.Agent(t)
		agent.Create(t, harness.Arguments{"name": "Grace Hopper", "emails": []string{"grace@navy.example"}})
		alan := agent.Create(t, harness.Arguments{"name": "Alan Turing", "phones": []string{"+44 20 7946 0018"}})
		harness.RunNodeTests(t, "tsdav.test.mjs", map[string]string{"BASE_URL": s.Base, "MEMBER_USERNAME": ada.Username, "APP_PASSWORD": newDevice(t, ada)})
		for query, want := range map[string]int{"ewd@austin.example": 1, "ewd@eindhoven.example": 0, "Alan Turing": 0, "Grace B. Hopper": 1} {
			if found := agent.Find(t, query); len(found) != want {
				t.Errorf("for %s, Kith has %v", query, found)
			}
		}
		if got := agent.Try(t, "get_connection", harness.Arguments{"id": alan}); !got.IsError {
			t.Errorf("Alan, whom the client deleted, is %s", got.Text())
		}
	})
}
