package mcp

// Protocol versions of MCP that are spoken.
const (
	version20250618 = "2025-06-18"
	version20250326 = "2025-03-26"
)

// Versions returns the protocol versions that are spoken, the default first.
func Versions() []string { return []string{version20250618, version20250326} }

func supportedVersion(version string) bool {
	return version == version20250618 || version == version20250326
}

// Methods of JSON-RPC requests.
const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodListTools  = "tools/list"
	methodCallTool   = "tools/call"
)

// Error codes: JSON-RPC 2.0, section 5.1, and this service's own in the range
// that is left to servers. -32020 to -32099 are reserved by MCP since 2026-07-28.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	// codeUnauthorized goes with a 401; its challenge is in the header.
	codeUnauthorized = -32000
	// codeRefused is a live credential that may not do this. Retrying is no use.
	codeRefused = -32001
	// codeRateLimited goes with a 429.
	codeRateLimited = -32003
)

// Limits of a request.
const (
	maxBodyBytes = 2 << 20 // an inline import is at most 1 MiB of text
)
