package tree_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	goFile   = regexp.MustCompile(`\b[a-z][a-z0-9_/]*\.go\b`)
	treePath = regexp.MustCompile("`((?:proto|sandbox|observability|backend|edge|deploy)/[A-Za-z0-9_./*-]+)`")
)

// TestNamedPathsExist: files that a package comment names, in its folder or by their whole
// path, and paths that a document names are in the tree.
func TestNamedPathsExist(t *testing.T) {
	t.Parallel()
	checked := 0
	check := func(where, name string) {
		checked++
		if found, err := filepath.Glob(filepath.Join(root, name)); err != nil || len(found) == 0 {
			t.Errorf("%s names %s, which does not exist: %v", where, name, err)
		}
	}
	for _, s := range readSources(t) {
		for _, name := range goFile.FindAllString(s.file.Doc.Text(), -1) {
			if !strings.Contains(name, "/") {
				name = path.Join(path.Dir(s.path), name)
			}
			check(s.path, name)
		}
	}
	paths, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range paths {
		if !strings.HasSuffix(document, ".md") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range treePath.FindAllStringSubmatch(string(text), -1) {
			check(document, found[1])
		}
	}
	if checked < 100 {
		t.Errorf("only %d names were checked", checked)
	}
}
