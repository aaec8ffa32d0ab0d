package route

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

// testMatcher has patterns like those of the service.
func testMatcher(t testing.TB) *Matcher {
	t.Helper()
	var routes []Route
	for _, pattern := range []string{
		"/", "/mcp", "/mcp/v1", "/api/human/{username}", "/api/human/{username}.json", "/api/human/{username}.md", "/api/network/members",
		"/.well-known/oauth-protected-resource/mcp/v1", "/sandbox", "/sandbox/api/human/{username}.md",
		"/@{username}",
	} {
		routes = append(routes, Route{Name: pattern, Pattern: pattern})
	}
	m, err := NewMatcher(routes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMatcherRefusesPatterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"/a/{b":      "at most one",
		"/a/{}":      "at most one",
		"/a/{b}/{c}": "at most one",
		"/a/":        "not a plain path",
		"/a//b":      "not a plain path",
		"a":          "not a plain path",
		"/a/%2e":     "not a plain path",
		"/taken":     "twice",
		"/is/{x}":    "twice",
	} {
		rows := []Route{{Pattern: "/taken"}, {Pattern: "/is/{taken}"}, {Pattern: pattern}}
		if _, err := NewMatcher(rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewMatcher(%q) = %v, want an error with %q", pattern, err, want)
		}
	}
}

// FuzzMatch checks that a path that matches needs no decoding and no cleaning, and equals the
// pattern with the argument in it.
func FuzzMatch(f *testing.F) {
	for _, seed := range []string{
		"/mcp/v1", "/api/human/bob", "/api/human/bob.md", "/api/human/../x", "/%2e%2e", "//x", "/a%2fb", "/b\xc3\xb6b",
		"/sandbox/api/human/a", "/.well-known/oauth-protected-resource/mcp/v1", "/api/human/a;b", "/mcp/", "/@bob", "/@b.ob",
	} {
		f.Add(seed)
	}
	m := testMatcher(f)
	f.Fuzz(func(t *testing.T, target string) {
		found, argument, ok := m.Find(target)
		if judgePath(target) != plain {
			if ok {
				t.Errorf("%q is found", target)
			}
			return
		}
		if decoded, err := url.PathUnescape(target); err != nil || decoded != target {
			t.Errorf("%q is plain but decodes to %q, %v", target, decoded, err)
		}
		if cleaned := path.Clean(target); cleaned != target {
			t.Errorf("%q is plain but cleans to %q", target, cleaned)
		}
		if !ok {
			return
		}
		before, rest, _ := strings.Cut(found.Pattern, "{")
		_, after, _ := strings.Cut(rest, "}")
		if before+argument+after != target {
			t.Errorf("%q matched %q with %q", target, found.Pattern, argument)
		}
		if strings.ContainsAny(argument, "./%") {
			t.Errorf("%q has the argument %q", target, argument)
		}
	})
}

// A route of WebDAV has all paths below it that need no cleaning, and no other route has such paths.
func TestTree(t *testing.T) {
	t.Parallel()
	m, err := NewMatcher([]Route{{Name: "dav", Pattern: "/dav", Protocol: DAV}, {Name: "settings", Pattern: "/settings"}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"/dav": true, "/dav/": true, "/dav/vera/books/people/": true, "/dav/vera/books/people/a%20b%40c.vcf": true, "/dav/a;b=c": true,
		"/davx": false, "/dav/../settings": false, "/dav/%2e%2e/settings": false, "/dav/./x": false, "/dav//x": false, "/dav/x//": false,
		"/dav/a%2fb": false, "/dav/%00": false, "/dav/%zz": false, "/dav/%ff": false, "/settings/": false,
	} {
		if found, _, ok := m.Find(path); ok != want || ok && found.Name != "dav" {
			t.Errorf("%s: found %t", path, ok)
		}
	}
}
