package tree_test

import (
	"go/ast"
	"path"
	"slices"
	"testing"
)

// Bounds of hand-written production code.
const (
	maxFileLines       = 400
	maxFunctionLines   = 45 // of 99 in 100 functions; golangci-lint bounds every function
	maxExportedMethods = 25 // of one type
)

func TestSizes(t *testing.T) {
	t.Parallel()
	var lengths []int
	methods := map[string]int{}
	for _, s := range readSources(t) {
		if !s.production() {
			continue
		}
		if lines := s.tokens.File(s.file.Pos()).LineCount(); lines > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", s.path, lines, maxFileLines)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lengths = append(lengths, s.tokens.Position(f.End()).Line-s.tokens.Position(f.Pos()).Line+1)
			if f.Recv != nil && f.Name.IsExported() {
				methods[path.Dir(s.path)+"."+receiver(f)]++
			}
		}
	}
	slices.Sort(lengths)
	if p99 := lengths[len(lengths)*99/100]; p99 > maxFunctionLines {
		t.Errorf("1 function in 100 has %d lines or more; the bound is %d", p99, maxFunctionLines)
	}
	for name, n := range methods {
		if n > maxExportedMethods {
			t.Errorf("%s has %d exported methods, more than %d", name, n, maxExportedMethods)
		}
	}
	t.Logf("%d functions, 99 in 100 of at most %d lines, the longest of %d", len(lengths), lengths[len(lengths)*99/100], lengths[len(lengths)-1])
}

// receiver returns the name of a method's type.
func receiver(f *ast.FuncDecl) string {
	name := ""
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if i, ok := n.(*ast.Ident); ok && name == "" {
			name = i.Name
		}
		return name == ""
	})
	return name
}
