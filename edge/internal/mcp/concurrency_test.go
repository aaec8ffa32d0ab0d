package mcp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// An answer must not contain bytes of another request.
func TestConcurrentCallsDoNotMix(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.tools.calls = nil
	var group errgroup.Group
	for worker := range 8 {
		group.Go(func() error {
			for i := range 20 {
				id := fmt.Sprintf("%q", fmt.Sprintf("id-%d-%d-%s", worker, i, strings.Repeat("x", i*17)))
				body := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list","params":{"cursor":"x"}}`
				r := httptest.NewRequest(http.MethodPost, "/mcp/v1", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Authorization", "Bearer "+backendtest.TokenAll)
				w := httptest.NewRecorder()
				e.ServeHTTP(w, r)
				if want := `{"jsonrpc":"2.0","id":` + id + `,"error":`; !strings.HasPrefix(w.Body.String(), want) {
					return fmt.Errorf("got %s, want %s", w.Body, want)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
