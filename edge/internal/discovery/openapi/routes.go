package openapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kith-crm/kith/edge/internal/route"
)

// tagSandbox is the tag of the operations on the demo account.
const tagSandbox = "Sandbox"

// addRoutes sets the paths of the document: the paths of the routes, in their order, with
// the routes' summaries and other data. The error names every route and method that the
// source does not describe.
func addRoutes(root *yaml.Node, routes []route.Route) error {
	source := child(root, "paths")
	paths := newMapping()
	var faults []error
	for _, r := range routes {
		item, err := describe(source, r)
		if err != nil {
			faults = append(faults, fmt.Errorf("route %q: %w", r.Name, err))
			continue
		}
		for _, method := range r.Methods {
			answerAsRouter(root, child(item, strings.ToLower(method)), r, method)
		}
		put(paths, r.Pattern, item)
	}
	put(root, "paths", paths)
	return errors.Join(faults...)
}

// describe returns the path item of a route, made from the source of the route or of
// the route that it copies.
func describe(source *yaml.Node, r route.Route) (*yaml.Node, error) {
	original := r.Pattern
	if r.CopyOf != "" {
		original = strings.TrimPrefix(original, route.SandboxPrefix)
	}
	described := child(source, original)
	if described == nil && r.Protocol == route.Page {
		described = page(r)
	}
	if described == nil {
		return nil, errors.New("its path is not described")
	}
	item := newMapping()
	if parameters := child(described, "parameters"); parameters != nil {
		put(item, "parameters", clone(parameters))
	}
	for _, method := range r.Methods {
		operation := child(described, strings.ToLower(method))
		if operation == nil {
			return nil, fmt.Errorf("its method %s is not described", method)
		}
		operation = clone(operation)
		introduce(operation, r, method)
		put(item, strings.ToLower(method), operation)
	}
	return item, nil
}

// introduce adds the summary of the route to an operation, and says whether it is a copy,
// deprecated or batchable.
func introduce(operation *yaml.Node, r route.Route, method string) {
	if child(operation, "summary") == nil {
		operation.Content = append([]*yaml.Node{newText("summary"), newText(r.Summary)}, operation.Content...)
	}
	if r.CopyOf != "" {
		id := text(operation, "operationId")
		put(operation, "operationId", newText("sandbox"+strings.ToUpper(id[:1])+id[1:]))
		put(operation, "tags", newList([]string{tagSandbox}))
		about := "The same as `" + method + " " + strings.TrimPrefix(r.Pattern, route.SandboxPrefix) +
			"`, with the same data and the same rate limit. Credentials are ignored."
		if child(operation, "responses", strconv.Itoa(http.StatusUnauthorized)) != nil {
			about += " What needs a credential is refused with 400."
		}
		put(operation, "description", newText(about))
		takeNoCredential(operation)
	}
	if r.Protocol == route.Page {
		say(operation, "For a person with a browser.")
	}
	if r.State == route.Deprecated {
		put(operation, "deprecated", newScalar(tagBool, "true"))
		say(operation, "Deprecated: use `"+r.Successor+"`. It works unchanged until "+withoutSunset+".")
	}
	if r.Batchable {
		put(operation, "x-batchable", newScalar(tagBool, "true"))
	}
}

// takeNoCredential marks an operation as public and removes its answer 401.
func takeNoCredential(operation *yaml.Node) {
	put(operation, "security", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"})
	remove(child(operation, "responses"), strconv.Itoa(http.StatusUnauthorized))
}

// say adds a paragraph to an operation's description.
func say(operation *yaml.Node, paragraph string) {
	words := strings.TrimSpace(text(operation, "description") + "\n\n" + paragraph)
	put(operation, "description", newText(words))
}
