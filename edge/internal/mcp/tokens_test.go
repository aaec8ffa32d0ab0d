package mcp

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/tiktoken-go/tokenizer"
)

// The maximum size of the list of all tools, in tokens of o200k_base and in bytes.
const (
	maxCallTokens = 8_900  // names, descriptions and input schemas, which models read
	maxListTokens = 17_000 // the whole answer to tools/list
	maxListGzip   = 16 << 10
)

// TestTokens counts the tokens of each tool. A diff of the golden file shows which tool grows.
func TestTokens(t *testing.T) {
	t.Parallel()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	count := func(text []byte) int {
		n, err := codec.Count(string(text))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	_, list := loadTools(t)
	var table strings.Builder
	fmt.Fprintf(&table, "Tokens of o200k_base: name, description and input schema, and the whole tool.\n\n")
	calls := 0
	var tools [][]byte
	for _, tool := range list {
		if tool.rpc.Tool.Research {
			continue // listed only to clients that ask
		}
		call := count(whatModelsRead(t, tool.plain))
		calls += call
		tools = append(tools, tool.plain)
		fmt.Fprintf(&table, "%-26s %5d %5d\n", tool.rpc.Tool.Name, call, count(tool.plain))
	}
	answer := fmt.Appendf(nil, `{"tools":[%s]}`, bytes.Join(tools, []byte(",")))
	whole, zipped := count(answer), gzipped(t, answer)
	fmt.Fprintf(&table, "%-26s %5d %5d\n", "all", calls, whole)
	if calls > maxCallTokens || whole > maxListTokens || zipped > maxListGzip {
		t.Errorf("%d tokens of names, descriptions and input schemas (at most %d), %d in all (at most %d), %d bytes with gzip (at most %d)",
			calls, maxCallTokens, whole, maxListTokens, zipped, maxListGzip)
	}
	name := filepath.Join("testdata", "tokens.txt")
	if updating() {
		if err := os.WriteFile(name, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if diff := cmp.Diff(string(golden), table.String()); diff != "" {
		t.Errorf("%s is stale; make update rewrites it, if the tools should grow:\n%s", name, diff)
	}
}

// whatModelsRead returns the members of a tool that clients give to models.
func whatModelsRead(t *testing.T, tool []byte) []byte {
	t.Helper()
	var read struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		InputSchema jsontext.Value `json:"inputSchema"`
	}
	if err := json.Unmarshal(tool, &read); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func gzipped(t *testing.T, text []byte) int {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(text)
	if closeErr := w.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	return out.Len()
}
