package manifests

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite "+operatorRules)

const operatorRules = "../k8s/monitoring/rules.yaml"

// TestOperatorRules: the rules for the Prometheus operator are exactly those of
// observability/rules.
func TestOperatorRules(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../observability/rules/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	var groups []any
	for _, file := range files {
		read, _ := readYAML(t, file)["groups"].([]any)
		groups = append(groups, read...)
	}
	want := map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
		"metadata": map[string]any{"name": "kith"}, "spec": map[string]any{"groups": groups},
	}
	if *update {
		text, err := yaml.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		text = append([]byte("# Made from observability/rules by `make update`; do not edit.\n"), text...)
		if err := os.WriteFile(operatorRules, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := readYAML(t, operatorRules); len(groups) < 5 || !reflect.DeepEqual(got, want) {
		t.Errorf("%s does not have the rules of observability/rules: run `make update`", operatorRules)
	}
}

func readYAML(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]any{}
	if err := yaml.Unmarshal(text, &content); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return content
}
