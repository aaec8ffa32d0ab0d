package tree_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")

// TestThreatsNameTheirTests: every row of the threat table names a test that proves its defence, and every
// test that a document names is in the tree.
func TestThreatsNameTheirTests(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	for _, s := range readSources(t) {
		if !strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				tests[f.Name.Name] = true
			}
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "deploy/docs/*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	for _, path := range pages {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range testName.FindAllStringSubmatch(string(page), -1) {
			if !tests[found[1]] {
				t.Errorf("%s names %s, which does not exist", filepath.Base(path), found[1])
			}
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "deploy/docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n| Attacker |")
	table, _, _ := strings.Cut(rest, "\n\n")
	rows := strings.Split(table, "\n")[2:] // below the head
	if len(rows) < 30 {
		t.Fatalf("only %d rows are read", len(rows))
	}
	for _, row := range rows {
		if !testName.MatchString(row) {
			t.Errorf("no test is named in %s", row)
		}
	}
}
