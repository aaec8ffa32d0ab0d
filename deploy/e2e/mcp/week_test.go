// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestAssistantsWeek

package mcp

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestAssistantsWeek: an assistant works for a member for a week and uses every tool; what
// it finds, writes, undoes and pays is correct.
func TestAssistantsWeek(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		harness.RunNodeTests(t, "week.test.mjs", map[string]string{
			"BASE_URL": s.Base, "MCP_PATH": harness.PathCurrent, "MEMBER_USERNAME": ada.Username, "MEMBER_TOKEN": ada.Token(t).Bearer,
			"READER_TOKEN": ada.Token(t, "connections").Bearer,
		})
	})
}
