package inprocess_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/internal/inprocess"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	client := http.Client{Transport: inprocess.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read body: %v", err)
		}
		w.Header().Set("X-Path", r.URL.Path)
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Late", "is not sent")
		_, _ = io.WriteString(w, r.Host+" "+string(body))
	}))}
	res, err := client.Post("http://backend/a/b", "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusTeapot || string(body) != "backend hello" {
		t.Errorf("got %d %q", res.StatusCode, body)
	}
	if res.Header.Get("X-Path") != "/a/b" || res.Header.Get("X-Late") != "" {
		t.Errorf("headers: %v", res.Header)
	}
	if res.ContentLength != int64(len(body)) {
		t.Errorf("content length %d for %d bytes", res.ContentLength, len(body))
	}
}

func TestRoundTripOfCanceledContext(t *testing.T) {
	t.Parallel()
	transport := inprocess.Transport(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the handler was called")
	}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://backend/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transport.RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
