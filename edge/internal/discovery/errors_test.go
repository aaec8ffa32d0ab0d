package discovery_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/httpapi"
)

// rpcConstant finds the codes of the MCP server where they are defined.
var rpcConstant = regexp.MustCompile(`(?m)^\s*code[A-Z]\w*\s*(?:int\s*)?= (-32\d{3})`)

// rpcCodes returns the JSON-RPC codes that the MCP server uses.
func rpcCodes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../mcp/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range rpcConstant.FindAllStringSubmatch(string(source), -1) {
			codes = append(codes, m[1])
		}
	}
	if len(codes) < 7 {
		t.Fatalf("found only the codes %q", codes)
	}
	return codes
}

// TestEveryCodeHasAPage gets the page of each code as HTML and as Markdown, and looks for it in
// the list.
func TestEveryCodeHasAPage(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	list := text(t, d["/docs/errors"], "", "text/markdown")
	codes := append(rpcCodes(t), "-32003", "invalid_grant", "invalid_client", "invalid_redirect_uri", "invalid_token", "access_denied")
	for _, code := range httpapi.Codes() {
		codes = append(codes, string(code))
	}
	for _, code := range codes {
		for _, media := range []string{"text/html", "text/markdown"} {
			body := text(t, d["/docs/errors/{code}"], code, media)
			for _, wanted := range []string{code, "What it means", "What to do", "Example"} {
				if !strings.Contains(body, wanted) {
					t.Errorf("the page of %s as %s lacks %q", code, media, wanted)
				}
			}
		}
		if !strings.Contains(list, "[`"+code+"`]("+base+"/docs/errors/"+code+")") {
			t.Errorf("%s is not in the list", code)
		}
	}
}

func TestUnknownCodeIsNotFound(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	for _, code := range []string{"", "no_such_code", "NOT_FOUND", "-1"} {
		w := get(d["/docs/errors/{code}"], code)
		if w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%q: %d %v", code, w.Code, w.Header())
		}
	}
}

// The example of a problem is what the problem writer writes, and its type is the page's address.
func TestProblemExampleIsReal(t *testing.T) {
	t.Parallel()
	body := text(t, build(t, nil)["/docs/errors/{code}"], "gone", "text/markdown")
	for _, wanted := range []string{`"type": "https://kith.example/docs/errors/gone"`, `"status": 410`, `"code": "gone"`} {
		if !strings.Contains(body, wanted) {
			t.Errorf("lacks %s", wanted)
		}
	}
}

func TestOAuthErrorsNeedAnAuthorizationServer(t *testing.T) {
	t.Parallel()
	bareDocs := build(t, bare)
	if w := get(bareDocs["/docs/errors/{code}"], "invalid_grant"); w.Code != http.StatusNotFound {
		t.Errorf("invalid_grant has a page without a token endpoint: %d", w.Code)
	}
	if w := get(bareDocs["/docs/errors/{code}"], "not_found"); w.Code != http.StatusOK {
		t.Errorf("not_found: %d", w.Code)
	}
}
