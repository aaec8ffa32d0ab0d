package openapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

// tagSandbox is the tag of what is there for the demo account.
const tagSandbox = "Sandbox"

// applyRows gives the document the paths of the rows, in their order, and what the
// rows say of them. It names every row and method that is not described.
func applyRows(root *yaml.Node, o Options) error {
	source := child(root, "paths")
	paths := newMapping()
	var faults []error
	for _, r := range o.Rows {
		item, err := describe(root, source, r, o)
		if err != nil {
			faults = append(faults, fmt.Errorf("route %q: %w", r.Name, err))
			continue
		}
		put(paths, r.Pattern, item)
	}
	put(root, "paths", paths)
	addRequestID(root)
	return errors.Join(faults...)
}

// describe returns the path item of a row, made from what the source has for the
// row itself or for the one that it is a copy of.
func describe(root, source *yaml.Node, r route.Route, o Options) (*yaml.Node, error) {
	original := r.Pattern
	if r.SameAs != "" {
		original = strings.TrimPrefix(original, route.SandboxPrefix)
	}
	described := child(source, original)
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
		answerAsRouter(root, operation, r, method, o)
		put(item, strings.ToLower(method), operation)
	}
	return item, nil
}

// introduce says what the row says of an operation.
func introduce(operation *yaml.Node, r route.Route, method string) {
	if child(operation, "summary") == nil {
		operation.Content = append([]*yaml.Node{newText("summary"), newText(r.Summary)}, operation.Content...)
	}
	if r.SameAs != "" {
		id := text(operation, "operationId")
		put(operation, "operationId", newText("sandbox"+strings.ToUpper(id[:1])+id[1:]))
		put(operation, "tags", newList([]string{tagSandbox}))
		put(operation, "description", newText("The same as `"+method+" "+strings.TrimPrefix(r.Pattern, route.SandboxPrefix)+
			"`, on the same budget, where all else is the demo account's. Nobody holds a member's access here."))
		takeNoCredential(operation)
	}
	if r.Protocol == route.Page {
		say(operation, "For a person with a browser.")
	}
	if r.State == route.Deprecated {
		put(operation, "deprecated", newScalar(tagBool, "true"))
		until := "a removal date, which a `Sunset` header announces 180 days ahead"
		if !r.Sunset.IsZero() {
			until = "its removal on " + r.Sunset.UTC().Format(time.DateOnly)
		}
		say(operation, "Deprecated: use `"+r.Successor+"`. It works unchanged until "+until+".")
	}
	if r.Batchable {
		put(operation, "x-batchable", newScalar(tagBool, "true"))
	}
}

// takeNoCredential leaves out what an operation answers to callers with a credential.
func takeNoCredential(operation *yaml.Node) {
	put(operation, "security", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"})
	remove(child(operation, "responses"), strconv.Itoa(http.StatusUnauthorized))
}

// limit says which rate policy counts an operation.
func limit(operation *yaml.Node, p ratelimit.Policy) {
	say(operation, "Rate policy `"+p.Name+"`: "+quota(p)+".")
	x := newMapping()
	put(x, "policy", newText(p.Name))
	put(x, "quota", newScalar(tagInteger, strconv.Itoa(p.Quota)))
	put(x, "window", newScalar(tagInteger, strconv.Itoa(int(p.Window/time.Second))))
	put(x, "by", newText(string(p.By)))
	put(operation, "x-rate-limit", x)
}

// say adds a paragraph to an operation's description.
func say(operation *yaml.Node, paragraph string) {
	words := strings.TrimSpace(text(operation, "description") + "\n\n" + paragraph)
	put(operation, "description", newText(words))
}
