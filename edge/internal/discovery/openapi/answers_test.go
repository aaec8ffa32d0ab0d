package openapi_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/kith-crm/kith/edge/internal/discovery/openapi"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

// eachOperation calls check for each operation of each server variant.
func eachOperation(t *testing.T, check func(t *testing.T, o openapi.Options, r route.Route, op *openapi3.Operation)) {
	t.Helper()
	eachVariant(t, func(t *testing.T, o openapi.Options, document *openapi3.T) {
		for _, r := range o.Routes {
			for _, method := range r.Methods {
				check(t, o, r, operation(t, document, r, method))
			}
		}
	})
}

// TestAnswersOfEveryOperation: each operation has an answer for success, and the answers of the
// router.
func TestAnswersOfEveryOperation(t *testing.T) {
	eachOperation(t, func(t *testing.T, _ openapi.Options, r route.Route, op *openapi3.Operation) {
		success := 0
		for code, answer := range op.Responses.Map() {
			status, err := strconv.Atoi(code)
			if err != nil || http.StatusText(status) == "" {
				t.Errorf("%s: %q is not a status", op.OperationID, code)
			}
			if status/100 == 2 || (status == http.StatusSeeOther || status == http.StatusPermanentRedirect) && r.Protocol == route.Page {
				success++
			}
			if h := answer.Value.Headers["X-Request-Id"]; h == nil || !h.Value.Required {
				t.Errorf("%s %s: no X-Request-Id", op.OperationID, code)
			}
		}
		if success == 0 || op.Responses.Status(http.StatusBadRequest) == nil || op.Responses.Status(http.StatusServiceUnavailable) == nil {
			t.Errorf("%s: it answers %v", op.OperationID, op.Responses.Map())
		}
	})
}

// TestStartOfAJob: the only success of POST /api/jobs is 202, which always has Location and
// Retry-After.
func TestStartOfAJob(t *testing.T) {
	t.Parallel()
	op := load(t, build(t, nil)).Paths.Find("/api/jobs").Post
	for code, answer := range op.Responses.Map() {
		if !strings.HasPrefix(code, "2") {
			continue
		}
		location, retry := answer.Value.Headers["Location"], answer.Value.Headers["Retry-After"]
		if code != "202" || location == nil || !location.Value.Required || retry == nil || !retry.Value.Required || *retry.Value.Schema.Value.Min < 1 {
			t.Errorf("%s: %v", code, answer.Value.Headers)
		}
	}
	if op.Responses.Status(http.StatusAccepted) == nil {
		t.Error("no 202")
	}
}

// TestRefusalsOfEveryOperation: each operation lists the refusals of the edge in the shape of its
// protocol, and a 410 if its removal date is set.
func TestRefusalsOfEveryOperation(t *testing.T) {
	t.Parallel()
	media := map[route.Protocol]string{
		route.HTTP: "application/problem+json", route.MCP: "application/json", route.OAuth: "application/json", route.Page: "text/html",
	}
	var all []route.Route
	document := load(t, build(t, func(o *openapi.Options) {
		for i, r := range o.Routes {
			if r.State == route.Deprecated {
				o.Routes[i].Sunset = time.Date(2027, 7, 1, 0, 0, 0, 0, time.UTC)
			}
		}
		all = o.Routes
	}))
	for _, r := range all {
		for _, method := range r.Methods {
			op := operation(t, document, r, method)
			for status, want := range map[int]bool{
				405: true, 431: true, 410: !r.Sunset.IsZero(), 408: method == "POST", 413: method == "POST", 415: method == "POST",
			} {
				answer := op.Responses.Status(status)
				if (answer != nil) != want {
					t.Errorf("%s: it lists %d: %t", op.OperationID, status, answer != nil)
				}
				if answer == nil {
					continue
				}
				shape := media[r.Protocol]
				if status == 431 { // sent before routing
					shape = media[route.HTTP]
				}
				if answer.Value.Content[shape] == nil {
					t.Errorf("%s %d: no %s", op.OperationID, status, shape)
				}
				if allow := answer.Value.Headers["Allow"]; (allow != nil) != (status == 405) {
					t.Errorf("%s %d: Allow: %v", op.OperationID, status, allow)
				}
			}
		}
	}
}

// TestLimits: a limited path answers 429, all of its answers have the limit's headers, and no other
// path has them. (A browser's attempts at a password are limited by the pages themselves.)
func TestLimits(t *testing.T) {
	eachOperation(t, func(t *testing.T, o openapi.Options, r route.Route, op *openapi3.Operation) {
		i := slices.IndexFunc(o.Policies, func(p ratelimit.Policy) bool { return p.Name == r.RatePolicy && p.Enabled() })
		limited := i >= 0
		if told := op.Extensions["x-rate-limit"]; (told != nil) != limited {
			t.Errorf("%s: %v", op.OperationID, told)
		}
		if tooMany := op.Responses.Status(http.StatusTooManyRequests); (tooMany != nil) != limited && r.Protocol != route.Page {
			t.Errorf("%s: answers 429: %v", op.OperationID, tooMany != nil)
		} else if tooMany != nil && !tooMany.Value.Headers["Retry-After"].Value.Required {
			t.Errorf("%s: a 429 without Retry-After", op.OperationID)
		}
		for code, answer := range op.Responses.Map() {
			for _, name := range []string{"RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
				if h := answer.Value.Headers[name]; (h != nil) != limited || h != nil && !h.Value.Required {
					t.Errorf("%s %s: %s", op.OperationID, code, name)
				}
			}
		}
		if !limited {
			return
		}
		p := o.Policies[i]
		told, _ := op.Extensions["x-rate-limit"].(map[string]any)
		if told["policy"] != p.Name || told["by"] != string(p.By) || told["quota"] != float64(p.Quota) || told["window"] != p.Window.Seconds() ||
			!strings.Contains(op.Description, "`"+p.Name+"`: "+strconv.Itoa(p.Quota)+" requests in ") {
			t.Errorf("%s: %v %s", op.OperationID, told, op.Description)
		}
	})
}

// TestDeprecations: the document and each answer mark a deprecated path and name its successor.
func TestDeprecations(t *testing.T) {
	eachOperation(t, func(t *testing.T, _ openapi.Options, r route.Route, op *openapi3.Operation) {
		deprecated := r.State == route.Deprecated
		if op.Deprecated != deprecated || strings.Contains(op.Description, "`"+route.PathMCPCurrent+"`") != deprecated {
			t.Errorf("%s: %v %s", op.OperationID, op.Deprecated, op.Description)
		}
		for code, answer := range op.Responses.Map() {
			if code == "431" { // sent before routing
				continue
			}
			if h := answer.Value.Headers; (h["Deprecation"] != nil) != deprecated || deprecated && h["Link"] == nil || h["Sunset"] != nil {
				t.Errorf("%s %s: %v", op.OperationID, code, h)
			}
		}
	})
}

// TestSunset: with a removal date, the document names it, and all answers have it.
func TestSunset(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 7, 1, 0, 0, 0, 0, time.UTC)
	var old route.Route
	document := load(t, build(t, func(o *openapi.Options) {
		for i, r := range o.Routes {
			if r.State == route.Deprecated {
				o.Routes[i].Sunset = at
				old = r
			}
		}
	}))
	op := operation(t, document, old, http.MethodPost)
	if !strings.Contains(op.Description, "removal on 2027-07-01") {
		t.Errorf("it says %s", op.Description)
	}
	for code, answer := range op.Responses.Map() {
		if code == "431" { // sent before routing
			continue
		}
		if h := answer.Value.Headers["Sunset"]; h == nil || !h.Value.Required {
			t.Errorf("%s: no Sunset", code)
		}
	}
}

// TestProblems: every code is documented, and the example of a problem is listed under the
// status of its code.
func TestProblems(t *testing.T) {
	eachVariant(t, func(t *testing.T, o openapi.Options, document *openapi3.T) {
		enum := document.Components.Schemas["ProblemCode"].Value.Enum
		for _, code := range httpapi.Codes() {
			line := "- `" + string(code) + "` (" + strconv.Itoa(code.Status()) + "): " + code.Title()
			if !slices.Contains(enum, any(string(code))) || !strings.Contains(document.Info.Description, line) {
				t.Errorf("%s is not documented", code)
			}
		}
		if len(enum) != len(httpapi.Codes()) {
			t.Errorf("there are %d codes, and %d are documented", len(httpapi.Codes()), len(enum))
		}
		for _, r := range o.Routes {
			for _, method := range r.Methods {
				op := operation(t, document, r, method)
				for code, answer := range op.Responses.Map() {
					checkProblemExamples(t, op.OperationID, code, answer.Value.Content["application/problem+json"])
				}
			}
		}
	})
}

func checkProblemExamples(t *testing.T, id, status string, media *openapi3.MediaType) {
	t.Helper()
	if media == nil {
		return
	}
	if len(media.Examples) == 0 {
		t.Errorf("%s %s: a problem without an example", id, status)
	}
	for name, example := range media.Examples {
		value, _ := example.Value.Value.(map[string]any)
		code, _ := value["code"].(string)
		want := httpapi.Code(code)
		if strconv.Itoa(want.Status()) != status || value["status"] != float64(want.Status()) || value["title"] != want.Title() ||
			value["type"] != base+"/docs/errors/"+code {
			t.Errorf("%s %s: the example for status %s has the status %v", id, status, name, value)
		}
	}
}
