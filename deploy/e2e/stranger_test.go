package e2e

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestStranger: a client that is told the site's address and nothing else reads
// /llms.txt, follows it to the agent index, from there to the sandbox, and runs
// what it finds there until a tool has answered.
func TestStranger(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		index := follow(t, s, "/llms.txt", regexp.MustCompile(`\[Agent index\]\(([^)]+)\)`))
		var agentIndex struct {
			Authentication struct {
				Methods []struct{ Type, Sandbox string }
			}
		}
		decodeAnswer(t, s.send(t, http.MethodGet, index, ""), &agentIndex)
		sandbox := ""
		for _, method := range agentIndex.Authentication.Methods {
			if method.Type == "none" {
				sandbox = method.Sandbox
			}
		}
		var offer struct {
			Try []struct{ Title, Curl string }
		}
		decodeAnswer(t, s.send(t, http.MethodGet, strings.TrimPrefix(sandbox, s.base), ""), &offer)
		called := 0
		for _, try := range offer.Try {
			out := shell(t, try.Curl)
			if !strings.Contains(try.Curl, "tools/call") {
				continue
			}
			var message reply
			if json.Unmarshal([]byte(out), &message) == nil && message.Error == nil && strings.Contains(string(message.Result), `"isError":false`) {
				called++
			}
		}
		if called == 0 {
			t.Errorf("no tool of %d ready-made requests answered", len(offer.Try))
		}
	})
}

// follow returns the path that a document leads to.
func follow(t *testing.T, s *service, document string, link *regexp.Regexp) string {
	t.Helper()
	got := s.send(t, http.MethodGet, document, "")
	found := link.FindStringSubmatch(got.body)
	if got.status != http.StatusOK || found == nil {
		t.Fatalf("%s: %d, leads nowhere:\n%s", document, got.status, got.body)
	}
	return strings.TrimPrefix(found[1], s.base)
}

func decodeAnswer(t *testing.T, got answer, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(got.body), into); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s: %v", got.status, got.body, err)
	}
}
