package route

import (
	"testing"
)

func TestJudgePath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]verdict{
		"/":                                 plain,
		"/mcp/v1":                           plain,
		"/api/human/bob":                    plain,
		"/api/human/bob.json.md":            plain,
		"/.well-known/x":                    plain,
		"/api/human/../admin":               unknown,
		"/api/human/.":                      unknown,
		"/api/human/.hidden":                unknown,
		"/a/.well-known/x":                  unknown,
		"/.well-known":                      unknown,
		"/.well-known/.x":                   unknown,
		"/mcp/":                             unknown,
		"//evil.com/api":                    unknown,
		"/api//human/bob":                   unknown,
		"/api/human/%2e%2e":                 unknown,
		"/api/human/a%2fb":                  unknown,
		"/api/human/%252e%252e%252f":        unknown,
		"/api/human/%EF%BC%8E%EF%BC%8E":     unknown, // fullwidth dots
		"/api/human/bob;x=1":                unknown,
		"/@bob":                             plain,
		"/api/human/b@b":                    unknown,
		"/api/@bob":                         unknown,
		"/@@bob":                            unknown,
		"/@bob@b":                           unknown,
		"/@bob/":                            unknown,
		"/@.bob":                            plain, // but not a valid username
		"/%40bob":                           unknown,
		"":                                  malformed,
		"mcp":                               malformed,
		"/api/human/%00":                    malformed,
		"/api/human/%7f":                    malformed,
		"/api/human/%zz":                    malformed,
		"/api/human/%2":                     malformed,
		"/api/human/%c0%ae":                 malformed, // overlong dot
		"/api/human/%ff":                    malformed,
		"/api/human/%e2%82":                 malformed,
		"/api/human/bo\\b":                  malformed,
		"/api/human/b\xc3\xb6b":             malformed,
		"/api/human/b b":                    malformed,
		"/api/human/bob\"":                  malformed,
		"/api/human/bob?":                   malformed,
		"/api/human/%ed%a0%80":              malformed, // a surrogate
		"/api/human/%f0%9f%98%80":           unknown,
		"/api/human/%f0%9f%98%80/%c0%ae%af": malformed,
	} {
		if got := judgePath(path); got != want {
			t.Errorf("judgePath(%q) = %d, want %d", path, got, want)
		}
	}
}
