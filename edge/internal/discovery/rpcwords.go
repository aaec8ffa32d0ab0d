package discovery

import (
	"net/http"
	"strconv"
)

// rpcError is a code of JSON-RPC errors.
type rpcError struct {
	code            int
	title, status   string
	meaning, action string
	message, data   string // of the example; data is JSON or ""
}

// rpcErrors returns every JSON-RPC error of the MCP servers.
func rpcErrors() []rpcError {
	ok := statusWords(http.StatusOK)
	return []rpcError{
		{
			code: -32700, title: "The body is no JSON", status: statusWords(http.StatusBadRequest),
			meaning: "The body cannot be parsed: it is no JSON, more than one value, no UTF-8, or has duplicate names. The `id` is null, because " +
				"none was read.",
			action: "Send one JSON object as UTF-8.", message: "The body is not valid JSON.",
		},
		{
			code: -32600, title: "The request is not valid", status: "400, 403, 405, 408, 413, 415 and others",
			meaning: "The body is JSON but no JSON-RPC request, or a batch, which this server refuses in every version of MCP; or the HTTP request " +
				"around it is at fault, and the status says how: an origin that may not call (403), another method than POST (405), a body that is " +
				"too large (413) or of another type than `application/json` (415), an `MCP-Protocol-Version` that is not spoken (400).",
			action: "Read `message`, and correct the request. Send one message for each request.", message: "Batches are refused: send one message at a time.",
		},
		{
			code: -32601, title: "There is no such method", status: ok,
			meaning: "The server has `initialize`, `ping`, `tools/list` and `tools/call`, and no other method.",
			action:  "Use one of these. A tool is called by `tools/call`, not by its name.", message: "This server has no such method.",
		},
		{
			code: -32602, title: "The parameters are not valid", status: ok,
			meaning: "There is no tool of this name, `params` is not of the right shape, or a cursor is none. Wrong arguments of a tool are not this " +
				"error: they are a result with `isError: true`.",
			action: "Take the names of tools from `tools/list`.", message: "There is no tool of this name; tools/list has those that are.",
		},
		{
			code: -32603, title: "The server failed", status: statusWords(http.StatusInternalServerError) + ", " + statusWords(http.StatusServiceUnavailable),
			meaning: "Something failed on our side. With 503, the service or a part of it cannot answer right now; credentials are as good as before.",
			action:  "Wait for the seconds in `Retry-After`, then try again. Keep your tokens.", message: "The service is not available right now.",
		},
		{
			code: -32000, title: "A live token is needed", status: statusWords(http.StatusUnauthorized),
			meaning: "`tools/call` came without a token, or a method came with one that is expired, revoked or unknown. `WWW-Authenticate` names the " +
				"metadata of the resource.",
			action: "Refresh the token and try once more; if that fails, let the person approve the agent again.", message: "A bearer token is needed.",
		},
		{
			code: -32001, title: "The tool refuses", status: ok,
			meaning: "The credential is alive and may not do this. `data.reason` is `missing_scope`, with what it lacks in `data.required_scopes`; " +
				"`read_only_account` where everything that writes is refused, as in the sandbox; or `limited_to_tools` where the member " +
				"limited the token to named tools, which are in `data.allowed_tools`.",
			action:  "Do not try again. Ask the person to approve the scopes, or do without the tool.",
			message: "Refused: add_note needs a credential with the scopes timeline and write.",
			data:    `{"reason": "missing_scope", "required_scopes": ["timeline", "write"]}`,
		},
		{
			code: -32003, title: "Too many requests", status: statusWords(http.StatusTooManyRequests),
			meaning: "The budget of the rate policy is used up. The headers `RateLimit` and `RateLimit-Policy` tell which one, and when it resets.",
			action:  "Wait for the seconds in `Retry-After`. Until then every call is answered like this.", message: "Too many requests.",
		},
	}
}

func rpcPages() []errorPage {
	var pages []errorPage
	for _, e := range rpcErrors() {
		code, id := strconv.Itoa(e.code), "1"
		if e.code == -32700 || e.code == -32600 {
			id = "null"
		}
		example := "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": " + id + ",\n  \"error\": {\n    \"code\": " + code +
			",\n    \"message\": \"" + e.message + "\""
		if e.data != "" {
			example += ",\n    \"data\": " + e.data
		}
		pages = append(pages, errorPage{
			Code: code, Title: e.title, Status: e.status, Meaning: e.meaning, Action: e.action, Example: example + "\n  }\n}",
		})
	}
	return pages
}
