// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/openapi -run TestOpenAPI

package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestOpenAPI compares the service with its own description: every answer that
// /openapi.json documents is provoked and validated by kin-openapi, and so is every other
// answer on the way. The test reads everything it can from the description.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.SQLite)
	// All policies are on, so that their headers are documented and sent.
	s.LimitAll("100000/3600")
	// The deprecated path has a removal date, which its answers and the document state.
	s.Settings["KITH_SECURITY_CONTACT"] = "mailto:security@kith.example"
	s.Settings["KITH_SUNSET_MCP"] = time.Now().UTC().AddDate(1, 0, 0).Format(time.DateOnly)
	s.Start()
	c := readContract(t, s)
	t.Run("jobs", c.checkJobs)
	t.Run("answers", c.checkAnswers)
	t.Run("other answers", c.checkOtherAnswers)
	t.Run("pages", c.checkPages)
	t.Run("examples", c.checkExamples)
	t.Run("bounds", c.checkBounds)
	t.Run("tokens", c.checkTokens)
	t.Run("busy", c.checkBusy)
	t.Run("slow", c.checkSlow)
	t.Run("limits", c.checkLimits)
	t.Run("keys", c.checkKeys)
	t.Run("outage", c.checkOutage)
	t.Run("redocly", c.lintByRedocly)
	t.Run("spectral", c.lintBySpectral)
	if !t.Failed() { // after a failure, answers would be missing too
		c.checkAllSeen(t)
	}
}

// contract is the description of a service, and the answers seen so far.
type contract struct {
	service    *harness.Service
	body       string
	document   *openapi3.T
	operations map[string]*operation
	ada        harness.Agent // a member's agent

	answered map[string]bool // operation and status
	told     map[string]bool // error codes with their texts
}

// operation is one operation of the description.
type operation struct {
	*openapi3.Operation

	path, method string
	item         *openapi3.PathItem
}

// page reports whether the operation answers with HTML pages. Not every such answer is
// provoked here: that takes sessions, emails and an identity provider, which the browser
// tests have, and no validator can read a page.
func (o *operation) page() bool {
	return slices.Contains(o.Tags, "People") && !strings.HasPrefix(o.path, "/assets/") || o.OperationID == "authorize"
}

var decoders = sync.OnceFunc(func() {
	for _, media := range []string{"text/html", "text/markdown", "text/css", "text/javascript", "image/svg+xml"} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.PlainBodyDecoder)
	}
	openapi3filter.RegisterBodyDecoder("application/linkset+json", openapi3filter.JSONBodyDecoder)
})

// readContract reads the description of a running service.
func readContract(t *testing.T, s *harness.Service) *contract {
	t.Helper()
	decoders()
	got := s.Send(t, http.MethodGet, "/openapi.json", "")
	document, err := openapi3.NewLoader().LoadFromData(closed(t, got.Body))
	if err != nil || got.Status != http.StatusOK {
		t.Fatalf("got %d: %v", got.Status, err)
	}
	if err := document.Validate(t.Context(), openapi3.EnableSchemaFormatValidation()); err != nil {
		t.Fatal(err)
	}
	if document.Servers[0].URL != s.Base {
		t.Errorf("the document's server is %s", document.Servers[0].URL)
	}
	c := &contract{
		service: s, body: got.Body, document: document, operations: map[string]*operation{},
		ada: s.NewMember(t).Agent(t), answered: map[string]bool{}, told: map[string]bool{},
	}
	for path, item := range document.Paths.Map() {
		for method, op := range item.Operations() {
			c.operations[op.OperationID] = &operation{op, path, method, item}
		}
	}
	return c
}

// closed forbids undescribed members in every object schema that does not set
// additionalProperties. Clients must not rely on that; here it finds undocumented members.
func closed(t *testing.T, document string) []byte {
	t.Helper()
	var whole any
	if err := json.Unmarshal([]byte(document), &whole); err != nil {
		t.Fatalf("the description is not JSON: %v", err)
	}
	var closeAll func(value any)
	closeAll = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, each := range v {
				closeAll(each)
			}
		case map[string]any:
			for name, each := range v {
				if name != "example" && name != "examples" {
					closeAll(each)
				}
			}
			if _, says := v["additionalProperties"]; v["type"] == "object" && v["properties"] != nil && !says {
				v["additionalProperties"] = false
			}
		}
	}
	closeAll(whole)
	return []byte(harness.Encode(t, whole))
}

// call is a request for an operation.
type call struct {
	method     string // the operation's if ""
	path, body string
	headers    []string
}

// with returns the call with an additional header line.
func (k call) with(line string) call {
	k.headers = append(slices.Clone(k.headers), line)
	return k
}

// without returns the call with no header of the name.
func (k call) without(name string) call {
	k.headers = slices.DeleteFunc(slices.Clone(k.headers), func(line string) bool { return strings.HasPrefix(line, name+": ") })
	return k
}

// ask sends a call, and checks the answer against the description.
func (c *contract) ask(t *testing.T, op *operation, k call) harness.Response {
	t.Helper()
	got := c.service.Send(t, cmp.Or(k.method, op.method), k.path, k.body, k.headers...)
	c.check(t, op, got)
	return got
}

// check validates an answer: its status, its headers and its body.
func (c *contract) check(t *testing.T, op *operation, got harness.Response) {
	t.Helper()
	response := op.Responses.Status(got.Status)
	if response == nil {
		t.Errorf("%s: the answer %d is not documented: %s", op.OperationID, got.Status, harness.Excerpt(got.Body))
		return
	}
	// kin-openapi skips a 304, so it is validated under another status.
	described, status := *op.Operation, got.Status
	if status == http.StatusNotModified {
		status = http.StatusIMUsed
		described.Responses = openapi3.NewResponses(openapi3.WithStatus(status, response))
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: &http.Request{Method: op.method},
			Route:   &routers.Route{Spec: c.document, Path: op.path, PathItem: op.item, Method: op.method, Operation: &described},
		},
		Status: status, Header: got.Header, Body: io.NopCloser(strings.NewReader(got.Body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(t.Context(), input); err != nil {
		t.Errorf("%s: the answer %d is not as documented: %v\n%v\n%s", op.OperationID, got.Status, err, got.Header, harness.Excerpt(got.Body))
	}
	c.note(op, got)
	if op.page() { // a redirect may have a line of text, and password attempts have rate-limit headers
		return
	}
	if len(response.Value.Content) == 0 && got.Body != "" {
		t.Errorf("%s: the answer %d has a body that is not documented: %s", op.OperationID, got.Status, harness.Excerpt(got.Body))
	}
	for _, name := range []string{
		"RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After", "WWW-Authenticate",
		"Deprecation", "Sunset", "Link", "ETag", "Location", "Cache-Control", "X-Request-Id", "Idempotency-Replayed",
	} {
		if got.Header.Get(name) != "" && response.Value.Headers[name] == nil {
			t.Errorf("%s: the answer %d has %s, which is not documented", op.OperationID, got.Status, name)
		}
	}
}

// note records that the answer was seen.
func (c *contract) note(op *operation, got harness.Response) {
	c.answered[fmt.Sprint(op.OperationID, " ", got.Status)] = true
	c.told[errorWords(json.RawMessage(got.Body))] = true
}

// errorWords returns the code and the text of an error, in any of the error formats.
func errorWords(body []byte) string {
	var e struct {
		Code, Detail string
		Error        any
		Description  string `json:"error_description"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	_ = decoder.Decode(&e) // a body that is not JSON is not an error
	if rpc, ok := e.Error.(map[string]any); ok {
		return fmt.Sprint(rpc["code"], ": ", waitPattern.ReplaceAllString(fmt.Sprint(rpc["message"]), "in some seconds"))
	}
	if e.Error != nil {
		return fmt.Sprint(e.Error, ": ", e.Description)
	}
	return e.Code + ": " + timesOf(e.Detail) // when credits are renewed
}

// exampleOfOutage is the name of the example for an unreachable backend. With -short there
// is no such answer.
const exampleOfOutage = "down"

// checkAllSeen fails the test unless every documented answer and every example of an error
// was seen.
func (c *contract) checkAllSeen(t *testing.T) {
	t.Helper()
	for _, op := range c.operations {
		for status, response := range op.Responses.Map() {
			if op.page() || status == "410" { // the removal date is too far away
				continue
			}
			if !c.answered[op.OperationID+" "+status] {
				t.Errorf("%s: the answer %s is documented but was not seen", op.OperationID, status)
			}
			for _, media := range response.Value.Content {
				for name, example := range media.Examples {
					words := errorWords([]byte(harness.Encode(t, example.Value.Value)))
					if status >= "400" && !c.told[words] && (name != exampleOfOutage || !testing.Short()) {
						t.Errorf("%s %s: no answer was like the example %s: %s", op.OperationID, status, name, words)
					}
				}
			}
		}
	}
}
