package batch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/internal/batch"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/page"
	"github.com/kith-crm/kith/edge/internal/publicapi"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
	"github.com/kith-crm/kith/edge/server"
)

const base = "https://kith.example"

// budgets is a Limiter with the remaining hits of each policy. A policy without an entry is unlimited.
type budgets struct {
	mu    sync.Mutex
	left  map[string]int
	asked map[string]int
}

func (b *budgets) TakeN(_ http.ResponseWriter, _ *http.Request, policy string, n int) (int, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked[policy] += n
	left, bounded := b.left[policy]
	if !bounded {
		return n, 0
	}
	b.left[policy] = max(0, left-n)
	return min(n, left), 7500 * time.Millisecond
}

// bench is an endpoint and its dependencies.
type bench struct {
	backend  *backendtest.Backend
	budgets  *budgets
	handlers map[string]route.Handler // by the names of routes
	statuses map[int]int
	endpoint *batch.Endpoint
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{backend: backendtest.New(), budgets: &budgets{left: map[string]int{}, asked: map[string]int{}}}
	client, err := upstream.New(upstream.Options{
		BaseURL: "http://backend", Transport: b.backend.Transport(), ServiceToken: backendtest.ServiceToken,
	})
	if err != nil {
		t.Fatal(err)
	}
	problems := httpapi.NewProblems(base)
	pages, err := page.New(base, "/assets/docs.css")
	if err != nil {
		t.Fatal(err)
	}
	api, err := publicapi.New(publicapi.Options{Backend: client, Problems: problems, Pages: pages, Logger: slog.New(slog.DiscardHandler), BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	b.handlers = map[string]route.Handler{}
	routes := api.Routes()
	for i, r := range routes {
		b.handlers[r.Name] = r.Handle
		routes[i].Handle = func(w http.ResponseWriter, req *http.Request, argument string) { b.handlers[r.Name](w, req, argument) }
	}
	b.endpoint, err = batch.New(batch.Options{
		Routes: route.Mounted(routes, true), Limiter: b.budgets, Problems: problems,
		Logger: slog.New(slog.DiscardHandler), BaseURL: base, Preload: api.Preload,
		Observe: func(statuses map[int]int) { b.statuses = statuses },
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) post(body string, headers ...string) *httptest.ResponseRecorder {
	return b.postFor(context.Background(), body, headers...)
}

func (b *bench) postFor(ctx context.Context, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/batch", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.endpoint.Serve(w, r, "")
	return w
}

// response is an item's answer.
type response struct {
	ID     string
	Status int
	Body   json.RawMessage
	Text   *string
}

func (b *bench) run(t *testing.T, items ...string) []response {
	t.Helper()
	w := b.post(`{"requests":[` + strings.Join(items, ",") + `]}`)
	var answer struct {
		Object    string
		Count     int
		Responses []response
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	if answer.Object != "batch" || answer.Count != len(items) || len(answer.Responses) != len(items) {
		t.Fatalf("%+v", answer)
	}
	return answer.Responses
}

func get(id, path string) string { return fmt.Sprintf(`{"id":%q,"path":%q}`, id, path) }

// limiter is a concurrency limiter with this many free places besides the first.
type limiter struct{ room, taken, most int }

func (g *limiter) Suspend()          {}
func (g *limiter) Resume()           {}
func (g *limiter) ReleaseMore(n int) { g.taken -= n }
func (g *limiter) AcquireMore(_ context.Context, n int, _ time.Duration) bool {
	if g.taken+n > g.room {
		return false
	}
	g.taken += n
	g.most = max(g.most, g.taken)
	return true
}

// A batch takes a place for each processor that it uses. Its items do not count on their rate
// policies when the limiter refuses it.
func TestBatchTakesRoom(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 20 {
		many = append(many, get(strconv.Itoa(i), "/api/human/amara"))
	}
	for _, tt := range []struct {
		items, room int
		status      int
		taken       int
	}{{1, 0, 200, 0}, {20, 0, 503, 0}, {20, 8, 200, min(4, runtime.GOMAXPROCS(0)) - 1}} {
		if runtime.GOMAXPROCS(0) == 1 && tt.status == 503 {
			continue // one processor has no more places to take
		}
		b, g, e := newBench(t), &limiter{room: tt.room}, &requestlog.Event{}
		e.Admit(g, 0, httptest.NewRecorder())
		w := b.postFor(requestlog.NewContext(t.Context(), e), `{"requests":[`+strings.Join(many[:tt.items], ",")+`]}`)
		if w.Code != tt.status || g.most != tt.taken || g.taken != 0 {
			t.Errorf("%d items, room for %d: %d, took %d, %d left", tt.items, tt.room, w.Code, g.most, g.taken)
		}
		if asked := len(b.budgets.asked); tt.status == 503 && (asked != 0 || w.Header().Get("Retry-After") != "1") {
			t.Errorf("%d budgets asked, headers %v", asked, w.Header())
		}
	}
}

func TestItemsAreAnsweredInTheOrderSent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got := b.run(t,
		get("z", "/api/human/amara"), get("a", "/api/human/nobody"), get("md", "/api/human/amara.md"),
		`{"id":"list","path":"/api/network/members","query":{"q":"grids","per_page":1}}`,
		`{"id":"bad","path":"/api/network/members","query":{"per_page":"x"}}`,
		get("again", "/api/human/AMARA.json"), get("sandbox", "/sandbox/api/human/amara"),
	)
	for i, want := range []struct {
		id     string
		status int
		holds  string
	}{
		{"z", 200, `"object":"human"`}, {"a", 404, `"code":"not_found"`}, {"md", 200, "# "}, {"list", 200, `"object":"list"`},
		{"bad", 400, `"field":"per_page"`}, {"again", 200, `"username":"amara"`}, {"sandbox", 200, `"username":"amara"`},
	} {
		r := got[i]
		content := string(r.Body)
		if want.id == "md" {
			if r.Body != nil || r.Text == nil {
				t.Fatalf("Markdown is not text: %+v", r)
			}
			content = *r.Text
		}
		if r.ID != want.id || r.Status != want.status || !strings.Contains(content, want.holds) {
			t.Errorf("item %d: %+v %s", i, r, content)
		}
	}
	if b.statuses[200] != 5 || b.statuses[404] != 1 || b.statuses[400] != 1 {
		t.Errorf("observed %v", b.statuses)
	}
}

// A read returns the same bytes alone and in a batch.
func TestItemEqualsSingleRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := httptest.NewRecorder()
	b.handlers["profile"](w, httptest.NewRequest(http.MethodGet, "/api/human/amara", nil), "amara")
	if got := b.run(t, get("1", "/api/human/amara")); string(got[0].Body) != strings.TrimSpace(w.Body.String()) {
		t.Errorf("got %s, alone %s", got[0].Body, w.Body)
	}
}

func TestProfilesAreOneCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var items []string
	for i := range batch.MaxItems {
		items = append(items, get(fmt.Sprint(i), fmt.Sprintf("/api/human/person-%d", i%10)))
	}
	before := len(b.backend.Requests())
	for _, r := range b.run(t, items...) {
		if r.Status != http.StatusNotFound {
			t.Errorf("%+v", r)
		}
	}
	if calls := len(b.backend.Requests()) - before; calls != 1 {
		t.Errorf("%d calls of the backend", calls)
	}
	if b.budgets.asked[ratelimit.PolicyProfile] != batch.MaxItems {
		t.Errorf("counted %v", b.budgets.asked)
	}
}

func TestIdenticalReadsAreMadeOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := len(b.backend.Requests())
	got := b.run(t,
		`{"id":"1","path":"/api/network/members","query":{"q":"grids","per_page":1}}`,
		`{"id":"2","path":"/api/network/members","query":{"per_page":"1","q":"grids"}}`,
		`{"id":"3","path":"/api/network/members","query":{"per_page":2,"q":"grids"}}`)
	if calls := len(b.backend.Requests()) - before; calls != 2 {
		t.Errorf("%d calls of the backend", calls)
	}
	if b.budgets.asked[ratelimit.PolicyDirectory] != 3 || string(got[0].Body) != string(got[1].Body) {
		t.Errorf("counted %v: %+v", b.budgets.asked, got)
	}
}

// Each item is counted by its own endpoint's policy. The first items are admitted.
func TestItemsOverTheBudget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.budgets.left[ratelimit.PolicyProfile] = 2
	got := b.run(t, get("1", "/api/human/amara"), `{"id":"2","path":"/api/network/members"}`, get("3", "/api/human/amara.md"),
		get("4", "/api/human/amara"), get("5", "/mcp/v1"), get("6", "/api/human/bo-b"))
	var statuses []int
	for _, r := range got {
		statuses = append(statuses, r.Status)
	}
	if !slices.Equal(statuses, []int{200, 200, 200, 429, 403, 429}) {
		t.Errorf("statuses %v", statuses)
	}
	if body := string(got[3].Body); !strings.Contains(body, `"retry_after":8`) || !strings.Contains(body, `"code":"rate_limited"`) ||
		!strings.Contains(body, `"policy":"profile"`) {
		t.Errorf("refused with %s", body)
	}
}

// An item that is not a batchable read is refused with the allowlist; the other items are not
// affected.
func TestNotBatchable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	paths := []string{
		"/api/batch", "/sandbox/api/batch", "/mcp/v1", "/mcp", "/oauth/token", "/agent/identity", "/sandbox", "/settings/mcp",
		"http://169.254.169.254/", "file:///etc/passwd", `/\evil`, "//evil.example/api", "/api/human/amara?x=1", "/api/human/amara#x",
		"/api/human/a b", "/api/human/amara\r\nX: y", "/api/human/amara\t", "/api/human/%61mara", "/api/human/../human/amara",
		"/api/human/amara/", "/API/human/amara", "", "amara", "/api/human/", "/.well-known/oauth-protected-resource",
	}
	var items []string
	for i, path := range paths {
		encoded, err := json.Marshal(path)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, fmt.Sprintf(`{"id":"%d","path":%s}`, i, encoded))
	}
	items = append(items, `{"id":"escaped","path":"/api/human/\u002e\u002e"}`)
	for chunk := range slices.Chunk(items, batch.MaxItems) {
		for _, r := range b.run(t, chunk...) {
			if r.Status != http.StatusForbidden {
				t.Errorf("item %s: %d %s", r.ID, r.Status, r.Body)
			}
			var body struct {
				Code      string
				Detail    string
				Batchable []batch.Readable
			}
			if err := json.Unmarshal(r.Body, &body); err != nil || body.Code != "not_batchable" || body.Detail == "" || len(body.Batchable) == 0 {
				t.Errorf("item %s: %s", r.ID, r.Body)
			}
			if strings.Contains(string(r.Body), "parameters in query") != (r.ID == strconv.Itoa(slices.Index(paths, "/api/human/amara?x=1"))) {
				t.Errorf("item %s: %s", r.ID, r.Body)
			}
		}
	}
	if len(b.budgets.asked) > 0 {
		t.Errorf("refused items were counted: %v", b.budgets.asked)
	}
}

func TestAllowlistIsTheRouteTable(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, r := range batch.Allowlist(route.Mounted(server.Routes(), false)) {
		if r.Method != http.MethodGet {
			t.Errorf("%+v", r)
		}
		paths = append(paths, r.Path)
	}
	if want := []string{
		"/api/human/{username}", "/api/human/{username}.json", "/api/human/{username}.md", "/api/network/members",
	}; !slices.Equal(paths, want) {
		t.Errorf("got %v", paths)
	}
}

func TestCredentialInAnItemsQuery(t *testing.T) {
	t.Parallel()
	got := newBench(t).run(t, `{"id":"1","path":"/api/network/members","query":{"access_token":"x"}}`)
	if got[0].Status != http.StatusBadRequest || !strings.Contains(string(got[0].Body), "credential_in_query") {
		t.Errorf("%+v", got)
	}
}

func TestInvalidEnvelopes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	many := strings.TrimSuffix(strings.Repeat(`{"id":"x","path":"/"},`, batch.MaxItems+1), ",")
	for name, test := range map[string]struct{ body, says string }{
		"nothing":                {``, "well-formed"},
		"no JSON":                {`requests`, "well-formed"},
		"a list":                 {`[]`, "must be one JSON object"},
		"null":                   {`null`, "must be one JSON object"},
		"no requests":            {`{}`, `"field":"requests"`},
		"requests is not a list": {`{"requests":{}}`, "requests has the wrong type"},
		"no items":               {`{"requests":[]}`, "1 to 20"},
		"too many":               {`{"requests":[` + many + `]}`, "there are 21"},
		"no id":                  {`{"requests":[{"path":"/"}]}`, `"field":"requests[0].id"`},
		"empty id":               {`{"requests":[{"id":"","path":"/"}]}`, `"field":"requests[0].id"`},
		"id is not a string":     {`{"requests":[{"id":1,"path":"/"}]}`, "requests[0].id has the wrong type"},
		"long id":                {`{"requests":[{"id":"` + strings.Repeat("x", 129) + `","path":"/"}]}`, "128 bytes"},
		"repeated id":            {`{"requests":[` + get("a", "/") + "," + get("a", "/") + `]}`, `"field":"requests[1].id"`},
		"no path":                {`{"requests":[{"id":"a"}]}`, `"field":"requests[0].path"`},
		"unknown member":         {`{"requests":[{"id":"a","path":"/","method":"POST"}]}`, "requests[0].method is not known"},
		"unknown member outside": {`{"requests":[],"x":1}`, "x is not known"},
		"member in other case":   {`{"requests":[{"id":"a","PATH":"/"}]}`, "requests[0].PATH is not known"},
		"duplicate member":       {`{"requests":[{"id":"a","path":"/","path":"/x"}]}`, "requests[0].path is defined twice"},
		"query is a list":        {`{"requests":[{"id":"a","path":"/","query":[]}]}`, "requests[0].query has the wrong type"},
		"query value is a list":  {`{"requests":[{"id":"a","path":"/","query":{"q":["x"]}}]}`, "requests[0].query.q has the wrong type"},
		"query value is a float": {`{"requests":[{"id":"a","path":"/","query":{"q":1.5}}]}`, "requests[0].query.q has the wrong type"},
		"query value is huge":    {`{"requests":[{"id":"a","path":"/","query":{"q":1e999}}]}`, "range of a double"},
		"query value is null":    {`{"requests":[{"id":"a","path":"/","query":{"q":null}}]}`, "requests[0].query.q has the wrong type"},
		"two values":             {`{"requests":[]}{}`, "well-formed"},
		"byte order mark":        {"\xef\xbb\xbf" + `{"requests":[]}`, "well-formed"},
		"bad UTF-8":              {"{\"requests\":[{\"id\":\"\xff\",\"path\":\"/\"}]}", "well-formed"},
		"lone surrogate":         {`{"requests":[{"id":"\ud800","path":"/"}]}`, "well-formed"},
		"deep":                   {`{"requests":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, "32 levels"},
	} {
		w := b.post(test.body)
		if w.Code != http.StatusBadRequest || w.Header().Get("Content-Type") != "application/problem+json" || !strings.Contains(w.Body.String(), test.says) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if w := b.post(`{"requests":[` + get(strings.Repeat("x", 1<<20), "/") + `]}`); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("1 MB item id: %d", w.Code)
	}
	for _, kind := range []string{"", "text/plain", "application/jsonp"} {
		if w := b.post(`{}`, "Content-Type", kind); w.Code != http.StatusUnsupportedMediaType {
			t.Errorf("%q: %d", kind, w.Code)
		}
	}
	if w := b.post(`{}`, "Content-Encoding", "gzip"); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("gzip: %d", w.Code)
	}
}

// A read that panics, is too large or never ends fails only its own item.
func TestBadReadsFailOnlyTheirItem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.handlers["profile-json"] = func(http.ResponseWriter, *http.Request, string) { panic("boom") }
	b.handlers["profile-markdown"] = func(w http.ResponseWriter, _ *http.Request, _ string) {
		_, _ = w.Write([]byte(strings.Repeat("x", 1<<20)))
	}
	b.handlers["members"] = func(_ http.ResponseWriter, r *http.Request, _ string) {
		if _, bounded := r.Context().Deadline(); !bounded {
			t.Error("the read has no deadline")
		}
	}
	got := b.run(t, get("1", "/api/human/amara.json"), get("2", "/api/human/amara.md"), get("3", "/api/human/amara"))
	for i, status := range []int{500, 500, 200} {
		if got[i].Status != status {
			t.Errorf("item %d: %d %s", i, got[i].Status, got[i].Body)
		}
	}
}

// Answers beyond the batch's size limit are refused, each with an error of its own.
func TestTotalSizeIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.handlers["profile"] = func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`"` + strings.Repeat("x", 200<<10) + `"`))
	}
	var items []string
	for i := range batch.MaxItems {
		items = append(items, get(fmt.Sprint(i), fmt.Sprintf("/api/human/person-%d", i)))
	}
	refused := 0
	for _, r := range b.run(t, items...) {
		if r.Status != http.StatusOK {
			refused++
		}
	}
	if refused == 0 || refused == batch.MaxItems {
		t.Errorf("%d items were refused", refused)
	}
}

// During an outage each item is a 503, and the batch is still a 200.
func TestOutage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.backend.Fail(context.DeadlineExceeded)
	for _, r := range b.run(t, get("1", "/api/human/amara"), get("2", "/api/human/bo-b"), get("3", "/api/network/members")) {
		if r.Status != http.StatusServiceUnavailable {
			t.Errorf("%+v", r)
		}
	}
}
