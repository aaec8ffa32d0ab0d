package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/requestlog"
)

func write(t *testing.T, method string, code httpapi.Code, detail string, fields ...httpapi.Field) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "/", nil)
	r = r.WithContext(requestlog.NewContext(r.Context(), &requestlog.Event{RequestID: "req_1"}))
	w := httptest.NewRecorder()
	httpapi.NewProblems("https://kith.example").Write(w, r, code, detail, fields...)
	return w
}

func TestWrite(t *testing.T) {
	t.Parallel()
	w := write(t, http.MethodGet, httpapi.InvalidParameter, `A "detail".`, httpapi.Field{Field: "q", Message: "too long"},
		httpapi.Field{Field: "cursor", Message: "bad"})
	want := `{"type":"https://kith.example/docs/errors/invalid_parameter","title":"A parameter is not valid","status":400,` +
		`"detail":"A \"detail\".","instance":"req_1","code":"invalid_parameter",` +
		`"errors":[{"field":"q","message":"too long"},{"field":"cursor","message":"bad"}]}`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Error(diff)
	}
	if w.Code != http.StatusBadRequest || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
}

func TestEachCodeIsAProblem(t *testing.T) {
	t.Parallel()
	for _, code := range httpapi.Codes() {
		w := write(t, http.MethodGet, code, "Detail.")
		var body struct {
			Title  string `json:"title"`
			Status int    `json:"status"`
			Code   string `json:"code"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		if body.Status != w.Code || body.Status != code.Status() || body.Code != string(code) || body.Title != code.Title() {
			t.Errorf("%s: got %d %+v", code, w.Code, body)
		}
		if hasRetry := w.Header().Get("Retry-After") != ""; hasRetry != (w.Code == http.StatusServiceUnavailable) {
			t.Errorf("%s: Retry-After %q", code, w.Header().Get("Retry-After"))
		}
	}
	codes := httpapi.Codes()
	slices.Sort(codes)
	if len(slices.Compact(codes)) != len(httpapi.Codes()) {
		t.Error("a code is in the table twice")
	}
}

func TestUnknownCodeIsInternal(t *testing.T) {
	t.Parallel()
	if got := httpapi.Code("nonsense").Status(); got != http.StatusInternalServerError {
		t.Errorf("status %d", got)
	}
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	w := write(t, http.MethodHead, httpapi.NotFound, "Nothing.")
	if w.Body.Len() != 0 || w.Header().Get("Content-Length") == "0" {
		t.Errorf("body %q, headers %v", w.Body, w.Header())
	}
}

// pageOf writes the code as a page.
type pageOf struct{}

func (pageOf) WriteError(w http.ResponseWriter, _ *http.Request, e httpapi.Error) {
	_, _ = w.Write([]byte("page of " + string(e.Code)))
}

// Browsers get pages, except below /api. Other callers get a problem.
func TestProblemsWithPages(t *testing.T) {
	t.Parallel()
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	problems := httpapi.NewProblems("https://kith.example")
	for _, test := range []struct {
		path, accept string
		page         bool
	}{
		{"/nothing", browser, true},
		{"/apis", browser, true},
		{"/sandbox/nothing", browser, true},
		{"/nothing", "*/*", false},
		{"/nothing", "application/json", false},
		{"/api", browser, false},
		{"/api/human/nobody", browser, false},
		{"/sandbox/api/human/nobody", browser, false},
	} {
		r := httptest.NewRequest(http.MethodGet, test.path, nil)
		r.Header.Set("Accept", test.accept)
		plain, w := httptest.NewRecorder(), httptest.NewRecorder()
		problems.Write(plain, r, httpapi.NotFound, "Nothing.")
		problems.WithPages(pageOf{}).WriteError(w, r, httpapi.Error{Code: httpapi.NotFound, Detail: "Nothing."})
		if test.page {
			if w.Body.String() != "page of not_found" {
				t.Errorf("%+v: %s", test, w.Body)
			}
			continue
		}
		if diff := cmp.Diff(plain.Body.String(), w.Body.String()) + cmp.Diff(plain.Header(), w.Header()); diff != "" {
			t.Errorf("%+v: %s", test, diff)
		}
	}
}
