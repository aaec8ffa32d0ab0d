package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHealth checks that the exit code says whether the process on this machine is ready.
func TestHealth(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	process := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("%s is asked for", r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(process.Close)
	_, port, _ := strings.Cut(process.Listener.Addr().String(), ":")
	for _, c := range []struct {
		address string
		status  int
		code    int
	}{{"127.0.0.1:" + port, 200, 0}, {":" + port, 200, 0}, {"0.0.0.0:" + port, 200, 0}, {"127.0.0.1:" + port, 503, 1}, {"127.0.0.1:1", 200, 1}, {"off", 200, 1}} {
		status = c.status
		var out, errOut bytes.Buffer
		if code := run(t.Context(), []string{"health", "--admin-addr=" + c.address}, nil, &out, &errOut); code != c.code {
			t.Errorf("%s, /readyz %d: exit code %d: %s", c.address, c.status, code, errOut.String())
		}
	}
}
