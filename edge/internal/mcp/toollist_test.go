package mcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/proto/catalog"
)

func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func loadTools(t *testing.T) (*catalog.Catalog, []renderedTool) {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	list, err := newToolList(c)
	if err != nil {
		t.Fatal(err)
	}
	return c, list
}

// TestToolsGolden compares each tool, as agents see it, with its golden file.
func TestToolsGolden(t *testing.T) {
	t.Parallel()
	_, list := loadTools(t)
	var want []string
	for _, tool := range list {
		name := filepath.Join("testdata", "tools", tool.rpc.Tool.Name+".json")
		want = append(want, name)
		var text bytes.Buffer
		if err := json.Indent(&text, tool.plain, "", "  "); err != nil {
			t.Fatal(err)
		}
		text.WriteByte('\n')
		if updating() {
			if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(name)
		if err != nil {
			t.Fatalf("%v (go test -update writes it)", err)
		}
		if diff := cmp.Diff(string(golden), text.String()); diff != "" {
			t.Errorf("%s is stale:\n%s", name, diff)
		}
	}
	have, err := filepath.Glob(filepath.Join("testdata", "tools", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("golden files that no tool has:\n%s", diff)
	}
}

// TestToolsAreComplete checks each tool against what MCP and its clients require.
func TestToolsAreComplete(t *testing.T) {
	t.Parallel()
	_, list := loadTools(t)
	for _, tool := range list {
		var shown struct {
			Name, Title, Description  string
			InputSchema, OutputSchema struct {
				Type                 string `json:"type"`
				AdditionalProperties any    `json:"additionalProperties"`
			}
			Annotations map[string]any `json:"annotations"`
			Meta        map[string]any `json:"_meta"`
		}
		if err := json.Unmarshal(tool.plain, &shown); err != nil {
			t.Fatal(err)
		}
		if shown.Name == "" || shown.Title == "" || shown.Description == "" {
			t.Errorf("%s: name, title or description is missing", shown.Name)
		}
		if shown.InputSchema.Type != "object" || shown.OutputSchema.Type != "object" {
			t.Errorf("%s: schemas must be objects at their root", shown.Name)
		}
		if shown.InputSchema.AdditionalProperties != nil {
			t.Errorf("%s: additionalProperties must be absent: clients would refuse unknown arguments with a less helpful error than the server's", shown.Name)
		}
		for _, hint := range []string{"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, ok := shown.Annotations[hint]; !ok {
				t.Errorf("%s: %s is missing", shown.Name, hint)
			}
		}
		for _, key := range []string{"kith/group", "kith/scopes", "kith/credits"} {
			if _, ok := shown.Meta[key]; !ok {
				t.Errorf("%s: %s is missing", shown.Name, key)
			}
		}
	}
}
