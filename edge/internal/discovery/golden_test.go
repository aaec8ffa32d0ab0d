package discovery_test

import (
	"strings"
	"testing"
)

func TestAgentIndexGolden(t *testing.T) {
	t.Parallel()
	golden(t, "v1.json", get(build(t, nil)["/v1"], "").Body.String())
}

func TestLLMsGolden(t *testing.T) {
	t.Parallel()
	golden(t, "llms.txt", get(build(t, nil)["/llms.txt"], "").Body.String())
}

func TestAPICatalogGolden(t *testing.T) {
	t.Parallel()
	golden(t, "api-catalog.json", get(build(t, nil)["/.well-known/api-catalog"], "").Body.String())
}

// TestToolGolden shows how a reading and a writing tool are documented.
func TestToolGolden(t *testing.T) {
	t.Parallel()
	whole := text(t, build(t, nil)["/mcp/docs"], "", "text/markdown")
	for _, tool := range []string{"search_connections", "add_note"} {
		_, section, found := strings.Cut(whole, "\n### `"+tool+"`\n")
		if !found {
			t.Fatalf("%s is not documented", tool)
		}
		section, _, _ = strings.Cut(section, "\n### ")
		golden(t, tool+".md", "### `"+tool+"`\n"+section)
	}
}

func TestErrorGolden(t *testing.T) {
	t.Parallel()
	golden(t, "not_found.md", text(t, build(t, nil)["/docs/errors/{code}"], "not_found", "text/markdown"))
}
