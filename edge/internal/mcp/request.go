package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// accessCheck decides by the headers whether a request is refused before its body is read.
type accessCheck struct {
	own      string // the service's own origin
	host     string // the host of the service's own address
	origins  []string
	anyone   bool // every origin is allowed
	loopback bool
}

func newAccessCheck(o Options) accessCheck {
	c := accessCheck{
		origins:  o.AllowedOrigins,
		anyone:   slices.Contains(o.AllowedOrigins, "*"),
		loopback: o.Loopback,
	}
	if u, err := url.Parse(o.BaseURL); err == nil {
		c.own, c.host = u.Scheme+"://"+u.Host, u.Hostname()
	}
	return c
}

func (c accessCheck) check(r *http.Request) *failure {
	switch {
	case c.loopback && !c.allowsHost(r.Host):
		return refusal(http.StatusForbidden, "The Host header names another host than this server's.")
	case !c.allowsOrigin(r.Header["Origin"]):
		return refusal(http.StatusForbidden, "Web pages of this origin may not call this server.")
	case len(r.Header["Content-Type"]) > 1 || !httpapi.IsJSON(r):
		return refusal(http.StatusUnsupportedMediaType, "Content-Type must be application/json.")
	case httpapi.Encoded(r.Header):
		return refusal(http.StatusUnsupportedMediaType, "The body must not be compressed.")
	default:
		return nil
	}
}

// allowsHost compares host names without ports: a proxy may have changed the port.
func (c accessCheck) allowsHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	switch host = strings.ToLower(strings.Trim(host, "[]")); host {
	case "localhost", "127.0.0.1", "::1":
		return true
	default:
		return host != "" && strings.EqualFold(host, c.host)
	}
}

func (c accessCheck) allowsOrigin(lines []string) bool {
	switch {
	case len(lines) == 0 || c.anyone:
		return true
	case len(lines) > 1:
		return false
	case strings.EqualFold(lines[0], c.own):
		return true
	default:
		return slices.ContainsFunc(c.origins, func(o string) bool { return strings.EqualFold(o, lines[0]) })
	}
}

// checkVersion checks the MCP-Protocol-Version header. Without one the version is 2025-03-26. On
// initialize it may repeat the version that the body offers, as some clients send it: then the
// answer negotiates, as it does without the header.
func checkVersion(h http.Header, c *call) *failure {
	lines := h["Mcp-Protocol-Version"]
	if len(lines) == 0 || (len(lines) == 1 && supportedVersion(lines[0])) {
		return nil
	}
	var offered string
	if c.method == methodInitialize && len(lines) == 1 && json.Unmarshal(c.params.protocolVersion, &offered) == nil && offered == lines[0] {
		return nil
	}
	return refusal(http.StatusBadRequest,
		"MCP-Protocol-Version must be "+version20250618+" or "+version20250326+".")
}

// kind of a JSON-RPC message.
type kind uint8

const (
	request      kind = iota // expects an answer
	notification             // expects no answer
	response                 // from a client, although the server never sends requests
)

// message is a decoded JSON-RPC message. Its raw values are slices of the body.
type message struct {
	kind   kind
	method string
	id     jsontext.Value // as sent: a JSON string or number; nil without one
	params params
}

// params are the members of params that the methods read, each as the raw JSON value that was
// sent, or nil.
type params struct {
	// fault says why params is invalid: it is not an object, or a key differs from a known one only
	// in case.
	fault           string
	name            jsontext.Value
	arguments       jsontext.Value
	cursor          jsontext.Value
	uri             jsontext.Value
	ref             jsontext.Value
	argument        jsontext.Value
	protocolVersion jsontext.Value
	meta            jsontext.Value
}

// decodeError says why a body is not a valid message.
type decodeError struct {
	code    int // codeParse or codeInvalidRequest
	message string
}

// envelope is the top level of a message, with raw values.
type envelope struct {
	Version jsontext.Value            `json:"jsonrpc"`
	Method  jsontext.Value            `json:"method"`
	ID      jsontext.Value            `json:"id"`
	Params  jsontext.Value            `json:"params"`
	Result  jsontext.Value            `json:"result"`
	Error   jsontext.Value            `json:"error"`
	Others  map[string]jsontext.Value `json:",embed"`
}

// decode reads one message. Duplicate keys anywhere, bad UTF-8, a byte order mark
// and trailing data are refused by the JSON decoder.
func decode(body []byte) (message, *decodeError) {
	switch jsontext.Value(body).Kind() {
	case '{':
	case '[':
		return message{}, &decodeError{codeInvalidRequest, "Batches are not accepted: send one message per request."}
	default:
		if !jsontext.Value(body).IsValid() {
			return message{}, &decodeError{codeParse, "The body is not valid JSON."}
		}
		return message{}, &decodeError{codeInvalidRequest, "The body must be one JSON object."}
	}
	if err := httpapi.CheckShape(body); err != nil {
		return message{}, &decodeError{codeInvalidRequest, "Refused: " + err.Error() + "."}
	}
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return message{}, explain(err, body)
	}
	for name := range e.Others {
		if known := httpapi.Lookalike(name, "jsonrpc", "method", "id", "params", "result", "error"); known != "" {
			return message{}, &decodeError{codeInvalidRequest, "Refused: a key differs from " + known + " only in case."}
		}
	}
	return e.message()
}

// explain returns the error for a body that is not one valid JSON object; err is that of decoding it.
func explain(err error, body []byte) *decodeError {
	if jsontext.NewDecoder(bytes.NewReader(body)).SkipValue() == nil {
		return &decodeError{codeParse, "The body has data after the JSON object."}
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return &decodeError{codeParse, "The body has an object with the same key twice."}
	}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &decodeError{codeParse, fmt.Sprintf("The body is not valid JSON, at byte %d.", s.ByteOffset)}
	}
	return &decodeError{codeParse, "The body is not valid JSON."}
}

// given returns a raw JSON value, or nil for null, which counts as absent.
func given(value jsontext.Value) jsontext.Value {
	if value.Kind() == 'n' {
		return nil
	}
	return value
}

// readParams reads the members of params. null counts as absent.
func readParams(value jsontext.Value) params {
	if value = given(value); value == nil {
		return params{}
	}
	if value.Kind() != '{' {
		return params{fault: "params must be an object."}
	}
	var read struct {
		Name            jsontext.Value            `json:"name"`
		Arguments       jsontext.Value            `json:"arguments"`
		Cursor          jsontext.Value            `json:"cursor"`
		URI             jsontext.Value            `json:"uri"`
		Ref             jsontext.Value            `json:"ref"`
		Argument        jsontext.Value            `json:"argument"`
		ProtocolVersion jsontext.Value            `json:"protocolVersion"`
		Meta            jsontext.Value            `json:"_meta"`
		Others          map[string]jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal(value, &read); err != nil {
		return params{fault: "params must be an object."}
	}
	p := params{
		name: given(read.Name), arguments: given(read.Arguments), cursor: given(read.Cursor), uri: given(read.URI), ref: given(read.Ref),
		argument: given(read.Argument), protocolVersion: given(read.ProtocolVersion), meta: given(read.Meta),
	}
	for name := range read.Others {
		if known := httpapi.Lookalike(name, "name", "arguments", "cursor", "uri", "ref", "argument", "protocolVersion", "_meta"); known != "" {
			p.fault = "In params, a key differs from " + known + " only in case."
		}
	}
	return p
}

// message returns the message of the envelope with its kind (JSON-RPC 2.0, sections 4 and 5), or
// why it is invalid.
func (e envelope) message() (message, *decodeError) {
	fault := func(text string) (message, *decodeError) { return message{}, &decodeError{codeInvalidRequest, text} }
	answer := e.Result != nil || e.Error != nil
	switch {
	case string(e.Version) != `"2.0"`:
		return fault(`jsonrpc must be "2.0".`)
	case e.ID != nil && e.ID.Kind() != '"' && e.ID.Kind() != '0':
		return fault("id must be a string or a number.")
	case e.Method == nil && answer && e.ID != nil:
		return message{kind: response, id: e.ID}, nil
	case e.Method == nil:
		return fault("method is missing.")
	case answer:
		return fault("A message cannot be a request and a response at once.")
	case e.Method.Kind() != '"':
		return fault("method must be a string.")
	}
	m := message{id: e.ID, method: unquote(e.Method), params: readParams(e.Params)}
	if e.ID == nil {
		m.kind = notification
	}
	return m, nil
}

// unquote returns the text of a JSON string that is known to be valid.
func unquote(quoted []byte) string {
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return string(text)
}

// maxKey is the maximum length of an Idempotency-Key in bytes, which the specification fixes.
const maxKey = 255

// readKey reads the Idempotency-Key, which is checked on every method. It returns the key and the
// fingerprint for the backend, which stores the answers of earlier calls. It returns nil for
// methods other than tools/call, which are safe to repeat.
func (e *endpoint) readKey(r *http.Request, c *call, body []byte) (*upstream.Retry, *failure) {
	lines := r.Header["Idempotency-Key"]
	if len(lines) == 0 {
		return nil, nil
	}
	if len(lines) > 1 || !validKey(lines[0]) {
		return nil, refusal(http.StatusBadRequest, "Idempotency-Key must be one header of 1 to 255 printable ASCII characters.")
	}
	if c.kind != request || c.method != methodCallTool {
		return nil, nil
	}
	return &upstream.Retry{Key: lines[0], Fingerprint: e.fingerprint(r, body)}, nil
}

func validKey(key string) bool {
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return false
		}
	}
	return len(key) >= 1 && len(key) <= maxKey
}

// fingerprint is a hash of the parts that tell requests apart: method, operation, media type and
// the bytes of the body. All paths of an operation have the same fingerprint: the deprecated path
// and its successor, and the paths of the sandbox.
func (e *endpoint) fingerprint(r *http.Request, body []byte) string {
	operation := RouteCurrent
	if e.policy == demoAccount {
		operation = routeSandbox
	}
	h := sha256.New()
	// Only one media type is accepted; its parameters do not matter.
	h.Write([]byte(r.Method + "\n" + operation + "\napplication/json\n"))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

func supportedVersion(version string) bool {
	return version == version20250618 || version == version20250326
}
