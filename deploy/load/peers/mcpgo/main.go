// Command mcpgo is an MCP server by mark3labs/mcp-go: stateless streamable HTTP, tokens and prefix
// search in SQLite. The library does not check bearer tokens, so a handler in front of it does.
package main

import (
	"context"
	"net/http"
	"strings"

	"github.com/kith-crm/kith/deploy/load/peers/data"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type arguments struct {
	Query string `json:"query"`
}

type answer struct {
	Rows []data.Person `json:"rows"`
}

func main() {
	store, err := data.Open(data.Load())
	data.Must(err)
	s := server.NewMCPServer("peer", "1", server.WithToolCapabilities(false))
	for _, name := range data.Tools() {
		s.AddTool(mcp.NewTool(name, mcp.WithDescription("Search the connections by name prefix"),
			mcp.WithString("query", mcp.Required(), mcp.Description("prefix of a first or last name")),
			mcp.WithOutputSchema[answer]()),
			mcp.NewTypedToolHandler(func(ctx context.Context, _ mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
				people, err := store.Search(ctx, a.Query)
				if err != nil {
					return nil, err
				}
				return mcp.NewToolResultStructured(answer{people}, data.Text(people)), nil
			}))
	}
	next := server.NewStreamableHTTPServer(s, server.WithStateLess(true), server.WithDisableStreaming(true))
	data.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, _, err := store.Auth(r.Context(), token); err != nil {
			http.Error(w, "invalid token", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}))
}
