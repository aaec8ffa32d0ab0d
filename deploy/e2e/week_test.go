package e2e

import "testing"

// TestAssistantsWeek: an assistant does a week's work for a member, with every
// tool that there is; what it found, wrote, took back and paid is right.
func TestAssistantsWeek(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		ada := s.newMember(t)
		runNodeTests(t, "week.test.mjs", map[string]string{
			"BASE_URL": s.base, "MCP_PATH": pathCurrent, "MEMBER_USERNAME": ada.username, "MEMBER_TOKEN": ada.token(t).bearer,
			"READER_TOKEN": ada.token(t, "connections").bearer,
		})
	})
}
