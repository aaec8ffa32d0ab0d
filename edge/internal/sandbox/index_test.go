package sandbox_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/sandbox"
	"github.com/kith-crm/kith/edge/internal/upstream"
	"github.com/kith-crm/kith/edge/server"
)

const base = "https://kith.example"

func requests() []sandbox.Request {
	return []sandbox.Request{
		{Title: "Read a profile", Method: "GET", Path: "/sandbox/api/human/demo?a=1&b=it's", Accept: "application/json"},
		{Title: "List the tools", Method: "POST", Path: "/sandbox/mcp/v1", Body: `{"method":"it's"}`, Accept: "application/json"},
		{Title: "Go away", Method: "DELETE", Path: "/sandbox"},
	}
}

func newIndex(t *testing.T, backend *backendtest.Backend) *sandbox.Index {
	t.Helper()
	client, err := upstream.New(upstream.Options{
		BaseURL: "http://backend", Transport: backend.Transport(), ServiceToken: backendtest.ServiceToken,
	})
	if err != nil {
		t.Fatal(err)
	}
	index, err := sandbox.New(sandbox.Options{
		Backend: client, Problems: httpapi.NewProblems(base), Logger: slog.New(slog.DiscardHandler), BaseURL: base,
		Username: "demo", Routes: route.Mounted(server.Routes(), true), Requests: requests(),
		Policies: []ratelimit.Policy{{Name: "mcp-sandbox", Quota: 60, Window: time.Minute}, {Name: "profile"}, {Name: "settings", Quota: 1, Window: time.Minute}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// page is the answer of GET /sandbox.
type page struct {
	Object      string            `json:"object"`
	Seeded      bool              `json:"seeded"`
	DemoAccount map[string]string `json:"demo_account"`
	Endpoints   []struct {
		Method, Path, Summary string
	} `json:"endpoints"`
	Limits struct {
		ReadOnly     bool             `json:"read_only"`
		RatePolicies []map[string]any `json:"rate_policies"`
	} `json:"limits"`
	Try []struct {
		Title, Method, Path, Curl string
		Body                      any
	} `json:"try"`
}

func get(t *testing.T, index *sandbox.Index) (page, *httptest.ResponseRecorder) {
	t.Helper()
	w := httptest.NewRecorder()
	index.Serve(w, httptest.NewRequest(http.MethodGet, "/sandbox", nil), "")
	var p page
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	return p, w
}

func TestIndex(t *testing.T) {
	t.Parallel()
	backend := backendtest.New()
	p, w := get(t, newIndex(t, backend))
	if w.Code != 200 || p.Object != "sandbox" || !p.Seeded || !p.Limits.ReadOnly || len(p.Limits.RatePolicies) != 1 {
		t.Errorf("%d %+v", w.Code, p)
	}
	want := map[string]string{"username": "demo", "url": "https://kith.example/api/human/demo"}
	if diff := cmp.Diff(want, p.DemoAccount); diff != "" {
		t.Error(diff)
	}
	backend.Unseeded = true
	if p, _ := get(t, newIndex(t, backend)); p.Seeded {
		t.Error("an empty sandbox is reported as seeded")
	}
}

func TestIndexListsTheCopies(t *testing.T) {
	t.Parallel()
	p, _ := get(t, newIndex(t, backendtest.New()))
	var paths []string
	for _, e := range p.Endpoints {
		paths = append(paths, e.Method+" "+e.Path)
	}
	want := []string{
		"POST /mcp/sandbox", "GET /sandbox", "GET /sandbox/.well-known/ai-catalog.json", "GET /sandbox/.well-known/api-catalog", "POST /sandbox/agent/identity", "POST /sandbox/api/batch",
		"GET /sandbox/api/human/{username}", "GET /sandbox/api/human/{username}.json", "GET /sandbox/api/human/{username}.md",
		"GET /sandbox/api/network/members", "GET /sandbox/assets/demo-dark.png", "GET /sandbox/assets/demo-light.png", "GET /sandbox/assets/docs.css", "GET /sandbox/assets/docs.js", "GET /sandbox/assets/try.js",
		"GET /sandbox/docs", "GET /sandbox/docs/errors",
		"GET /sandbox/docs/errors/{code}", "GET /sandbox/docs/mcp", "GET /sandbox/docs/tools", "GET /sandbox/docs/tools/{name}", "GET /sandbox/docs/{guide}", "GET /sandbox/llms.txt", "GET /sandbox/mcp/docs",
		"POST /sandbox/mcp/sandbox", "POST /sandbox/mcp/v1", "GET /sandbox/mcp/v1/server-card",
		"GET /sandbox/openapi.json", "GET /sandbox/v1",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
}

// Each curl line, parsed by a shell, is the request that it belongs to.
func TestCurlLines(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := get(t, newIndex(t, backendtest.New()))
	for i, r := range requests() {
		command := strings.TrimPrefix(p.Try[i].Curl, "curl ")
		out, err := exec.CommandContext(t.Context(), shell, "-c", `printf '%s\n' `+command).Output()
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if words[0] != "-sS" || words[len(words)-1] != base+r.Path {
			t.Errorf("words %q", words)
		}
		if r.Body != "" && !slices.Contains(words, r.Body) {
			t.Errorf("the body is not in %q", words)
		}
		if r.Method == "DELETE" && !slices.Contains(words, "DELETE") {
			t.Errorf("the method is not in %q", words)
		}
		if hasBody := p.Try[i].Body != nil; hasBody != (r.Body != "") {
			t.Errorf("body %v", p.Try[i].Body)
		}
	}
}

func TestIndexDuringAnOutage(t *testing.T) {
	t.Parallel()
	backend := backendtest.New()
	backend.Fail(errors.New("connection refused"))
	if _, w := get(t, newIndex(t, backend)); w.Code != 503 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestNewRefusesBrokenRequests(t *testing.T) {
	t.Parallel()
	if _, err := sandbox.New(sandbox.Options{}); err == nil {
		t.Error("New accepts no options")
	}
}
