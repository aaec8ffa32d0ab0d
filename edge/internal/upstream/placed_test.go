package upstream_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/kith-crm/kith/proto/gen/kith/access/v1/accessv1connect"

	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// If the backend of a bearer is not known, GetPrincipal is called before the tool, to find it. A
// dead bearer and a visitor of the sandbox cost one call each.
func TestUnknownBearersAreLookedUpFirst(t *testing.T) {
	t.Parallel()
	const principal = accessv1connect.AccessServiceGetPrincipalProcedure
	for name, c := range map[string]struct {
		bearer, visitor string
		known           bool
		want            []string
	}{
		"unknown": {backendtest.TokenAll, "", false, []string{principal, search}},
		"known":   {backendtest.TokenAll, "", true, []string{search}},
		"dead":    {"dead", "", false, []string{principal}},
		"visitor": {backendtest.TokenSandbox, "192.0.2.1", false, []string{search}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var called []string
			backend := backendtest.New().Transport()
			client, err := upstream.New(upstream.Options{
				BaseURL: "http://backend", ServiceToken: backendtest.ServiceToken, Procedures: []string{search},
				Known: func(bearer string) bool { return c.known && bearer == c.bearer },
				Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
					called = append(called, r.URL.Path)
					return backend.RoundTrip(r)
				}),
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.CallTool(t.Context(), upstream.ToolCall{Procedure: search, Bearer: c.bearer, Visitor: c.visitor, Arguments: []byte(`{"query":"a"}`)})
			if dead := c.bearer == "dead"; dead && upstream.AsError(err).Kind != upstream.Unauthenticated || !dead && err != nil {
				t.Errorf("got %v", err)
			}
			if !slices.Equal(called, c.want) {
				t.Errorf("called %v, want %v", called, c.want)
			}
		})
	}
}
