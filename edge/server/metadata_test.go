package server

import (
	"encoding/json"
	"testing"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// The metadata without a path is for the resource of the specification, other metadata for the
// resource at its path.
func TestProtectedResourceOfEachPath(t *testing.T) {
	t.Parallel()
	h := newServer(t, testConfig(backendtest.New())).Handler()
	for path, want := range map[string]string{
		"":        "http://kith.example/mcp",
		"/mcp":    "http://kith.example/mcp",
		"/mcp/v1": "http://kith.example/mcp/v1",
	} {
		var document struct {
			Resource string `json:"resource"`
		}
		got := ask(h, "GET", "/.well-known/oauth-protected-resource"+path, "")
		if err := json.Unmarshal([]byte(got.Body), &document); err != nil || document.Resource != want {
			t.Errorf("%q: %s, want %s: %v", path, document.Resource, want, err)
		}
	}
}
