// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestStranger

package mcp

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestStranger: a client that knows only the site's address reads /llms.txt, follows it
// to the agent index and from there to the sandbox, and sends the requests that it finds
// there until a tool has answered.
func TestStranger(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		index := follow(t, s, "/llms.txt", regexp.MustCompile(`\[Agent index\]\(([^)]+)\)`))
		var agentIndex struct {
			Authentication struct {
				Methods []struct{ Type, Sandbox string }
			}
		}
		decodeAnswer(t, s.Send(t, http.MethodGet, index, ""), &agentIndex)
		sandbox := ""
		for _, method := range agentIndex.Authentication.Methods {
			if method.Type == "none" {
				sandbox = method.Sandbox
			}
		}
		var offer struct {
			Try []struct{ Title, Curl string }
		}
		decodeAnswer(t, s.Send(t, http.MethodGet, strings.TrimPrefix(sandbox, s.Base), ""), &offer)
		called := 0
		for _, try := range offer.Try {
			out := harness.RunShell(t, try.Curl)
			if !strings.Contains(try.Curl, "tools/call") {
				continue
			}
			var message harness.Reply
			if json.Unmarshal([]byte(out), &message) == nil && message.Error == nil && strings.Contains(string(message.Result), `"isError":false`) {
				called++
			}
		}
		if called == 0 {
			t.Errorf("no tool answered any of the %d ready-made requests", len(offer.Try))
		}
	})
}

// follow returns the path that a document links to.
func follow(t *testing.T, s *harness.Service, document string, link *regexp.Regexp) string {
	t.Helper()
	got := s.Send(t, http.MethodGet, document, "")
	found := link.FindStringSubmatch(got.Body)
	if got.Status != http.StatusOK || found == nil {
		t.Fatalf("%s: %d, has no link to follow:\n%s", document, got.Status, got.Body)
	}
	return strings.TrimPrefix(found[1], s.Base)
}

func decodeAnswer(t *testing.T, got harness.Response, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(got.Body), into); err != nil || got.Status != http.StatusOK {
		t.Fatalf("%d %s: %v", got.Status, got.Body, err)
	}
}
