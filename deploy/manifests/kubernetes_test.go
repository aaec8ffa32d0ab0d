package manifests

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// TestKubernetes builds the objects that `kubectl apply -k` would send, and validates the
// fields and values of each against the schemas.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	schemas := loadSchemas(t)
	for _, overlay := range []string{"base", "production", "replicated"} {
		t.Run(overlay, func(t *testing.T) {
			t.Parallel()
			objects := build(t, overlay)
			kinds := map[string]int{}
			for _, object := range objects {
				kind := fmt.Sprint(object["apiVersion"], " ", object["kind"])
				kinds[kind]++
				schema, ok := schemas[kind]
				if !ok {
					t.Errorf("no schema for %s", kind)
					continue
				}
				if err := schema.VisitJSON(object); err != nil {
					t.Errorf("%s: %v", name(object), err)
				}
			}
			wanted := []string{
				"apps/v1 Deployment", "autoscaling/v2 HorizontalPodAutoscaler", "policy/v1 PodDisruptionBudget",
				"networking.k8s.io/v1 NetworkPolicy", "batch/v1 Job",
			}
			operator := []string{"monitoring.coreos.com/v1 ServiceMonitor", "monitoring.coreos.com/v1 PrometheusRule"}
			if overlay == "replicated" {
				wanted = append(wanted, "postgresql.cnpg.io/v1 Cluster")
			}
			if overlay != "base" {
				wanted = append(wanted, operator...)
			} else if kinds[operator[0]]+kinds[operator[1]] > 0 {
				t.Error("the base needs the Prometheus operator")
			}
			for _, kind := range wanted {
				if kinds[kind] == 0 {
					t.Errorf("there is no %s among %v", kind, slices.Sorted(maps.Keys(kinds)))
				}
			}
		})
	}
}

// TestUnknownFieldsAreFound checks that the schemas refuse invalid objects.
func TestUnknownFieldsAreFound(t *testing.T) {
	t.Parallel()
	schemas := loadSchemas(t)
	spoil := map[string]func(object map[string]any){
		"an unknown field": func(o map[string]any) { spec(o)["replicaz"] = 2.0 },
		"a wrong type":     func(o map[string]any) { spec(o)["minReadySeconds"] = "soon" },
		"a missing field":  func(o map[string]any) { delete(spec(o), "selector") },
		"an unknown field of a container": func(o map[string]any) {
			containers, _ := spec(spec(o)["template"])["containers"].([]any)
			container, _ := containers[0].(map[string]any)
			container["imagePolicy"] = "Always"
		},
	}
	for name, harm := range spoil {
		found := false
		for _, object := range build(t, "base") {
			if object["kind"] != "Deployment" {
				continue
			}
			harm(object)
			found = true
			if err := schemas["apps/v1 Deployment"].VisitJSON(object); err == nil {
				t.Errorf("%s was not found", name)
			}
		}
		if !found {
			t.Error("there is no deployment")
		}
	}
}

func spec(object any) map[string]any {
	fields, _ := object.(map[string]any)
	inner, _ := fields["spec"].(map[string]any)
	return inner
}

func name(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	return fmt.Sprint(object["kind"], " ", metadata["name"])
}

// build runs `kustomize build` on a folder of deploy/k8s, with the example's secrets.
func build(t *testing.T, overlay string) []map[string]any {
	t.Helper()
	repository := t.TempDir()
	dir := filepath.Join(repository, "deploy", "k8s")
	dashboards := filepath.Join("observability", "dashboards")
	if err := errors.Join(os.CopyFS(dir, os.DirFS("../k8s")), os.CopyFS(filepath.Join(repository, dashboards), os.DirFS(filepath.Join("..", "..", dashboards)))); err != nil {
		t.Fatal(err)
	}
	// As kith secret create makes it.
	if err := os.WriteFile(filepath.Join(dir, "production", "secret.key"), []byte("00000000 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, process := range []string{"service", "edge", "backend", "backup"} {
		secrets, err := os.ReadFile(filepath.Join(dir, "production", process+".example.env"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "production", process+".env"), secrets, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsRootOnly
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, overlay))
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	for _, r := range resources.Resources() {
		object, err := r.Map()
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := object["data"].(map[string]any); ok && object["kind"] == "Secret" {
			for key, value := range data { // wrapped lines of base64, which Kubernetes accepts and the schema's pattern does not
				data[key] = strings.ReplaceAll(fmt.Sprint(value), "\n", "")
			}
		}
		objects = append(objects, plain(t, object))
	}
	if len(objects) < 10 {
		t.Fatalf("only %d objects", len(objects))
	}
	return objects
}
