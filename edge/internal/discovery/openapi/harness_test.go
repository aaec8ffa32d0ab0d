package openapi_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/discovery/openapi"
	"github.com/kith-crm/kith/edge/internal/mcp"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/server"
)

const base = "https://kith.example"

// planned are routes that are mounted only together with this document.
func planned() []route.Route {
	return []route.Route{{
		Name: "openapi", Methods: []string{http.MethodGet}, Pattern: "/openapi.json", State: route.Current,
		Protocol: route.HTTP, Anonymous: true, Summary: "This document.",
	}}
}

// routes returns the mounted routes.
func routes(sandbox bool) []route.Route {
	table := slices.DeleteFunc(server.Routes(), func(r route.Route) bool { return r.Protocol == route.DAV }) // OpenAPI has no methods of WebDAV
	for _, r := range planned() {
		if !slices.ContainsFunc(table, func(there route.Route) bool { return there.Pattern == r.Pattern }) {
			table = append(table, r)
		}
	}
	return route.Mounted(table, sandbox)
}

func loadCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	tools, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func options(t testing.TB) openapi.Options {
	t.Helper()
	return openapi.Options{
		BaseURL: base, Version: "1.2.3", Catalog: loadCatalog(t), Protocols: mcp.Versions(), Routes: routes(true),
		Policies: ratelimit.Defaults(), DemoUsername: "demo",
	}
}

// variants are the kinds of servers to test.
func variants() map[string]func(*openapi.Options) {
	return map[string]func(*openapi.Options){
		"whole": func(*openapi.Options) {},
		"without sandbox": func(o *openapi.Options) {
			o.Routes, o.DemoUsername = routes(false), ""
		},
		"without limits": func(o *openapi.Options) {
			for i := range o.Policies {
				o.Policies[i].Quota = 0
			}
		},
	}
}

// build makes a document and returns its bytes.
func build(t testing.TB, change func(*openapi.Options)) []byte {
	t.Helper()
	o := options(t)
	if change != nil {
		change(&o)
	}
	document, err := openapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// load reads a document by kin-openapi, which resolves its references.
func load(t testing.TB, body []byte) *openapi3.T {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(body)
	if err != nil {
		t.Fatal(err)
	}
	return document
}
