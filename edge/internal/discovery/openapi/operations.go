package openapi

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/kith-crm/kith/edge/internal/route"
)

// tagSandbox is the tag of the operations on the demo account.
const tagSandbox = "Sandbox"

// addPaths sets the paths of the document: those of the routes. The error names every route and
// method that the source does not describe.
func (o Options) addPaths(document object) error {
	source, paths := at(document, "paths"), object{}
	var faults []error
	for _, r := range o.Routes {
		item, err := describe(source, r)
		if err != nil {
			faults = append(faults, fmt.Errorf("route %q: %w", r.Name, err))
			continue
		}
		for _, method := range r.Methods {
			o.addAnswers(document, at(item, strings.ToLower(method)), r, method)
		}
		paths[r.Pattern] = item
	}
	document["paths"] = paths
	return errors.Join(faults...)
}

// describe returns the path item of a route, made from the source of the route or of
// the route that it copies.
func describe(source object, r route.Route) (object, error) {
	original := r.Pattern
	if r.CopyOf != "" {
		original = strings.TrimPrefix(original, route.SandboxPrefix)
	}
	described := at(source, original)
	if described == nil && r.Protocol == route.Page {
		described = page(r)
	}
	if described == nil {
		return nil, errors.New("its path is not described")
	}
	item := object{}
	if parameters := described["parameters"]; parameters != nil {
		item["parameters"] = clone(parameters)
	}
	for _, method := range r.Methods {
		operation := at(described, strings.ToLower(method))
		if operation == nil {
			return nil, fmt.Errorf("its method %s is not described", method)
		}
		operation = cloneObject(operation)
		introduce(operation, r, method)
		item[strings.ToLower(method)] = operation
	}
	return item, nil
}

// introduce adds the summary of the route to an operation, and says whether it is a copy,
// deprecated or batchable.
func introduce(operation object, r route.Route, method string) {
	if operation["summary"] == nil {
		operation["summary"] = r.Summary
	}
	if r.CopyOf != "" {
		operation["operationId"] = "sandbox" + upperFirst(text(operation, "operationId"))
		operation["tags"] = []string{tagSandbox}
		operation["description"] = "The same as `" + method + " " + strings.TrimPrefix(r.Pattern, route.SandboxPrefix) +
			"`, with the same data and the same rate limit. Credentials are ignored."
		answers := at(operation, "responses")
		if answers["401"] != nil {
			operation["description"] = text(operation, "description") + " What needs a credential is refused with 400."
		}
		delete(answers, "401")
		operation["security"] = []any{}
	}
	if r.Protocol == route.Page {
		say(operation, "For a person with a browser.")
	}
	if r.State == route.Deprecated {
		removal := "a removal date, which a `Sunset` header announces 180 days ahead"
		if !r.Sunset.IsZero() {
			removal = "its removal on " + r.Sunset.UTC().Format(time.DateOnly)
		}
		operation["deprecated"] = true
		say(operation, "Deprecated: use `"+r.Successor+"`. It works unchanged until "+removal+".")
	}
	if r.Batchable {
		operation["x-batchable"] = true
	}
}

// say adds a paragraph to an operation's description.
func say(operation object, paragraph string) {
	operation["description"] = strings.TrimSpace(text(operation, "description") + "\n\n" + paragraph)
}

// page describes a page, or a file that pages load, that the source does not describe. Agents do
// not use pages, so it lists the possible answers without their conditions.
func page(r route.Route) object {
	item := object{}
	for _, method := range r.Methods {
		security := []any{}
		if !r.Anonymous {
			security = append(security, object{"session": []any{}})
		}
		operation := object{"operationId": strings.ToLower(method) + camelCase(r.Name), "tags": []string{"People"}, "security": security}
		answers := map[string]string{"200": "Page", "303": "SeeOther", "403": "PageRefused", "404": "PageRefused"}
		parameters := pathParameters(r.Pattern)
		switch {
		case assetAnswer(r.Pattern) != "":
			answers = map[string]string{"200": assetAnswer(r.Pattern), "304": "SameAsset"}
			parameters = []any{newRef("parameters", "AssetVersion"), newRef("parameters", "IfNoneMatch")}
		case method == http.MethodGet && r.FormOnly:
			answers = map[string]string{"303": "SeeOther"}
			operation["summary"] = "Redirects to the page with the form."
		case method == http.MethodPost:
			answers["409"], answers["422"] = "PageRefused", "PageRefused"
			operation["requestBody"] = newRef("requestBodies", "Form")
			if strings.HasSuffix(r.Pattern, "/options") {
				answers["200"] = "PasskeyOptions"
			}
			if r.Anonymous {
				answers["429"] = "PageTooManyRequests" // password attempts
			}
		}
		if len(parameters) > 0 {
			operation["parameters"] = parameters
		}
		responses := object{}
		for status, component := range answers {
			responses[status] = newRef("responses", component)
		}
		operation["responses"] = responses
		item[strings.ToLower(method)] = operation
	}
	return item
}

// assetAnswer returns the component for a file that pages load; empty for a page.
func assetAnswer(pattern string) string {
	return map[string]string{".js": "Script", ".png": "AppIcon", ".webmanifest": "AppManifest"}[path.Ext(pattern)]
}

var parameterPattern = regexp.MustCompile(`{(\w+)}`)

func pathParameters(pattern string) (list []any) {
	for _, found := range parameterPattern.FindAllStringSubmatch(pattern, -1) {
		list = append(list, object{"name": found[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	return list
}

// camelCase makes "TagRename" of "tag-rename".
func camelCase(name string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		out.WriteString(upperFirst(word))
	}
	return out.String()
}

func upperFirst(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
