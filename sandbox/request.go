package sandbox

import "encoding/json"

// Try is a ready-made request that GET /sandbox offers to visitors.
type Try struct {
	Title  string // what the request does, as a short imperative sentence
	Method string
	Path   string // relative to the base URL, with its query
	Body   string // JSON to send as application/json; empty for a GET
	Accept string // media types for the Accept header
}

// The words that the ready-made requests search for; both have hits in the dataset.
const (
	directoryQuery  = "climate"
	connectionQuery = "microgrids"

	mostContacted = "con_mv131mb425" // the connection with the most interactions; a test checks it
)

// Requests returns the ready-made requests in the order to try them. They hold ids of the
// dataset, which are the same on every day, so the requests do not depend on the day.
func Requests() []Try {
	return []Try{
		{"Read the demo member's public profile", "GET", "/sandbox/api/human/" + Username, "", "application/json"},
		{"Read the same profile as Markdown", "GET", "/sandbox/api/human/" + Username + ".md", "", "text/markdown"},
		{"Find members who work on " + directoryQuery, "GET", "/sandbox/api/network/members?q=" + directoryQuery + "&per_page=5", "", "application/json"},
		post("List the tools", "tools/list", struct{}{}),
		call("Search the network for "+connectionQuery, "search_connections", struct {
			Query string `json:"query"`
		}{connectionQuery}),
		call("Open one connection", "get_connection", struct {
			ID string `json:"id"`
		}{mostContacted}),
		call("Read the latest of its timeline", "list_timeline", struct {
			ConnectionID string `json:"connection_id"`
			Limit        int    `json:"limit"`
		}{mostContacted, 5}),
		call("See scopes, credits and which tools a token cannot use", "get_account", struct{}{}),
	}
}

// call is a Try of a tool with its arguments.
func call(title, tool string, arguments any) Try {
	return post(title, "tools/call", struct {
		Name      string `json:"name"`
		Arguments any    `json:"arguments"`
	}{tool, arguments})
}

// post is a Try of a JSON-RPC method of the sandbox MCP server.
func post(title, method string, params any) Try {
	body, _ := json.Marshal(struct { // strings and numbers always encode
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", 1, method, params})
	return Try{title, "POST", "/sandbox/mcp/v1", string(body), "application/json, text/event-stream"}
}
