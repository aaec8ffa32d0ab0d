package openapi

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v3"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

//go:embed source/*.yaml
var sourceFiles embed.FS

// exampleMember is the username in the examples of a server without a sandbox.
const exampleMember = "ada-lovelace"

// Options are the values that other code and the deployment define. All but Policies and
// DemoUsername are required.
type Options struct {
	// BaseURL is the public address, without a slash at the end.
	BaseURL string
	// Version of the service.
	Version string
	// Catalog has the tools, and Protocols are the versions of MCP, the default first.
	Catalog   *catalog.Catalog
	Protocols []string
	// Routes are the routes that the server serves, as route.Mounted returns them.
	Routes []route.Route
	// Policies are the rate policies in force. One with a quota of 0 is off, and is
	// not mentioned.
	Policies []ratelimit.Policy
	// DemoUsername is the username in the examples; "" without a sandbox.
	DemoUsername string
}

// New returns the document of a server: its paths, with its rate limits and removal dates. It fails
// if a required option is missing or a route is not described; the error names every such route.
func New(o Options) ([]byte, error) {
	if o.BaseURL == "" || o.Version == "" || o.Catalog == nil || len(o.Protocols) == 0 || len(o.Routes) == 0 {
		return nil, errors.New("build OpenAPI document: base URL, version, catalogue, protocol versions and routes are required")
	}
	o.DemoUsername = cmp.Or(o.DemoUsername, exampleMember)
	o.Routes = slices.DeleteFunc(slices.Clone(o.Routes), func(r route.Route) bool { return r.Protocol == route.DAV }) // OpenAPI has no methods of WebDAV
	document, err := o.load()
	if err == nil {
		err = o.addPaths(document)
	}
	if err != nil {
		return nil, fmt.Errorf("build OpenAPI document: %w", err)
	}
	addRequestID(document)
	dropUnused(document)
	return json.Marshal(document, json.Deterministic(true))
}

// object is a JSON object.
type object = map[string]any

// at returns the object at a path of keys, or nil.
func at(o object, keys ...string) object {
	for _, key := range keys {
		o, _ = o[key].(object)
	}
	return o
}

// text returns a member that is a string, or "".
func text(o object, key string) string {
	s, _ := o[key].(string)
	return s
}

// load reads the files of the source, with the variables filled in, as one document.
func (o Options) load() (object, error) {
	files, err := sourceFiles.ReadDir("source")
	if err != nil {
		return nil, fmt.Errorf("read source: %w", err)
	}
	document, v := object{}, o.variables()
	for _, file := range files {
		source, err := sourceFiles.ReadFile("source/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("read source: %w", err)
		}
		part, err := v.parse(source)
		if err == nil {
			err = merge(document, part)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
	if !o.sandbox() {
		removeSandbox(document)
	}
	return document, nil
}

// parse reads a part of the source and fills the variables in.
func (v variables) parse(source []byte) (object, error) {
	var part object
	if err := yaml.Unmarshal(source, &part); err != nil {
		return nil, err
	}
	_, err := v.fill(part)
	return part, err
}

// merge adds the members of a part to into. It merges objects that both have; any
// other duplicate member is an error.
func merge(into, part object) error {
	for key, value := range part {
		there, exists := into[key]
		below, isObject := there.(object)
		added, both := value.(object)
		switch {
		case !exists:
			into[key] = value
		case !isObject || !both:
			return fmt.Errorf("%s is defined twice", key)
		default:
			if err := merge(below, added); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return nil
}

// sandbox reports whether the server has a sandbox.
func (o Options) sandbox() bool {
	return slices.ContainsFunc(o.Routes, func(r route.Route) bool { return r.SandboxOnly })
}

// removeSandbox removes the tag of the sandbox, and its address in answers.
func removeSandbox(document object) {
	tags, _ := document["tags"].([]any)
	document["tags"] = slices.DeleteFunc(tags, func(tag any) bool {
		tagged, _ := tag.(object)
		return text(tagged, "name") == tagSandbox
	})
	walk(document, func(o object) { delete(at(o, "properties"), "sandbox") })
}

// walk calls visit for each object in a value.
func walk(value any, visit func(object)) {
	switch v := value.(type) {
	case object:
		visit(v)
		for _, below := range v {
			walk(below, visit)
		}
	case []any:
		for _, below := range v {
			walk(below, visit)
		}
	}
}

// clone returns a deep copy.
func clone(value any) any {
	switch v := value.(type) {
	case object:
		return cloneObject(v)
	case []any:
		list := make([]any, 0, len(v))
		for _, below := range v {
			list = append(list, clone(below))
		}
		return list
	default:
		return v
	}
}

func cloneObject(o object) object {
	c := make(object, len(o))
	for key, below := range o {
		c[key] = clone(below)
	}
	return c
}

// dropUnused removes the components that no path references. Routes and rate policies
// decide which components are referenced. It keeps the security schemes, which are not
// referenced by $ref.
func dropUnused(document object) {
	used := map[string]bool{}
	var follow func(value any)
	follow = func(value any) {
		walk(value, func(o object) {
			if target := text(o, "$ref"); target != "" && !used[target] {
				used[target] = true
				follow(at(document, strings.Split(strings.TrimPrefix(target, "#/"), "/")...))
			}
		})
	}
	follow(document["paths"])
	for kind, group := range at(document, "components") {
		components, _ := group.(object)
		for name := range components {
			if kind != "securitySchemes" && !used["#/components/"+kind+"/"+name] {
				delete(components, name)
			}
		}
	}
}
