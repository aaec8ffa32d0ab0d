package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/route"
)

func TestMountedWithoutSandbox(t *testing.T) {
	t.Parallel()
	for _, r := range route.Mounted(Routes(), false) {
		if r.SandboxOnly || strings.Contains(r.Pattern, "sandbox") {
			t.Errorf("route %s exists without the sandbox", r.Name)
		}
	}
}

// The sandbox has a copy of every path that needs no credential, except the authorization
// server, the pages for people, address books, calendar feeds, the security contact and the metadata that would make a client
// sign in.
func TestSandboxCopiesAnonymousPaths(t *testing.T) {
	t.Parallel()
	rows := route.Mounted(Routes(), true)
	for _, r := range rows {
		if r.SandboxOnly || strings.HasPrefix(r.Pattern, "/sandbox") {
			continue
		}
		own := !r.Anonymous || r.Protocol == route.Page || r.Protocol == route.DAV || r.Pattern == "/"
		for _, path := range []string{"/oauth/", "/.well-known/oauth-", "/settings", "/assets/kith", "/assets/imports", "/mcp/v1/server-card", "/calendar/", route.PathSecurity} {
			own = own || strings.HasPrefix(r.Pattern, path)
		}
		copied := slices.ContainsFunc(rows, func(c route.Route) bool { return c.Pattern == "/sandbox"+r.Pattern && c.Original() == r.Name })
		if copied == own {
			t.Errorf("%s: under the sandbox: %t", r.Pattern, copied)
		}
	}
}

// Exactly these paths need a bearer token. Members' pages need a login session instead, address books an app password.
func TestAnonymousPaths(t *testing.T) {
	t.Parallel()
	var credential []string
	for _, r := range route.Mounted(Routes(), true) {
		if !r.Anonymous && r.Protocol != route.Page && r.Protocol != route.DAV {
			credential = append(credential, r.Pattern)
		}
	}
	if want := []string{"/mcp/v1", "/mcp/v1/me", "/mcp/v1/research", "/mcp", "/api/jobs", "/api/jobs/{task_id}"}; !slices.Equal(credential, want) {
		t.Errorf("paths that need a credential: %v, want %v", credential, want)
	}
}

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	names := route.Names(route.Mounted(Routes(), true))
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("names %v", names)
	}
}

func TestBatchablePathsAreAnonymousReads(t *testing.T) {
	t.Parallel()
	for _, r := range Routes() {
		if r.Batchable && (!r.Anonymous || !slices.Equal(r.Methods, []string{"GET"})) {
			t.Errorf("row %s is batchable", r.Name)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	m, err := route.NewMatcher(route.Mounted(Routes(), true))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][2]string{
		"/api/human/bob":                        {"profile", "bob"},
		"/api/human/bob.json":                   {"profile-json", "bob"},
		"/api/human/bob.md":                     {"profile-markdown", "bob"},
		"/sandbox/api/human/bob.md":             {"sandbox-profile-markdown", "bob"},
		"/api/network/members":                  {"members", ""},
		"/@bob":                                 {"profile-page", "bob"},
		"/members":                              {"members-page", ""},
		"/sandbox/@bob":                         {},
		"/sandbox/members":                      {},
		"/@bob.json":                            {},
		"/@":                                    {},
		"/sandbox/api/network/members":          {"sandbox-members", ""},
		"/mcp":                                  {"mcp", ""},
		"/mcp/v1":                               {"mcp-v1", ""},
		"/mcp/sandbox":                          {"mcp-sandbox", ""},
		"/sandbox":                              {"sandbox", ""},
		"/sandbox/mcp/v1":                       {"sandbox-mcp-v1", ""},
		"/.well-known/oauth-protected-resource": {"protected-resource", ""},
		"/.well-known/oauth-protected-resource/mcp":     {"protected-resource-mcp", ""},
		"/api/human/bob.json.md":                        {},
		"/api/human/bob.txt":                            {},
		"/api/human/.md":                                {},
		"/api/human":                                    {},
		"/api/human/a/b":                                {},
		"/sandbox/mcp":                                  {},
		"/sandbox/mcp/sandbox":                          {"sandbox-mcp-sandbox", ""},
		"/sandbox/sandbox/mcp/v1":                       {},
		"/sandbox/sandbox":                              {},
		"/sandbox/oauth/register":                       {},
		"/sandbox/.well-known/oauth-protected-resource": {},
		"/MCP/v1":                                       {},
	} {
		var got [2]string
		if r, argument, ok := m.Find(path); ok {
			got = [2]string{r.Name, argument}
		}
		if got != want {
			t.Errorf("match(%q) = %q, want %q", path, got, want)
		}
	}
}
