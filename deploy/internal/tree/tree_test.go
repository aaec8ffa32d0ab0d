package tree_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the relative path to the folder of go.work.
const root = "../../.."

func TestWorkspaceKeepsTheRule(t *testing.T) {
	t.Parallel()
	watch(t)
	modules := modulesOf(t, root)
	if want := slices.Sorted(maps.Keys(rules())); !slices.Equal(modules, want) {
		t.Errorf("go.work has the modules %v, the rule is about %v", modules, want)
	}
	g := read(t, root, modules, nil)
	for _, v := range violations(g) {
		t.Error(v)
	}
	// If no package were read, there would be no violations: check for some known imports.
	for from, to := range map[string]string{"backend/server": "proto/", "edge/server": "proto/", "deploy/cmd/kith": "backend/server"} {
		if !reaches(g, from, to) {
			t.Errorf("%s does not import %s; was the tree read?", from, to)
		}
	}
}

// reaches reports whether a package depends on one whose path has the prefix.
func reaches(g graph, from, to string) bool {
	seen := map[string]bool{}
	var walk func(string) bool
	walk = func(p string) bool {
		if strings.HasPrefix(p, ours+to) {
			return true
		}
		if seen[p] {
			return false
		}
		seen[p] = true
		return slices.ContainsFunc(g[p], walk)
	}
	return walk(ours + from)
}

// A small workspace with every way of importing, each breaking the rule once.
func TestEveryWayOfImportingIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{
		"go.work": "go 1.26\n\nuse (\n\t./backend\n\t./edge\n\t./deploy\n)\n",

		"backend/go.mod":           "module github.com/kith-crm/kith/backend\n\ngo 1.26\n",
		"backend/server/server.go": "package server\n",
		"backend/store/store.go":   "package store\n",

		"edge/go.mod":             "module github.com/kith-crm/kith/edge\n\ngo 1.26\n",
		"edge/plain/p.go":         "package plain\n\nimport _ \"github.com/kith-crm/kith/backend/store\"\n",
		"edge/test/p.go":          "package test\n",
		"edge/test/p_test.go":     "package test\n\nimport _ \"github.com/kith-crm/kith/backend/store\"\n",
		"edge/xtest/p.go":         "package xtest\n",
		"edge/xtest/p_test.go":    "package xtest_test\n\nimport _ \"github.com/kith-crm/kith/backend/store\"\n",
		"edge/testonly/p_test.go": "package testonly\n\nimport _ \"github.com/kith-crm/kith/backend/store\"\n",
		"edge/tagged/p.go":        "package tagged\n",
		"edge/tagged/p_plan9.go":  "package tagged\n\nimport _ \"github.com/kith-crm/kith/backend/store\"\n",
		"edge/broken/p.go":        "package broken\n\nimport _ \"github.com/kith-crm/kith/backend/store\"\n\nfunc (\n",
		"edge/missing/p.go":       "package missing\n\nimport _ \"github.com/kith-crm/kith/backend/gone\"\n",
		"edge/unknown/p.go":       "package unknown\n\nimport _ \"example.com/not/there\"\n\nvar x = y\n",

		"deploy/go.mod":      "module github.com/kith-crm/kith/deploy\n\ngo 1.26\n",
		"deploy/cmd/main.go": "package main\n\nimport (\n\t_ \"github.com/kith-crm/kith/backend/server\"\n\t_ \"github.com/kith-crm/kith/backend/store\"\n)\n\nfunc main() {}\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"GOWORK=" + filepath.Join(dir, "go.work"), "GOPROXY=off", "GOFLAGS="}
	got := violations(read(t, dir, modulesOf(t, dir), env))
	want := []string{
		"deploy/cmd imports backend/store", "edge/broken imports backend/store", "edge/missing imports backend/gone",
		"edge/plain imports backend/store", "edge/tagged imports backend/store", "edge/test imports backend/store",
		"edge/testonly imports backend/store", "edge/xtest imports backend/store",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// modulesOf returns the folders of the workspace's modules, which are also their
// names, in order.
func modulesOf(t *testing.T, root string) []string {
	t.Helper()
	var work struct{ Use []struct{ DiskPath string } }
	if err := json.Unmarshal(run(t, root, nil, "work", "edit", "-json", "go.work"), &work); err != nil {
		t.Fatalf("read go.work: %v", err)
	}
	var modules []string
	for _, use := range work.Use {
		modules = append(modules, filepath.ToSlash(filepath.Clean(use.DiskPath)))
	}
	slices.Sort(modules)
	return modules
}

// read lists the packages of the modules and all that they need, with the
// imports of their tests and of files for other systems. It accepts code
// that does not compile.
func read(t *testing.T, root string, modules, env []string) graph {
	t.Helper()
	g := graph{}
	for _, m := range modules {
		out := json.NewDecoder(bytes.NewReader(run(t, filepath.Join(root, m), env,
			"list", "-e", "-deps", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,IgnoredGoFiles", "./...")))
		for {
			var p struct {
				ImportPath, Dir                                    string
				Imports, TestImports, XTestImports, IgnoredGoFiles []string
			}
			if err := out.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("read packages of %s: %v", m, err)
			}
			if _, seen := g[p.ImportPath]; seen || !strings.HasPrefix(p.ImportPath, ours) {
				continue
			}
			g[p.ImportPath] = slices.Concat(p.Imports, p.TestImports, p.XTestImports)
			for _, name := range p.IgnoredGoFiles {
				g[p.ImportPath] = append(g[p.ImportPath], importsOf(t, filepath.Join(p.Dir, name))...)
			}
		}
	}
	return g
}

// importsOf returns what one file imports.
func importsOf(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatalf("read imports: %v", err)
	}
	var paths []string
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("read imports: %v", err)
		}
		paths = append(paths, path)
	}
	return paths
}

// run runs the go command in a folder and returns what it prints.
func run(t *testing.T, dir string, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s in %s: %v\n%s", strings.Join(args, " "), dir, err, complaints.String())
	}
	return out
}

// watch makes `go test` rerun this test when a file of the workspace changed, instead of
// using its cached result. The cache tracks the folders that a test reads, but only paths
// that begin with the module's folder: hence paths such as deploy/../backend, which filepath
// would shorten.
func watch(t *testing.T) {
	t.Helper()
	deploy, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(folder string)
	walk = func(folder string) {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may have removed it
			t.Fatal(err)
		}
		for _, e := range entries {
			if name := e.Name(); e.IsDir() && !strings.HasPrefix(name, ".") && name != "node_modules" && name != "testdata" {
				walk(fmt.Sprintf("%s%c%s", folder, filepath.Separator, name))
			}
		}
	}
	walk(deploy + string(filepath.Separator) + "..")
}
