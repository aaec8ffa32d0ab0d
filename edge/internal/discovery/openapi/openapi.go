package openapi

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

// document is openapi.json, which `make gen` writes with Assemble.
//
//go:embed openapi.json
var document []byte

// The example values in openapi.json that New replaces with those of the deployment.
const (
	exampleBaseURL  = "https://kith.example"
	exampleVersion  = "0.0.0"
	exampleMember   = "ada-lovelace"
	aboutSandbox    = " Neither does the sandbox, a demo account that everyone may read."
	examplePolicies = "(A server lists its own here.)"
	exampleReads    = "`/api/human/{username}`, `/api/network/members` and others"
	withoutSunset   = "a removal date, which a `Sunset` header announces 180 days ahead"
	secureCookie    = "__Host-kith_session"
)

// Options are the values that depend on the deployment. All but Policies and DemoUsername
// are required.
type Options struct {
	// BaseURL is the public address, without a slash at the end.
	BaseURL string
	// Version of the service.
	Version string
	// Routes are the routes that the server serves, as route.Mounted returns them.
	Routes []route.Route
	// Policies are the rate policies in force. One with a quota of 0 is off, and is
	// not mentioned.
	Policies []ratelimit.Policy
	// DemoUsername is the username in the examples; "" without a sandbox.
	DemoUsername string
}

// New returns openapi.json as a server serves it: with its address and its version,
// without the paths that it does not serve, with its rate limits and removal dates.
// It fails if a required option is missing or a route is not described.
func New(o Options) ([]byte, error) {
	body, err := o.apply()
	if err != nil {
		return nil, fmt.Errorf("build OpenAPI document: %w", err)
	}
	return body, nil
}

func (o Options) apply() ([]byte, error) {
	if o.BaseURL == "" || o.Version == "" || len(o.Routes) == 0 {
		return nil, errors.New("base URL, version and routes are required")
	}
	root, err := decode(jsontext.NewDecoder(bytes.NewReader(document)))
	if err != nil {
		return nil, err
	}
	o.fill(root)
	described, paths := child(root, "paths"), newMapping()
	var faults []error
	for _, r := range o.Routes {
		item := child(described, r.Pattern)
		for _, method := range r.Methods {
			operation := child(item, strings.ToLower(method))
			if operation == nil {
				faults = append(faults, fmt.Errorf("route %q: %s is not described", r.Name, method))
				continue
			}
			o.deploy(root, operation, r)
		}
		put(paths, r.Pattern, item)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	put(root, "paths", paths)
	dropUnused(root)
	return encode(root)
}

// fill replaces the example values with those of the deployment.
func (o Options) fill(root *yaml.Node) {
	member := o.DemoUsername
	if member == "" {
		member = exampleMember
	}
	about := aboutSandbox
	if !o.sandbox() {
		about = ""
		withoutSandbox(root)
	}
	replacer := strings.NewReplacer(
		aboutSandbox, about,
		exampleBaseURL, o.BaseURL, exampleVersion, o.Version, exampleMember, member, examplePolicies, o.policyList(),
		secureCookie, route.SessionCookie(o.BaseURL), exampleReads, list(batchable(o.Routes)),
	)
	walk(root, func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			n.Value = replacer.Replace(n.Value)
		}
		if reads := child(n, "batchable"); reads != nil && reads.Kind == yaml.SequenceNode {
			put(n, "batchable", batchableReads(o.Routes))
		}
	})
}

// sandbox reports whether the server has a sandbox.
func (o Options) sandbox() bool {
	return slices.ContainsFunc(o.Routes, func(r route.Route) bool { return r.SandboxOnly })
}

// withoutSandbox removes the tag of the sandbox, and its address in answers.
func withoutSandbox(root *yaml.Node) {
	tags := child(root, "tags")
	tags.Content = slices.DeleteFunc(tags.Content, func(n *yaml.Node) bool { return text(n, "name") == tagSandbox })
	walk(root, func(n *yaml.Node) {
		if properties := child(n, "properties"); properties != nil {
			remove(properties, "sandbox")
		}
	})
}
