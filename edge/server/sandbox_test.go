package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/internal/batch"
	"github.com/kith-crm/kith/edge/internal/mcp"
	"github.com/kith-crm/kith/edge/internal/route"
)

// answerOf is an answer without the parts that differ between two answers to one request: the
// request id and the remaining budget.
type answerOf struct {
	Status int
	Header http.Header
	Body   string
}

func ask(h http.Handler, method, path, body string) answerOf {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	header := http.Header{}
	id := w.Header().Get("X-Request-Id")
	for name, values := range w.Header() {
		switch strings.ToLower(name) {
		case "x-request-id", "ratelimit", "ratelimit-remaining", "ratelimit-reset":
			values = []string{"is there"}
		}
		header[name] = values
	}
	return answerOf{w.Code, header, strings.ReplaceAll(w.Body.String(), id, "ID")}
}

// Every path that needs no credential has a copy under /sandbox, with byte-identical answers and
// refusals. Nothing else is under /sandbox.
func TestSandboxAnswersLikeTheOriginals(t *testing.T) {
	t.Parallel()
	c := testConfig(backendtest.New())
	for _, policy := range RatePolicies() {
		c.RateLimits[policy] = "1000/60"
	}
	h := newServer(t, c).Handler()
	bodies := map[string][]string{
		batch.RouteBatch: {`{"requests":[{"id":"1","path":"/api/human/amara"}]}`, `{}`, ``},
		"mcp-sandbox": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_account","arguments":{}}}`,
		},
		"agent-identity": {`{"type":"anonymous"}`, `{"type":"robot"}`, ``},
	}
	fill := strings.NewReplacer("{username}", "amara", "{code}", "rate_limited", "{task_id}", "7", "{id}", "con_ip892mx810", "{job}", "job_01J00000000000000000000000", "{secret}", "kith_cal_x")
	served := map[string]bool{}
	for _, r := range route.Mounted(Routes(), true) {
		served[r.Pattern] = true
	}
	for _, r := range Routes() {
		path := fill.Replace(r.Pattern)
		below := route.SandboxPrefix + path
		if !served[route.SandboxPrefix+r.Pattern] {
			if got := ask(h, r.Methods[0], below, ""); got.Status != http.StatusNotFound {
				t.Errorf("%s: %d", below, got.Status)
			}
			continue
		}
		if r.Name == mcp.RouteCurrent || r.Pattern == route.PathServerCard { // /sandbox/mcp/v1 and its card are not copies
			continue
		}
		tries := append([]string{""}, bodies[r.Name]...)
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions} {
			for _, query := range []string{"", "?per_page=x", "?token=x"} {
				for _, body := range tries {
					want, got := ask(h, method, path+query, body), ask(h, method, below+query, body)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s %s%s: -path +sandbox:\n%s", method, path, query, diff)
					}
				}
			}
		}
	}
}

// The sandbox ignores credentials: no request there has a member's access.
func TestSandboxIgnoresCredentials(t *testing.T) {
	t.Parallel()
	h := newServer(t, testConfig(backendtest.New())).Handler()
	for path, want := range map[string]int{"/agent/identity": http.StatusOK, "/sandbox/agent/identity": http.StatusBadRequest} {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(`{"type":"service_auth"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+backendtest.TokenAll)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want || strings.Contains(w.Body.String(), `"member"`) != (want == http.StatusOK) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
