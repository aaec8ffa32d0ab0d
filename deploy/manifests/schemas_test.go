package manifests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"sigs.k8s.io/yaml"
)

// Modules with the schemas. Tests only read their files; importing the modules would add all
// their dependencies to go.mod.
const (
	kubernetes  = "k8s.io/kubernetes@v1.34.2"
	operator    = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
	cloudnative = "github.com/cloudnative-pg/cloudnative-pg@v1.27.0"
)

// loadSchemas returns the schema of each kind of object, by "apiVersion kind".
func loadSchemas(t *testing.T) map[string]*openapi3.Schema {
	t.Helper()
	schemas := map[string]*openapi3.Schema{}
	documents, err := filepath.Glob(filepath.Join(moduleDir(t, kubernetes), "api/openapi-spec/v3/*_openapi.json"))
	if err != nil || len(documents) == 0 {
		t.Fatalf("Kubernetes has no OpenAPI documents: %v", err)
	}
	for _, path := range documents {
		loadDocument(t, path, schemas)
	}
	for module, files := range map[string]string{operator: "example/prometheus-operator-crd/*.yaml", cloudnative: "config/crd/bases/*.yaml"} {
		definitions, err := filepath.Glob(filepath.Join(moduleDir(t, module), files))
		if err != nil || len(definitions) == 0 {
			t.Fatalf("%s has no definitions: %v", module, err)
		}
		for _, path := range definitions {
			loadDefinition(t, path, schemas)
		}
	}
	return schemas
}

// moduleDir returns the folder of a module in the module cache.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module).Output()
	var found struct{ Dir string }
	if jsonErr := json.Unmarshal(out, &found); err != nil || jsonErr != nil || found.Dir == "" {
		t.Fatalf("%s: %v %s", module, err, out)
	}
	return found.Dir
}

// loadDocument loads the kinds of a Kubernetes API group.
func loadDocument(t *testing.T, path string, into map[string]*openapi3.Schema) {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromFile(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if document.Components == nil {
		return // an index
	}
	for _, ref := range document.Components.Schemas {
		closeObjects(ref.Value)
		kinds, _ := ref.Value.Extensions["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			kind, _ := k.(map[string]any)
			version := fmt.Sprint(kind["version"])
			if kind["group"] != "" {
				version = fmt.Sprint(kind["group"], "/", version)
			}
			into[fmt.Sprint(version, " ", kind["kind"])] = ref.Value
		}
	}
}

// loadDefinition loads the kind that a CustomResourceDefinition describes.
func loadDefinition(t *testing.T, path string, into map[string]*openapi3.Schema) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var definition struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema *openapi3.Schema }
			}
		}
	}
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, v := range definition.Spec.Versions {
		closeObjects(v.Schema.OpenAPIV3Schema)
		// A definition omits the fields that all objects have.
		v.Schema.OpenAPIV3Schema.Properties["metadata"] = openapi3.NewObjectSchema().NewRef()
		into[fmt.Sprint(definition.Spec.Group, "/", v.Name, " ", definition.Spec.Names.Kind)] = v.Schema.OpenAPIV3Schema
	}
}

// closeObjects makes a schema refuse unknown fields, like `kubectl apply --validate=strict`.
func closeObjects(s *openapi3.Schema) {
	if s == nil || len(s.Properties) == 0 && s.Items == nil && s.AdditionalProperties.Schema == nil {
		return
	}
	if len(s.Properties) > 0 && s.AdditionalProperties.Schema == nil && s.AdditionalProperties.Has == nil {
		closed := false
		s.AdditionalProperties.Has = &closed
	}
	for _, p := range s.Properties {
		if p.Ref == "" {
			closeObjects(p.Value)
		}
	}
	for _, inner := range []*openapi3.SchemaRef{s.Items, s.AdditionalProperties.Schema} {
		if inner != nil && inner.Ref == "" {
			closeObjects(inner.Value)
		}
	}
}

// plain converts an object to plain JSON types.
func plain(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
