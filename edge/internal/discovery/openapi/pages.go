package openapi

import (
	"net/http"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kith-crm/kith/edge/internal/route"
)

// page describes a page, or a file that pages load, that the source does not describe. Agents do
// not use pages, so it lists the possible answers without their conditions.
func page(r route.Route) *yaml.Node {
	item := newMapping()
	for _, method := range r.Methods {
		operation := newMapping()
		put(operation, "operationId", newText(strings.ToLower(method)+camelCase(r.Name)))
		put(operation, "tags", newList([]string{"People"}))
		security := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		if !r.Anonymous {
			session := newMapping()
			put(session, "session", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"})
			security.Content = append(security.Content, session)
		}
		put(operation, "security", security)
		answers := map[string]string{"200": "Page", "303": "SeeOther", "403": "PageRefused", "404": "PageRefused"}
		parameters := pathParameters(r.Pattern)
		switch {
		case assetAnswer(r.Pattern) != "":
			answers = map[string]string{"200": assetAnswer(r.Pattern), "304": "SameAsset"}
			parameters = []*yaml.Node{newRef(parameterRef + "AssetVersion"), newRef(parameterRef + "IfNoneMatch")}
		case method == http.MethodGet && r.FormOnly:
			answers = map[string]string{"303": "SeeOther"}
			put(operation, "summary", newText("Redirects to the page with the form."))
		case method == http.MethodPost:
			answers["409"], answers["422"] = "PageRefused", "PageRefused"
			put(operation, "requestBody", newRef("#/components/requestBodies/Form"))
			if strings.HasSuffix(r.Pattern, "/options") {
				answers["200"] = "PasskeyOptions"
			}
			if r.Anonymous {
				answers["429"] = "PageTooManyRequests" // password attempts
			}
		}
		if len(parameters) > 0 {
			put(operation, "parameters", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: parameters})
		}
		responses := obtain(operation, "responses")
		for status, component := range answers {
			addAnswer(responses, status, component)
		}
		put(item, strings.ToLower(method), operation)
	}
	return item
}

// assetAnswer returns the component for a file that pages load; empty for a page.
func assetAnswer(pattern string) string {
	return map[string]string{".js": "Script", ".png": "AppIcon", ".webmanifest": "AppManifest"}[path.Ext(pattern)]
}

const parameterRef = "#/components/parameters/"

var parameterPattern = regexp.MustCompile(`{(\w+)}`)

func pathParameters(pattern string) (list []*yaml.Node) {
	for _, found := range parameterPattern.FindAllStringSubmatch(pattern, -1) {
		kind, parameter := newMapping(), newMapping()
		put(kind, "type", newText("string"))
		put(parameter, "name", newText(found[1]))
		put(parameter, "in", newText("path"))
		put(parameter, "required", newScalar(tagBool, "true"))
		put(parameter, "schema", kind)
		list = append(list, parameter)
	}
	return list
}

// camelCase makes "TagRename" of "tag-rename".
func camelCase(name string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}
