package discovery_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/edge/internal/discovery"
)

func TestProtectedResource(t *testing.T) {
	t.Parallel()
	for path, resource := range map[string]string{
		"/mcp": "https://kith.example/mcp", "/mcp/v1": "https://kith.example/mcp/v1",
	} {
		h, err := discovery.ProtectedResource("https://kith.example", path, []string{"connections", "write"})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		h(w, httptest.NewRequest(http.MethodGet, "/", nil), "")
		want := `{"resource":"` + resource + `","authorization_servers":["https://kith.example"],` +
			`"scopes_supported":["connections","write"],"bearer_methods_supported":["header"],` +
			`"resource_name":"Kith","resource_documentation":"https://kith.example/mcp/docs"}`
		if diff := cmp.Diff(want, w.Body.String()); diff != "" {
			t.Error(diff)
		}
		head := httptest.NewRecorder()
		h(head, httptest.NewRequest(http.MethodHead, "/", nil), "")
		if diff := cmp.Diff(w.Header(), head.Header()); diff != "" || head.Body.Len() > 0 {
			t.Errorf("HEAD: %q %s", head.Body, diff)
		}
	}
}
