package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// withBearer adds a credential to every request.
type withBearer struct{ token string }

func (b withBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, path, token string) *mcp.ClientSession {
	t.Helper()
	listener := httptest.NewServer(newEdge(t))
	t.Cleanup(listener.Close)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: listener.URL + path, HTTPClient: &http.Client{Transport: withBearer{token}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// TestGoSDK calls the server with the client of the MCP Go SDK.
func TestGoSDK(t *testing.T) {
	t.Parallel()
	for path, token := range map[string]string{"/mcp/v1": backendtest.TokenAll, "/mcp": backendtest.TokenAll, "/mcp/sandbox": ""} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			session := connect(t, path, token)
			list, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Tools) == 0 || list.Tools[0].Name != "search_connections" || list.Tools[0].OutputSchema == nil {
				t.Errorf("tools %v", list.Tools)
			}
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
				Name: "search_connections", Arguments: map[string]any{"query": "zoe"},
			})
			if err != nil {
				t.Fatal(err)
			}
			hits, ok := result.StructuredContent.(map[string]any)
			if result.IsError || !ok || len(result.Content) != 1 || hits["mode_used"] != "keyword" {
				t.Errorf("result %+v", result)
			}
			if err := session.Ping(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}
