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

// The sandbox repeats every path that needs no credential, but for the
// authorization server, the people's pages and the metadata that would make a
// client sign in.
func TestSandboxRepeatsAnonymousPaths(t *testing.T) {
	t.Parallel()
	rows := Mounted(Table(), true)
	for _, r := range rows {
		if r.SandboxOnly || strings.HasPrefix(r.Pattern, "/sandbox") {
			continue
		}
		own := !r.Anonymous || r.Protocol == Page || r.Pattern == "/"
		for _, path := range []string{"/oauth/", "/.well-known/oauth-", "/settings", "/assets/kith", "/assets/imports"} {
			own = own || strings.HasPrefix(r.Pattern, path)
		}
		copied := slices.ContainsFunc(rows, func(c Route) bool { return c.Pattern == "/sandbox"+r.Pattern && c.HandlerName() == r.Name })
		if copied == own {
			t.Errorf("%s: under the sandbox: %t", r.Pattern, copied)
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
