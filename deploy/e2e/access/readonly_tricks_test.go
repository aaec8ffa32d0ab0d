package access

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/kith-crm/kith/deploy/e2e/harness"
	"github.com/kith-crm/kith/proto/catalog"
)

// tricks are the ways in which a caller may try to run a tool.
func tricks(t *testing.T, s *harness.Service, tool *catalog.RPC, arguments string) []trick {
	t.Helper()
	return slices.Concat(
		spellings(tool.Tool.Name, arguments), envelopes(tool.Tool.Name, arguments), requestVariants(t, tool.Tool.Name, arguments),
		places(t, tool.Tool.Name, arguments), sideDoors(s, tool, arguments), batches(t, tool.Tool.Name),
	)
}

// callOf returns a tools/call with the name given as JSON.
func callOf(quotedName, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + quotedName + `,"arguments":` + arguments + `}}`
}

func quoted(name string) string { return `"` + name + `"` }

// escaped writes each character of a name as a \u escape.
func escaped(name string) string {
	var b strings.Builder
	for _, r := range name {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

const missingScope = "missing_scope"

// spellings are ways to write the tool's name. Those that JSON decodes to the same
// name are refused for the missing scope; the others name no tool.
func spellings(name, arguments string) []trick {
	var out []trick
	for what, spelling := range map[string]string{
		"the plain name":        quoted(name),
		"an escaped underscore": quoted(strings.ReplaceAll(name, "_", `\u005f`)),
		"an escaped name":       quoted(escaped(name)),
	} {
		for _, path := range []string{harness.PathCurrent, harness.PathDeprecated} {
			out = append(out, trick{name: what + " at " + path, path: path, body: callOf(spelling, arguments), reason: missingScope})
		}
		for _, path := range []string{harness.PathSandbox, harness.PathSandboxOld} {
			out = append(out, trick{name: what + " at " + path, path: path, body: callOf(spelling, arguments), reason: "read_only_account"})
		}
	}
	camel := strings.ReplaceAll(strings.ToUpper(name[:1])+name[1:], "_", "")
	for what, spelling := range map[string]string{
		"upper case":               quoted(strings.ToUpper(name)),
		"one capital":              quoted(strings.ToUpper(name[:1]) + name[1:]),
		"camel case":               quoted(camel),
		"hyphens":                  quoted(strings.ReplaceAll(name, "_", "-")),
		"a space before":           quoted(" " + name),
		"a space after":            quoted(name + " "),
		"a line break after":       quoted(name + `\n`),
		"a NUL after":              quoted(name + `\u0000`),
		"a byte order mark":        quoted("\ufeff" + name),
		"a zero-width space":       quoted("\u200b" + name),
		"a soft hyphen inside":     quoted(name[:3] + "\u00ad" + name[3:]),
		"a fullwidth underscore":   quoted(strings.ReplaceAll(name, "_", "\uff3f")),
		"a combining mark":         quoted(name + "\u0301"),
		"a long s":                 quoted(strings.ReplaceAll(name, "s", "\u017f") + "\u017f"),
		"a path":                   quoted("/" + name),
		"a path up":                quoted("x/../" + name),
		"the server's name first":  quoted("kith." + name),
		"a reading tool first":     quoted("get_account," + name),
		"a reading tool and a NUL": quoted("get_account\\u0000" + name),
		"escaped twice":            quoted(strings.ReplaceAll(name, "_", `\\u005f`)),
		"an array":                 "[" + quoted(name) + "]",
		"an object":                `{"name":` + quoted(name) + "}",
		"a number":                 "0",
		"null":                     "null",
	} {
		out = append(out, trick{name: what, path: harness.PathCurrent, body: callOf(spelling, arguments)})
	}
	return out
}

// envelopes are messages that hide the call.
func envelopes(name, arguments string) []trick {
	call, params := callOf(quoted(name), arguments), `{"name":`+quoted(name)+`,"arguments":`+arguments+`}`
	message := func(members string) string { return `{"jsonrpc":"2.0","id":1,` + members + `}` }
	tries := map[string]string{
		"a batch of one":             "[" + call + "]",
		"a batch after a ping":       `[{"jsonrpc":"2.0","id":0,"method":"ping"},` + call + "]",
		"a batch in a batch":         "[[" + call + "]]",
		"a second message":           `{"jsonrpc":"2.0","id":0,"method":"ping"}` + call,
		"a message on another line":  `{"jsonrpc":"2.0","id":0,"method":"ping"}` + "\n" + call,
		"a byte order mark":          "\ufeff" + call,
		"two names, reading first":   message(`"method":"tools/call","params":{"name":"get_account","name":` + quoted(name) + `,"arguments":` + arguments + `}`),
		"two names, reading last":    message(`"method":"tools/call","params":{"name":` + quoted(name) + `,"arguments":` + arguments + `,"name":"get_account"}`),
		"two names, one escaped":     message(`"method":"tools/call","params":{"name":"get_account","n\u0061me":` + quoted(name) + `,"arguments":` + arguments + `}`),
		"two names, one capital":     message(`"method":"tools/call","params":{"name":"get_account","Name":` + quoted(name) + `,"arguments":` + arguments + `}`),
		"two params, reading first":  message(`"method":"tools/call","params":{"name":"get_account"},"params":` + params),
		"two params, reading last":   message(`"method":"tools/call","params":` + params + `,"params":{"name":"get_account"}`),
		"two params, one capital":    message(`"method":"tools/call","params":{"name":"get_account"},"Params":` + params),
		"two methods":                message(`"method":"ping","method":"tools/call","params":` + params),
		"two methods, one escaped":   message(`"method":"ping","m\u0065thod":"tools/call","params":` + params),
		"two arguments":              message(`"method":"tools/call","params":{"name":` + quoted(name) + `,"arguments":{},"arguments":` + arguments + `}`),
		"a method in upper case":     message(`"method":"TOOLS/CALL","params":` + params),
		"a method with capitals":     message(`"method":"Tools/Call","params":` + params),
		"a method with a space":      message(`"method":"tools/call ","params":` + params),
		"a method with two slashes":  message(`"method":"tools//call","params":` + params),
		"a method that is the tool":  message(`"method":` + quoted(name) + `,"params":` + arguments),
		"a method that is an array":  message(`"method":["tools/call"],"params":` + params),
		"params in an array":         message(`"method":"tools/call","params":[` + params + `]`),
		"params as text":             message(`"method":"tools/call","params":` + fmt.Sprintf("%q", params)),
		"no jsonrpc member":          `{"id":1,"method":"tools/call","params":` + params + `}`,
		"a response with a method":   message(`"result":{},"method":"tools/call","params":` + params),
		"arguments as text":          message(`"method":"tools/call","params":{"name":` + quoted(name) + `,"arguments":` + fmt.Sprintf("%q", arguments) + `}`),
		"an id that is null":         `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":` + params + `}`,
		"the name beside the params": message(`"method":"tools/call","name":` + quoted(name) + `,"arguments":` + arguments),
	}
	var out []trick
	for what, body := range tries {
		out = append(out, trick{name: what, path: harness.PathCurrent, body: body})
	}
	for what, body := range map[string]string{
		"an escaped method":     message(`"method":"tools\/c\u0061ll","params":` + params),
		"an escaped key":        message(`"method":"tools/call","par\u0061ms":` + params),
		"scopes in the message": message(`"scopes":["write"],"method":"tools/call","params":{"name":` + quoted(name) + `,"arguments":` + arguments + `,"_meta":{"scopes":["write"]}}`),
		"whitespace everywhere": " \n" + strings.ReplaceAll(call, `,"`, " ,\t\"") + "\r\n",
		"params within params":  message(`"method":"tools/call","params":{"params":{"name":"get_account"},"name":` + quoted(name) + `,"arguments":` + arguments + `}`),
	} {
		out = append(out, trick{name: what, path: harness.PathCurrent, body: body, reason: missingScope})
	}
	for what, body := range map[string]string{
		"a notification":             `{"jsonrpc":"2.0","method":"tools/call","params":` + params + `}`,
		"the call in ignored params": message(`"method":"tools/call","params":{"name":"get_account","params":` + params + `}`),
		"the call beside a ping":     message(`"method":"ping","params":` + params),
	} {
		out = append(out, trick{name: what, path: harness.PathCurrent, body: body, harmless: true})
	}
	return out
}

// requestVariants use other methods, headers and encodings.
func requestVariants(t *testing.T, name, arguments string) []trick {
	t.Helper()
	call := callOf(quoted(name), arguments)
	var out []trick
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete, "post", "CALL"} {
		out = append(out, trick{name: "by " + method, method: method, path: harness.PathCurrent, body: call})
	}
	for _, header := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		out = append(out,
			trick{name: "GET with " + header, method: http.MethodGet, path: harness.PathCurrent, body: call, headers: []string{header + ": POST"}},
			trick{name: "POST with " + header, path: harness.PathCurrent, body: call, headers: []string{header + ": GET"}, reason: missingScope},
		)
	}
	for _, mediaType := range []string{
		"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json-rpc", "application/jsonx",
		"application/connect+json", "application/proto", "application/grpc+json", "application/grpc-web-text", "text/event-stream", "*/*", "",
	} {
		out = append(out, trick{name: "as " + mediaType, path: harness.PathCurrent, body: call, headers: []string{"Content-Type: " + mediaType}})
	}
	out = append(out,
		trick{name: "with a charset", path: harness.PathCurrent, body: call, headers: []string{"Content-Type: Application/JSON; charset=utf-8"}, reason: missingScope},
		trick{name: "in UTF-16", path: harness.PathCurrent, body: inUTF16(call), headers: []string{"Content-Type: application/json; charset=utf-16"}},
		trick{name: "compressed", path: harness.PathCurrent, body: zipped(t, call), headers: []string{"Content-Encoding: gzip"}},
		trick{name: "by a form", path: harness.PathCurrent, body: url.Values{"jsonrpc": {"2.0"}, "method": {"tools/call"}, "name": {name}}.Encode(), headers: []string{"Content-Type: application/x-www-form-urlencoded"}},
		trick{name: "scopes in headers", path: harness.PathCurrent, body: call, headers: []string{"X-Scopes: write", "Kith-Scopes: write", "X-Forwarded-User: root"}, reason: missingScope},
		trick{name: "under a key", path: harness.PathCurrent, body: call, headers: []string{"Idempotency-Key: " + harness.NewWord()}, reason: missingScope, keyed: true},
		trick{name: "in the older version", path: harness.PathCurrent, body: call, headers: []string{"MCP-Protocol-Version: 2025-03-26"}, reason: missingScope},
		trick{name: "in no version", path: harness.PathCurrent, body: call, headers: []string{"MCP-Protocol-Version: 2099-01-01"}},
	)
	return out
}

func inUTF16(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		b.Write([]byte{byte(unit >> 8), byte(unit)})
	}
	return b.String()
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// places are paths that run no tool.
func places(t *testing.T, name, arguments string) []trick {
	t.Helper()
	var out []trick
	for _, path := range []string{
		"/mcp/v1/", "//mcp/v1", "/MCP/v1", "/mcp//v1", "/mcp/./v1", "/mcp/%76%31", "/mcp%2fv1", "/mcp/v1;x=1", "/mcp/v2", "/v1", "/mcp/docs",
		"/mcp/v1/tools/call", "/mcp/v1/" + name, "/mcp/v1/messages", "/sse", "/sandbox", "/sandbox/mcp", "/api/tools/" + name, "/tools/call",
	} {
		out = append(out, trick{name: "at " + path, path: path, body: callOf(quoted(name), arguments)})
	}
	out = append(out, trick{name: "in the query", path: harness.PathCurrent + "?name=" + name + "&method=tools/call", body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, harmless: true})
	for _, kind := range []string{name, "tools/call"} {
		out = append(out, trick{name: "as a job " + kind, path: "/api/jobs", body: harness.Encode(t, map[string]any{"kind": kind, "arguments": harness.RawJSON(arguments)})})
	}
	return out
}

// sideDoors are the procedures behind the tool, and the addresses of internal callers.
func sideDoors(s *harness.Service, tool *catalog.RPC, arguments string) []trick {
	get := "?" + url.Values{"connect": {"v1"}, "encoding": {"json"}, "message": {arguments}}.Encode()
	trusted := []string{"Kith-Service-Token: " + s.ServiceToken, "Connect-Protocol-Version: 1"}
	var out []trick
	for _, prefix := range []string{"", "/api", "/mcp", "/mcp/v1", "/sandbox"} {
		path := prefix + tool.Procedure
		out = append(out,
			trick{name: "Connect at " + path, path: path, body: arguments, headers: trusted},
			trick{name: "gRPC at " + path, path: path, body: "\x00\x00\x00\x00\x00", headers: append([]string{"Content-Type: application/grpc", "TE: trailers"}, trusted...)},
			trick{name: "Connect by GET at " + path, method: http.MethodGet, path: path + get, headers: trusted},
		)
	}
	if s.BackendAddr != "" { // the service token does not replace the member's missing scope
		out = append(out,
			trick{name: "Connect at the backend", path: tool.Procedure, body: arguments, headers: trusted, direct: true},
			trick{name: "Connect by GET at the backend", method: http.MethodGet, path: tool.Procedure + get, headers: trusted, direct: true},
			trick{name: "binary Connect at the backend", path: tool.Procedure, headers: append([]string{"Content-Type: application/proto"}, trusted...), direct: true},
		)
	}
	return append(out, trick{name: "the procedure as the tool", path: harness.PathCurrent, body: callOf(quoted(tool.Procedure), arguments)})
}

// batches are batch requests that name something other than a read.
func batches(t *testing.T, name string) []trick {
	t.Helper()
	var out []trick
	for _, path := range []string{harness.PathCurrent, harness.PathDeprecated, harness.PathSandbox, harness.PathSandboxOld, "/api/batch", "/api/jobs", "/api/human/../mcp/v1", "/api/human/..%2f..%2fmcp%2fv1"} {
		item := map[string]any{"id": "1", "path": path, "query": map[string]any{"name": name, "method": "tools/call"}}
		out = append(out, trick{name: "a batch with " + path, path: "/api/batch", body: harness.Encode(t, map[string]any{"requests": []any{item}})})
		item["method"], item["body"] = http.MethodPost, map[string]any{"name": name}
		out = append(out, trick{name: "a batch with a POST of " + path, path: "/api/batch", body: harness.Encode(t, map[string]any{"requests": []any{item}})})
	}
	return out
}
