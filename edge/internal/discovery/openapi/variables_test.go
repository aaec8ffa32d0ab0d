package openapi_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/kith-crm/kith/edge/internal/batch"
	"github.com/kith-crm/kith/edge/internal/discovery/openapi"
	"github.com/kith-crm/kith/edge/internal/mcp"
)

// TestVariables: the document contains the values that the code defines.
func TestVariables(t *testing.T) {
	eachVariant(t, func(t *testing.T, o openapi.Options, document *openapi3.T) {
		scopes := slices.Sorted(slices.Values(loadCatalog(t).Scopes()))
		schemas := document.Components.Schemas
		for name, pair := range map[string][2]any{
			"server":         {o.BaseURL, document.Servers[0].URL},
			"version":        {o.Version, document.Info.Version},
			"scopes":         {scopes, slices.Sorted(maps.Keys(document.Components.SecuritySchemes["oauth2"].Value.Flows.AuthorizationCode.Scopes))},
			"tools":          {anys(loadCatalog(t).AllToolNames()), schemas["Tool"].Value.Properties["name"].Value.Enum},
			"tools to call":  {anys(loadCatalog(t).AllToolNames()), schemas["CallToolRequest"].Value.Properties["params"].Value.Properties["name"].Value.Enum},
			"versions":       {anys(mcp.Versions()), schemas["InitializeResult"].Value.Properties["protocolVersion"].Value.Enum},
			"version header": {anys(mcp.Versions()), document.Components.Parameters["MCPProtocolVersion"].Value.Schema.Value.Enum},
			"batch":          {uint64(batch.MaxItems), *schemas["BatchRequest"].Value.Properties["requests"].Value.MaxItems},
		} {
			if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
				t.Errorf("%s: -code +document:\n%s", name, diff)
			}
		}
		for scope, words := range document.Components.SecuritySchemes["oauth2"].Value.Flows.AuthorizationCode.Scopes {
			for _, rpc := range loadCatalog(t).Tools() {
				if needs := slices.Contains(rpc.Scopes, scope); needs != strings.Contains(words, rpc.Tool.Name) {
					t.Errorf("%s: %s", scope, words)
				}
			}
		}
	})
}

func anys(list []string) []any {
	var out []any
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

// TestNothingLeftToFill: every ${name} is filled, and no example address is left.
func TestNothingLeftToFill(t *testing.T) {
	t.Parallel()
	for name, change := range variants() {
		body := string(build(t, change))
		for _, rest := range []string{"${", "$problem", "localhost:", "todo"} {
			if i := strings.Index(body, rest); i >= 0 {
				t.Errorf("%s: %q is left: …%s…", name, rest, body[max(0, i-60):i+60])
			}
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	for part, want := range map[string]string{
		"a: ${base-url}/x":              `{"a":"https://kith.example/x"}`,
		"a: ${batch-items}":             `{"a":20}`,
		"a: up to ${batch-items} of it": `{"a":"up to 20 of it"}`,
		"a: ${protocol-versions}":       `{"a":["2025-06-18","2025-03-26"]}`,
		"'200': [1, 1.5, true, null, '1', '2027-01-01T00:00:00Z', {}]": `{"200":[1,1.5,true,null,"1","2027-01-01T00:00:00Z",{}]}`,
		"{$problem: gone, detail: It went., instance: req_1}": `{"code":"gone","detail":"It went.","instance":"req_1","status":410,` +
			`"title":"This path has been removed","type":"https://kith.example/docs/errors/gone"}`,
		"a: ${nothing}":             "there is no variable",
		"a: see ${scopes}":          "cannot stand within text",
		"a: {200: 1}":               "put quotes around",
		"a: 2027-01-01":             "put quotes around",
		"a: 1\na: 2":                "already defined",
		"$problem: no-such":         "there is no problem code",
		"[1]":                       "cannot unmarshal",
		"a: \"\\uD800\"":            "yaml:",
		"a: 1\n  b: 2":              "yaml:",
		"a: {b: {c: ${version}}}":   "yaml:",
		"a: '${version}${version}'": `{"a":"1.2.31.2.3"}`,
	} {
		filled, err := openapi.Fill(options(t), part)
		got, _ := json.Marshal(filled)
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: got %s, want %s", part, got, want)
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	if err := openapi.Merge(options(t), "a: {b: {c: 1}}", "a: {b: {d: 2}}"); err != nil {
		t.Error(err)
	}
	for first, second := range map[string]string{"a: {b: 1}": "a: {b: 2}", "a: [1]": "a: [2]", "a: {b: {c: 1}}": "a: {b: 1}"} {
		if err := openapi.Merge(options(t), first, second); err == nil || !strings.Contains(err.Error(), "is defined twice") {
			t.Errorf("%s and %s: %v", first, second, err)
		}
	}
}
