package openapi_test

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/edge/internal/discovery/openapi"
	"github.com/kith-crm/kith/edge/internal/mcp"
	"github.com/kith-crm/kith/edge/internal/route"
)

// eachVariant runs the test for each server variant.
func eachVariant(t *testing.T, run func(t *testing.T, o openapi.Options, document *openapi3.T)) {
	t.Helper()
	t.Parallel()
	for name, change := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			change(&o)
			run(t, o, sharedDocument(t, name, change))
		})
	}
}

var (
	sharing sync.Mutex
	shared  = map[string]*openapi3.T{} // by variant
)

// sharedDocument returns the document of a variant. It is built once for all tests, which must
// not change it.
func sharedDocument(t *testing.T, name string, change func(*openapi.Options)) *openapi3.T {
	t.Helper()
	sharing.Lock()
	defer sharing.Unlock()
	if shared[name] == nil {
		shared[name] = load(t, build(t, change))
	}
	return shared[name]
}

// operation returns what the document has for a route and a method.
func operation(t *testing.T, document *openapi3.T, r route.Route, method string) *openapi3.Operation {
	t.Helper()
	if item := document.Paths.Value(r.Pattern); item != nil && item.GetOperation(method) != nil {
		return item.GetOperation(method)
	}
	t.Fatalf("%s %s is not in the document", method, r.Pattern)
	return nil
}

// TestEveryRoute: the document has exactly the routes and methods of the table.
func TestEveryRoute(t *testing.T) {
	eachVariant(t, func(t *testing.T, o openapi.Options, document *openapi3.T) {
		var want, got []string
		for _, r := range o.Routes {
			for _, method := range r.Methods {
				want = append(want, method+" "+r.Pattern)
			}
		}
		for path, item := range document.Paths.Map() {
			for method := range item.Operations() {
				got = append(got, method+" "+path)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-routes +document:\n%s", diff)
		}
	})
}

// TestEveryParameter: the parameter of a pattern is described, and so are the
// query parameters that the table names.
func TestEveryParameter(t *testing.T) {
	eachVariant(t, func(t *testing.T, o openapi.Options, document *openapi3.T) {
		for _, r := range o.Routes {
			item := document.Paths.Value(r.Pattern)
			for _, method := range r.Methods {
				parameters := append(slices.Clone(item.Parameters), operation(t, document, r, method).Parameters...)
				if _, rest, parametric := strings.Cut(r.Pattern, "{"); parametric {
					name, _, _ := strings.Cut(rest, "}")
					if p := parameters.GetByInAndName(openapi3.ParameterInPath, name); p == nil || !p.Required {
						t.Errorf("%s: {%s} is not described", r.Name, name)
					}
				}
				for _, name := range r.Query {
					if parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil {
						t.Errorf("%s: %s is not described", r.Name, name)
					}
				}
			}
		}
	})
}

// TestNoOtherInSource: every path and method that the source describes has a route.
func TestNoOtherInSource(t *testing.T) {
	t.Parallel()
	o := options(t)
	described, err := openapi.Described(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range o.Routes {
		for _, method := range r.Methods {
			described[r.Pattern] = slices.DeleteFunc(described[r.Pattern], func(m string) bool { return strings.EqualFold(m, method) })
		}
	}
	for path, methods := range described {
		if len(methods) > 0 {
			t.Errorf("%s %s is described, but has no route", methods, path)
		}
	}
}

// TestCredentials: an operation needs no credential exactly where the table says so. On the MCP
// server only tools/call needs one, so its path also serves callers without.
func TestCredentials(t *testing.T) {
	eachVariant(t, func(t *testing.T, o openapi.Options, document *openapi3.T) {
		for _, r := range o.Routes {
			for _, method := range r.Methods {
				needed := operation(t, document, r, method).Security
				if needed == nil {
					t.Errorf("%s %s: security is not described", method, r.Name)
					continue
				}
				without := len(*needed) == 0
				for _, way := range *needed {
					without = without || len(way) == 0
					for scheme := range way {
						page := r.Protocol == route.Page && (scheme != "bearer" || r.Name != "settings-export-file")
						if (scheme == "session") != page || document.Components.SecuritySchemes[scheme] == nil {
							t.Errorf("%s %s: %s", method, r.Name, scheme)
						}
					}
				}
				if without != (r.Anonymous || r.Name == mcp.RouteCurrent) {
					t.Errorf("%s %s: anonymous in the table: %v, in the document: %v", method, r.Name, r.Anonymous, without)
				}
			}
		}
	})
}

// TestCopies: a copy under the sandbox has the parameters, bodies and answers of its original,
// except those about credentials.
func TestCopies(t *testing.T) {
	t.Parallel()
	o := options(t)
	document := sharedDocument(t, "whole", nil)
	copies := 0
	for _, r := range o.Routes {
		if r.CopyOf == "" {
			continue
		}
		copies++
		original := r
		original.Pattern = strings.TrimPrefix(r.Pattern, route.SandboxPrefix)
		for _, method := range r.Methods {
			a, b := *operation(t, document, original, method), *operation(t, document, r, method)
			if !slices.Equal(b.Tags, []string{"Sandbox"}) || b.OperationID == a.OperationID {
				t.Errorf("%s: %v %s", r.Name, b.Tags, b.OperationID)
			}
			if len(*b.Security) > 0 || b.Responses.Status(http.StatusUnauthorized) != nil {
				t.Errorf("%s: takes a credential", r.Name)
			}
			a.Responses.Delete("401")
			b.Tags, b.OperationID, b.Description, b.Security = a.Tags, a.OperationID, a.Description, a.Security
			if diff := cmp.Diff(text(t, &a), text(t, &b)); diff != "" {
				t.Errorf("%s:\n%s", r.Name, diff)
			}
		}
	}
	if copies < 5 {
		t.Errorf("there are %d copies", copies)
	}
}

func text(t *testing.T, o *openapi3.Operation) string {
	t.Helper()
	body, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestUndescribed: the error names a route, or a method, that is not described.
func TestUndescribed(t *testing.T) {
	t.Parallel()
	novel := []route.Route{
		{Name: "novel", Methods: []string{"GET"}, Pattern: "/novel"},
		{Name: "put-identity", Methods: []string{"PUT"}, Pattern: "/agent/identity"},
	}
	o := options(t)
	o.Routes = append(o.Routes, novel...)
	if _, err := openapi.New(o); err == nil || !strings.Contains(err.Error(), `"novel"`) || !strings.Contains(err.Error(), `"put-identity"`) {
		t.Errorf("got %v", err)
	}
}

// With the flag -update, TestGolden rewrites the golden file.
var update = flag.Bool("update", false, "rewrite the golden file")

// TestGolden: testdata/openapi.json is the document of a server with every path and the default rate limits.
func TestGolden(t *testing.T) {
	t.Parallel()
	const path = "testdata/openapi.json"
	got := jsontext.Value(build(t, nil))
	if err := got.Indent(jsontext.WithIndent(" ")); err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Error(path + " is stale (go test -update writes it)")
	}
}
