package route

import (
	"slices"
	"strings"
	"testing"
)

func TestMountedWithoutSandbox(t *testing.T) {
	t.Parallel()
	for _, r := range Mounted(Table(), false) {
		if r.SandboxOnly || strings.Contains(r.Pattern, "sandbox") {
			t.Errorf("row %s is there without the sandbox", r.Name)
		}
	}
}

// The sandbox repeats anonymous paths only, and never metadata that would make a
// client log in.
func TestSandboxRepeatsAnonymousPaths(t *testing.T) {
	t.Parallel()
	for _, r := range Mounted(Table(), true) {
		if !strings.HasPrefix(r.Pattern, SandboxPrefix) {
			continue
		}
		if !r.Anonymous || strings.Contains(r.Pattern, ".well-known") {
			t.Errorf("row %s is under the sandbox", r.Name)
		}
	}
}

// The list of paths that need a bearer token, both ways; the members' pages have
// a login session instead.
func TestAnonymousPaths(t *testing.T) {
	t.Parallel()
	var credential []string
	for _, r := range Mounted(Table(), true) {
		if !r.Anonymous && r.Protocol != Page {
			credential = append(credential, r.Pattern)
		}
	}
	if want := []string{"/mcp/v1", "/mcp", "/api/jobs", "/api/jobs/{task_id}"}; !slices.Equal(credential, want) {
		t.Errorf("paths that need a credential: %v, want %v", credential, want)
	}
}

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	names := Names(Mounted(Table(), true))
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("names %v", names)
	}
}

func TestBatchablePathsAreAnonymousReads(t *testing.T) {
	t.Parallel()
	for _, r := range Table() {
		if r.Batchable && (!r.Anonymous || !slices.Equal(r.Methods, []string{"GET"})) {
			t.Errorf("row %s is batchable", r.Name)
		}
	}
}
