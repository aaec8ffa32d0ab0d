package openapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kith-crm/kith/edge/internal/route"
)

const (
	responseRef = "#/components/responses/"
	headerRef   = "#/components/headers/"
)

// sharedAnswers returns the answers of the edge that every operation has, by status. The values
// are names of components without the prefix of the protocol.
func sharedAnswers(method string) map[string]string {
	answers := map[string]string{"400": "BadRequest", "405": "MethodNotAllowed", "503": "Unavailable"}
	if method == http.MethodPost {
		answers["408"], answers["413"], answers["415"] = "Timeout", "ContentTooLarge", "UnsupportedMediaType"
	}
	return answers
}

// prefix returns the prefix of the components with a protocol's errors.
func prefix(p route.Protocol) string {
	return map[route.Protocol]string{route.MCP: "RPC", route.OAuth: "OAuth", route.Page: "Page"}[p]
}

// countedHeaders returns the headers that a rate policy adds (package ratelimit).
func countedHeaders() []string {
	return []string{"RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
}

// answerAsRouter adds the router's own answers, and the headers that the router adds to the
// handler's answers.
func answerAsRouter(root, operation *yaml.Node, r route.Route, method string) {
	answers := obtain(operation, "responses")
	shared := sharedAnswers(method)
	for _, status := range slices.Sorted(maps.Keys(shared)) { // so that the document is always the same
		addAnswer(answers, status, prefix(r.Protocol)+shared[status])
	}
	if r.State == route.Deprecated {
		mark(root, answers, "Deprecated", deprecationHeaders())
	}
	// The server sends this answer before it looks up the path: always as a problem, without
	// the headers of the route.
	addAnswer(answers, "431", "HeadersTooLarge")
	sortByStatus(answers)
}

// addAnswer adds an answer unless the source has one with that status.
func addAnswer(answers *yaml.Node, status, component string) {
	if child(answers, status) == nil {
		put(answers, status, newRef(responseRef+component))
	}
}

func deprecationHeaders() []string { return []string{"Deprecation", "Link"} }

func newRef(target string) *yaml.Node {
	n := newMapping()
	put(n, "$ref", newText(target))
	return n
}

// mark adds headers to each answer. It does not change a shared component: it adds a
// copy with the headers, under the component's name and the suffix.
func mark(root, answers *yaml.Node, suffix string, headers []string) {
	shared := child(root, "components", "responses")
	for _, answer := range members(answers) {
		name, isShared := strings.CutPrefix(text(answer, "$ref"), responseRef)
		if !isShared {
			addHeaders(answer, headers)
			continue
		}
		marked := name + suffix
		if child(shared, marked) == nil {
			variant := clone(child(shared, name))
			addHeaders(variant, headers)
			put(shared, marked, variant)
		}
		put(answer, "$ref", newText(responseRef+marked))
	}
}

func addHeaders(answer *yaml.Node, names []string) {
	headers := obtain(answer, "headers")
	for _, name := range names {
		put(headers, name, newRef(headerRef+name))
	}
}

// addRequestID adds X-Request-Id to every answer.
func addRequestID(root *yaml.Node) {
	id := []string{"X-Request-Id"}
	for _, answer := range members(child(root, "components", "responses")) {
		addHeaders(answer, id)
	}
	for _, item := range members(child(root, "paths")) {
		for _, operation := range members(item) {
			for _, answer := range members(child(operation, "responses")) {
				if text(answer, "$ref") == "" {
					addHeaders(answer, id)
				}
			}
		}
	}
}

func sortByStatus(answers *yaml.Node) {
	pairs := slices.Collect(slices.Chunk(answers.Content, 2))
	slices.SortFunc(pairs, func(a, b []*yaml.Node) int { return strings.Compare(a[0].Value, b[0].Value) })
	answers.Content = slices.Concat(pairs...)
}
