// Package mcp is the MCP endpoint: a stateless JSON-RPC 2.0 dispatcher of four
// methods over streamable HTTP (MCP 2025-06-18 and 2025-03-26).
//
// A request goes through these steps; the first that objects answers:
//
//	admit         Host and Origin, media type, size            (admission.go, body.go)
//	decode        one strict parse; arguments stay raw bytes   (decode.go, shape.go)
//	version       MCP-Protocol-Version, except on initialize   (admission.go)
//	authenticate  by the mount's policy; the backend decides   (authenticate.go)
//	dispatch      initialize, ping, tools/list, tools/call     (endpoint.go)
//
// The one parse is the point: what is checked is what is run. Duplicate keys,
// keys in another case and values that two parsers could read in two ways are
// refused before anything looks at them.
//
// It does not know what any tool takes or gives. The catalogue says which
// procedure a tool is; the arguments' bytes are the procedure's JSON body and
// the answer's bytes are structuredContent.
package mcp
