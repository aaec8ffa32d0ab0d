package idempotency

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// doors are all endpoints that accept idempotency keys. Both MCP paths share the member's keys.
func doors(t *testing.T, s *harness.Service, a harness.Agent) []harness.IdempotentEndpoint {
	t.Helper()
	create := func(word string) string {
		return harness.ToolCall(t, "create_connection", harness.Arguments{"name": word})
	}
	search := func(word string) string {
		return harness.ToolCall(t, "search_connections", harness.Arguments{"query": word})
	}
	register := func(word string) string {
		return harness.Encode(t, harness.Arguments{"client_name": word, "redirect_uris": []string{"https://" + word + ".example/callback"}})
	}
	return []harness.IdempotentEndpoint{
		{Service: s, Path: harness.PathCurrent, Bearer: a.Bearer, Status: http.StatusOK, MakeBody: create},
		{Service: s, Path: harness.PathDeprecated, Bearer: a.Bearer, Status: http.StatusOK, MakeBody: create},
		{Service: s, Path: harness.PathSandbox, Bearer: "", Status: http.StatusOK, MakeBody: search},
		{Service: s, Path: harness.PathSandboxOld, Bearer: "", Status: http.StatusOK, MakeBody: search},
		{Service: s, Path: harness.PathRegister, Bearer: "", Status: http.StatusCreated, MakeBody: register},
	}
}

// isKept fails the test unless the request succeeded, and was replayed or not as wanted.
func isKept(t *testing.T, d harness.IdempotentEndpoint, what string, got harness.Response, replayed bool) {
	t.Helper()
	want := ""
	if replayed {
		want = "true"
	}
	if mark := strings.Join(got.Header.Values("Idempotency-Replayed"), ","); got.Status != d.Status || mark != want {
		t.Errorf("%s, %s: got %d, replayed %q, want %d and %q: %s", d.Path, what, got.Status, mark, d.Status, want, harness.Excerpt(got.Body))
	}
}
