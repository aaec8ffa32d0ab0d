package tree_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDependenciesAreListed: docs/dependencies.md has each module that a go.mod file
// requires directly, and no other.
func TestDependenciesAreListed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "deploy/docs/dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed, required []string
	for _, name := range regexp.MustCompile("`([a-z0-9.-]+\\.[a-z]+/[^`\\s]+)`").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, name[1])
	}
	for _, module := range append(modulesOf(t, root), "deploy/manifests", "deploy/load", "deploy/release") {
		required = append(required, direct(t, filepath.Join(root, module))...)
	}
	if len(required) < 30 {
		t.Fatalf("only %d requirements are read", len(required))
	}
	for _, module := range required {
		if !slices.ContainsFunc(listed, func(name string) bool { return within(module, name) }) {
			t.Errorf("%s is required but not on the page", module)
		}
	}
	for _, name := range listed {
		// Tests read files of these two modules, but no Go code imports them.
		files := name == "k8s.io/kubernetes" || name == "github.com/prometheus-operator/prometheus-operator"
		if !files && !slices.ContainsFunc(required, func(module string) bool { return within(module, name) || within(name, module) }) {
			t.Errorf("%s is on the page but not required", name)
		}
	}
}

// within reports whether a module has the name, or is below it.
func within(module, name string) bool { return module == name || strings.HasPrefix(module, name+"/") }

// direct returns the modules that a folder's go.mod file requires directly, without our
// own.
func direct(t *testing.T, folder string) (modules []string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	command.Dir = folder
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Require {
		if !r.Indirect && !strings.HasPrefix(r.Path, "github.com/kith-crm/") {
			modules = append(modules, r.Path)
		}
	}
	return modules
}
