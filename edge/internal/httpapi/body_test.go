package httpapi_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/httpapi"
)

// failing is a body whose reading fails at the end.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestReadJSON(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body           io.Reader
		kind, encoding string
		status         int
	}{
		"JSON":                {strings.NewReader("{}"), "application/json", "", 200},
		"with a charset":      {strings.NewReader("{}"), "application/json; charset=utf-8", "", 200},
		"identity":            {strings.NewReader("{}"), "application/json", "identity", 200},
		"of the maximum size": {strings.NewReader("{" + strings.Repeat(" ", 8) + "}"), "application/json", "", 200},
		"not JSON":            {strings.NewReader("x"), "application/json", "", 400},
		"unknown member":      {strings.NewReader(`{"a":1}`), "application/json", "", 400},
		"too large":           {strings.NewReader(strings.Repeat("x", 11)), "application/json", "", 413},
		"another type":        {strings.NewReader("{}"), "text/plain", "", 415},
		"no type":             {strings.NewReader("{}"), "", "", 415},
		"compressed":          {strings.NewReader("{}"), "application/json", "gzip", 415},
		"slow":                {failing{os.ErrDeadlineExceeded}, "application/json", "", 408},
		"broken off":          {failing{errors.New("reset")}, "application/json", "", 400},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", test.body)
		r.Header.Set("Content-Type", test.kind)
		if test.encoding != "" {
			r.Header.Set("Content-Encoding", test.encoding)
		}
		w := httptest.NewRecorder()
		ok := httpapi.ReadJSON(w, r, httpapi.NewProblems("https://kith.example"), 10, &struct{}{})
		if ok != (test.status == 200) || w.Code != test.status {
			t.Errorf("%s: %v, %d %s", name, ok, w.Code, w.Body)
		}
		if test.status == 400 && !strings.Contains(w.Body.String(), `"errors":[{"field":"`) {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
}
