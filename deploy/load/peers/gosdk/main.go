// Command gosdk is an MCP server by the official Go SDK: stateless streamable HTTP with
// JSON answers, its own check of bearer tokens, prefix search in SQLite.
package main

import (
	"context"
	"net/http"

	"github.com/kith-crm/kith/deploy/load/peers/data"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type arguments struct {
	Query string `json:"query" jsonschema:"prefix of a first or last name"`
}

type answer struct {
	Rows []data.Person `json:"rows"`
}

func main() {
	store, err := data.Open(data.Load())
	data.Must(err)
	s := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	for _, name := range data.Tools() {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Search the connections by name prefix"},
			func(ctx context.Context, _ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, answer, error) {
				people, err := store.Search(ctx, a.Query)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: data.Text(people)}}}, answer{people}, err
			})
	}
	check := auth.RequireBearerToken(func(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		owner, expires, err := store.Auth(ctx, token)
		if err != nil {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: owner, Expiration: expires}, nil
	}, nil)
	data.Serve(check(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})))
}
