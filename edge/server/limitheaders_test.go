package server

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

// Every answer of a rate-limited path has the limit's headers, and so does an error answer;
// other paths and preflights have none.
func TestEveryAnswerOfALimitedPathHasLimitHeaders(t *testing.T) {
	t.Parallel()
	c := testConfig(backendtest.New())
	c.RateLimits = nil
	h := newServer(t, c).Handler()
	for _, test := range []struct {
		request string // method and target
		status  int
		policy  string // "" for none
	}{
		{"GET /api/human/amara", 200, "profile"},
		{"GET /api/human/nobody", 404, "profile"},
		{"GET /api/human/amara?q=%zz", 400, "profile"},
		{"GET /api/human/amara?q=é", 400, "profile"},
		{"GET /api/human/amara?access_token=x", 400, "profile"},
		{"GET /api/human/a%zzb", 400, "profile"},
		{"POST /api/human/amara", 405, "profile"},
		{"BREW /api/human/amara", 501, "profile"},
		{"GET http://evil.example/api/human/amara", 421, "profile"},
		{"GET /api/human/" + strings.Repeat("a", route.MaxHeaderBytes), 431, "profile"},
		{"GET /" + strings.Repeat("a", route.MaxHeaderBytes), 431, ""},
		{"GET /api/human/a/b", 404, "profile"},
		{"GET /api/human", 404, "profile"},
		{"GET /api/human/", 404, "profile"},
		{"GET /sandbox/api/human/a/b", 404, "profile"},
		{"GET /api/network/members/x", 404, "directory"},
		{"GET /api/network/members?q=a;b", 400, "directory"},
		{"GET /@amara", 200, "profile"},
		{"GET /@nobody", 404, "profile"},
		{"POST /@amara", 405, "profile"},
		{"GET /@amara?access_token=x", 400, "profile"},
		{"GET /@amara/x", 404, "profile"},
		{"GET /@", 404, "profile"},
		{"GET /@a.b", 404, "profile"},
		{"GET /members?q=a;b", 400, "directory"},
		{"GET /members/x", 404, "directory"},
		{"POST /members", 405, "directory"},
		{"GET /api/batch", 405, "batch"},
		{"POST /api/batch", 415, "batch"},
		{"GET /mcp/v1", 405, "mcp"},
		{"POST /mcp/v1?token=x", 400, "mcp"},
		{"DELETE /mcp", 405, "mcp"},
		{"POST /mcp/v2", 404, "mcp"},
		{"GET /mcp/sandbox", 405, "mcp-sandbox"},
		{"GET /sandbox/mcp/v1", 405, "mcp-sandbox"},
		{"GET /sandbox/mcp/sandbox", 405, "mcp-sandbox"},
		{"GET /api/jobs", 405, "jobs"},
		{"GET /api/jobs/x/y", 404, "jobs"},
		{"GET /api/jobs/7", 401, "jobs"},
		{"GET /oauth/token", 405, "oauth-token"},
		{"POST /oauth/token/zz", 404, "oauth-token"},
		{"POST /oauth/register?token=x", 400, "oauth-register"},
		{"GET /agent/identity", 405, "identity"},
		{"GET /settings/nothing", 404, "settings"},
		{"PUT /today", 405, "settings"},
		{"POST /people", 405, "settings"},
		{"PUT /people/act", 405, "settings"},
		{"DELETE /people/con_1/photo", 405, "photos"},
		{"PUT /people/con_1/photo-upload", 405, "settings"},
		{"POST /demo/people/con_1/photo", 405, "photos"},
		{"POST /demo/people", 405, "demo"},
		{"POST /activity", 405, "settings"},
		{"PUT /groups/save", 405, "settings"},
		{"POST /oauth/authorize", 405, "oauth-authorize"},
		{"PUT /oauth/consent", 405, "oauth-authorize"},
		{"GET /sandbox/agent/identity", 405, "identity"},
		{"PUT /sign-in", 405, "forms"},
		{"PUT /sign-out", 405, "forms"},
		{"GET /verify/x", 404, "forms"},

		{"OPTIONS /api/human/amara", 204, ""},
		{"OPTIONS /api/human/a/b", 404, ""},
		{"GET /api/humans", 404, ""},
		{"GET /mcp/docs", 200, ""},
		{"GET /mcp/docs/x", 404, ""},
		{"GET /v1?token=x", 400, ""},
		{"GET /nothing", 404, ""},
		{"GET /oauth", 404, ""},
	} {
		method, target, _ := strings.Cut(test.request, " ")
		r := httptest.NewRequest(method, "/", nil)
		r.RequestURI = target
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != test.status {
			t.Errorf("%s: %d %s", test.request, w.Code, w.Body)
		}
		for _, name := range []string{"RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
			if got := w.Header()[name]; (len(got) == 1) != (test.policy != "") {
				t.Errorf("%s: %s %q", test.request, name, got)
			}
		}
		policy := "RateLimit-Policy" // the header has this spelling too
		if told := w.Header()[policy]; test.policy != "" && !strings.HasPrefix(told[0], `"`+test.policy+`";`) {
			t.Errorf("%s: policy %s, want %s", test.request, told, test.policy)
		}
	}
}

// Every route that takes a POST has a rate policy: those of the edge, those of the pages that it
// proxies, and their copies for the demo and the sandbox. The policies of routes without a bearer
// count addresses. At the limit, the route refuses before it does anything.
func TestEveryPostHasARatePolicy(t *testing.T) {
	t.Parallel()
	policies := map[string]ratelimit.Policy{}
	for _, p := range ratelimit.Defaults() {
		policies[p.Name] = p
	}
	c := testConfig(backendtest.New())
	c.RateLimits = map[string]string{}
	for name := range policies {
		if name != ratelimit.PolicyMCPSandbox {
			c.RateLimits[name] = "1/3600"
		}
	}
	posts := 0
	for _, r := range route.Mounted(Routes(), true) {
		if !slices.Contains(r.Methods, http.MethodPost) {
			continue
		}
		posts++
		p, known := policies[r.RatePolicy]
		if !known || p.Quota == 0 || p.Quota > 300 || p.Window > time.Hour {
			t.Errorf("%s: policy %q, %+v", r.Pattern, r.RatePolicy, p)
		}
		if r.RatePolicy == ratelimit.PolicyMCPSandbox { // its quota is fixed
			continue
		}
		h := newServer(t, c).Handler()
		for i, status := range []int{0, http.StatusTooManyRequests} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, strings.NewReplacer("{", "", "}", "").Replace(r.Pattern), nil))
			if limited := w.Code == http.StatusTooManyRequests; limited != (status != 0) || limited && w.Header().Get("Retry-After") == "" {
				t.Errorf("POST %s, call %d: %d", r.Pattern, i+1, w.Code)
			}
		}
	}
	if posts < 60 {
		t.Errorf("only %d routes take a POST", posts)
	}
}

// Requests for unknown paths count too, and are refused at the limit.
func TestRefusalsCount(t *testing.T) {
	t.Parallel()
	c := testConfig(backendtest.New())
	c.RateLimits["profile"] = "3/60"
	h := newServer(t, c).Handler()
	for i, target := range []string{"/api/human/amara", "/api/human/a/b", "/api/human/amara?q=%zz", "/api/human/a/b", "/api/human/amara"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RequestURI = target
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if (w.Code == http.StatusTooManyRequests) != (i >= 3) || (w.Header().Get("Retry-After") != "") != (i >= 3) {
			t.Errorf("%d: %s: %d %v", i, target, w.Code, w.Header())
		}
	}
}
