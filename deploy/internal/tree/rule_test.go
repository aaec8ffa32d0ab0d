package tree_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ours starts the import path of every package of the workspace.
const ours = "github.com/kith-crm/kith/"

// rules returns, for each module, what its packages may import of the others:
// whole modules, or single packages.
func rules() map[string][]string {
	return map[string][]string{
		"proto":         nil,
		"sandbox":       nil,
		"observability": nil,
		"backend":       {"sandbox/...", "observability/...", "proto/..."},
		"edge":          {"sandbox/...", "observability/...", "proto/..."},
		"deploy":        {"backend/server", "edge/server", "sandbox/...", "observability/...", "proto/..."},
	}
}

// graph holds, for each package, what it imports itself.
type graph map[string][]string

// violations returns every import that no rule allows, in order, each once.
func violations(g graph) []string {
	var found []string
	for importer, imports := range g {
		from, isOurs := strings.CutPrefix(importer, ours)
		if !isOurs {
			continue
		}
		allowed, known := rules()[module(from)]
		if !known {
			found = append(found, fmt.Sprintf("%s is in a module without a rule", from))
			continue
		}
		for _, imported := range imports {
			to, isOurs := strings.CutPrefix(imported, ours)
			if isOurs && module(to) != module(from) && !slices.ContainsFunc(allowed, covers(to)) {
				found = append(found, fmt.Sprintf("%s imports %s", from, to))
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func module(path string) string {
	name, _, _ := strings.Cut(path, "/")
	return name
}

func covers(path string) func(pattern string) bool {
	return func(pattern string) bool {
		whole, isModule := strings.CutSuffix(pattern, "/...")
		return isModule && module(path) == whole || path == pattern
	}
}

func TestViolations(t *testing.T) {
	t.Parallel()
	cases := []struct {
		from, to string
		allowed  bool
	}{
		{"proto/catalog", "proto/gen/kith/tool/v1", true},
		{"proto/catalog", "sandbox", false},
		{"proto/catalog", "observability/metrics", false},
		{"proto/internal/generate", "backend/server", false},
		{"sandbox", "sandbox/files", true},
		{"sandbox", "proto/catalog", false},
		{"sandbox", "observability/logging", false},
		{"sandbox", "edge/server", false},
		{"observability/admin", "observability/metrics", true},
		{"observability/admin", "proto/catalog", false},
		{"observability/admin", "sandbox", false},
		{"observability/admin", "backend/server", false},
		{"backend/internal/rpc", "backend/internal/db", true},
		{"backend/internal/rpc", "proto/gen/kith/access/v1", true},
		{"backend/internal/demo", "sandbox", true},
		{"backend/server", "observability/metrics", true},
		{"backend/server", "edge/server", false},
		{"backend/server", "deploy/internal/inprocess", false},
		{"edge/internal/mcp", "edge/internal/route", true},
		{"edge/internal/mcp", "proto/catalog", true},
		{"edge/internal/sandbox", "sandbox", true},
		{"edge/server", "observability/admin", true},
		{"edge/internal/backendtest", "backend/server", false},
		{"edge/internal/upstream", "backend/internal/fault", false},
		{"edge/server", "deploy/cmd/kith", false},
		{"deploy/cmd/kith", "deploy/internal/inprocess", true},
		{"deploy/cmd/kith", "backend/server", true},
		{"deploy/cmd/kith", "edge/server", true},
		{"deploy/cmd/kith", "proto/catalog", true},
		{"deploy/e2e", "sandbox", true},
		{"deploy/e2e", "observability/metrics", true},
		{"deploy/cmd/kith", "backend", false},
		{"deploy/cmd/kith", "backend/server/more", false},
		{"deploy/cmd/kith", "backend/serverless", false},
		{"deploy/cmd/kith", "backend/internal/db", false},
		{"deploy/e2e", "edge/cmd/edge", false},
		{"deploy/e2e", "edge/internal/mcp", false},
		{"backend/internal/rpc", "protocols/x", false}, // not proto
	}
	for _, c := range cases {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			t.Parallel()
			var want []string
			if !c.allowed {
				want = []string{c.from + " imports " + c.to}
			}
			// Twice, as from a package and its test.
			got := violations(graph{ours + c.from: {"fmt", ours + c.to, "golang.org/x/text", ours + c.to}})
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestViolationsOfAWholeTree(t *testing.T) {
	t.Parallel()
	got := violations(graph{
		ours + "sandbox":         {"time"},
		ours + "edge/server":     {ours + "backend/server", ours + "proto/catalog"},
		ours + "backend/server":  {ours + "edge/server", ours + "deploy/e2e"},
		ours + "billing/ledger":  {"fmt"},
		"golang.org/x/text":      {"fmt"},
		"github.com/kith-crm/ki": {ours + "edge/server"},
	})
	want := []string{
		"backend/server imports deploy/e2e", "backend/server imports edge/server",
		"billing/ledger is in a module without a rule", "edge/server imports backend/server",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
