package route

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

func testMatcher(t testing.TB) (*matcher, []Route) {
	t.Helper()
	rows := Mounted(Table(), true)
	m, err := newMatcher(rows)
	if err != nil {
		t.Fatal(err)
	}
	return m, rows
}

func TestMatch(t *testing.T) {
	t.Parallel()
	m, rows := testMatcher(t)
	for path, want := range map[string][2]string{
		"/api/human/bob":                        {Profile, "bob"},
		"/api/human/bob.json":                   {ProfileJSON, "bob"},
		"/api/human/bob.md":                     {ProfileMarkdown, "bob"},
		"/sandbox/api/human/bob.md":             {"sandbox-" + ProfileMarkdown, "bob"},
		"/api/network/members":                  {Members, ""},
		"/sandbox/api/network/members":          {"sandbox-" + Members, ""},
		"/mcp":                                  {MCPDeprecated, ""},
		"/mcp/v1":                               {MCPCurrent, ""},
		"/mcp/sandbox":                          {MCPSandbox, ""},
		"/sandbox":                              {SandboxIndex, ""},
		"/sandbox/mcp/v1":                       {SandboxMCP, ""},
		"/.well-known/oauth-protected-resource": {ResourceRoot, ""},
		"/.well-known/oauth-protected-resource/mcp":     {ResourceMCP, ""},
		"/api/human/bob.json.md":                        {},
		"/api/human/bob.txt":                            {},
		"/api/human/.md":                                {},
		"/api/human":                                    {},
		"/api/human/a/b":                                {},
		"/sandbox/mcp":                                  {},
		"/sandbox/mcp/sandbox":                          {"sandbox-" + MCPSandbox, ""},
		"/sandbox/sandbox/mcp/v1":                       {},
		"/sandbox/sandbox":                              {},
		"/sandbox/oauth/register":                       {},
		"/sandbox/.well-known/oauth-protected-resource": {},
		"/MCP/v1":                                       {},
	} {
		var got [2]string
		if row, argument, ok := m.match(path); ok {
			got = [2]string{rows[row].Name, argument}
		}
		if got != want {
			t.Errorf("match(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestMatcherRefusesPatterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"/a/{b":      "at most one",
		"/a/{}":      "at most one",
		"/a/{b}/{c}": "at most one",
		"/a/":        "no plain path",
		"/a//b":      "no plain path",
		"a":          "no plain path",
		"/a/%2e":     "no plain path",
		"/taken":     "twice",
		"/is/{x}":    "twice",
	} {
		rows := []Route{{Pattern: "/taken"}, {Pattern: "/is/{taken}"}, {Pattern: pattern}}
		if _, err := newMatcher(rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("newMatcher(%q) = %v, want an error with %q", pattern, err, want)
		}
	}
}

// FuzzMatch checks that what matches needs no decoding and no cleaning, and is
// the pattern with the argument in it.
func FuzzMatch(f *testing.F) {
	for _, seed := range []string{
		"/mcp/v1", "/api/human/bob", "/api/human/bob.md", "/api/human/../x", "/%2e%2e", "//x", "/a%2fb", "/b\xc3\xb6b",
		"/sandbox/api/human/a", "/.well-known/oauth-protected-resource/mcp/v1", "/api/human/a;b", "/mcp/",
	} {
		f.Add(seed)
	}
	m, rows := testMatcher(f)
	f.Fuzz(func(t *testing.T, target string) {
		if judgePath(target) != plain {
			return
		}
		if decoded, err := url.PathUnescape(target); err != nil || decoded != target {
			t.Errorf("%q is plain but decodes to %q, %v", target, decoded, err)
		}
		if cleaned := path.Clean(target); cleaned != target {
			t.Errorf("%q is plain but cleans to %q", target, cleaned)
		}
		row, argument, ok := m.match(target)
		if !ok {
			return
		}
		before, rest, _ := strings.Cut(rows[row].Pattern, "{")
		_, after, _ := strings.Cut(rest, "}")
		if before+argument+after != target {
			t.Errorf("%q matched %q with %q", target, rows[row].Pattern, argument)
		}
		if strings.ContainsAny(argument, "./%") {
			t.Errorf("%q has the argument %q", target, argument)
		}
	})
}
