package tree_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// source is a hand-written Go file of the workspace.
type source struct {
	path   string // from the root, with slashes
	file   *ast.File
	tokens *token.FileSet
}

// files returns the paths of the tree's files, without what Git ignores and without
// generated code.
var files = sync.OnceValues(func() (paths []string, err error) {
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "third_party" || name == "gen") {
			return fs.SkipDir
		}
		if !e.IsDir() {
			path, err = filepath.Rel(root, path)
			paths = append(paths, filepath.ToSlash(path))
		}
		return err
	})
	return paths, err
})

// sources parses every Go file of the workspace but generated ones.
var sources = sync.OnceValues(func() (all []source, err error) {
	paths, err := files()
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if !strings.HasSuffix(path, ".go") || strings.Contains(path, "/testdata/") {
			continue
		}
		tokens := token.NewFileSet()
		file, err := parser.ParseFile(tokens, filepath.Join(root, path), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if !ast.IsGenerated(file) {
			all = append(all, source{path: path, file: file, tokens: tokens})
		}
	}
	return all, nil
})

// readSources returns the sources. It fails the test when too few are found.
func readSources(t *testing.T) []source {
	t.Helper()
	watch(t)
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 800 {
		t.Fatalf("only %d Go files were found", len(all))
	}
	return all
}
