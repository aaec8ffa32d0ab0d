package discovery_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/kith-crm/kith/edge/internal/discovery"
)

// fencedShell finds the fenced shell commands.
var fencedShell = regexp.MustCompile("(?s)```sh\n(.*?)\n```")

// run lets a shell parse a command line in which curl is a function that prints its arguments, and
// returns the arguments.
func run(t *testing.T, command string) []string {
	t.Helper()
	cmd := exec.Command("sh", "-euc", `curl() { printf '%s\0' "$@"; }; KITH_TOKEN=secret; `+command)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v %s", command, err, &complaints)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

type toolCall struct {
	Jsonrpc, Method string
	Params          struct {
		Name      string
		Arguments map[string]any
	}
}

// TestExamplesAreValid runs the example of every tool as it is printed and validates
// its arguments by the tool's schema.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*discovery.Options){
		"with ready-made requests": nil, "from the schemas alone": withoutSandbox,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := text(t, build(t, change)["/mcp/docs"], "", "text/markdown")
			shown := map[string]bool{}
			for _, m := range fencedShell.FindAllStringSubmatch(body, -1) {
				call := checkCommand(t, run(t, m[1]))
				checkArguments(t, call)
				// Every other tool that writes refuses a call without arguments.
				if rpc, _ := loadCatalog(t).Tool(call.Params.Name); rpc.Writes && len(call.Params.Arguments) == 0 && call.Params.Name != "embed_objects" {
					t.Errorf("the example of %s has no arguments", call.Params.Name)
				}
				if from, _ := call.Params.Arguments["from_ids"].([]any); len(from) > 0 && from[0] == call.Params.Arguments["into_id"] {
					t.Errorf("the example of %s merges a person into itself", call.Params.Name)
				}
				shown[call.Params.Name] = true
			}
			for _, tool := range loadCatalog(t).ToolNames() {
				if !shown[tool] {
					t.Errorf("%s has no example", tool)
				}
			}
		})
	}
}

// checkCommand checks the tool call in curl's arguments.
func checkCommand(t *testing.T, arguments []string) toolCall {
	t.Helper()
	var call toolCall
	body, address, token := "", "", false
	for i, argument := range arguments {
		switch {
		case i > 0 && arguments[i-1] == "-d":
			body = argument
		case strings.HasPrefix(argument, base):
			address = strings.TrimPrefix(argument, base)
		case argument == "Authorization: Bearer secret":
			token = true
		}
	}
	if err := json.Unmarshal([]byte(body), &call); err != nil || call.Jsonrpc != "2.0" || call.Method != "tools/call" {
		t.Fatalf("%q: %v", arguments, err)
	}
	if want := map[string]bool{"/mcp/sandbox": false, "/mcp/v1": true}; want[address] != token || address == "" {
		t.Errorf("%s is sent to %q, with a token: %t", call.Params.Name, address, token)
	}
	return call
}

func checkArguments(t *testing.T, call toolCall) {
	t.Helper()
	rpc, ok := loadCatalog(t).Tool(call.Params.Name)
	if !ok {
		t.Fatalf("there is no tool %s", call.Params.Name)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(rpc.Tool.BoundedSchema, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(call.Params.Arguments); err != nil {
		t.Errorf("%s: %v: %v", call.Params.Name, call.Params.Arguments, err)
	}
}

// TestToolsAreDocumented compares the document with the catalogue.
func TestToolsAreDocumented(t *testing.T) {
	t.Parallel()
	body := text(t, build(t, nil)["/docs/mcp"], "", "text/html")
	words := ""
	for _, e := range named(parsePage(t, body), "main") {
		words = e.text
	}
	for _, rpc := range loadCatalog(t).Tools() {
		var s struct {
			Properties map[string]struct{ Description string }
		}
		if err := json.Unmarshal(rpc.Tool.BoundedSchema, &s); err != nil {
			t.Fatal(err)
		}
		wanted := []string{rpc.Tool.Name, rpc.Tool.Title, rpc.Tool.Description}
		for name, property := range s.Properties {
			wanted = append(wanted, name, property.Description)
		}
		for _, word := range append(wanted, rpc.Scopes...) {
			if !strings.Contains(words, strings.Join(strings.Fields(word), " ")) {
				t.Errorf("%s: %q is not documented", rpc.Tool.Name, word)
			}
		}
	}
}

// TestProtocolIsDocumented checks what the document says about batches, the deprecated path and
// rate limits.
func TestProtocolIsDocumented(t *testing.T) {
	t.Parallel()
	body := text(t, build(t, nil)["/mcp/docs"], "", "text/markdown")
	for _, wanted := range []string{
		"`2025-06-18`", "`2025-03-26`", "JSON-RPC batches are refused", "deprecated, use `/mcp/v1`; no date of removal is set",
		"120 per minute and credential (`mcp`)", "60 per minute and address (`mcp-sandbox`)", "S256", "`-32001`", "`-32003`", "isError",
		base + "/settings/mcp", base + "/mcp/sandbox",
	} {
		if !strings.Contains(body, wanted) {
			t.Errorf("lacks %q", wanted)
		}
	}
}
