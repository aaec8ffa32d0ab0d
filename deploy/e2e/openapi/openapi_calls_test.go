package openapi

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// asDocumented returns a request for the operation, built from the examples in the
// description: its parameters, and the body of that name ("" for the first).
func (c *contract) asDocumented(t *testing.T, op *operation, name string) call {
	t.Helper()
	k := call{path: op.path}
	query := url.Values{}
	for _, p := range append(slices.Clone(op.item.Parameters), op.Parameters...) {
		example := p.Value.Example
		switch {
		case p.Value.In == openapi3.ParameterInPath:
			k.path = strings.ReplaceAll(k.path, "{"+p.Value.Name+"}", plainText(t, example))
		case p.Value.In == openapi3.ParameterInQuery && example != nil:
			query.Set(p.Value.Name, plainText(t, example))
		case p.Value.In == openapi3.ParameterInHeader && example != nil:
			k = k.with(p.Value.Name + ": " + plainText(t, example))
		}
	}
	if len(query) > 0 {
		k.path += "?" + query.Encode()
	}
	if op.RequestBody != nil {
		k = c.withBody(t, op, k, name)
	}
	if op.Security != nil && len(*op.Security) > 0 { // also where it is optional
		k = k.with("Authorization: Bearer " + c.ada.Bearer)
	}
	return k
}

func (c *contract) withBody(t *testing.T, op *operation, k call, name string) call {
	t.Helper()
	for kind, media := range op.RequestBody.Value.Content {
		if len(media.Examples) == 0 { // a form of a page
			return k
		}
		if name == "" {
			name = slices.Sorted(maps.Keys(media.Examples))[0]
		}
		example := media.Examples[name]
		if example == nil {
			t.Fatalf("%s: there is no body %s", op.OperationID, name)
		}
		k = k.with("Content-Type: " + kind)
		if kind == harness.FormType {
			form := url.Values{}
			for field, value := range example.Value.Value.(map[string]any) {
				form.Set(field, plainText(t, value))
			}
			k.body = form.Encode()
		} else {
			k.body = harness.Encode(t, example.Value.Value)
		}
	}
	return k
}

// plainText returns a value as text for an address or a form.
func plainText(t *testing.T, value any) string {
	t.Helper()
	if s, ok := value.(string); ok {
		return s
	}
	return harness.Encode(t, value)
}

// ways change a valid request so that the answer has the status. Statuses that are missing
// here have a test of their own below.
func ways() map[int]func(op *operation, k call) call {
	return map[int]func(op *operation, k call) call{
		http.StatusOK:      func(_ *operation, k call) call { return k },
		http.StatusCreated: func(_ *operation, k call) call { return k },
		http.StatusAccepted: func(_ *operation, k call) call {
			k.body = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
			return k
		},
		http.StatusNotModified: func(_ *operation, k call) call { return k.with("If-None-Match: *") },
		http.StatusBadRequest: func(_ *operation, k call) call {
			separator := "?"
			if strings.Contains(k.path, "?") {
				separator = "&"
			}
			k.path += separator + "access_token=x"
			return k
		},
		http.StatusUnauthorized: func(op *operation, k call) call {
			if op.path == "/agent/identity" {
				k.body = `{"type":"service_auth"}`
			}
			return k.without("Authorization").with("Authorization: Bearer dead")
		},
		http.StatusForbidden: func(_ *operation, k call) call { return k.with("Origin: https://elsewhere.example") },
		http.StatusNotFound: func(op *operation, k call) call {
			before, rest, _ := strings.Cut(op.path, "{")
			_, after, _ := strings.Cut(rest, "}")
			k.path = before + "nobody-and-nothing" + after
			return k
		},
		http.StatusMethodNotAllowed: func(_ *operation, k call) call {
			k.method = http.MethodPatch // no path serves PATCH
			return k
		},
		http.StatusRequestHeaderFieldsTooLarge: func(_ *operation, k call) call {
			return k.with("X-Large: " + strings.Repeat("x", 16<<10))
		},
		http.StatusNotAcceptable: func(_ *operation, k call) call { return k.with("Accept: */*;q=0") },
		http.StatusRequestEntityTooLarge: func(_ *operation, k call) call {
			k.body = harness.Padded(harness.MaxBody + 1)
			return k
		},
		http.StatusUnsupportedMediaType: func(op *operation, k call) call {
			if strings.HasPrefix(op.path, "/oauth/") { // these answer 400 to another media type
				return k.with("Content-Encoding: gzip")
			}
			return k.without("Content-Type")
		},
	}
}

// elsewhere reports whether another part of the test provokes the answer.
func elsewhere(op *operation, status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return true // checkSlow, checkBusy, checkLimits
	case http.StatusConflict, http.StatusUnprocessableEntity:
		return true // checkKeys
	case http.StatusPaymentRequired:
		return true // checkJobs
	case http.StatusGone:
		return true // needs another clock: the edge's own tests cover it
	default: // checkTokens, which has the tokens
		return status == http.StatusOK && (op.OperationID == "getTokens" || op.OperationID == "revokeToken") ||
			op.OperationID == "startJob" && (status == http.StatusAccepted || status == http.StatusForbidden) || op.OperationID == "getJob" && status == http.StatusForbidden ||
			op.OperationID == "getJob" && (status == http.StatusNotFound || status == http.StatusForbidden) // checkJobs, too
	}
}

// checkAnswers provokes every documented answer of every operation.
func (c *contract) checkAnswers(t *testing.T) {
	for _, op := range c.operations {
		if op.page() {
			continue
		}
		for code := range op.Responses.Map() {
			status, err := strconv.Atoi(code)
			if err != nil {
				t.Fatal(err)
			}
			if elsewhere(op, status) {
				continue
			}
			way := ways()[status]
			if way == nil {
				t.Errorf("%s: add a way to get a %d", op.OperationID, status)
				continue
			}
			if got := c.ask(t, op, way(op, c.asDocumented(t, op, ""))); got.Status != status {
				t.Errorf("%s: got %d, want %d: %s", op.OperationID, got.Status, status, harness.Excerpt(got.Body))
			}
		}
	}
}

// checkOtherAnswers provokes every shape of the answers that have several, and every error
// that the description has as an example.
func (c *contract) checkOtherAnswers(t *testing.T) {
	rpc := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":"x","method":"` + method + `","params":` + params + `}`
	}
	for _, test := range []struct {
		operation string
		status    int
		change    func(k call) call
	}{
		{"listMembers", 200, sendTo("/api/network/members")},
		{"listMembers", 200, sendTo("/api/network/members?per_page=2")},
		{"listMembers", 200, sendTo("/api/network/members?q=nobody+is+called+that")},
		{"listMembers", 400, sendTo("/api/network/members?per_page=0")},
		{"listMembers", 400, sendTo("/api/network/members?cursor=tampered")},
		{"getSandbox", 400, sendTo("/sandbox?q=%zz")},
		{"getProfileMarkdown", 406, sendHeader("Accept: text/markdown;q=0")},

		{"readBatch", 200, sendBody(`{"requests":[{"id":"m","path":"/api/human/demo.md"},{"id":"d","path":"/sandbox/api/network/members","query":{"q":"climate","per_page":3}},` +
			`{"id":"e","path":"/api/network/members","query":{"per_page":0}},{"id":"n","path":"/api/human/nobody-at-all"},{"id":"p","path":"/api/human/demo","query":{"token":"x"}}]}`)},
		{"readBatch", 400, sendBody(`{"requests":[]}`)},
		{"readBatch", 400, sendBody(`{"requests":[{"id":"x","path":"/api/human/demo","method":"GET"}]}`)},
		{"readBatch", 400, sendBody(`{`)},

		{"identifyAgent", 200, sendBody(`{"type":"service_auth"}`)},
		{"identifyAgent", 400, sendBody(`{"type":"robot"}`)},
		{"identifyAgent", 400, sendBody(`{}`)},
		{"identifyAgent", 401, func(k call) call { return sendBody(`{"type":"service_auth"}`)(k.without("Authorization")) }},

		{"registerClient", 201, sendBody(`{"client_name":"All","client_uri":"https://all.example","redirect_uris":["https://all.example/cb","http://localhost/cb"],` +
			`"grant_types":["authorization_code"],"response_types":["code"],"token_endpoint_auth_method":"client_secret_basic","scope":"connections","logo_uri":"https://all.example/l"}`)},
		{"registerClient", 400, sendBody(`{"redirect_uris":["ftp://x.example"]}`)},
		{"registerClient", 400, sendBody(`{"redirect_uris":["https://x.example"],"scope":"everything"}`)},
		{"registerClient", 400, func(k call) call { return k.without("Content-Type") }},
		{"registerClient", 400, sendHeader(harness.KeyLine(strings.Repeat("k", 256)))},
		{"getTokens", 400, func(k call) call { return k }},
		{"getTokens", 400, sendBody("grant_type=password")},
		{"getTokens", 400, func(k call) call { return k.without("Content-Type") }},
		{"revokeToken", 400, func(k call) call { return k }},

		{"callMCP", 200, sendBody(rpc("tools/list", "{}"))},
		{"callMCP", 200, sendBody(rpc("tools/call", `{"name":"search_connections","arguments":{"query":"x"}}`))},
		{"callMCP", 200, sendBody(rpc("no/such/method", "{}"))},
		{"callMCP", 200, sendBody(rpc("tools/call", `{"name":"no_such_tool"}`))},
		{"callMCP", 200, sendBody(rpc("tools/call", `{"name":"get_connection","arguments":{"id":"con_qo604yg551"}}`))},
		{"callMCP", 200, func(k call) call { return sendBody(rpc("tools/list", "{}"))(k.without("Authorization")) }},
		{"callMCP", 400, sendBody("[]")},
		{"callMCP", 400, sendBody("{")},
		{"callMCP", 400, sendBody("nonsense")},
		{"callMCP", 400, sendHeader("MCP-Protocol-Version: 1999-01-01")},
		{"callMCP", 400, sendHeader(harness.KeyLine(strings.Repeat("k", 256)))},
		{"callSandboxMCP", 400, sendHeader(harness.KeyLine(""))},
		{"callMCP", 401, func(k call) call {
			return sendBody(rpc("tools/call", `{"name":"get_account"}`))(k.without("Authorization"))
		}},
		{"callSandboxMCP", 200, sendBody(rpc("tools/list", "{}"))},

		{"getLanding", 200, sendHeader("Accept: text/markdown")},
		{"getDocsForPeople", 200, sendHeader("Accept: text/markdown")},
		{"getDocsForAgents", 200, sendHeader("Accept: text/html")},
		{"listErrors", 200, sendHeader("Accept: text/markdown")},
		{"getDocs", 200, sendTo("/docs")},
		{"getDocs", 200, sendHeader("Accept: text/markdown")},
		{"getGuide", 200, sendTo("/docs/paths")},
		{"getTool", 200, sendHeader("Accept: text/markdown")},
		{"getTool", 404, sendTo("/docs/tools/add_notes")},
		{"getTool", 404, func(k call) call { return sendHeader("Accept: text/html")(sendTo("/docs/tools/add_notes")(k)) }},
		{"getError", 200, sendTo("/docs/errors/-32001")},
		{"getError", 200, sendTo("/docs/errors/invalid_grant")},
	} {
		op := c.operations[test.operation]
		if op == nil {
			t.Errorf("%s is not described", test.operation)
			continue
		}
		k := test.change(c.asDocumented(t, op, ""))
		if got := c.ask(t, op, k); got.Status != test.status {
			t.Errorf("%s %q: got %d, want %d: %s", test.operation, k, got.Status, test.status, harness.Excerpt(got.Body))
		}
	}
}

// checkPages requests every page and sends its form without the page's hidden fields. The
// browser tests cover what users see; here the answer must match the description.
func (c *contract) checkPages(t *testing.T) {
	for _, op := range c.operations {
		if op.page() {
			c.ask(t, op, c.asDocumented(t, op, ""))
		}
	}
}

// sendTo, sendBody and sendHeader change one part of a call.
func sendTo(to string) func(call) call {
	return func(k call) call { return call{path: to, body: k.body, headers: k.headers} }
}

func sendBody(text string) func(call) call {
	return func(k call) call { return call{path: k.path, body: text, headers: k.headers} }
}

func sendHeader(line string) func(call) call {
	name, _, _ := strings.Cut(line, ": ")
	return func(k call) call { return k.without(name).with(line) }
}
