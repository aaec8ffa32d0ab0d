package openapi

import (
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

func newRef(kind, component string) object {
	return object{"$ref": "#/components/" + kind + "/" + component}
}

// addAnswers adds the answers that every operation of the edge has, unless the source has one with
// that status, and the headers that the edge adds to the handler's answers.
func (o Options) addAnswers(document, operation object, r route.Route, method string) {
	shared := map[string]string{"400": "BadRequest", "405": "MethodNotAllowed", "503": "Unavailable"}
	if method == http.MethodPost {
		shared["408"], shared["413"], shared["415"] = "Timeout", "ContentTooLarge", "UnsupportedMediaType"
	}
	policy, limited := o.usedPolicy(r.RatePolicy)
	if limited {
		shared["429"] = "TooManyRequests"
	}
	if !r.Sunset.IsZero() {
		shared["410"] = "Gone"
	}
	answers := at(operation, "responses")
	// The components of a protocol's errors begin with its prefix.
	prefix := map[route.Protocol]string{route.MCP: "RPC", route.OAuth: "OAuth", route.Page: "Page"}[r.Protocol]
	for status, component := range shared {
		if answers[status] == nil {
			answers[status] = newRef("responses", prefix+component)
		}
	}
	if r.State == route.Deprecated {
		mark(document, answers, "Deprecated", "Deprecation", "Link")
	}
	if !r.Sunset.IsZero() {
		mark(document, answers, "Sunset", "Sunset")
	}
	// The server sends this answer before it looks up the path: always as a problem, without
	// the headers of the route.
	answers["431"] = newRef("responses", "HeadersTooLarge")
	if limited {
		say(operation, "Rate policy `"+policy.Name+"`: "+quota(policy)+".")
		operation["x-rate-limit"] = object{"policy": policy.Name, "quota": policy.Quota, "window": int(policy.Window / time.Second), "by": policy.By}
		mark(document, answers, "Counted", ratelimit.Headers()...)
	}
}

// mark adds headers to each answer. It does not change a shared component: it adds a
// copy with the headers, under the component's name and the suffix.
func mark(document, answers object, suffix string, headers ...string) {
	shared := at(document, "components", "responses")
	for status := range answers {
		answer := at(answers, status)
		name, isShared := strings.CutPrefix(text(answer, "$ref"), "#/components/responses/")
		if !isShared {
			addHeaders(answer, headers...)
			continue
		}
		marked := name + suffix
		if shared[marked] == nil {
			variant := cloneObject(at(shared, name))
			addHeaders(variant, headers...)
			shared[marked] = variant
		}
		answers[status] = newRef("responses", marked)
	}
}

func addHeaders(answer object, names ...string) {
	headers := maps.Clone(at(answer, "headers"))
	if headers == nil {
		headers = object{}
	}
	for _, name := range names {
		headers[name] = newRef("headers", name)
	}
	answer["headers"] = headers
}

// addRequestID adds X-Request-Id to every answer.
func addRequestID(document object) {
	groups := []object{at(document, "components", "responses")}
	for path := range at(document, "paths") {
		for method := range at(document, "paths", path) {
			groups = append(groups, at(document, "paths", path, method, "responses"))
		}
	}
	for _, answers := range groups {
		for name := range answers {
			if answer := at(answers, name); answer["$ref"] == nil {
				addHeaders(answer, "X-Request-Id")
			}
		}
	}
}
